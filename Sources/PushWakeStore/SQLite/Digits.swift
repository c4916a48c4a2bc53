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
    func run(in bytes: [UInt8], from start: Int, limit: Int) -> Int {
        var end = start
        while end < bytes.count, end - start < limit, values[Int(bytes[end])] != Self.none { end += 1 }
        return end - start
    }

    /// Reads pairs of hex digits.
    static func hexBytes(_ text: ArraySlice<UInt8>, _ digits: Digits) -> [UInt8] {
        stride(from: text.startIndex, to: text.endIndex - 1, by: 2).map { index in
            digits.values[Int(text[index])] << 4 | digits.values[Int(text[index + 1])] & 0xF
        }
    }

    /// Appends two hex digits per byte.
    func appendHex(_ bytes: ArraySlice<UInt8>, to text: inout [UInt8]) {
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 0xF)])
        }
    }

    /// Reads digits of six bits, highest bit first; the last byte is filled with zeros.
    static func base64Bytes(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for digit in text {
            bits = bits << 6 | UInt32(base64.values[Int(digit)] & 0x3F)
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
        if count > 0 { bytes.append(UInt8(truncatingIfNeeded: bits << UInt32(8 - count))) }
        return bytes
    }

    /// Appends `count` digits of six bits.
    func appendBase64(_ bytes: ArraySlice<UInt8>, count: Int, to text: inout [UInt8]) {
        let end = text.count + count
        var bits: UInt32 = 0
        var held = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            held += 8
            while held >= 6, text.count < end {
                held -= 6
                text.append(digits[Int(bits >> UInt32(held) & 0x3F)])
            }
        }
    }
}
