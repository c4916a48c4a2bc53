// SPDX-License-Identifier: MIT

/// Base64 with padding (RFC 4648, 4), as HTTP's Basic authentication wants it.
enum Base64 {
    /// Writes the text of `bytes`.
    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var out: [UInt8] = []
        Base64URL.append(Array(bytes), to: &out)
        for index in out.indices {
            if out[index] == UInt8(ascii: "-") { out[index] = UInt8(ascii: "+") }
            if out[index] == UInt8(ascii: "_") { out[index] = UInt8(ascii: "/") }
        }
        while out.count % 4 != 0 { out.append(ASCII.equals) }
        return String(decoding: out, as: UTF8.self)
    }
}

/// Base64 for URLs, without padding (RFC 4648, 5): JWTs, VAPID keys, subscription keys.
public enum Base64URL {
    /// Writes without padding.
    public static func encode(_ bytes: [UInt8]) -> String {
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count / 3 &* 4 &+ 4)
        append(bytes, to: &out)
        return String(decoding: out, as: UTF8.self)
    }

    /// Appends the text of `bytes` to `out`, without padding.
    public static func append(_ bytes: [UInt8], to out: inout [UInt8]) {
        var word: UInt32 = 0
        var bits: UInt32 = 0
        for byte in bytes {
            word = word &<< 8 | UInt32(byte)
            bits &+= 8
            while bits >= 6 {
                bits &-= 6
                out.append(digit(word &>> bits))
            }
        }
        if bits > 0 { out.append(digit(word &<< (6 &- bits))) }
    }

    /// Reads with or without padding; nil when a byte does not belong or the length cannot be.
    public static func decode(_ text: String) -> [UInt8]? {
        var out: [UInt8] = []
        out.reserveCapacity(text.utf8.count / 4 &* 3 &+ 3)
        var word: UInt32 = 0
        var bits: UInt32 = 0
        var padding = 0
        for byte in text.utf8 {
            if byte == ASCII.equals {
                padding &+= 1
                continue
            }
            guard padding == 0, let value = value(of: byte) else { return nil }
            word = word &<< 6 | UInt32(value)
            bits &+= 6
            if bits >= 8 {
                bits &-= 8
                out.append(UInt8(truncatingIfNeeded: word &>> bits))
            }
        }
        // A single digit is not a byte, and the bits that are left over must say nothing.
        let rest = word & ((1 &<< bits) &- 1)
        guard bits < 6, rest == 0, padding == 0 || text.utf8.count % 4 == 0 && padding < 3 else { return nil }
        return out
    }

    private static func digit(_ value: UInt32) -> UInt8 {
        let six = UInt8(truncatingIfNeeded: value & 63)
        switch six {
        case 0..<26: return 0x41 &+ six
        case 26..<52: return 0x61 &+ (six &- 26)
        case 52..<62: return 0x30 &+ (six &- 52)
        case 62: return UInt8(ascii: "-")
        default: return UInt8(ascii: "_")
        }
    }

    private static func value(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte &- 0x41
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte &- 0x61 &+ 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte &- 0x30 &+ 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
