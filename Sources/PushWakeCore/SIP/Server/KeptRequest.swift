// SPDX-License-Identifier: MIT

/// What a server keeps of a request so that it can answer it later (RFC 3261, 8.2.6).
public struct KeptRequest: Equatable, Sendable {
    /// Names the transaction of a request; ACK and CANCEL carry that of their INVITE (RFC 3261, 17.2.3).
    public struct Transaction: Hashable, Sendable {
        /// `branch` of the topmost Via.
        let branch: String
        /// Host and port of the topmost Via, in small letters.
        let sentBy: String
        let callID: String
        let cseq: UInt32
        /// ACK and CANCEL belong to an INVITE.
        let method: String

        public func hash(into hasher: inout Hasher) { hasher.combine(branch) }
    }

    /// As sent: `INVITE`.
    public let method: String
    /// Request-URI.
    public let uri: String
    public let callID: String
    public let fromTag: String
    /// Empty for a request outside of a dialog.
    public let toTag: String
    public let cseq: UInt32
    /// Value of the first Reason header that speaks of SIP, or of the first of all; empty for none (RFC 3326).
    public let reason: String
    public let transaction: Transaction
    /// The lines that each answer repeats, To aside.
    private let lines: [UInt8]
    /// Value of To.
    private let to: [UInt8]

    /// Reads a request; nil for a response, and for bytes that nobody could answer.
    public init?(_ bytes: Span<UInt8>) {
        guard let message = SIPMessage(bytes), !message.method.isEmpty else { return nil }
        var (lines, to, reason, via): ([UInt8], [UInt8], String, Via?) = ([], [], "", nil)
        var (callID, fromTag, toTag, cseq) = ("", "", "", UInt32?.none)
        for header in message.headers {
            guard let name = AnswerHeader(bytes.part(header.name)) else { continue }
            let value = HeaderFolding.unfold(bytes.part(header.value))
            // What is no fold ends a header in the answer as well.
            guard !value.span.hasLineEnd else { return nil }
            switch name {
            case .via: via = via ?? Via(value.span)
            case .from: fromTag = NameAddress(value.span)?.tag ?? ""
            case .to:
                to = value
                toTag = NameAddress(value.span)?.tag ?? ""
            case .callID: callID = value.span.text()
            case .cseq: cseq = Self.number(value.span, of: message.method)
            case .reason:
                let text = value.span.text()
                if reason.isEmpty || text.lowercased().hasPrefix("sip") { reason = text }
            }
            if name != .to, name != .reason { Self.append(name.text, value, to: &lines) }
        }
        guard let via, let cseq, !callID.isEmpty, !fromTag.isEmpty, !to.isEmpty else { return nil }
        (method, uri) = (message.method, bytes.text(message.requestURI))
        (self.callID, self.fromTag, self.toTag, self.cseq) = (callID, fromTag, toTag, cseq)
        (self.lines, self.to, self.reason) = (lines, to, reason)
        transaction = Transaction(
            branch: via.branch, sentBy: via.sentBy, callID: callID, cseq: cseq,
            method: method == "ACK" || method == "CANCEL" ? "INVITE" : method)
    }

    /// An answer to it. `tag` goes into a To that has none; 100 has none either. `headers` must be free of line ends.
    public func answer(
        _ status: Int, tag: String, headers: [(name: String, value: String)] = []
    ) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(lines.count + to.count + 128)
        out += "SIP/2.0 \(status) \(Self.phrase(status))\r\n".utf8
        out += lines
        Self.append("To", toTag.isEmpty && status > 100 ? to + Array(";tag=\(tag)".utf8) : to, to: &out)
        for header in headers { Self.append(header.name, Array(header.value.utf8), to: &out) }
        out += "Content-Length: 0\r\n\r\n".utf8
        return out
    }

    private static func append(_ name: String, _ value: [UInt8], to out: inout [UInt8]) {
        out += name.utf8
        out += [ASCII.colon, ASCII.space]
        out += value
        out += [ASCII.carriageReturn, ASCII.lineFeed]
    }

    /// The number of a CSeq of this method.
    private static func number(_ value: Span<UInt8>, of method: String) -> UInt32? {
        var cursor = Cursor(value)
        let digits = cursor.skip { !ASCII.isBlank($0) }
        cursor.skipBlanks()
        guard value.part(cursor.position..<value.count).trimmed().equals(method) else { return nil }
        return value.part(digits).decimal()
    }

    private static func phrase(_ status: Int) -> String {
        switch status {
        case 100: "Trying"
        case 110: "Push Sent"
        case 180: "Ringing"
        case 182: "Queued"
        case 183: "Session Progress"
        case 200: "OK"
        case 202: "Accepted"
        case 302: "Moved Temporarily"
        case 404: "Not Found"
        case 408: "Request Timeout"
        case 480: "Temporarily Unavailable"
        case 481: "Call/Transaction Does Not Exist"
        case 486: "Busy Here"
        case 487: "Request Terminated"
        case 503: "Service Unavailable"
        case 504: "Server Time-out"
        case 600: "Busy Everywhere"
        case 603: "Decline"
        default: status < 200 ? "Progress" : status < 300 ? "OK" : "Failed"
        }
    }
}

/// The parts of a Via that name a transaction.
private struct Via {
    let sentBy: String
    let branch: String

    /// Reads the first of a list; nil when it has no branch, as of servers before RFC 3261.
    init?(_ value: Span<UInt8>) {
        var cursor = Cursor(value)
        let first = cursor.skip { $0 != ASCII.comma }
        cursor = Cursor(value, in: first)
        cursor.skip { !ASCII.isBlank($0) }
        cursor.skipBlanks()
        let sentBy = cursor.skip { $0 != ASCII.semicolon && !ASCII.isBlank($0) }
        var parameters = ParameterCursor(value, in: cursor.position..<first.upperBound, of: .header)
        while let parameter = parameters.next() {
            guard value.part(parameter.name).equalsIgnoringCase("branch") else { continue }
            let branch = value.text(parameter.value)
            guard !branch.isEmpty, !sentBy.isEmpty else { return nil }
            (self.sentBy, self.branch) = (value.text(sentBy).lowercased(), branch)
            return
        }
        return nil
    }
}

/// Headers that a server reads or repeats when it answers.
private enum AnswerHeader {
    case via, from, to, callID, cseq, reason

    /// Recognises a name in any case, compact forms too.
    init?(_ name: Span<UInt8>) {
        switch name.count {
        case 1:
            switch ASCII.lowercased(name[0]) {
            case UInt8(ascii: "v"): self = .via
            case UInt8(ascii: "f"): self = .from
            case UInt8(ascii: "t"): self = .to
            case UInt8(ascii: "i"): self = .callID
            default: return nil
            }
        case 2 where name.equalsIgnoringCase("to"): self = .to
        case 3 where name.equalsIgnoringCase("via"): self = .via
        case 4 where name.equalsIgnoringCase("from"): self = .from
        case 4 where name.equalsIgnoringCase("cseq"): self = .cseq
        case 6 where name.equalsIgnoringCase("reason"): self = .reason
        case 7 where name.equalsIgnoringCase("call-id"): self = .callID
        default: return nil
        }
    }

    var text: String {
        switch self {
        case .via: "Via"
        case .from: "From"
        case .to: "To"
        case .callID: "Call-ID"
        case .cseq: "CSeq"
        case .reason: "Reason"
        }
    }
}

extension Span<UInt8> {
    /// Whether a header that has this value would end before it does.
    fileprivate var hasLineEnd: Bool {
        contains { $0 == ASCII.carriageReturn || $0 == ASCII.lineFeed || $0 == 0 }
    }
}
