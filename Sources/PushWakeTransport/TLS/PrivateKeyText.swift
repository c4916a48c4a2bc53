// SPDX-License-Identifier: MIT

/// Text that was meant to be a private key in PEM and cannot be read as one: what it is instead.
public enum PrivateKeyText: Equatable, Sendable {
    case empty
    /// No line begins with `-----BEGIN`: DER, base64 alone, indented, or something else altogether.
    case notPEM
    /// What it says behind `BEGIN`, such as `CERTIFICATE`.
    case other(String)
    case encrypted
    /// The two characters `\n` stand where a line ends, as a program leaves them that has escaped it twice.
    case escapedLineEnds
    /// A private key that has been cut or changed.
    case damaged

    private static let longestLabel = 32

    /// Looks at text that OpenSSL could not read. By bytes: it may be a key all the same, and no copy of one is left.
    public init(_ bytes: [UInt8]) {
        if bytes.allSatisfy({ $0 <= 0x20 }) {
            self = .empty
        } else if TLSIdentity.contains(bytes, "-----\\n") {
            self = .escapedLineEnds
        } else if !Self.hasBeginning(bytes) {
            self = .notPEM
        } else if TLSIdentity.contains(bytes, "ENCRYPTED") {
            self = .encrypted
        } else if TLSIdentity.contains(bytes, "PRIVATE KEY-----") {
            self = .damaged
        } else {
            self = Self.label(bytes).map { .other($0) } ?? .damaged
        }
    }

    /// Whether a line begins as PEM does; a byte order mark before the first is none of it.
    private static func hasBeginning(_ bytes: [UInt8]) -> Bool {
        let isMarked = bytes.starts(with: [0xEF, 0xBB, 0xBF])
        return bytes.dropFirst(isMarked ? 3 : 0).split(whereSeparator: { $0 == 0x0A || $0 == 0x0D })
            .contains { $0.starts(with: "-----BEGIN ".utf8) }
    }

    /// The name of a thing is short; what is long may be a key.
    private static func label(_ bytes: [UInt8]) -> String? {
        let line = bytes.drop { $0 != UInt8(ascii: "-") }
        let label = line.drop { $0 != 0x20 }.dropFirst().prefix { $0 != UInt8(ascii: "-") }
        return label.isEmpty || label.count > longestLabel ? nil : String(decoding: label, as: UTF8.self)
    }
}
