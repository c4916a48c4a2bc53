// SPDX-License-Identifier: MIT

/// What a request to a user says, as far as it decides whom it wakes and what their phones are told.
public struct IncomingRequest: Equatable, Sendable {
    /// As sent: `INVITE`.
    public var method: String
    /// To has a tag (RFC 3261, 12.2).
    public var isInDialog = false
    /// `pn-purr` of the Request-URI or of a Route, as sent and not checked; empty when there is none (RFC 8599, 6.2.3).
    public var purr = ""
    /// The INVITE takes the place of a call (RFC 3891).
    public var replacesCall = false
    /// `Priority: non-urgent` (RFC 3261, 20.26).
    public var isNonUrgent = false
    /// Flexisip's `X-fs-message-type: chat-service`: for its chat server, not for the user.
    public var isForChatService = false
    /// Event, without its parameters, in lower case (RFC 6665, 8.2.1).
    public var eventPackage = ""
    /// Content-Type as sent; empty when not said. Of a MESSAGE in CPIM or of several parts that of what its user reads.
    public var contentType = ""
    /// `Messages-Waiting: no` in the body (RFC 3842, 3.5): the mailbox was emptied.
    public var saysNoMessageWaits = false
    /// How the call ended, where a Reason says it (RFC 3326).
    public var end: CallEnd?
    public var callID = ""
    /// `sip:alice@example.com`; that of nobody for a caller who does not want to be named.
    public var fromURI = ""
    /// Quotes and backslashes resolved.
    public var fromDisplay = ""
    /// From as it came, where `fromURI` is another one: limits tell callers apart by it, and nobody is shown it.
    public var callerKey = ""
    /// Tag of From, as sent.
    public var fromTag = ""
    public var toURI = ""
    /// The text of a message, or the `Voice-Message` of a mailbox: new and old ones, `2/8 (0/2)`.
    public var text = ""
    /// The INVITE offers video (RFC 8866, 5.14).
    public var offersVideo = false
    /// `Require: 100rel`: nobody may answer it provisionally without RSeq (RFC 3262, 3), which a proxy has no means for.
    public var requiresReliableAnswers = false

    /// Knows nothing but the method.
    public init(method: String) { self.method = method }

    /// The PURR, where it names the phone that the request is for; empty for a new request, which is for the user, whatever
    /// its URI was copied from (RFC 8599, 6.2.3 speaks of dialogs).
    public var namingPURR: String { isInDialog || replacesCall ? purr : "" }
}

extension IncomingRequest {
    /// Reads a request whose lines end in CRLF or LF; nil when the bytes are no SIP request.
    public init?(file bytes: Span<UInt8>) {
        guard let message = SIPMessage(bytes), !message.method.isEmpty else { return nil }
        var reader = RequestReader(method: message.method.utf8.span, uri: bytes.part(message.requestURI))
        for header in message.headers {
            reader.header(name: bytes.part(header.name), value: bytes.part(header.value))
        }
        reader.body(bytes.part(message.body))
        self = reader.finish()
    }
}

/// What the body of a MESSAGE is to a phone that sleeps.
public enum MessageBody: Equatable, Sendable {
    /// Text that its user reads.
    case text
    /// Something else that its user waits for: a file, a container.
    case other
    /// Nothing that a user waits for, and why nobody is woken.
    case notice(String)

    /// Decides by the value of Content-Type; without one it is text.
    public init(contentType: String) {
        let type = Self.mediaType(of: contentType)
        switch type {
        // RFC 3994
        case "application/im-iscomposing+xml": self = .notice("the MESSAGE only says that somebody is typing")
        // RFC 5438
        case "message/imdn+xml": self = .notice("the MESSAGE only says that another one arrived")
        default: self = type.isEmpty || type.hasPrefix("text/") ? .text : .other
        }
    }

