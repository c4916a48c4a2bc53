// SPDX-License-Identifier: MIT

public import PushWakeCore

/// A binding as one line of JSON, for moving it from one store to another.
public enum BindingDocument {
    /// Attributes that let somebody push to the phone.
    private static let secretAttributes = [PushParameterName.publicKey, .authSecret, .selector].map(\.rawValue)

    /// Bytes of an AoR that listings and commands can name.
    private static let longestAOR = 4096

    /// What keeps a line from being a binding.
    public struct Mistake: Error, Equatable, Sendable {
        public let message: String
    }

    /// Writes a binding. Without secrets the token is shortened by `shortened` and left out of the contact: such a line
    /// can be read by people, and not imported.
    public static func write(
        _ binding: Binding, withSecrets: Bool, shortened: (String) -> String
    ) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            func put(_ name: String, _ text: String) {
                guard !text.isEmpty else { return }
                json.name(name)
                json.string(text)
            }
            func put(_ name: String, _ number: Int64) {
                json.name(name)
                json.integer(number)
            }
            put("aor", binding.aor)
            put("provider", binding.provider.name)
            if binding.environment != .standard { put("environment", binding.environment.name) }
            put("app", binding.app)
            put("team", binding.team)
            put("service", binding.service?.name ?? "")
            put(withSecrets ? "token" : "token_shortened", withSecrets ? binding.token : shortened(binding.token))
            put("dialect", binding.dialect.name)
            put("instance", binding.instance)
            put("contact", withSecrets ? binding.contact : binding.contactWithoutPushParameters)
            put("call_id", binding.callID)
            put("cseq", Int64(binding.cseq))
            let attributes = binding.attributes.entries.filter { withSecrets || !secretAttributes.contains($0.name) }
            if !attributes.isEmpty {
                json.name("attributes")
                json.object { json in
                    for entry in attributes {
                        json.name(entry.name)
                        json.string(entry.value)
                    }
                }
            }
            put("registered_at", binding.registeredAt)
            put("expires_at", binding.expiresAt)
            put("forget_at", binding.forgetAt)
            if binding.refreshesItself {
                json.name("refreshes_itself")
                json.bool(true)
            }
            if binding.flowNumber > 0 { put("reg_id", Int64(binding.flowNumber)) }
            put("route", binding.route)
            if binding.acceptedAt > 0 { put("accepted_at", Int64(binding.acceptedAt)) }
        }
        return json.bytes
    }

    /// Reads what `write` wrote with secrets.
    public static func read(_ json: JSONValue) throws(Mistake) -> Binding {
        guard case .object = json else { throw Mistake(message: "it is not a JSON object") }
        func text(_ name: String) -> String { json[name]?.string ?? "" }
        func number<Number: FixedWidthInteger>(_ name: String) throws(Mistake) -> Number {
            guard let value = json[name] else { throw Mistake(message: "\(name) is missing") }
            guard let number = value.integer.flatMap({ Number(exactly: $0) }) else {
                throw Mistake(message: "\(name) has a number that is not allowed")
            }
            return number
        }
        guard json["token_shortened"] == nil else {
            throw Mistake(message: "its token was shortened; export with --secrets")
        }
        guard !text("aor").isEmpty else { throw Mistake(message: "aor is missing") }
        // Whoever has to name it could not.
        guard text("aor").utf8.count <= longestAOR, !text("aor").utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
        else {
            throw Mistake(message: "aor is neither user nor user@domain as the registrar has it")
        }
        guard !text("token").isEmpty else { throw Mistake(message: "token is missing") }
        guard let provider = Provider.allCases.first(where: { $0.name == text("provider") }) else {
            throw Mistake(message: "there is no such provider")
        }
        guard let dialect = Dialect.allCases.first(where: { $0.name == text("dialect") }) else {
            throw Mistake(message: "there is no such dialect")
        }
        var attributes = Binding.Attributes()
        if case .object(let members)? = json["attributes"] {
            for member in members { attributes[member.name] = member.value.string }
        }
        var isRefreshing = false
        if case .bool(true)? = json["refreshes_itself"] { isRefreshing = true }
        var binding = Binding(
            aor: text("aor"), provider: provider,
            environment: Environment.allCases.first { $0.name == text("environment") } ?? .standard, app: text("app"),
            team: text("team"), service: TokenUse.allCases.first { $0.name == text("service") }, token: text("token"),
            dialect: dialect, instance: text("instance"), contact: text("contact"), callID: text("call_id"),
            cseq: try number("cseq"), attributes: attributes, registeredAt: try number("registered_at"),
            expiresAt: try number("expires_at"), forgetAt: try number("forget_at"), refreshesItself: isRefreshing,
            route: text("route"))
        if json["reg_id"] != nil {
            let flow: UInt8 = try number("reg_id")
            binding.flowNumber = flow & 127
        }
        if json["accepted_at"] != nil { binding.acceptedAt = try number("accepted_at") }
        return binding
    }
}

/// Puts bindings of another store beside those of this one: what is newer stays.
public enum BindingImport {
    /// Bindings that belong together: those of one contact of one REGISTER, which one device sent.
    public static func groups(_ bindings: [Binding]) -> [[Binding]] {
        var groups: [[Binding]] = []
        for binding in bindings {
            if let last = groups.last?.first, last.aor.isSameBytes(as: binding.aor), last.contact == binding.contact,
                last.callID == binding.callID, last.cseq == binding.cseq, last.instance == binding.instance
            {
                groups[groups.count - 1].append(binding)
            } else {
                groups.append([binding])
            }
        }
        return groups
    }

    /// Whether all of them are there as they are.
    public static func isPresent(_ group: [Binding], in present: [Binding]) -> Bool {
        group.allSatisfy { new in
            present.contains { old in
                new.provider == old.provider && new.app == old.app && new.token == old.token
                    && new.registeredAt == old.registeredAt
            }
        }
    }

    /// Whether one of those that are there is of the same phone and newer.
    public static func isOutdated(_ group: [Binding], by present: [Binding]) -> Bool {
        present.contains { old in
            group.contains { new in
                let isSamePhone =
                    !new.instance.isEmpty && new.instance == old.instance
                    || new.provider == old.provider && new.app == old.app && new.token == old.token
                return isSamePhone && old.registeredAt >= new.registeredAt
            }
        }
    }
}
