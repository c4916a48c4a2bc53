// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// Reads what the stores keep from the front; nil when there are not enough bytes.
struct ByteReader: ~Escapable {
    private var rest: Span<UInt8>

    /// Starts at the first byte.
    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>) { rest = bytes }

    /// Nothing is left.
    var isEmpty: Bool { rest.isEmpty }

    /// Bytes that are left.
    var count: Int { rest.count }

    /// Reads one byte.
    @_lifetime(self: copy self)
    mutating func next() -> UInt8? {
        guard !rest.isEmpty else { return nil }
        let byte = rest[0]
        rest = rest.extracting(droppingFirst: 1)
        return byte
    }

    /// Reads `count` bytes.
    @_lifetime(self: copy self)
    @_lifetime(copy self)
    mutating func next(_ count: Int) -> Span<UInt8>? {
        guard count >= 0, count <= rest.count else { return nil }
        let bytes = rest.extracting(first: count)
        rest = rest.extracting(droppingFirst: count)
        return bytes
    }

    /// Reads the bytes before the first that is below `least`.
    @_lifetime(self: copy self)
    mutating func nextRun(from least: UInt8, to out: inout [UInt8]) {
        var count = 0
        while count < rest.count, rest[count] >= least { count &+= 1 }
        guard count > 0 else { return }
        rest.extracting(first: count).append(to: &out)
        rest = rest.extracting(droppingFirst: count)
    }

    /// Reads a number in groups of seven bits, lowest first.
    @_lifetime(self: copy self)
    mutating func nextCount() -> Int? {
        var count = 0
        for shift in stride(from: 0, through: 28, by: 7) {
            guard let byte = next() else { return nil }
            count |= Int(byte & 0x7F) << shift
            if byte < 0x80 { return count }
        }
        return nil
    }

    /// Reads what `append(number:)` wrote.
    @_lifetime(self: copy self)
    mutating func nextNumber() -> Int64? {
        var bits: UInt64 = 0
        for shift in stride(from: UInt64(0), through: 63, by: 7) {
            guard let byte = next() else { return nil }
            bits |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return Int64(bitPattern: bits >> 1) ^ -Int64(bitPattern: bits & 1) }
        }
        return nil
    }
}

extension [UInt8] {
    /// Appends a number as `ByteReader.nextCount` reads it.
    mutating func append(count: Int) { append(sevenBitGroupsOf: UInt64(bitPattern: Int64(count))) }

    /// Appends any number, small ones of either sign in few bytes, as `ByteReader.nextNumber` reads it.
    mutating func append(number: Int64) { append(sevenBitGroupsOf: UInt64(bitPattern: number << 1 ^ number >> 63)) }

    private mutating func append(sevenBitGroupsOf number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }
}
