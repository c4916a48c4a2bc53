// SPDX-License-Identifier: MIT

/// One value for every setting; the defaults of the table at first.
public struct Settings: Equatable, Sendable {
    private var texts: [String]
    private var numbers: [Int64]
    private var accounts = FCMAccountSettings()

    /// Every setting at its default.
    public init() { (texts, numbers) = Self.defaults }

    private static let defaults: (texts: [String], numbers: [Int64]) = {
        let texts = SettingKey.allCases.map { SettingsTable.description(of: $0).defaultValue.description }
        return (texts, texts.map { Int64($0) ?? 0 })
    }()

    /// The value as text; a flag reads `0` or `1`.
    public func text(_ key: SettingKey) -> String { texts[key.rawValue] }

    /// The value of an integer or flag; 0 for text.
    public func integer(_ key: SettingKey) -> Int64 { numbers[key.rawValue] }

    /// Whether a flag is set; for an integer, whether it is not 0.
    public func flag(_ key: SettingKey) -> Bool { numbers[key.rawValue] != 0 }

    /// The pairs `fcm_app1` and `fcm_key1` to `fcm_app1000` and `fcm_key1000` that are set.
    public var fcmAccounts: [FCMAccountSettings.Pair] { accounts.pairs }

    /// The value of a setting by name; nil when there is none of this name.
    public func text(named name: String) -> String? {
        if let key = SettingsTable.key(named: name) { return text(key) }
        return FCMAccountSettings.Name(name).map { accounts[$0] }
    }

    /// Whether the value is not the default.
    public func isChanged(_ key: SettingKey) -> Bool {
        texts[key.rawValue] != SettingsTable.description(of: key).defaultValue.description
    }

    /// Sets a value by name, checking that it fits.
    public mutating func set(_ name: String, to value: String) throws(SettingError) {
        guard let key = SettingsTable.key(named: name) else {
            if let numbered = FCMAccountSettings.Name(name) {
                accounts[numbered] = try Self.check(
                    value, for: SettingsTable.description(of: numbered.isKey ? .fcmKey : .fcmApp))
                return
            }
            throw SettingError(setting: name, message: Self.remedy(forUnknown: name))
        }
        try set(key, to: value)
    }

    /// Sets a value, checking that it fits.
    public mutating func set(_ key: SettingKey, to value: String) throws(SettingError) {
        let checked = try Self.check(value, for: SettingsTable.description(of: key))
        texts[key.rawValue] = checked
        numbers[key.rawValue] = Int64(checked) ?? 0
    }

    private static func check(_ value: String, for row: SettingDescription) throws(SettingError) -> String {
        func refuse(_ remedy: String) -> SettingError {
            // An address may hold a password, and in place of a file's name somebody may have written what is in it.
            let isSecret =
                switch row.kind {
                case .proxy, .path: true
                case .origin, .url: value.utf8.contains(UInt8(ascii: "@"))
                default: false
                }
            let shown = isSecret ? "the value" : "\"\(value.prefix(80))\""
            return SettingError(setting: row.name.description, message: "\(shown) does not fit; \(remedy)")
        }
        if value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            var message = "the value holds a control character; remove it"
            if case .path = row.kind, !PastedSecrets.isName(value) {
                message = "the value is the name of no file; write the name of a file, not what is in it"
            }
            throw SettingError(setting: row.name.description, message: message)
        }
        if let gone = objection(to: value, for: row.name.description) {
            throw SettingError(setting: row.name.description, message: gone)
        }
        if value.utf8.count > 4096 { throw refuse("it is longer than 4096 bytes") }
        switch row.kind {
        case .text, .path, .textOrFile:
            return value
        case .origin:
            guard HTTPOrigin(value) != nil else { throw refuse("write https://host or https://host:port") }
            return value
        case .url:
            guard let (_, path) = HTTPOrigin.split(value), HeaderText.isTarget(path) else {
                throw refuse("write https://host/path")
            }
            return value
        case .proxy:
            guard value.isEmpty || ProxyAddress(value) != nil else {
                let scheme = ProxyAddress.unsupportedScheme(of: value)
                let lead = scheme.map { "\($0) proxies are not supported; name an HTTP proxy: " } ?? ""
                throw refuse("\(lead)write host:port or http://user:password@host:port")
            }
            return value
        case .integer(let range):
            guard let number = Int64(value), range.contains(number) else {
                let unit = row.unit.description
                let suffix = unit.isEmpty ? "" : " (\(unit))"
                throw refuse("write a number from \(range.lowerBound) to \(range.upperBound)\(suffix)")
            }
            return String(number)
        case .flag:
            switch value.lowercased() {
            case "1", "yes", "on", "true": return "1"
            case "0", "no", "off", "false": return "0"
            default: throw refuse("write 0 or 1")
            }
        case .payloads:
            do throws(PayloadFamilies.Mistake) {
                _ = try PayloadFamilies(setting: value)
            } catch {
                throw refuse(error.remedy)
            }
            return value
        case .methods:
            do throws(WakingMethods.Mistake) {
                _ = try WakingMethods(setting: value)
            } catch {
                throw refuse(error.remedy)
            }
            return value
        case .store:
            do throws(StoreChoice.Mistake) {
                _ = try StoreChoice(setting: value)
            } catch {
                throw SettingError(setting: row.name.description, message: "the value does not fit; \(error.remedy)")
            }
            return value
        case .nodeURI:
            guard value.isEmpty || NodeRoute.isNodeURI(value) else {
                throw refuse("write sip:host or sip:host:port, perhaps with ;transport=tcp")
            }
            return value
        case .capture:
            do throws(CaptureAddress.Mistake) {
                if !value.isEmpty { _ = try CaptureAddress(value) }
            } catch {
                throw refuse(error.remedy)
            }
            return value
        case .choice(let choices):
            guard choices.contains(value) else { throw refuse("write one of \(choices.joined(separator: ", "))") }
            return value
        }
    }
}

