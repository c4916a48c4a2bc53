// SPDX-License-Identifier: MIT

/// What the body of a MESSAGE has for its user, whatever it is packed in: CPIM (RFC 3862) tells nothing but how to pack it,
/// RFC 5438 sends a notice in nothing else, and a body of several parts (RFC 2046, 5.1) may have a text beside a picture.
package struct MessageContent {
    /// Content-Type of what is packed. Of several parts that of the first plain text; that of a notice where nothing but
    /// notices is packed; else of the whole.
    package private(set) var type: String
    /// The bytes of a text; nil when there is none that can be shown as it is.
    private(set) var text: Range<Int>?

    /// Text whose markup nobody wants to read on a lock screen.
    private static let markup = "text/html"
    /// Bytes that are taken of a text: what the largest payload of a push service has room for (`APNsPushType`). Requests are
    /// kept for a while, and a MESSAGE may have 64 kB.
    static let longestText = 5120
    /// How deep a part is looked for within parts.
    private static let deepest = 4
    /// Parts of one body that are looked at.
    private static let mostParts = 32

    /// Looks into a body of this Content-Type.
    package init(_ body: Span<UInt8>, contentType: String) {
        self.init(body, in: 0..<body.count, contentType: contentType, isPlain: true, depth: 0)
    }

    /// What a host has read of a request itself: of a chat the body, of anything else what is to be shown as it is.
    /// `codings` is its Content-Encoding; a body that cannot be decoded has no text.
    package static func shown(
        of given: Span<UInt8>, contentType: String, codings: String, _ event: PushEvent?
    ) -> (type: String, text: String) {
        guard event == .chat else { return (contentType, beginning(of: given.text())) }
        guard codings.isEmpty else {
            guard let plain = ContentCoding.decode(given, codings) else { return (contentType, "") }
            return shown(of: plain.span, contentType: contentType, codings: "", event)
        }
        let content = Self(given, contentType: contentType)
        return (content.type, content.text(in: given))
    }

    /// The text of that body, or its beginning; empty when there is none that can be shown.
    package func text(in body: Span<UInt8>) -> String {
        guard let text else { return "" }
        return Self.beginning(of: MessageCharset(contentType: type).text(of: body.part(text)))
    }

    /// A text, or as many of its characters as there is room for. One that is longer than that is cut.
    private static func beginning(of text: String) -> String {
        guard text.utf8.count > longestText else { return text }
        let most = text.utf8.index(text.startIndex, offsetBy: longestText)
        let end = text.index(before: text.index(after: most))
        if end > text.startIndex { return String(text[..<end]) }
        let scalars = text.unicodeScalars
        return String(text[..<scalars.index(before: scalars.index(after: most))])
    }

    private init(_ body: Span<UInt8>, in range: Range<Int>, contentType: String, isPlain: Bool, depth: Int) {
        type = contentType
        let mediaType = MessageBody.mediaType(of: contentType)
        let isPacked = isPlain && depth < Self.deepest
        if isPacked, mediaType == "message/cpim" {
            if let part = MessagePart(cpim: body, in: range) { self = Self(body, part, depth: depth &+ 1) }
        } else if isPacked, mediaType.hasPrefix("multipart/") {
            readParts(body, in: range, depth: depth &+ 1)
        } else if isPlain, MessageBody(contentType: contentType) == .text, mediaType != Self.markup {
            text = range
        }
    }

    private init(_ body: Span<UInt8>, _ part: MessagePart, depth: Int) {
        self.init(body, in: part.content, contentType: part.contentType, isPlain: part.isPlain, depth: depth)
    }

    private mutating func readParts(_ body: Span<UInt8>, in range: Range<Int>, depth: Int) {
        guard var parts = PartCursor(body, in: range, contentType: type) else { return }
        var notice: String?
        var isNothingElse = true
        for _ in 0..<Self.mostParts {
            guard let next = parts.next() else { break }
            guard let part = MessagePart(body, in: next) else { continue }
            let content = Self(body, part, depth: depth)
            if content.text != nil, MessageBody.isPlainText(content.type) {
                self = content
                return
            }
            if case .notice = MessageBody(contentType: content.type) {
                notice = notice ?? content.type
            } else {
                isNothingElse = false
            }
        }
        if isNothingElse, let notice { type = notice }
    }
}

