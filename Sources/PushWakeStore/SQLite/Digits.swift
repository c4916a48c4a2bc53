// SPDX-License-Identifier: MIT

/// An alphabet of digits, each with its value, and the bytes that a run of them stands for.
struct Digits: Sendable {
    static let lowerHex = Digits("0123456789abcdef")
    static let upperHex = Digits("0123456789ABCDEF")
    /// base64url (RFC 4648, 5), six bits each.
    static let base64 = Digits("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")

    private static let none: UInt8 = 0xFF
    private let digits: [UInt8]
    private let values: [UInt8]

    private init(_ alphabet: StaticString) {
        digits = Array(alphabet.description.utf8)
        var values = [UInt8](repeating: Self.none, count: 256)
        for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
        self.values = values
    }

    /// The value of a digit; nil when `byte` is none.
    func value(of byte: UInt8) -> UInt8? {
        let value = values[Int(byte)]
        return value == Self.none ? nil : value
    }

    /// Counts the digits that begin at `start`, up to `limit`.
    func run(in bytes: Span<UInt8>, from start: Int, limit: Int) -> Int {
        let values = values.span
        let last = min(bytes.count, start &+ limit)
        var end = start
        while end < last, values[Int(bytes[end])] != Self.none { end &+= 1 }
        return end &- start
    }

    /// Appends the bytes that pairs of hex digits stand for.
    func appendBytes(ofHex text: Span<UInt8>, to bytes: inout [UInt8]) {
        let values = values.span
        bytes.append(addingCapacity: text.count / 2) { room in
            var index = 0
            while index &+ 1 < text.count {
                room.append(values[Int(text[index])] << 4 | values[Int(text[index &+ 1])] & 0xF)
                index &+= 2
            }
        }
    }

    /// Appends two hex digits per byte.
    func appendHex(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
        let digits = digits.span
        text.append(addingCapacity: bytes.count &* 2) { (room: inout OutputSpan<UInt8>) in
            for index in bytes.indices {
                room.append(digits[Int(bytes[index] >> 4)])
                room.append(digits[Int(bytes[index] & 0xF)])
            }
        }
    }

    /// Appends the bytes that digits of six bits stand for, highest bit first; the last byte is filled with zeros.
    func appendBytes(ofBase64 text: Span<UInt8>, to bytes: inout [UInt8]) {
        let values = values.span
        bytes.append(addingCapacity: (text.count &* 6 &+ 7) / 8) { room in
            var bits: UInt32 = 0
            var count: UInt32 = 0
            for index in text.indices {
                bits = bits << 6 | UInt32(values[Int(text[index])] & 0x3F)
                count &+= 6
                guard count >= 8 else { continue }
                count &-= 8
                room.append(UInt8(truncatingIfNeeded: bits >> count))
            }
            if count > 0 { room.append(UInt8(truncatingIfNeeded: bits << (8 &- count))) }
        }
    }

    /// Appends `count` digits of six bits.
    func appendBase64(_ bytes: Span<UInt8>, count: Int, to text: inout [UInt8]) {
        let digits = digits.span
        text.append(addingCapacity: count) { (room: inout OutputSpan<UInt8>) in
            var bits: UInt32 = 0
            var held: UInt32 = 0
            for index in bytes.indices {
                bits = bits << 8 | UInt32(bytes[index])
                held &+= 8
                while held >= 6, !room.isFull {
                    held &-= 6
                    room.append(digits[Int(bits >> held & 0x3F)])
                }
            }
        }
    }
}