    /// True for the Content-Type of an INVITE that brings its user into a chat room, with the list of its members
    /// (RFC 5366).
    public static func isInvitationToGroup(_ contentType: String) -> Bool {
        let wanted = "application/resource-lists+xml"
        return contentType.utf8.count >= wanted.utf8.count && mediaType(of: contentType) == wanted
    }

    /// True for text without markup, which is what a content is whose type is not said (RFC 2045, 5.2).
    static func isPlainText(_ contentType: String) -> Bool {
        let type = mediaType(of: contentType)
        return type.isEmpty || type == "text/plain"
    }

    /// A parameter's value without its quotes; nil when there is none of the name.
    static func parameter(_ name: String, of contentType: String) -> String? {
        let bytes = contentType.utf8.span
        var cursor = Cursor(bytes)
        cursor.skip(to: ASCII.semicolon)
        var parameters = ParameterCursor(bytes, in: cursor.position..<bytes.count, of: .header)
        while let parameter = parameters.next() {
            guard bytes.part(parameter.name).equalsIgnoringCase(name) else { continue }
            return bytes.part(parameter.value).text()
        }
        return nil
    }

    /// The type in lower case and without parameters.
    static func mediaType(of contentType: String) -> String {
        let type = contentType.utf8.prefix { $0 != UInt8(ascii: ";") }.filter { $0 != 0x20 && $0 != 0x09 }
        return String(decoding: type, as: UTF8.self).lowercased()
    }
}

/// Reads a request header by header, in any order, and then its body.
///
///     var reader = RequestReader(method: method, uri: uri)
///     for each header { reader.header(name: name, value: value) }
///     reader.body(bytes)
///     let request = reader.finish()
///
/// Headers are raw: names may be compact, lines folded, and any bytes are allowed; spans are borrowed for the call only.
/// The first header of a name counts, except of Route, Require and Reason. What makes no sense is as if it were not there.
public struct RequestReader: ~Copyable {
    private var request: IncomingRequest
    /// A bit for each header.
    private var seen: UInt16 = 0
    private var contentLength = Int.max
    /// Content-Encoding; empty when there is none.
    private var codings = ""
    private var reasons = ""
    private var isWithheld = false
    /// From as it came, where phones get another one.
    private var ownURI: String?

    /// Longest text that is taken from a body, in bytes; a payload holds less.
    private static let longestText = 65_536
    /// Bytes in which a message summary says what it has to say.
    private static let longestSummary = 4096

    /// Begins a request; `uri` is its Request-URI.
    public init(method: Span<UInt8>, uri: Span<UInt8>) {
        request = IncomingRequest(method: method.part(0..<SIPLimits.longestName).text())
        request.purr = Self.purr(in: uri)
    }

    /// Whether a header of this name tells this reader anything.
    public static func reads(_ name: Span<UInt8>) -> Bool { RequestHeader(name) != nil }

    /// Takes one header.
    public mutating func header(name: Span<UInt8>, value: Span<UInt8>) {
        guard let known = RequestHeader(name), value.count <= SIPLimits.longestHeader,
            seen & known.bit == 0 || known.isList
        else { return }
        seen |= known.bit
        if value.hasControls(), HeaderFolding.isPresent(in: value) {
            let line = HeaderFolding.unfold(value)
            take(known, line.span.trimmed())
        } else {
            take(known, value.trimmed())
        }
    }

    /// Takes header lines as phones get them, after all headers: From and Privacy of them count, none that came.
    public mutating func shown(_ text: Span<UInt8>) {
        ownURI = request.fromURI
        (request.fromURI, request.fromDisplay, isWithheld) = ("", "", false)
        seen &= ~(RequestHeader.from.bit | RequestHeader.privacy.bit)
        var lines = Lines(text)
        while let line = lines.nextFolded() {
            var cursor = Cursor(text, in: line)
            let name = text.part(cursor.trimmingBlanks(cursor.skip(to: ASCII.colon)))
            guard cursor.take(ASCII.colon), let known = RequestHeader(name), known == .from || known == .privacy else {
                continue
            }
            header(name: name, value: text.part(cursor.position..<cursor.end))
        }
    }

