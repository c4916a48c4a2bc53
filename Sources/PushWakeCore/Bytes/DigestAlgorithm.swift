// SPDX-License-Identifier: MIT

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
