// SPDX-License-Identifier: MIT

/// A raw REGISTER out of a file, told as JSON: what `pushwake parse` prints.
public enum RegisterDocument {
    /// Reads a message whose lines end in CRLF or LF. The JSON is one object on one line, without a line
    /// end, and always complete; tokens are in full.
    public static func parse(_ bytes: Span<UInt8>) -> (json: [UInt8], isSIP: Bool) {
        let (registration, isSIP) = read(bytes)
        return (json(of: registration), isSIP)
    }

    /// Reads a message whose lines end in CRLF or LF; what is wrong with it is among the problems.
    /// `others` are services that are not known and served all the same.
    public static func read(
        _ bytes: Span<UInt8>, others: WebhookProviders = .none
    ) -> (registration: Registration, isSIP: Bool) {
        guard let message = SIPMessage(bytes) else {
            let problem = Problem(
                .notSIP, "", "does not begin like a SIP message; give a REGISTER with all its headers")
            return (Registration(problems: [problem]), false)
        }
        var reader = RegistrationReader(others: others)
        for header in message.headers {
            reader.header(name: bytes.part(header.name), value: bytes.part(header.value))
        }
        var registration = reader.finish()
        if !message.method.utf8.span.equalsIgnoringCase("register") {
            registration.problems.append(
                Problem(.notRegister, "", "is not a REGISTER: push parameters mean nothing elsewhere (RFC 8599, 4.1)"))
        }
        if message.strayLines > 0 {
            registration.problems.append(
                Problem(
                    .malformedHeader, "", "has \(message.strayLines) line(s) without a name and ':' among its headers"))
        }
        return (registration, true)
    }

    /// Tells a registration as JSON.
    public static func json(of registration: Registration) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("aor", orNull: registration.aor)
            object.member("call_id", orNull: registration.callID)
            object.name("expires")
            if let expires = registration.contacts.first?.expires ?? registration.expires {
                object.integer(Int64(expires))
            } else {
                object.null()
            }
            object.name("bindings")
            object.array { array in
                for binding in registration.bindings { array.object { write(binding, to: &$0) } }
            }
            object.name("unbind")
            object.bool(registration.unbinds)
            object.name("query")
            object.bool(!registration.queries.isEmpty)
            if let provider = registration.queries.first {
                object.name("query_provider")
                object.string(provider)
            }
            object.name("problems")
            object.array { array in
                for problem in registration.problems { array.object { write(problem, to: &$0) } }
            }
        }
        return writer.bytes
    }

    /// Writes the members of a binding into an object that is open.
    public static func write(_ binding: Binding, to object: inout JSONWriter) {
        object.member("provider", binding.provider.name)
        object.member("environment", binding.environment.name)
        object.member("app", binding.app)
        object.member("team", orNull: binding.team)
        object.member("service", orNull: binding.service?.name ?? "")
        object.member("token", binding.token)
        object.member("dialect", binding.dialect.name)
        object.member("instance", orNull: binding.instance)
        object.name("attributes")
        object.object { attributes in
            for attribute in binding.attributes.entries { attributes.member(attribute.name, attribute.value) }
        }
    }

    private static func write(_ problem: Problem, to object: inout JSONWriter) {
        object.member("code", problem.code.rawValue)
        object.member("parameter", problem.parameter)
        object.member("message", problem.message)
    }
}

extension JSONWriter {
    /// Writes a member that is a text.
    mutating func member(_ name: String, _ text: String) {
        self.name(name)
        string(text)
    }

    /// Writes a member that is a text, null in place of an empty one.
    mutating func member(_ name: String, orNull text: String) {
        self.name(name)
        string(orNull: text.isEmpty ? nil : text)
    }
}