    /// Takes the body, after all headers; what Content-Length leaves out is none of it. One that cannot be decoded says
    /// nothing.
    public mutating func body(_ bytes: Span<UInt8>) {
        let body = bytes.part(0..<contentLength)
        guard !codings.isEmpty else { return read(body) }
        if let plain = ContentCoding.decode(body, codings) { read(plain.span) }
    }

    private mutating func read(_ body: Span<UInt8>) {
        switch request.method {
        case "MESSAGE": readMessage(body.part(0..<Self.longestText))
        case "INVITE":
            request.offersVideo = SessionOffer.hasVideo(
                body.part(0..<Self.longestText), contentType: request.contentType)
        case "NOTIFY" where request.eventPackage == RequestPolicy.mailboxPackage:
            readSummary(body.part(0..<Self.longestSummary))
        default: break
        }
    }

    /// Ends the reading.
    public consuming func finish() -> IncomingRequest {
        let own = ownURI ?? request.fromURI
        let shown = CallerIdentity(
            uri: request.fromURI, displayName: request.fromDisplay, isWithheld: isWithheld)
        (request.fromURI, request.fromDisplay) = (shown.uri, shown.displayName)
        if !shown.uri.isSameBytes(as: own) { request.callerKey = own }
        if !reasons.isEmpty { request.end = CallEnd(cancelReason: reasons) }
        return request
    }
}

extension RequestReader {
    private mutating func take(_ name: RequestHeader, _ value: Span<UInt8>) {
        switch name {
        case .from:
            guard let address = NameAddress(value) else { return }
            (request.fromURI, request.fromDisplay) = (address.uri, address.displayName)
            request.fromTag = address.tag
        case .to:
            guard let address = NameAddress(value) else { return }
            (request.toURI, request.isInDialog) = (address.uri, address.hasTag)
        case .callID: request.callID = value.text()
        case .contentType: request.contentType = value.text()
        // Several are one list, in the order in which they were applied (RFC 3261, 20.12).
        case .contentEncoding: codings += (codings.isEmpty ? "" : ",") + value.text()
        case .privacy: isWithheld = isWithheld || CallerPrivacy.withholds(value)
        case .contentLength: contentLength = value.decimal().map { Int($0) } ?? Int.max
        case .event: request.eventPackage = Self.word(value)
        case .priority: request.isNonUrgent = value.equalsIgnoringCase("non-urgent")
        case .messageType: request.isForChatService = value.equalsIgnoringCase("chat-service")
        case .replaces: request.replacesCall = true
        case .require: if Self.list(value, has: "100rel") { request.requiresReliableAnswers = true }
        // Several are one list (RFC 3261, 7.3.1), and only one of its values is SIP's (RFC 3326).
        case .reason: reasons += (reasons.isEmpty ? "" : ",") + value.text()
        case .route: if request.purr.isEmpty { request.purr = Self.purr(inRoute: value) }
        }
    }

    private mutating func readMessage(_ body: Span<UInt8>) {
        let content = MessageContent(body, contentType: request.contentType)
        request.contentType = content.type
        request.text = content.text(in: body)
    }

    /// The lines of a message summary look like headers (RFC 3842, 5).
    private mutating func readSummary(_ body: Span<UInt8>) {
        var lines = Cursor(body)
        while !lines.isAtEnd {
            var line = Cursor(body, in: lines.skip(to: ASCII.lineFeed))
            lines.advance()
            let name = body.part(line.trimmingBlanks(line.skip(to: ASCII.colon)))
            guard line.take(ASCII.colon) else { continue }
            let value = body.part(line.position..<line.end).trimmed()
            if name.equalsIgnoringCase("messages-waiting") {
                request.saysNoMessageWaits = value.equalsIgnoringCase("no")
            } else if name.equalsIgnoringCase("voice-message"), request.text.isEmpty {
                request.text = value.part(0..<SIPLimits.longestName).text()
            }
        }
    }

