// SPDX-License-Identifier: MIT

/// Reads bytes from the front; nil when there are not enough.
struct ByteReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Nothing is left.
    var isEmpty: Bool { position == bytes.count }

    /// Reads one byte.
    mutating func next() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    /// Reads `count` bytes.
    mutating func next(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, count <= bytes.count - position else { return nil }
        defer { position += count }
        return bytes[position..<(position + count)]
    }

    /// Reads a number in groups of seven bits, lowest first.
    mutating func nextCount() -> Int? {
        var count = 0
        for shift in stride(from: 0, through: 28, by: 7) {
            guard let byte = next() else { return nil }
            count |= Int(byte & 0x7F) << shift
            if byte < 0x80 { return count }
        }
        return nil
    }
}

extension [UInt8] {
    /// Appends a number as `ByteReader.nextCount` reads it.
    mutating func append(count: Int) {
        var rest = UInt(bitPattern: count)
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }
}
