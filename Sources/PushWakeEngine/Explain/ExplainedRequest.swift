// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// A SIP request out of a file: what it is about, and whether it wakes phones at all.
struct ExplainedRequest {
    /// What the request is to phones that sleep.
    enum Need: Equatable {
        /// It wakes them with this event.
        case push(PushEvent, PushOccasion = .usual)
        /// It wakes nobody, and why.
        case none(String)
    }

    let need: Need
    /// What the Reason header says about the end of a call (RFC 3326).
    let ending: CallEnding
    let callID: String
    let fromURI: String
    let fromDisplay: String
    let toURI: String
    /// Body of a text message; empty for any other.
    let text: String

    /// Longest text taken from a body, in bytes; a payload holds less.
    private static let longestText = 65_536

    /// Reads a request whose lines end in CRLF or LF; nil when the bytes are no SIP request.
    init?(_ bytes: [UInt8]) {
        guard let message = SIPMessage(bytes.span), !message.method.isEmpty else { return nil }
        let file = RequestFile(bytes: bytes, message: message)
        let from = file.address("from", "f")
        let to = file.address("to", "t")
        let type = file.contentType
        callID = file.text("call-id", "i")
        fromURI = from?.uri ?? ""
        fromDisplay = from?.displayName ?? ""
        toURI = to?.uri ?? ""
        let isText = message.method == "MESSAGE" && MessageBody(contentType: type) == .text
        text = isText ? file.body(atMost: Self.longestText) : ""
        ending = CallEnding(reason: file.text("reason"))
        need = Self.need(of: file, type, ending, isInDialog: to?.hasTag ?? false)
    }

    private static func need(of file: RequestFile, _ type: String, _ ending: CallEnding, isInDialog: Bool) -> Need {
        // RFC 8599, 6.1.2: inside a dialog only a phone that is addressed by its PURR is woken.
        if isInDialog && !file.isAddressedByPURR {
            return .none("the request is inside a dialog and its Request-URI has no pn-purr")
        }
        if file.text("priority").lowercased() == "non-urgent" { return .none("the request is non-urgent") }
        if file.text("x-fs-message-type").lowercased() == "chat-service" {
            return .none("the request is for the chat service, not for its user")
        }
        switch file.message.method {
        case "INVITE":
            if file.has("replaces") { return .none("the INVITE replaces a call that is answered already") }
            return .push(MessageBody.isInvitationToGroup(type) ? .groupChat : .call)
        case "MESSAGE":
            if case .notice(let reason) = MessageBody(contentType: type) { return .none(reason) }
            return .push(.chat)
        case "REFER": return .push(.custom, .otherRequest)
        case "NOTIFY":
            let package = file.text("event", "o").lowercased().prefix { $0 != ";" && $0 != " " }
            guard package == "message-summary" else { return .none("a NOTIFY wakes a phone only for message-summary") }
            if file.saysNoMessageWaits { return .none("the NOTIFY says that no message waits") }
            return .push(.custom, .messageWaiting)
        case "CANCEL":
            // Somebody rang: phones that were pushed and have not come hear how it ended.
            guard file.has("reason") else { return .none("CANCEL wakes no phone") }
            return .push(ending.event, ending.occasion)
        case let method: return .none("\(method) wakes no phone")
        }
    }
}

/// The bytes of a request and where its headers are.
private struct RequestFile {
    let bytes: [UInt8]
    let message: SIPMessage

    /// The first header of a name, or of its compact form, in one line; empty when there is none.
    func text(_ name: String, _ compact: String? = nil) -> String {
        guard let range = value(name, compact) else { return "" }
        let line = bytes[range].filter { $0 != 0x0D && $0 != 0x0A }
        return String(decoding: line, as: UTF8.self)
    }

    func has(_ name: String) -> Bool { value(name, nil) != nil }

    func address(_ name: String, _ compact: String) -> NameAddress? {
        guard let range = value(name, compact) else { return nil }
        let value = Array(bytes[range])
        return NameAddress(value.span)
    }

    /// Empty when not said.
    var contentType: String { text("content-type", "c") }

    var isAddressedByPURR: Bool {
        String(decoding: bytes[message.requestURI], as: UTF8.self).lowercased().contains(";pn-purr=")
    }

    /// `Messages-Waiting: no` in the body (RFC 3842, 3.5): the mailbox was emptied.
    var saysNoMessageWaits: Bool {
        body(atMost: 4096).lowercased().split(whereSeparator: \.isNewline).contains { line in
            line.filter { $0 != " " && $0 != "\t" } == "messages-waiting:no"
        }
    }

    /// As long as Content-Length says, or to the end of the file.
    func body(atMost limit: Int) -> String {
        let stated = Int(text("content-length", "l")).flatMap { $0 >= 0 ? $0 : nil } ?? Int.max
        return String(decoding: bytes[message.body].prefix(min(limit, stated)), as: UTF8.self)
    }

    private func value(_ name: String, _ compact: String?) -> Range<Int>? {
        message.headers.first { header in
            let found = String(decoding: bytes[header.name], as: UTF8.self).lowercased()
            return found == name || found == compact
        }?.value
    }
}