/// Headers about a content, an empty line, the content (RFC 2045, 3).
struct MessagePart {
    /// As sent; empty when not said, which is text.
    private(set) var contentType = ""
    /// The content is there as it is, in no transfer encoding (RFC 2045, 6.1).
    private(set) var isPlain = true
    /// Its bytes in the body.
    let content: Range<Int>

    /// Reads lines that end in CRLF or LF; nil when the empty line is missing.
    init?(_ body: Span<UInt8>, in range: Range<Int>) {
        var lines = Lines(body, in: range)
        while let line = lines.nextFolded() {
            if body.part(line).trimmed().isEmpty {
                content = lines.rest
                return
            }
            var header = Cursor(body, in: line)
            let name = body.part(header.trimmingBlanks(header.skip(to: ASCII.colon)))
            guard header.take(ASCII.colon) else { continue }
            let value = HeaderFolding.unfold(body.part(header.position..<header.end))
            let word = value.span.trimmed()
            if name.equalsIgnoringCase("content-type") { contentType = word.text() }
            if name.equalsIgnoringCase("content-transfer-encoding") {
                isPlain = word.isEmpty || ["7bit", "8bit", "binary"].contains(word.text().lowercased())
            }
        }
        return nil
    }

    /// What a message in CPIM wraps: the part behind the headers about the message, which end in an empty line too.
    ///
    ///     From: Alice <sip:alice@example.com>
    ///     NS: imdn <urn:ietf:params:imdn>
    ///
    ///     Content-Type: text/plain; charset=utf-8
    ///
    ///     Hello
    init?(cpim body: Span<UInt8>, in range: Range<Int>) {
        var lines = Lines(body, in: range)
        while let line = lines.next() {
            guard body.part(line).trimmed().isEmpty else { continue }
            self.init(body, in: lines.rest)
            return
        }
        return nil
    }
}

/// Walks the parts of a body between its delimiter lines (RFC 2046, 5.1.1).
struct PartCursor: ~Escapable {
    private let bytes: Span<UInt8>
    private var lines: Lines
    private let delimiter: String
    /// Where the next part begins.
    private var start: Int?

    private static let longestBoundary = 70

    /// Stands at the first part; nil when Content-Type names no boundary.
    @_lifetime(copy bytes)
    init?(_ bytes: Span<UInt8>, in range: Range<Int>, contentType: String) {
        guard let boundary = Self.boundary(of: contentType) else { return nil }
        self.bytes = bytes
        delimiter = "--" + boundary
        lines = Lines(bytes, in: range)
        _ = next()
    }

    /// The next part, with its headers; nil after the last. What no delimiter ends has the rest of the body.
    @_lifetime(self: copy self)
    mutating func next() -> Range<Int>? {
        let begin = start
        var end = lines.rest.lowerBound
        start = nil
        while let line = lines.next() {
            if let isLast = isLastDelimiter(bytes.part(line).trimmed()) {
                if isLast { lines = Lines(bytes, in: lines.rest.upperBound..<lines.rest.upperBound) }
                if !isLast { start = lines.rest.lowerBound }
                break
            }
            end = line.upperBound
        }
        return begin.map { $0..<max($0, end) }
    }

    /// Nil for a line that is no delimiter.
    private func isLastDelimiter(_ line: Span<UInt8>) -> Bool? {
        if line.equals(delimiter) { return false }
        return line.equals(delimiter + "--") ? true : nil
    }

    private static func boundary(of contentType: String) -> String? {
        guard let value = MessageBody.parameter("boundary", of: contentType) else { return nil }
        return (1...longestBoundary).contains(value.utf8.count) ? value : nil
    }
}
