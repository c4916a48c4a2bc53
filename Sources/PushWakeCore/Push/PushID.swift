// SPDX-License-Identifier: MIT

internal import PushWakeBytes

/// The name of one push: 128 random bits, made by the caller, kept across its retries.
public struct PushID: Hashable, Sendable {
    /// The first 64 bits.
    public let high: UInt64
    /// The last 64 bits.
    public let low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Appends the canonical lower-case form of a version 4 UUID (RFC 9562, 5.4).
    public func append(to out: inout [UInt8]) {
        out.append(addingCapacity: Self.room) { (end: inout OutputSpan<UInt8>) in append(to: &end) }
    }

    /// Free bytes without which it is not written: for a whole word behind the last four digits.
    static let room = 40

    /// The same where there is `room`.
    @inline(__always)
    func append(to end: inout OutputSpan<UInt8>) {
        let high = (high & 0xFFFF_FFFF_FFFF_0FFF) | 0x4000
        let low = (low & 0x3FFF_FFFF_FFFF_FFFF) | 0x8000_0000_0000_0000
        let first = Self.digits(of: UInt32(truncatingIfNeeded: high >> 32))
        let second = Self.digits(of: UInt32(truncatingIfNeeded: high))
        let third = Self.digits(of: UInt32(truncatingIfNeeded: low >> 32))
        let fourth = Self.digits(of: UInt32(truncatingIfNeeded: low))
        let dash: UInt64 = 0x2D
        end.append(
            first: 36,
            of: (
                first,
                dash | (second & 0xFFFF_FFFF) << 8 | dash << 40 | (second >> 32 & 0xFFFF) << 48,
                second >> 48 | dash << 16 | (third & 0xFFFF_FFFF) << 24 | dash << 56,
                third >> 32 | fourth << 32,
                fourth >> 32
            ))
    }

    /// Eight digits of 32 bits, the first in the lowest byte: all at once, because every push has 32 of them.
    @inline(__always)
    private static func digits(of value: UInt32) -> UInt64 {
        var nibbles = UInt64(value)
        nibbles = (nibbles << 16 | nibbles) & 0x0000_FFFF_0000_FFFF
        nibbles = (nibbles << 8 | nibbles) & 0x00FF_00FF_00FF_00FF
        nibbles = (nibbles << 4 | nibbles) & 0x0F0F_0F0F_0F0F_0F0F
        let letters = (nibbles &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return (nibbles &+ 0x3030_3030_3030_3030 &+ letters &* 0x27).byteSwapped
    }
}
