// SPDX-License-Identifier: MIT

/// What a SIP server said to a REGISTER of the gateway.
public struct UpstreamAnswer: Equatable, Sendable {
    /// 408 also when nothing came in time.
    public var status: Int
    public var reason: String
    /// All that can be answered with a hash, in order.
    public var challenges: [DigestChallenge] = []
    /// Challenges, Service-Route, where a 3xx leads and what explains a refusal as they came, for the phone: whole lines
    /// without their end.
    public var passedHeaders: [String] = []
    /// Expires of the gateway's own Contact, or of the header; nil when neither says.
    public var expires: UInt32?
    /// `Min-Expires` of a 423.
    public var minExpires: UInt32?
    /// `Retry-After`, seconds.
    public var retryAfter: UInt32?
    /// Nothing came, and the status is the host's own.
    public var isSilence = false

    /// An answer without headers.
    public init(status: Int, reason: String = "") {
        self.status = status
        self.reason = reason
    }
}

/// Reads an answer header by header.
public struct UpstreamAnswerReader: ~Copyable {
    private var answer: UpstreamAnswer
    private let contactName: String
    private var header: UInt32?
    private var listsOwn = false
    /// The least that another Contact has left.
    private var leastOfOthers: UInt32?
    private static let mostPassed = 16
    private static let longestPassed = 2048

    /// `contactName` is the user part of the gateway's Contact: a 200 lists the Contacts of others too. Where none has that
    /// name, the server writes it otherwise, and it is one of them.
    public init(status: Int, reason: String, contactName: String) {
        answer = UpstreamAnswer(status: status, reason: reason)
        self.contactName = contactName
    }

    /// Whether a header of this name tells this reader anything.
    public static func reads(_ name: Span<UInt8>) -> Bool {
        [
            "www-authenticate", "proxy-authenticate", "service-route", "contact", "m", "expires", "min-expires",
            "retry-after", "unsupported", "warning",
        ].contains { name.equalsIgnoringCase($0) }
    }

    /// Takes one header.
    public mutating func header(name: Span<UInt8>, value raw: Span<UInt8>) {
        guard raw.count <= SIPLimits.longestHeader else { return }
        let line = HeaderFolding.isPresent(in: raw) ? HeaderFolding.unfold(raw) : []
        let value = line.isEmpty ? raw.trimmed() : line.span.trimmed()
        switch name.count {
        case 16 where name.equalsIgnoringCase("www-authenticate"):
            answer.challenges += DigestChallenge.read(value, isProxy: false)
            pass("WWW-Authenticate", value)
        case 18 where name.equalsIgnoringCase("proxy-authenticate"):
            answer.challenges += DigestChallenge.read(value, isProxy: true)
            pass("Proxy-Authenticate", value)
        case 13 where name.equalsIgnoringCase("service-route"): pass("Service-Route", value)
        case 7 where name.equalsIgnoringCase("contact"), 1 where name.equalsIgnoringCase("m"): contacts(value)
        case 7 where name.equalsIgnoringCase("expires"): header = value.decimal()
        case 7 where name.equalsIgnoringCase("warning"): pass("Warning", value)
        case 11 where name.equalsIgnoringCase("unsupported"): pass("Unsupported", value)
        case 11 where name.equalsIgnoringCase("min-expires"):
            answer.minExpires = value.decimal()
            pass("Min-Expires", value)
        case 11 where name.equalsIgnoringCase("retry-after"):
            pass("Retry-After", value)
            var cursor = Cursor(value)
            answer.retryAfter = value.part(cursor.skip(while: ByteClass.digit.contains)).decimal()
        default: break
        }
    }

    /// Ends the reading.
    public consuming func finish() -> UpstreamAnswer {
        if answer.expires == nil { answer.expires = (listsOwn ? nil : leastOfOthers) ?? header }
        return answer
    }

    private mutating func pass(_ name: String, _ value: Span<UInt8>) {
        guard answer.passedHeaders.count < Self.mostPassed, value.count <= Self.longestPassed,
            !value.contains(where: { ASCII.isControl($0) })
        else { return }
        answer.passedHeaders.append("\(name): \(value.text())")
    }

    private mutating func contacts(_ value: Span<UInt8>) {
        // Where the phone is to register instead (RFC 3261, 21.3).
        if (300...399).contains(answer.status) { return pass("Contact", value) }
        var cursor = ContactCursor(value)
        while let element = try? cursor.next() {
            let expires = Self.expires(value, in: element.parameters)
            if value.text(SIPURI(value, in: element.uri).user) == contactName {
                listsOwn = true
                answer.expires = expires ?? answer.expires
            } else if let expires, expires > 0 {
                leastOfOthers = min(expires, leastOfOthers ?? .max)
            }
        }
    }

    private static func expires(_ value: Span<UInt8>, in parameters: Range<Int>) -> UInt32? {
        var cursor = ParameterCursor(value, in: parameters, of: .header)
        var found: UInt32?
        while let parameter = cursor.next() {
            guard value.part(parameter.name).equalsIgnoringCase("expires") else { continue }
            found = value.part(parameter.value).decimal() ?? found
        }
        return found
    }
}

/// Header lines of a phone that go to its server.
public enum HeaderLine {
    private static let longest = 4096

    /// Authorization or Proxy-Authorization as a whole line without its end; nil for all other headers, and for one that
    /// would be more than a line.
    public static func authorization(name: Span<UInt8>, value raw: Span<UInt8>) -> String? {
        let label: String
        switch name.count {
        case 13 where name.equalsIgnoringCase("authorization"): label = "Authorization"
        case 19 where name.equalsIgnoringCase("proxy-authorization"): label = "Proxy-Authorization"
        default: return nil
        }
        guard raw.count <= longest else { return nil }
        let line = HeaderFolding.isPresent(in: raw) ? HeaderFolding.unfold(raw) : []
        let value = line.isEmpty ? raw.trimmed() : line.span.trimmed()
        guard value.count > 0, !value.contains(where: { ASCII.isControl($0) }) else { return nil }
        return "\(label): \(value.text())"
    }
}
