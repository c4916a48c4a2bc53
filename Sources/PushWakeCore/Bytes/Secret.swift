// SPDX-License-Identifier: MIT

/// Text that must not reach a log: printing it shows dots.
public struct Secret: Equatable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The text itself, for the one who needs it.
    public let revealed: String

    /// Hides a text.
    public init(_ text: String) { revealed = text }

    /// Dots.
    public var description: String { "…" }
    /// Dots.
    public var debugDescription: String { description }
    /// Empty: `dump` shows nothing either.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Comparison whose time tells nothing of what is compared.
public enum ConstantTime {
    /// Whether both are the same; only a difference of length shows in the time.
    public static func areEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        guard a.count == b.count else { return false }
        var difference: UInt8 = 0
        for index in a.indices { difference |= a[index] ^ b[index] }
        return difference == 0
    }
}

/// The hash of a digest answer, in SIP and HTTP (RFC 8760, 2; RFC 7616, 6.1); the better one first.
public enum DigestAlgorithm: String, CaseIterable, Equatable, Sendable {
    case sha256 = "SHA-256"
    case md5 = "MD5"

    /// By its name in any case; nil when it is none of these.
    public init?(name: String) {
        guard let found = Self.allCases.first(where: { $0.rawValue == name.uppercased() }) else { return nil }
        self = found
    }

    /// By what an HA1 in hexadecimal digits is the hash of; nil when it is none of these.
    public init?(credential: Secret) {
        let count = credential.revealed.utf8.count
        guard let found = Self.allCases.first(where: { $0.digits == count }) else { return nil }
        self = found
    }

    /// Hexadecimal digits of one hash.
    public var digits: Int { self == .md5 ? 32 : 64 }
}
