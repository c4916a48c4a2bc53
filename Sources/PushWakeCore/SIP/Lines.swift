// SPDX-License-Identifier: MIT

/// Walks lines that end in CRLF, LF or at the end of the bytes.
struct Lines: ~Escapable {
    private let bytes: Span<UInt8>
    private var cursor: Cursor

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>) {
        self.bytes = bytes
        cursor = Cursor(bytes)
    }

    /// Stays within `range`, cut to what the span has.
    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>, in range: Range<Int>) {
        self.bytes = bytes
        cursor = Cursor(bytes, in: range)
    }

    /// What has not been walked yet.
    var rest: Range<Int> { cursor.position..<max(cursor.position, cursor.end) }

    /// Moves over empty lines.
    @_lifetime(self: copy self)
    mutating func skipEmpty() {
        cursor.skip { $0 == ASCII.carriageReturn || $0 == ASCII.lineFeed }
    }

    /// The next line without its end; nil after the last.
    @_lifetime(self: copy self)
    mutating func next() -> Range<Int>? {
        if cursor.isAtEnd { return nil }
        var line = cursor.skip(to: ASCII.lineFeed)
        _ = cursor.take(ASCII.lineFeed)
        if !line.isEmpty, bytes[line.upperBound &- 1] == ASCII.carriageReturn {
            line = line.lowerBound..<(line.upperBound &- 1)
        }
        return line
    }

    /// A line with the lines that go on with it.
    @_lifetime(self: copy self)
    mutating func nextFolded() -> Range<Int>? {
        guard var line = next() else { return nil }
        while !line.isEmpty, let byte = cursor.peek(), ASCII.isBlank(byte), let more = next() {
            line = line.lowerBound..<more.upperBound
        }
        return line
    }
}
