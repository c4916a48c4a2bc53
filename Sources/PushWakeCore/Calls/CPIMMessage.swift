// SPDX-License-Identifier: MIT

/// What a body of `message/cpim` wraps (RFC 3862): headers about the message, an empty line, headers about its content, an
/// empty line, the content.
///
///     From: Alice <sip:alice@example.com>
///     NS: imdn <urn:ietf:params:imdn>
///
///     Content-Type: text/plain; charset=utf-8
///
///     Hello
struct CPIMMessage {
    /// As sent; empty when not said, which is text.
    private(set) var contentType = ""
    /// The content is in the body as it is, in no transfer encoding (RFC 2045, 6.1).
    private(set) var isPlain = true
    /// Its bytes in the body.
    let content: Range<Int>

    /// Reads lines that end in CRLF or LF; nil when an empty line is missing.
    init?(_ body: Span<UInt8>) {
        var lines = Cursor(body)
        guard Self.isSkipped(&lines, body) else { return nil }
        var type = "", encoding = ""
        while !lines.isAtEnd {
            let line = lines.skip(to: ASCII.lineFeed)
            lines.advance()
            if body.part(line).trimmed().isEmpty {
                contentType = type
                isPlain = encoding.isEmpty || ["7bit", "8bit", "binary"].contains(encoding)
                content = lines.position..<body.count
                return
            }
            var header = Cursor(body, in: line)
            let name = body.part(header.trimmingBlanks(header.skip(to: ASCII.colon)))
            guard header.take(ASCII.colon) else { continue }
            let value = body.part(header.position..<header.end).trimmed()
            if name.equalsIgnoringCase("content-type") { type = value.text() }
            if name.equalsIgnoringCase("content-transfer-encoding") { encoding = value.text().lowercased() }
        }
        return nil
    }

    /// Moves behind the next empty line; false when there is none.
    private static func isSkipped(_ lines: inout Cursor, _ body: Span<UInt8>) -> Bool {
        while !lines.isAtEnd {
            let line = lines.skip(to: ASCII.lineFeed)
            lines.advance()
            if body.part(line).trimmed().isEmpty { return true }
        }
        return false
    }
}
