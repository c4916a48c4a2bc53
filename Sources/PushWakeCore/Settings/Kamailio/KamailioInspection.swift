// SPDX-License-Identifier: MIT

/// What is wrong with PushWake's location in a kamailio.cfg.
public struct KamailioInspection {
    /// One thing that is wrong, and the remedy.
    public struct Finding: Equatable, Sendable {
        /// Kamailio does not start with it, or nobody is pushed; else calls miss something.
        public let isError: Bool
        public let location: KamailioConfiguration.Location
        public let message: String
    }

    private let configuration: KamailioConfiguration
    private let file: String
    private var findings: [Finding] = []
    private var way = Way()
    private var late: Set<String> = []
    private var stepsLeft = 100_000
    /// What the script arms after `pushwake_lookup()` counts for held requests, too.
    private var goesOn = false
    /// The first lookup on the way, and whether something that may relay stands after one.
    private var lookup: KamailioConfiguration.Location?
    private var isRelayed = false

    /// What the way through the request route has armed, and the function that has made a transaction of its request.
    private struct Way {
        var armed: Set<String> = []
        var transaction: String?
        /// Flags of acc that are set before that.
        var flags: Set<String> = []
        var hasSaved = false
    }

    /// All findings, in no certain order. `file` is named where there is no line.
    public static func inspect(_ configuration: KamailioConfiguration, file: String) -> [Finding] {
        var inspection = KamailioInspection(configuration: configuration, file: file)
        inspection.inspectModules()
        inspection.inspectParameters()
        inspection.inspectNodes()
        inspection.inspectCalls()
        inspection.inspectTables()
        inspection.inspectRouteNames()
        inspection.inspectOrder()
        return inspection.findings
    }

    private init(configuration: KamailioConfiguration, file: String) {
        self.configuration = configuration
        self.file = file
    }

    private mutating func add(isError: Bool = false, _ location: KamailioConfiguration.Location?, _ message: String) {
        findings.append(
            Finding(
                isError: isError, location: location ?? KamailioConfiguration.Location(file: file, line: 1),
                message: message))
    }

    private mutating func inspectModules() {
        guard let ours = configuration.modules.firstIndex(where: { $0.name == "pushwake" }) else {
            return add(
                isError: true, nil, "pushwake.so is not loaded; write loadmodule \"pushwake.so\" after registrar.so")
        }
        let location = configuration.modules[ours].location
        for module in ["tm", "sl", "usrloc", "registrar"]
        where !configuration.modules[..<ours].contains(where: { $0.name == module }) {
            let isLoaded = configuration.modules.contains { $0.name == module }
            let remedy =
                isLoaded
                ? "move loadmodule \"pushwake.so\" down" : "write loadmodule \"\(module).so\" above"
            add(isError: true, location, "\(module).so must be loaded before pushwake.so; \(remedy)")
        }
        let parameters = configuration.parameters.filter { $0.isOf("pushwake") }
        for early in parameters where early.location.file == location.file && early.location.line < location.line {
            add(isError: true, early.location, "\(early.name): stands before loadmodule \"pushwake.so\"; move it below")
        }
    }

    private func value(_ module: String, _ name: String) -> KamailioConfiguration.Parameter? {
        configuration.parameters.last { $0.isOf(module) && $0.name == name }
    }

