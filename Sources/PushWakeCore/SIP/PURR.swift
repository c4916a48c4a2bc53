// SPDX-License-Identifier: MIT

/// Under which a proxy knows a device that a request within a dialog is for (RFC 8599, 6): 128 random bits, so that nobody
/// can guess one, and none tells whose it is or which others that device has had.
public struct PURR: Hashable, Sendable {
    /// The first 64 bits.
    public let high: UInt64
    /// The last 64 bits.
    public let low: UInt64

    private static let digits = 32

    /// Takes the bits as they are.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Draws one; the generator must be one that nobody can predict.
    public init(using generator: inout some RandomNumberGenerator) {
        self.init(high: generator.next(), low: generator.next())
    }

    /// Reads what `text` wrote; nil for everything else. Capitals are no different: neither a URI's parameters nor
    /// feature tags tell them apart (RFC 3261, 19.1.4; RFC 3840, 9).
    public init?(_ text: String) {
        guard text.utf8.count == Self.digits, let bytes = Hex.decode(text) else { return nil }
        self.init(bytes: bytes)
    }

    /// Reads sixteen bytes, the highest first; nil when there are more or fewer.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        high = bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes[8...].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// As `init(bytes:)` reads them.
    public var bytes: [UInt8] {
        [high, low].flatMap { half in
            stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: half >> $0) }
        }
    }

    /// 32 hexadecimal digits, for `sip.pnspurr` and `pn-purr`.
    public var text: String { Hex.encode(bytes) }
}
