// SPDX-License-Identifier: MIT

internal import PushWakeBytes

extension Span<UInt8> {
    /// Compares with a lower-case ASCII word, capitals being no different.
    @inline(__always)
    func equalsIgnoringCase(_ word: String) -> Bool {
        let other = word.utf8.span
        guard other.count == count else { return false }
        for index in indices where ASCII.lowercased(self[index]) != other[index] { return false }
        return true
    }

    /// Compares byte by byte.
    @inline(__always)
    func equals(_ word: String) -> Bool {
        let other = word.utf8.span
        guard other.count == count else { return false }
        for index in indices where self[index] != other[index] { return false }
        return true
    }

    /// Says whether the first bytes are a lower-case ASCII word, capitals being no different.
    func startsIgnoringCase(with word: String) -> Bool {
        count >= word.utf8.count && extracting(0..<word.utf8.count).equalsIgnoringCase(word)
    }

    /// The bytes as text; nil when they are no UTF-8.
    public func validText() -> String? {
        guard let text = try? UTF8Span(validating: self) else { return nil }
        return String(copying: text)
    }

    /// Says whether the bytes are UTF-8.
    public var isText: Bool { (try? UTF8Span(validating: self)) != nil }

    /// The bytes as text, U+FFFD in place of what is no UTF-8.
    public func text() -> String {
        if let text = validText() { return text }
        return String(decoding: copy(), as: UTF8.self)
    }

    /// The bytes as an array.
    public func copy() -> [UInt8] {
        var copy: [UInt8] = []
        append(to: &copy)
        return copy
    }

    /// The bytes of `range` as text, mended; bounds are cut to what there is.
    func text(_ range: Range<Int>) -> String { part(range).text() }

    /// The bytes of `range`, cut to what there is.
    @_lifetime(copy self)
    func part(_ range: Range<Int>) -> Span<UInt8> {
        let upper = Swift.min(Swift.max(range.upperBound, 0), count)
        return extracting(Swift.min(Swift.max(range.lowerBound, 0), upper)..<upper)
    }

    /// Copies all bytes to the end of `out`.
    public func append(to out: inout [UInt8]) { out.append(copying: self) }

    /// Says whether any byte is one that `predicate` looks for.
    @inline(__always)
    func contains(where predicate: (UInt8) -> Bool) -> Bool {
        for index in indices where predicate(self[index]) { return true }
        return false
    }

    /// Says whether there is a control byte, tab and DEL included. Looks at all bytes without stopping
    /// early: the compiler then takes many at a time.
    func hasControls() -> Bool {
        var found: UInt8 = 0
        for index in indices {
            let byte = self[index]
            found |= (byte < 0x20 ? 1 : 0) | (byte == 0x7F ? 1 : 0)
        }
        return found != 0
    }

    /// Says whether a byte is there. Looks at all bytes, as `hasControls()` does.
    func contains(_ wanted: UInt8) -> Bool {
        var found: UInt8 = 0
        for index in indices { found |= self[index] == wanted ? 1 : 0 }
        return found != 0
    }

    /// The bytes without the blanks and line ends around them.
    @_lifetime(copy self)
    func trimmed() -> Span<UInt8> {
        var lower = 0
        var upper = count
        while lower < upper, self[lower] == ASCII.space || self[lower] &- 9 < 5 { lower &+= 1 }
        while lower < upper, self[upper &- 1] == ASCII.space || self[upper &- 1] &- 9 < 5 { upper &-= 1 }
        return extracting(lower..<upper)
    }

    /// A decimal number of digits only; too large ones are `UInt32.max`, anything else is nil.
    func decimal() -> UInt32? {
        guard count > 0 else { return nil }
        var value: UInt64 = 0
        for index in indices {
            let digit = self[index] &- 0x30
            guard digit < 10 else { return nil }
            value = Swift.min(value &* 10 &+ UInt64(digit), UInt64(UInt32.max))
        }
        return UInt32(truncatingIfNeeded: value)
    }
}

extension String {
    /// Where its first characters end, as offsets of bytes up to `most`. What a reader takes for one stays whole: a letter with
    /// its accents, a family of emoji (Unicode, UAX 29).
    func characterEnds(within most: Int) -> [Int] {
        // Whether one ends there, what follows says; the rest need not be looked through.
        var next = utf8.index(startIndex, offsetBy: min(utf8.count, max(most, 0) + 1))
        while next.samePosition(in: unicodeScalars) == nil { next = utf8.index(after: next) }
        var (ends, end) = ([Int](), 0)
        for character in self[..<next] {
            end += character.utf8.count
            guard end <= most else { break }
            ends.append(end)
        }
        return ends
    }
}

/// How many bytes have to be changed, for the hint after a typing error.
enum EditDistance {
    /// Past `limit` the answer is any number above it.
    static func between(_ a: String, _ b: String, limit: Int = 64) -> Int {
        between(Array(a.utf8), Array(b.utf8), limit: limit)
    }

    /// The same, for who compares one with many.
    static func between(_ a: [UInt8], _ b: [UInt8], limit: Int = 64) -> Int {
        let left = a.prefix(64)
        let right = b.prefix(64)
        var row = Array(0...right.count)
        for (i, x) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, y) in right.enumerated() {
                let next = min(row[j] + 1, row[j + 1] + 1, diagonal + (x == y ? 0 : 1))
                diagonal = row[j + 1]
                row[j + 1] = next
            }
            // No later row has less than the least of this one.
            if row.allSatisfy({ $0 > limit }) { return limit + 1 }
        }
        return row[right.count]
    }
}