    private mutating func inspectParameters() {
        let gruu = value("registrar", "gruu_enabled")
        if gruu?.value != "0" {
            add(
                gruu?.location,
                "registrar's gruu_enabled is on: Linphone then puts a GRUU into Contact, and requests within its calls find no way unless the script looks GRUUs up; set modparam(\"registrar\", \"gruu_enabled\", 0)"
            )
        }
        let size = value("registrar", "contact_max_size")
        if (size.flatMap { Int($0.value) } ?? 255) < 1000 {
            add(
                size?.location,
                "registrar refuses a Contact that is longer than contact_max_size, and push tokens make long ones; set modparam(\"registrar\", \"contact_max_size\", 1023)"
            )
        }
        if let lost = value("usrloc", "handle_lost_tcp"), lost.value != "0" {
            add(
                lost.location,
                "usrloc's handle_lost_tcp deletes a phone that falls asleep; set modparam(\"usrloc\", \"handle_lost_tcp\", 0)"
            )
        }
        if let mask = value("topoh", "mask_callid"), mask.value != "0" {
            add(
                mask.location,
                "topoh's mask_callid gives the phone another Call-ID than its push has, by which apps match the call; set it to 0, or use topos"
            )
        }
        if let most = value("registrar", "max_expires"), let seconds = Int(most.value), seconds > 0,
            let before = value("pushwake", "refresh_before"), let lead = Int(before.value), seconds < 2 * lead
        {
            add(
                before.location,
                "refresh_before asks no phone to register, since none is registered for twice as long (max_expires \(seconds)); set it to \(seconds / 2) or less"
            )
        }
        let silence = value("pushwake", "silent_after").flatMap { Int($0.value) } ?? 1500
        if let timer = value("tm", "fr_timer"), let patience = Int(timer.value), silence > 0, patience <= silence {
            add(
                timer.location,
                "tm's fr_timer ends a call with 408 before a phone counts as silent (silent_after, \(silence) ms), so that one whose app is suspended is not pushed; set modparam(\"tm\", \"fr_timer\", \(silence + 1000)) or more"
            )
        }
    }

    /// Contacts of other nodes are told from this one's by `server_id`; who has none has 0.
    private mutating func inspectNodes() {
        guard Int(configuration.serverID?.value ?? "0") == 0 else { return }
        if let dmq = value("dmq_usrloc", "enable"), dmq.value != "0" {
            add(
                configuration.serverID?.location ?? dmq.location,
                "dmq_usrloc brings contacts of other nodes, and without server_id they count as this one's: their phones are not woken from here; write server_id=1, and another number on each node"
            )
        } else if let table = value("usrloc", "db_mode"), table.value == "3", value("pushwake", "node_uri") != nil {
            add(
                configuration.serverID?.location ?? table.location,
                "nodes share the location table, and without server_id contacts of others count as this one's; write server_id=1, and another number on each node"
            )
        }
    }

    private func calls(of name: String) -> [(arguments: [String], location: KamailioConfiguration.Location)] {
        configuration.routes.values.flatMap { $0 }.compactMap { step in
            if case .call(name, let arguments, let location) = step { (arguments, location) } else { nil }
        }
    }

    private func calls(_ name: String) -> [KamailioConfiguration.Location] {
        calls(of: name).map(\.location).sorted { ($0.file, $0.line) < ($1.file, $1.line) }
    }

    /// Flags as the module takes them.
    private static func isFlags(_ text: String) -> Bool {
        if text.hasPrefix("$") { return true }
        let isHexadecimal = text.lowercased().hasPrefix("0x")
        return UInt16(isHexadecimal ? String(text.dropFirst(2)) : text, radix: isHexadecimal ? 16 : 10) != nil
    }

    private mutating func inspectCalls() {
        for location in calls("save") {
            add(location, "save() stores no push binding; write pushwake_save() in its place")
        }
        // With AGI the phones are woken before the call comes here.
        let isForAsterisk = ["fastagi_listen", "engine_socket_group"].contains { value("pushwake", $0) != nil }
        if !calls("pushwake_lookup").isEmpty || !calls("pushwake_lookup_upstream").isEmpty || !isForAsterisk {
            for location in calls("lookup") {
                add(location, "lookup() wakes nobody; write pushwake_lookup() in its place")
            }
            for location in calls("lookup_to_dset") {
                add(location, "lookup_to_dset() wakes nobody; write pushwake_lookup(table, uri) in its place")
            }
            for location in calls("lookup_branches") {
                add(
                    location,
                    "lookup_branches() wakes nobody; send each branch back to this Kamailio, so that pushwake_lookup() looks it up"
                )
            }
        }
        inspectRemovals()
        for (arguments, location) in calls(of: "pushwake_save") {
            if arguments.count > 2 {
                add(
                    isError: true, location,
                    "pushwake_save() takes a table and flags, and no third parameter; leave it out")
            } else if arguments.count == 2, let flags = arguments.last, !Self.isFlags(flags) {
                add(isError: true, location, "pushwake_save(): flags \"\(flags)\" are no number; write 4 or 0x04")
            }
        }
        if !calls("pushwake_lookup").isEmpty {
            for name in ["ts_store", "ts_append", "ts_append_to"] {
                for location in calls(name) {
                    add(
                        location,
                        "\(name)() of tsilo is not needed beside pushwake_lookup(), which holds the request by itself; leave it out"
                    )
                }
            }
        }
        let upstream = calls("pushwake_save_upstream")
        if calls("pushwake_save").isEmpty, upstream.isEmpty, calls("save").isEmpty, !usesAnotherLanguage {
            add(isError: true, nil, "no route calls pushwake_save(), so no phone can be pushed")
        }
        if let first = upstream.first, value("usrloc", "use_domain")?.value != "1" {
            add(
                isError: true, first,
                "pushwake_save_upstream() refuses all phones while users of several servers are one; set modparam(\"usrloc\", \"use_domain\", 1)"
            )
        }
    }

