// SPDX-License-Identifier: MIT

/// A whole SIP message as text in a file or packet, split into its headers.
public struct SIPMessage: Sendable {
    /// Where name and value of one header are; folded lines belong to the value.
    public struct Header: Equatable, Sendable {
        /// Without the colon.
        public let name: Range<Int>
        /// Without blanks around it; line ends of folds still in it.
        public let value: Range<Int>
    }

    /// `REGISTER`, `INVITE`, …; empty for a response.
    public let method: String
    /// Where the Request-URI is; empty for a response.
    public let requestURI: Range<Int>
    /// In the order of the message.
    public private(set) var headers: [Header] = []
    /// Lines among the headers that are none: no colon, or no name.
    public private(set) var strayLines = 0
    /// What follows the empty line after the headers.
    public private(set) var body: Range<Int>

    /// Splits a message whose lines end in CRLF or LF; nil when the first line is not SIP.
    /// Headers past `SIPLimits.mostHeaders` are left out.
    public init?(_ bytes: Span<UInt8>) {
        var lines = Lines(bytes)
        lines.skipEmpty()
        guard let start = lines.next(), let (method, uri) = Self.startLine(bytes.part(start)) else { return nil }
        self.method = method
        requestURI = (start.lowerBound &+ uri.lowerBound)..<(start.lowerBound &+ uri.upperBound)
        body = bytes.count..<bytes.count
        while let line = lines.nextFolded(), !line.isEmpty {
            guard headers.count < SIPLimits.mostHeaders else { continue }
            var cursor = Cursor(bytes, in: line)
            let name = cursor.trimmingBlanks(cursor.skip(to: ASCII.colon))
            guard !name.isEmpty, cursor.take(ASCII.colon) else {
                strayLines &+= 1
                continue
            }
            cursor.skipBlanks()
            headers.append(Header(name: name, value: cursor.trimmingBlanks(cursor.position..<line.upperBound)))
        }
        body = lines.rest
    }

    private static func startLine(_ line: Span<UInt8>) -> (method: String, uri: Range<Int>)? {
        if line.startsIgnoringCase(with: "sip/2.0 ") { return ("", 0..<0) }
        var cursor = Cursor(line)
        let method = cursor.skip(while: ByteClass.token.contains)
        guard !method.isEmpty, cursor.take(ASCII.space) else { return nil }
        let uri = cursor.skip { $0 != ASCII.space }
        guard cursor.take(ASCII.space), line.part(cursor.position..<line.count).trimmed().equalsIgnoringCase("sip/2.0")
        else { return nil }
        return (line.text(method), uri)
    }
}

/// How much of a message is looked at. What is longer is a problem, not a reason to allocate.
public enum SIPLimits {
    /// Bytes of one header value that is read for push.
    public static let longestHeader = 8192
    /// Contacts of one REGISTER.
    public static let mostContacts = 32
    /// Problems that are reported of one REGISTER; later ones are dropped.
    public static let mostProblems = 16
    /// Bytes of a push token or subscription URL, escapes resolved.
    public static let longestToken = 4096
    /// Bytes of a bundle id, package or project.
    public static let longestApp = 255
    /// Bytes of one attribute of the phone, such as `pn-call-str`.
    public static let longestAttribute = 512
    /// Bytes of a name that is only kept to be shown or compared: instance, provider, Call-ID, user agent.
    public static let longestName = 512
    /// Headers of one message that the splitter gives out.
    public static let mostHeaders = 512
}