extension Settings {
    /// Where bindings live.
    public var storeChoice: StoreChoice { (try? StoreChoice(setting: text(.store))) ?? .sqlite }

    /// The file of upstream registrations: in the directory of `store_path`. Nil where nothing is to outlive the engine.
    public var upstreamPath: String? {
        guard storeChoice != .memory else { return nil }
        let path = text(.storePath)
        return (path.lastIndex(of: "/").map { path[...$0] } ?? "") + "upstream.db"
    }

    /// Milliseconds to wait for the server of `store`: who asked the engine waits on for what follows the answer.
    public var storeTimeout: Int64 { max(integer(.engineTimeout) * 8 / 10, 1) }
}

extension Settings {
    /// Why a value belongs to a vendor's service, or to a rule, that is gone; nil when it does not.
    private static func objection(to value: String, for name: String) -> String? {
        switch name {
        // The server key of the legacy API: a secret, so it is not repeated.
        case "fcm_key" where value.hasPrefix("AIza") || value.hasPrefix("AAAA") && value.contains(":APA91"):
            "the value is a server key; \(ForeignSetting.legacyFCM)"
        case "fcm_url" where value.hasSuffix("/fcm/send") || value.hasSuffix("/gcm/send"):
            ForeignSetting.legacyFCM.description
        case "apns_url", "apns_sandbox_url":
            value.contains("//gateway.push.apple.com") || value.contains("//gateway.sandbox.push.apple.com")
                ? ForeignSetting.binaryAPNs.description : nil
        case "one_aor_per_token" where value == "instance":
            "\"instance\" no longer exists; leave the setting out, or write always if each app has one account"
        default: nil
        }
    }

    private static func remedy(forUnknown name: String) -> String {
        if let removed = RemovedSetting.named(name) { return removed.remedy.description }
        if let foreign = ForeignSetting.named(name) { return foreign.remedy }
        if FCMAccountSettings.Name.isNumbered(name) {
            return "there is no such setting; numbers go from 1 to \(FCMAccountSettings.numbers.upperBound)"
        }
        if let near = SettingsTable.name(near: name) { return "there is no such setting; did you mean \(near)?" }
        return "there is no such setting; docs/settings.md lists them all"
    }
}

extension Settings {
    /// All values as `name=value` lines: what the engine reads on its standard input.
    public func lines() -> String {
        SettingKey.allCases.map { "\(SettingsTable.description(of: $0).name)=\(text($0))\n" }.joined()
            + accounts.lines()
    }

    /// Takes over what `lines()` gave, to the letter: comments and quotes are for people.
    public mutating func take(lines text: String) -> [FileProblem] {
        // By bytes: a value may hold line ends of Unicode, which a host's configuration does not know as such.
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return collect(lines.map { Substring($0) }) { settings, line throws(SettingError) in
            guard !line.isEmpty else { return }
            guard let equals = line.utf8.firstIndex(of: UInt8(ascii: "=")) else {
                throw SettingError(setting: String(line.prefix(40)), message: "write name=value")
            }
            try settings.set(String(line[..<equals]), to: String(line[line.utf8.index(after: equals)...]))
        }
    }

    /// Finding of a settings file: the line it is on (from 1) and the error.
    public struct FileProblem: Equatable, Sendable {
        public let line: Int
        public let error: SettingError
    }

    /// Reads `name = value` lines. `#` and `;` begin a comment, at the start of a line or after white space;
    /// `[general]` may stand above, `=>` is as good as `=`, and quotes around a value are dropped and keep what
    /// is in them. What is wrong is reported, the rest is set.
    public mutating func read(file text: String) -> [FileProblem] {
        // Some editors begin a file with a byte order mark, which nobody sees.
        let text = text.drop { $0 == "\u{FEFF}" }
        // Its bytes, taken for UTF-8, have a zero beside each letter.
        if text.utf8.prefix(64).contains(0) {
            let message = "it is UTF-16, as Windows writes it; save it as UTF-8"
            return [FileProblem(line: 1, error: SettingError(setting: "the file", message: message))]
        }
        if text.hasPrefix("-----BEGIN ") {
            let message = "this is a key or a certificate, not a settings file; name it in one, such as apns_key = FILE"
            return [FileProblem(line: 1, error: SettingError(setting: "the file", message: message))]
        }
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        let problems = collect(lines) { settings, line throws(SettingError) in try settings.read(line: line) }
        guard problems.count > Self.mostProblems else { return problems }
        let more = SettingError(
            setting: "the file", message: "\(problems.count - Self.mostProblems) more lines are wrong")
        return problems[..<Self.mostProblems] + [FileProblem(line: problems[Self.mostProblems].line, error: more)]
    }