    /// Scripts take contacts away of which they know that nothing answers there: their phones are to be woken all the same.
    private mutating func inspectRemovals() {
        guard calls("pushwake_remove").isEmpty else { return }
        for location in calls("unregister") {
            add(
                location,
                "unregister() leaves the push binding, and the phone is still woken; if its user is logged out, call pushwake_remove() as well"
            )
        }
    }

    /// Tables in which nobody registers.
    private mutating func inspectTables() {
        for (arguments, location) in calls(of: "pushwake_save") {
            guard let table = arguments.first, Int(table) != nil else { continue }
            add(
                location,
                "pushwake_save(): \(table) is its table; flags come second: pushwake_save(\"location\", \"\(table)\")")
        }
        let saved = ["pushwake_save", "pushwake_save_upstream", "save"].flatMap { calls(of: $0) }
            .compactMap(\.arguments.first)
        // Other processes, or other nodes, may fill the tables of a database.
        let isFilled = value("usrloc", "db_mode")?.value == "3" || value("dmq_usrloc", "enable") != nil
        guard !isFilled, let first = saved.first, !saved.contains(where: { $0.hasPrefix("$") }) else { return }
        for name in ["pushwake_lookup", "pushwake_lookup_upstream", "pushwake_in_dialog"] {
            for (arguments, location) in calls(of: name) {
                let table = arguments.first ?? "location"
                guard !saved.contains(table), !table.hasPrefix("$") else { continue }
                add(
                    location,
                    "\(name)() looks in table \(table), in which no route saves anybody; write \(name)(\"\(first)\")")
            }
        }
    }

    /// Routes that nobody calls, for a slip of the pen.
    private mutating func inspectRouteNames() {
        let armed = ["t_on_failure", "t_on_branch"].flatMap { calls(of: $0) }.compactMap(\.arguments.first)
        let names = [
            "failure_route": ["PUSHWAKE"], "branch_route": ["PUSHWAKE"],
            "event_route": ["pushwake:result", "pushwake:upstream"],
        ]
        for (route, location) in configuration.places {
            let parts = route.dropLast().split(separator: "[").map(String.init)
            guard parts.count == 2, let right = names[parts[0]], !right.contains(parts[1]),
                parts[1].lowercased().hasPrefix("pushw"), !armed.contains(parts[1])
            else { continue }
            let remedy = right.map { "\(parts[0])[\($0)]" }.joined(separator: " or ")
            add(location, "\(route) is never called; write \(remedy)")
        }
    }

    /// The routes are in Lua, Python or JavaScript.
    private var usesAnotherLanguage: Bool { configuration.modules.contains { $0.name.hasPrefix("app_") } }

    // MARK: The way of a request

    private mutating func inspectOrder() {
        goesOn = value("pushwake", "lookup_goes_on").map { $0.value != "0" } ?? false
        walk("request_route", depth: 0)
        // What it calls by a name that is made while it runs may relay.
        let isUnknown = stepsLeft <= 0 || calls(of: "route").contains { $0.arguments.first?.hasPrefix("$") != false }
        guard !isRelayed, !isUnknown, let lookup else { return }
        add(
            lookup,
            "nothing relays after pushwake_lookup(), so phones that are awake do not ring; call t_relay() where it gives 1"
        )
    }

    /// Functions that ask who a phone is.
    private static let authentication: Set = [
        "www_authenticate", "www_authorize", "pv_www_authenticate", "www_challenge", "proxy_authenticate",
        "proxy_authorize", "pv_proxy_authenticate", "proxy_challenge", "auth_check", "pv_auth_check", "auth_challenge",
    ]

