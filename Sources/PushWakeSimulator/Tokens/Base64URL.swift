// SPDX-License-Identifier: MIT

/// Base64 with the URL alphabet and no padding (RFC 4648, 5).
enum Base64URL {
    /// The bytes behind the text; nil when it is not base64url.
    static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var out: [UInt8] = []
        out.reserveCapacity(text.count * 3 / 4)
        var bits: UInt32 = 0
        var count = 0
        for byte in text {
            guard let digit = value(byte) else { return nil }
            bits = bits &<< 6 | digit
            count &+= 6
            guard count >= 8 else { continue }
            count &-= 8
            out.append(UInt8(truncatingIfNeeded: bits &>> UInt32(truncatingIfNeeded: count)))
        }
        return out
    }

    /// The text of some bytes.
    static func encode(_ bytes: some Collection<UInt8>) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var out: [UInt8] = []
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for byte in bytes {
            bits = bits &<< 8 | UInt32(byte)
            count &+= 8
            while count >= 6 {
                count &-= 6
                out.append(alphabet[Int(bits &>> count & 63)])
            }
        }
        if count > 0 { out.append(alphabet[Int(bits &<< (6 &- count) & 63)]) }
        return String(decoding: out, as: UTF8.self)
    }

    /// Says whether a byte belongs to the alphabet.
    static func contains(_ byte: UInt8) -> Bool { value(byte) != nil }

    private static func value(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte &- 65)
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte &- 71)
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte &+ 4)
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
