// SPDX-License-Identifier: MIT

/// Hexadecimal (RFC 4648, 8).
public enum Hex {
    /// Writes two small digits per byte.
    public static func encode(_ bytes: [UInt8]) -> String {
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count &* 2)
        for byte in bytes {
            out.append(digit(byte &>> 4))
            out.append(digit(byte & 0x0F))
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// Reads pairs of digits, capitals too; nil when anything else is there.
    public static func decode(_ text: String) -> [UInt8]? {
        let source = text.utf8.span
        guard source.count % 2 == 0 else { return nil }
        var out: [UInt8] = []
        out.reserveCapacity(source.count / 2)
        var index = 0
        while index < source.count {
            guard let high = value(of: source[index]), let low = value(of: source[index &+ 1]) else { return nil }
            out.append(high &<< 4 | low)
            index &+= 2
        }
        return out
    }

    /// The digit for the low four bits.
    static func digit(_ value: UInt8) -> UInt8 {
        let low = value & 0x0F
        return low < 10 ? 0x30 &+ low : 0x57 &+ low
    }

    /// What a digit stands for; nil when `byte` is none.
    package static func value(of byte: UInt8) -> UInt8? {
        let decimal = byte &- 0x30
        if decimal < 10 { return decimal }
        let letter = (byte | 0x20) &- 0x61
        return letter < 6 ? letter &+ 10 : nil
    }
}
