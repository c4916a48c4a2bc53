// SPDX-License-Identifier: MIT

/// The name of one push: 128 random bits, made by the caller, kept across its retries.
public struct PushID: Hashable, Sendable {
    public let high: UInt64
    public let low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Appends the canonical lower-case form of a version 4 UUID (RFC 9562, 5.4).
    public func append(to out: inout [UInt8]) {
        let high = (high & 0xFFFF_FFFF_FFFF_0FFF) | 0x4000
        let low = (low & 0x3FFF_FFFF_FFFF_FFFF) | 0x8000_0000_0000_0000
        for index in 0..<16 {
            if index == 4 || index == 6 || index == 8 || index == 10 { out.append(UInt8(ascii: "-")) }
            let word = index < 8 ? high : low
            let byte = UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * (index % 8)))
            out.append(Hex.digit(byte >> 4))
            out.append(Hex.digit(byte))
        }
    }
}
