// SPDX-License-Identifier: MIT

/// Header values that go on in the next line (RFC 3261, 7.3.1).
enum HeaderFolding {
    /// Says whether `value` has a line end at all, folded or not.
    static func isPresent(in value: Span<UInt8>) -> Bool {
        value.contains { $0 == ASCII.carriageReturn || $0 == ASCII.lineFeed }
    }

    /// The value in one line. A fold becomes a space, and nothing between `<` and `>`: RFC 8599 prints its
    /// examples with a Contact URI over several lines. Line ends that are no fold stay, for others to refuse.
    static func unfold(_ value: Span<UInt8>) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(value.count)
        var cursor = Cursor(value)
        var isInURI = false
        var isQuoted = false
        while let byte = cursor.peek() {
            let isLineEnd = byte == ASCII.carriageReturn || byte == ASCII.lineFeed
            if isLineEnd, let next = foldEnd(value, from: cursor.position) {
                cursor = Cursor(value, in: next..<value.count)
                if !isInURI { out.append(ASCII.space) }
                continue
            }
            cursor.advance()
            out.append(byte)
            switch byte {
            case ASCII.quote where !isInURI: isQuoted.toggle()
            case ASCII.backslash where isQuoted:
                if let escaped = cursor.peek(), escaped == ASCII.quote || escaped == ASCII.backslash {
                    out.append(escaped)
                    cursor.advance()
                }
            case ASCII.less where !isQuoted: isInURI = true
            case ASCII.greater where !isQuoted: isInURI = false
            default: break
            }
        }
        return out
    }

    /// Where the text goes on after a fold that begins at `start`; nil when that is no fold.
    private static func foldEnd(_ value: Span<UInt8>, from start: Int) -> Int? {
        var cursor = Cursor(value, in: start..<value.count)
        _ = cursor.take(ASCII.carriageReturn)
        guard cursor.take(ASCII.lineFeed) || cursor.position > start else { return nil }
        let blanks = cursor.skip(while: ASCII.isBlank)
        return blanks.isEmpty ? nil : blanks.upperBound
    }
}