    /// Goes through a route and those that it calls.
    private mutating func walk(_ route: String, depth: Int) {
        guard depth < 32, let steps = configuration.routes[route] else { return }
        // What a block that ends the script does counts in there only.
        var outside: [Way] = [way]
        var leaves = [false]
        for step in steps {
            stepsLeft -= 1
            guard stepsLeft > 0 else { return }
            switch step {
            case .blockBegins:
                outside.append(way)
                leaves.append(false)
            case .blockEnds:
                guard let before = outside.popLast(), let isLeft = leaves.popLast() else { return }
                if isLeft { way = before }
            case .leaves:
                leaves[leaves.count - 1] = true
            case .call(let name, let arguments, let location):
                leaves[leaves.count - 1] = false
                call(name, arguments, location, depth: depth)
            }
        }
        if leaves.first == true, let before = outside.first { way = before }
    }

    private mutating func call(
        _ name: String, _ arguments: [String], _ location: KamailioConfiguration.Location, depth: Int
    ) {
        switch name {
        case "route": if let route = arguments.first { walk("route[\(route)]", depth: depth + 1) }
        case "pushwake_save": way.hasSaved = true
        case _ where Self.authentication.contains(name):
            guard way.hasSaved, late.insert("authentication").inserted else { return }
            add(
                location,
                "\(name)() comes after pushwake_save(), so who does not know the password is registered and pushed; call it before"
            )
        case "record_route", "append_hf":
            guard way.transaction == "pushwake_lookup()", late.insert(name).inserted else { return }
            add(
                location,
                "\(name)() comes after pushwake_lookup(), so it does not count for phones that wake later; call it before"
            )
        case _ where name.hasPrefix("t_relay") || name.hasPrefix("t_next_contact") || name.hasPrefix("forward"):
            isRelayed = isRelayed || way.transaction == "pushwake_lookup()"
        case "pushwake_lookup", "pushwake_lookup_upstream":
            way.transaction = "pushwake_lookup()"
            lookup = lookup ?? location
        case "pushwake_in_dialog": way.transaction = "pushwake_in_dialog()"
        case "t_on_branch", "t_on_reply", "t_on_failure":
            guard !goesOn, let route = arguments.first else { return }
            let what = "\(name)(\"\(route)\")"
            guard let function = way.transaction else {
                way.armed.insert(what)
                return
            }
            if !way.armed.contains(what), late.insert(what).inserted {
                add(
                    location,
                    "\(what) comes after \(function), so it does not count for requests that are held; call it before"
                )
            }
        case "dlg_manage":
            guard !goesOn, way.transaction == "pushwake_lookup()", late.insert(name).inserted else { return }
            add(
                location,
                "dlg_manage() comes after pushwake_lookup(): the dialog of a phone that joins late would not be found again, and never end; call it before"
            )
        case "setflag": accountingFlag(arguments.first ?? "", location)
        default: break
        }
    }

    /// acc looks at its flags when the transaction is made, which is in `pushwake_lookup()` or `pushwake_in_dialog()`.
    private mutating func accountingFlag(_ flag: String, _ location: KamailioConfiguration.Location) {
        guard isFlag(flag, "_flag") else { return }
        guard let function = way.transaction else {
            way.flags.insert(flag)
            return
        }
        if way.flags.isEmpty, late.insert("setflag").inserted {
            add(
                location,
                "setflag(\(flag)) comes after \(function), and no flag of acc before it, so acc writes nothing about requests to users with push; set one of its flags before"
            )
        } else if let before = way.flags.min(), isFlag(flag, "missed_flag"),
            !way.flags.contains(where: { isFlag($0, "missed_flag") || isFlag($0, "acc_prepare_flag") }),
            late.insert("setflag").inserted
        {
            add(
                location,
                "setflag(\(flag)) comes after \(function), so acc does not record as missed what a failure_route takes elsewhere; set it before, or modparam(\"acc\", \"acc_prepare_flag\", \(before))"
            )
        }
    }

    /// Whether acc has this flag in a parameter whose name ends like this.
    private func isFlag(_ flag: String, _ suffix: String) -> Bool {
        configuration.parameters.contains { $0.isOf("acc") && $0.name.hasSuffix(suffix) && $0.value == flag }
    }
}