    /// More of them nobody reads.
    private static let mostProblems = 20

    private mutating func collect(
        _ lines: [Substring], _ take: (inout Settings, Substring) throws(SettingError) -> Void
    ) -> [FileProblem] {
        var problems: [FileProblem] = []
        for (index, line) in lines.enumerated() {
            do throws(SettingError) {
                try take(&self, line)
            } catch {
                problems.append(FileProblem(line: index + 1, error: error))
            }
        }
        return problems
    }

    private mutating func read(line raw: Substring) throws(SettingError) {
        let line = Self.trimmed(raw)
        if line.isEmpty || line.first == "#" || line.first == ";" { return }
        if line.first == "[" {
            guard Self.withoutComment(line) == "[general]" else {
                throw SettingError(setting: String(line), message: "there is only the section [general]")
            }
            return
        }
        guard let equals = line.firstIndex(of: "=") else {
            let word = line.prefix { $0 != " " && $0 != "\t" && $0 != ":" }
            throw SettingError(setting: Self.shown(name: String(word)), message: "write name = value")
        }
        var value = line[line.index(after: equals)...]
        if value.first == ">" { value = value.dropFirst() }
        let name = String(Self.trimmed(line[..<equals]))
        do throws(SettingError) {
            try set(name, to: String(Self.unquoted(value) ?? Self.withoutComment(value)))
        } catch {
            throw SettingError(
                setting: error.setting == name ? Self.shown(name: name) : error.setting, message: error.message)
        }
    }

    /// A name as it may be written for people: a line of a key or of a password is none.
    private static func shown(name: String) -> String {
        let isName =
            name.utf8.count <= 32
            && name.utf8.allSatisfy {
                $0 >= 0x61 && $0 <= 0x7A || $0 >= 0x30 && $0 <= 0x39 || $0 == UInt8(ascii: "_")
                    || $0 == UInt8(ascii: "-")
            }
        return isName || SettingsTable.key(named: name) != nil || ForeignSetting.named(name) != nil ? name : "a line"
    }

    /// What stands in quotes, when all but a comment does.
    private static func unquoted(_ text: Substring) -> Substring? {
        let value = trimmed(text)
        guard value.first == "\"" else { return nil }
        let inside = value.dropFirst()
        return inside.indices.first { index in
            inside[index] == "\"" && isBlank(inside[inside.index(after: index)...])
        }.map { inside[..<$0] }
    }

    /// Whether nothing but a comment stands here. It looks no further than it must: a line may have many quotes.
    private static func isBlank(_ text: Substring) -> Bool {
        var before: Character?
        for character in text {
            switch character {
            case " ", "\t", "\r", "\r\n": before = character
            case "#", ";": return before == " " || before == "\t"
            default: return false
            }
        }
        return true
    }

    /// The text up to a `#` or `;` after white space.
    private static func withoutComment(_ text: Substring) -> Substring {
        var before: Character?
        let end = text.indices.first { index in
            defer { before = text[index] }
            return (text[index] == "#" || text[index] == ";") && (before == " " || before == "\t")
        }
        return trimmed(text[..<(end ?? text.endIndex)])
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var rest = text.drop { $0 == " " || $0 == "\t" || $0 == "\r" }
        while let last = rest.last, last == " " || last == "\t" || last == "\r" || last == "\r\n" { rest.removeLast() }
        return rest
    }
}

extension Settings {
    /// Seconds for which the notice that a call has ended is worth anything: it stops what rings.
    private static let callOver: UInt32 = 30

    /// How long a provider may keep the push for an event, seconds.
    public func timeToLive(of event: PushEvent, _ occasion: PushOccasion = .usual) -> UInt32 {
        switch event {
        case .call: UInt32(clamping: integer(.wakeTimeout))
        case .cancel, .answeredElsewhere: Self.callOver
        // The request is answered by then, and nobody sends it again.
        case .refer: whileHeld
        case .refresh where occasion == .requestWaiting: whileHeld
        case .chat, .groupChat, .custom, .missed, .refresh, .voicemail: UInt32(clamping: integer(.messageTimeToLive))
        }
    }

    private var whileHeld: UInt32 { UInt32(clamping: min(integer(.wakeTimeout), RequestPolicy.longestHold)) }
}

extension Settings {
    /// Seconds that a registration has to last so that a push can refresh it: one that is shorter would be pushed for as
    /// soon as it is made. 0 when nobody is pushed to refresh.
    public var refreshedLife: Int64 { 2 * integer(.refreshBefore) }

    /// Phones belong to SIP servers behind this one.
    public var isGateway: Bool { !text(.upperServers).isEmpty || !text(.secretKeyFile).isEmpty }
}
