// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// What a caller needs to know of one message from the PBX.
struct SIPReply {
    /// 0 for a request.
    let status: Int
    let reason: String
    /// Why it refuses: the text of a Warning (RFC 3261, 20.43), or of a Reason (RFC 3326); empty without one.
    let explanation: String
    /// Of a request; of CSeq for a reply.
    let method: String
    let cseq: UInt32
    let callID: String
    let to: String
    /// URI of the first Contact, without brackets; empty without one.
    let contact: String
    /// Values of Record-Route in the order of the message.
    let recordRoutes: [String]
    let challenges: [DigestChallenge]
    /// Lines that an answer to a request repeats: Via, From, To, Call-ID, CSeq.
    let repeated: [String]

    /// Nil for what is no SIP.
    init?(_ bytes: [UInt8]) {
        guard let message = SIPMessage(bytes.span) else { return nil }
        let line = String(decoding: bytes.drop { $0 == 13 || $0 == 10 }.prefix { $0 != 13 && $0 != 10 }, as: UTF8.self)
        let words = line.split(separator: " ", maxSplits: 2)
        var (to, callID, contact, method, cseq) = ("", "", "", message.method, UInt32(0))
        var explanation = ""
        var (routes, challenges, repeated): ([String], [DigestChallenge], [String]) = ([], [], [])
        for header in message.headers {
            let name = String(decoding: bytes[header.name], as: UTF8.self).lowercased()
            let value = String(decoding: bytes[header.value], as: UTF8.self)
            switch name {
            case "to", "t": to = value
            case "call-id", "i": callID = value
            case "contact", "m": if contact.isEmpty { contact = Self.uri(value) }
            case "warning", "reason":
                if explanation.isEmpty { explanation = Self.quoted(value) }
            case "record-route": routes += Self.list(value)
            case "www-authenticate", "proxy-authenticate":
                challenges += DigestChallenge.read(
                    bytes[header.value].span, isProxy: name == "proxy-authenticate")
            case "cseq":
                let parts = value.split(separator: " ")
                cseq = parts.first.flatMap { UInt32($0) } ?? 0
                if message.method.isEmpty { method = parts.count > 1 ? String(parts[1]) : "" }
            default: break
            }
            if ["via", "v", "from", "f", "to", "t", "call-id", "i", "cseq"].contains(name) {
                repeated.append("\(name): \(value)")
            }
        }
        status = message.method.isEmpty ? words.dropFirst().first.flatMap { Int($0) } ?? 0 : 0
        guard !message.method.isEmpty || (100..<700).contains(status) else { return nil }
        reason = words.count > 2 ? String(words[2]) : ""
        self.explanation = explanation
        (self.to, self.callID, self.contact, self.method, self.cseq) = (to, callID, contact, method, cseq)
        (recordRoutes, self.challenges, self.repeated) = (routes, challenges, repeated)
    }

    /// What stands between the first quotation marks; empty without two of them.
    private static func quoted(_ value: String) -> String {
        let parts = value.split(separator: "\"", maxSplits: 2, omittingEmptySubsequences: false)
        return parts.count == 3 ? String(parts[1]) : ""
    }

    /// What stands in angle brackets, or before parameters.
    private static func uri(_ value: String) -> String {
        if let open = value.firstIndex(of: "<"), let close = value[open...].firstIndex(of: ">") {
            return String(value[value.index(after: open)..<close])
        }
        return String(value.prefix { $0 != ";" && $0 != " " && $0 != "," })
    }

    /// Parts between commas outside of brackets.
    private static func list(_ value: String) -> [String] {
        var (parts, depth): ([String], Int) = ([""], 0)
        for character in value {
            if character == "<" { depth += 1 }
            if character == ">" { depth -= 1 }
            if character == ",", depth == 0 { parts.append("") } else { parts[parts.count - 1].append(character) }
        }
        return parts.map { String($0.drop { $0 == " " }) }.filter { !$0.isEmpty }
    }
}

/// Cuts a stream into SIP messages by Content-Length (RFC 3261, 18.3).
public struct SIPStream {
    private static let longest = 65_536
    private var bytes: [UInt8] = []

    public init() {}

    /// Takes what has come, and gives the messages that are complete; nil when it is no SIP.
    public mutating func feed(_ more: [UInt8]) -> [[UInt8]]? {
        bytes += more
        var messages: [[UInt8]] = []
        while true {
            // Keep-alives of RFC 5626.
            bytes = Array(bytes.drop { $0 == 13 || $0 == 10 })
            guard let end = headEnd() else { return bytes.count > Self.longest ? nil : messages }
            let start = Array(bytes[..<end])
            guard let head = SIPMessage(start.span), let length = length(head), length < Self.longest else {
                return nil
            }
            guard bytes.count >= end + length else { return messages }
            messages.append(Array(bytes[..<(end + length)]))
            bytes.removeFirst(end + length)
        }
    }

    private func headEnd() -> Int? {
        guard bytes.count >= 4 else { return nil }
        return (4...bytes.count).first {
            bytes[$0 - 4] == 13 && bytes[$0 - 3] == 10 && bytes[$0 - 2] == 13 && bytes[$0 - 1] == 10
        }
    }

    private func length(_ head: SIPMessage) -> Int? {
        for header in head.headers {
            let name = String(decoding: bytes[header.name], as: UTF8.self).lowercased()
            if name == "content-length" || name == "l" {
                return UInt16(String(decoding: bytes[header.value], as: UTF8.self)).map { Int($0) }
            }
        }
        return 0
    }
}
