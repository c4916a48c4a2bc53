// SPDX-License-Identifier: MIT

/// Walks a span from front to back and never leaves it.
///
/// What it finds are ranges into the span, not copies. The loops that run once per byte have names
/// (`skip(while:)`, `skip(to:)`): the optimiser then keeps bounds checks out of them.
struct Cursor: ~Escapable {
    private let bytes: Span<UInt8>
    private(set) var position: Int
    /// One past the last byte that may be read.
    let end: Int

    /// Starts at the first byte.
    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>) {
        self.bytes = bytes
        position = 0
        end = bytes.count
    }

    /// Stays within `range`, cut to what the span has.
    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>, in range: Range<Int>) {
        self.bytes = bytes
        end = min(max(range.upperBound, 0), bytes.count)
        position = min(max(range.lowerBound, 0), end)
    }

    var isAtEnd: Bool { position >= end }

    /// The next byte, nil at the end.
    func peek() -> UInt8? { position < end ? bytes[position] : nil }

    /// Takes the next byte when it is `byte`.
    @_lifetime(self: copy self)
    mutating func take(_ byte: UInt8) -> Bool {
        guard position < end, bytes[position] == byte else { return false }
        position &+= 1
        return true
    }

    /// Moves on by one byte; does nothing at the end.
    @_lifetime(self: copy self)
    mutating func advance() {
        if position < end { position &+= 1 }
    }

    /// Moves over all bytes that `accept` wants, and says which.
    @inline(__always)
    @_lifetime(self: copy self)
    @discardableResult
    mutating func skip(while accept: (UInt8) -> Bool) -> Range<Int> {
        let start = position
        while position < end, accept(bytes[position]) { position &+= 1 }
        return start..<position
    }

    /// Moves to the first `stop`, or to the end, and says over what.
    @inline(__always)
    @_lifetime(self: copy self)
    @discardableResult
    mutating func skip(to stop: UInt8) -> Range<Int> { skip { $0 != stop } }

    /// Moves over spaces and tabs.
    @_lifetime(self: copy self)
    mutating func skipBlanks() { skip(while: ASCII.isBlank) }

    /// Moves over a quoted string, which begins here, and gives what is between the quotes, backslashes
    /// included (RFC 3261, 25.1); nil when it does not end.
    @_lifetime(self: copy self)
    mutating func quotedString() -> Range<Int>? {
        guard take(ASCII.quote) else { return nil }
        let start = position
        while true {
            skip { $0 != ASCII.quote && $0 != ASCII.backslash }
            guard let byte = peek() else { return nil }
            position &+= 1
            if byte == ASCII.quote { return start..<(position &- 1) }
            advance()
        }
    }

    /// Cuts spaces and tabs off the end of `range`.
    func trimmingBlanks(_ range: Range<Int>) -> Range<Int> {
        var upper = min(range.upperBound, end)
        while upper > range.lowerBound, ASCII.isBlank(bytes[upper &- 1]) { upper &-= 1 }
        return range.lowerBound..<max(upper, range.lowerBound)
    }
}
