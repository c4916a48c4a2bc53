// SPDX-License-Identifier: MIT

/// Makes text from packets fit for a story: short, printable, and without tokens or passwords.
enum StoryText {
    /// Bytes of a contact that are looked at.
    private static let longestContact = 384

    /// At most `CallStory.longestText` bytes of it.
    static func cut(_ text: String) -> String {
        guard text.utf8.count > CallStory.longestText else { return text }
        return String(decoding: text.utf8.prefix(CallStory.longestText), as: UTF8.self)
    }

    /// Where a contact is: its URI without password and without parameters, among which tokens are, but for the
    /// transport.
    static func address(_ contact: String) -> String {
        let bytes = contact.utf8.span.part(0..<longestContact)
        let parts = Parts(bytes)
        let transport = transport(bytes, from: parts.end)
        // Nearly always one piece.
        if parts.password.isEmpty && transport.lowerBound == parts.end {
            return bytes.text(parts.start..<transport.upperBound)
        }
        return bytes.text(parts.start..<parts.password.lowerBound)
            + bytes.text(parts.password.upperBound..<parts.end) + bytes.text(transport)
    }

    /// `scheme:user:password@host` (RFC 3261, 19.1.1) in angle brackets or without.
    private struct Parts {
        var start = 0
        /// Where parameters or headers begin.
        var end: Int
        /// From its colon to the `@`; empty when there is none.
        var password: Range<Int>

        init(_ bytes: Span<UInt8>) {
            var colons: (first: Int?, second: Int?)
            var at: Int?
            var hasUser = false
            var end: Int?
            for index in bytes.indices {
                switch bytes[index] {
                case ASCII.less where end == nil: (start, colons, at) = (index + 1, (nil, nil), nil)
                case ASCII.semicolon, ASCII.greater, ASCII.question: end = end ?? index
                case ASCII.at:
                    hasUser = true
                    if end == nil { at = index }
                case ASCII.colon where end == nil:
                    if colons.first == nil { colons.first = index } else { colons.second = colons.second ?? index }
                default: break
                }
            }
            self.end = end ?? bytes.count
            // The `@` may stand behind a `;` of the password.
            let userEnd = at ?? self.end
            let passwordStart = hasUser ? colons.second ?? userEnd : userEnd
            password = min(passwordStart, userEnd)..<userEnd
        }
    }

    /// Milliseconds as people say them: `340 ms`, `1.2 s`, `40 s`.
    static func duration(_ milliseconds: Int64) -> String {
        if milliseconds < 1000 { return "\(milliseconds) ms" }
        let tenths = (milliseconds.addingReportingOverflow(50).partialValue) / 100
        return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
    }

    /// Where its `;transport=…` is; empty, at `start`, when it has none.
    private static func transport(_ bytes: Span<UInt8>, from start: Int) -> Range<Int> {
        var index = start
        while index < bytes.count, bytes[index] != ASCII.greater {
            let begin = index
            index += 1
            while index < bytes.count, bytes[index] != ASCII.semicolon, bytes[index] != ASCII.greater { index += 1 }
            if index - begin < 20, bytes.part(begin..<index).startsIgnoringCase(with: ";transport=") {
                return begin..<index
            }
        }
        return start..<start
    }
}
