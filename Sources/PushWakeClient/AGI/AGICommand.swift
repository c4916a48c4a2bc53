// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// What a dialplan asks of the push hook.
enum AGICommand: Equatable {
    /// An empty `callID` is asked of the channel.
    case wake(aor: String, seconds: Int64, callID: String = "")
    case send(PushEvent, aor: String, text: String, callID: String = "")
    case bindings(aor: String)

    private static let longestCallID = 256

    /// What is wrong with the arguments, and the remedy.
    struct Mistake: Error, Equatable {
        let message: String
    }

    /// Reads the arguments of a script: `wake AOR [TIMEOUT [CALL-ID]]`, `send EVENT AOR [TEXT]`, `bindings AOR`.
    init(arguments: [String]) throws(Mistake) {
        let words = arguments
        switch words.first.map(Self.bare) {
        case "wake":
            self = try Self.wake(
                Self.word(words, 1, "AOR"), words.count > 2 ? words[2] : "", words.count > 3 ? words[3] : "")
        case "send":
            // Commas of the text were taken for the ends of arguments.
            let text = words.dropFirst(3).joined(separator: ",")
            self = try Self.send(Self.word(words, 1, "EVENT"), Self.word(words, 2, "AOR"), text)
        case "bindings": self = .bindings(aor: try Self.word(words, 1, "AOR"))
        default: throw Mistake(message: "there is no command \"\(words.first ?? "")\"; write wake, send or bindings")
        }
    }

    /// Reads a FastAGI request: the path names the command, the query or the arguments of AGI() fill it in
    /// (`agi://host/wake?aor=100&timeout=40`, or `AGI(agi://host/wake,100,40)`). A path that names none leaves it to the
    /// arguments, as a script does (`AGI(agi://host,wake,100,40)`, `AGI(agi://host/pushwake.agi,wake,100,40)`). With
    /// `pjsip_call_id` the channel need not be asked for it.
    init(request: String, arguments: [String]) throws(Mistake) {
        let path = request.firstRange(of: "://").map { String(request[$0.upperBound...]) } ?? request
        let script = path.firstIndex(of: "/").map { path[path.index(after: $0)...] } ?? ""
        let parts = script.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts.first.map { String($0.prefix { $0 != "/" }) } ?? ""
        guard parts.count > 1 else {
            let isLeftOpen =
                Self.parameters[name] == nil && arguments.first.flatMap { Self.parameters[Self.bare($0)] } != nil
            try self.init(arguments: isLeftOpen ? arguments : [name] + arguments)
            return
        }
        var values = Self.query(parts[1])
        // What the query leaves open the arguments say, in their order; commas of a text were taken for their ends.
        let open = (Self.parameters[name] ?? []).filter { values[$0] == nil }
        for (index, parameter) in open.enumerated() where index < arguments.count {
            values[parameter] = parameter == "text" ? arguments[index...].joined(separator: ",") : arguments[index]
        }
        let callID = values["pjsip_call_id"] ?? ""
        switch name {
        case "wake": self = try Self.wake(Self.value(values, "aor"), values["timeout"] ?? "", callID)
        case "send":
            self = try Self.send(
                Self.value(values, "event"), Self.value(values, "aor"), values["text"] ?? "", callID)
        case "bindings": self = .bindings(aor: try Self.value(values, "aor"))
        default: throw Mistake(message: "there is no script \"\(name)\"; write wake, send or bindings")
        }
    }

    private static let parameters = [
        "wake": ["aor", "timeout", "pjsip_call_id"], "send": ["event", "aor", "text"], "bindings": ["aor"],
    ]

    /// What a FastAGI request says as `token=`; empty when it says nothing.
    static func token(of request: String) -> String {
        guard let mark = request.firstIndex(of: "?") else { return "" }
        return query(request[request.index(after: mark)...])["token"] ?? ""
    }

    private static func wake(_ aor: String, _ timeout: String, _ callID: String) throws(Mistake) -> AGICommand {
        let (callID, timeout) = (try checked(bare(callID)), bare(timeout))
        if timeout.isEmpty { return .wake(aor: aor, seconds: 0, callID: callID) }
        guard let seconds = Int64(timeout), seconds > 0, seconds <= 3600 else {
            throw Mistake(message: "the timeout \"\(timeout)\" does not fit; write 1 to 3600 seconds")
        }
        return .wake(aor: aor, seconds: seconds, callID: callID)
    }

    private static func send(
        _ event: String, _ aor: String, _ text: String, _ callID: String = ""
    ) throws(Mistake) -> AGICommand {
        guard let known = PushEvent(name: event) else {
            throw Mistake(message: "there is no event \"\(event)\"; write one of \(PushEvent.names)")
        }
        return .send(known, aor: aor, text: text, callID: try checked(bare(callID)))
    }

    /// A Call-ID is one word (RFC 3261, 25.1); here any visible bytes are. A `+` that was not escaped has become a space.
    private static func checked(_ callID: String) throws(Mistake) -> String {
        guard callID.utf8.count <= longestCallID, callID.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            let shown = callID.prefix(80)
            throw Mistake(
                message: """
                    the pjsip_call_id "\(shown)" is not a Call-ID: one word of at most \(longestCallID) bytes; write \
                    ${CHANNEL(pjsip,call-id)}, in a URL ${URIENCODE(${CHANNEL(pjsip,call-id)})}
                    """)
        }
        return callID
    }

    /// Blanks around an argument mean nothing, as in Dial(100, 30); those of a text stay.
    private static func bare(_ word: String) -> String {
        var rest = Substring(word)
        while rest.first == " " { rest.removeFirst() }
        while rest.last == " " { rest.removeLast() }
        return String(rest)
    }

    private static func word(_ words: [String], _ index: Int, _ name: String) throws(Mistake) -> String {
        guard words.count > index, case let word = bare(words[index]), !word.isEmpty else {
            let usage = "wake AOR [TIMEOUT [CALL-ID]], send EVENT AOR [TEXT] or bindings AOR"
            throw Mistake(message: "\(name) is missing; write \(usage)")
        }
        return word
    }

    private static func value(_ values: [String: String], _ name: String) throws(Mistake) -> String {
        guard let value = values[name].map(bare), !value.isEmpty else {
            throw Mistake(message: "\(name) is missing; write agi://HOST/wake?aor=AOR&timeout=SECONDS")
        }
        return value
    }

    private static func query(_ text: Substring) -> [String: String] {
        var values: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            values[String(parts[0])] = parts.count > 1 ? unescaped(parts[1]) : ""
        }
        return values
    }

    /// Resolves `%XX`; what is not an escape stays.
    private static func unescaped(_ text: Substring) -> String {
        var out: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = rest.first.flatMap(Hex.value),
                let low = rest.dropFirst().first.flatMap(Hex.value)
            {
                out.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                out.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