    /// In lower case, up to the first parameter.
    private static func word(_ value: Span<UInt8>) -> String {
        var cursor = Cursor(value)
        return value.text(cursor.skip { $0 != ASCII.semicolon && !ASCII.isBlank($0) }).lowercased()
    }

    /// Whether one of several words between commas is `word`, in any case.
    private static func list(_ value: Span<UInt8>, has word: String) -> Bool {
        var words = Cursor(value)
        while !words.isAtEnd {
            let next = value.part(words.skip(to: ASCII.comma))
            if next.trimmed().equalsIgnoringCase(word) { return true }
            words.advance()
        }
        return false
    }

    private static func purr(in uri: Span<UInt8>) -> String {
        let parts = SIPURI(uri, in: 0..<uri.count)
        var parameters = ParameterCursor(uri, in: parts.parameters, of: .uri)
        while let parameter = parameters.next() {
            guard uri.part(parameter.name).equalsIgnoringCase(PushParameterName.purr.rawValue) else { continue }
            let value = uri.part(parameter.value)
            guard value.count <= SIPLimits.longestName, let text = try? PercentDecoding.decode(value) else { return "" }
            return text
        }
        return ""
    }

    /// Route has the same form as Contact: a list of URIs in angle brackets.
    private static func purr(inRoute value: Span<UInt8>) -> String {
        var routes = ContactCursor(value)
        while let route = try? routes.next() {
            let found = purr(in: value.part(route.uri))
            if !found.isEmpty { return found }
        }
        return ""
    }
}

/// Headers of a request that decide whom it wakes, or that phones are told of.
private enum RequestHeader: UInt16 {
    case from, to, callID, contentType, contentLength, event, priority, messageType, replaces, reason, require, route
    case contentEncoding, privacy

    /// Several headers of the name are one list, and all of them count.
    var isList: Bool {
        switch self {
        case .route, .require, .reason, .contentEncoding, .privacy: true
        default: false
        }
    }

    var bit: UInt16 { 1 << rawValue }

    /// Recognises a name in any case, compact forms too (RFC 3261, 7.3.3; RFC 6665, 8.2.1); nil for all others.
    init?(_ name: Span<UInt8>) {
        switch name.count {
        case 1: self.init(compact: ASCII.lowercased(name[0]))
        case 2 where name.equalsIgnoringCase("to"): self = .to
        case 4 where name.equalsIgnoringCase("from"): self = .from
        case 5 where name.equalsIgnoringCase("event"): self = .event
        case 5 where name.equalsIgnoringCase("route"): self = .route
        case 6 where name.equalsIgnoringCase("reason"): self = .reason
        case 7 where name.equalsIgnoringCase("call-id"): self = .callID
        case 7 where name.equalsIgnoringCase("require"): self = .require
        case 7 where name.equalsIgnoringCase("privacy"): self = .privacy
        case 8 where name.equalsIgnoringCase("priority"): self = .priority
        case 8 where name.equalsIgnoringCase("replaces"): self = .replaces
        case 12 where name.equalsIgnoringCase("content-type"): self = .contentType
        case 14 where name.equalsIgnoringCase("content-length"): self = .contentLength
        case 16 where name.equalsIgnoringCase("content-encoding"): self = .contentEncoding
        case 17 where name.equalsIgnoringCase("x-fs-message-type"): self = .messageType
        default: return nil
        }
    }

    private init?(compact letter: UInt8) {
        switch letter {
        case UInt8(ascii: "f"): self = .from
        case UInt8(ascii: "t"): self = .to
        case UInt8(ascii: "i"): self = .callID
        case UInt8(ascii: "c"): self = .contentType
        case UInt8(ascii: "e"): self = .contentEncoding
        case UInt8(ascii: "l"): self = .contentLength
        case UInt8(ascii: "o"): self = .event
        default: return nil
        }
    }
}
