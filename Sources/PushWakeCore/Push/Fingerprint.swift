// SPDX-License-Identifier: MIT

/// 64 bits that stand for a text: FNV-1a with a final mix. No secret, no protection against an attacker.
enum Fingerprint {
    /// The fingerprint of some bytes, continuing from another one.
    static func of(_ bytes: some Sequence<UInt8>, from seed: UInt64 = 0xCBF2_9CE4_8422_2325) -> UInt64 {
        var hash = seed
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        hash ^= hash >> 32
        return hash &* 0x9E37_79B9_7F4A_7C15
    }

    /// Appends the fingerprint of a text as sixteen hexadecimal digits.
    static func appendHex(of text: String, to out: inout [UInt8]) {
        let hash = of(text.utf8)
        for place in UInt64(0)..<16 { out.append(Hex.digit(UInt8(truncatingIfNeeded: hash >> (60 - 4 * place)))) }
    }
}
