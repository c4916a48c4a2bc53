// SPDX-License-Identifier: MIT

/// The users of `http_users`: lines of `user:realm:HA1`, as Apache's htdigest writes them. HA1 is the hash of
/// `user:realm:password` in hexadecimal digits: MD5, as SIP servers keep it, or SHA-256.
public struct HTTPUsers: Equatable, Sendable {
    /// One line.
    struct Secret: Equatable, Sendable {
        let realm: String
        let algorithm: DigestAlgorithm
        /// Small hexadecimal digits.
        let ha1: [UInt8]
    }

    /// A line that cannot be used; it is named by its number alone, as it may hold a password.
    public struct Problem: Equatable, Sendable {
        /// From 1.
        public let line: Int
        public let message: String
    }

    private var secrets: [UserKey: [Secret]] = [:]
    /// Lines that were left out.
    public private(set) var problems: [Problem] = []

    /// Nobody.
    public init() {}

    /// Reads the text of a file; empty lines and lines that begin with `#` are passed over.
    public init(_ text: [UInt8]) {
        for (index, bytes) in text.split(separator: ASCII.lineFeed, omittingEmptySubsequences: false).enumerated() {
            let line = bytes.last == ASCII.carriageReturn ? bytes.dropLast() : bytes
            guard let first = line.first, first != UInt8(ascii: "#") else { continue }
            let parts = line.split(separator: ASCII.colon, omittingEmptySubsequences: false).compactMap {
                Array($0).span.validText()
            }
            guard parts.count == 3, !parts[0].isEmpty, !parts[1].isEmpty,
                let algorithm = DigestAlgorithm.allCases.first(where: { $0.digits == parts[2].utf8.count }),
                parts[2].utf8.allSatisfy(ByteClass.hex.contains)
            else {
                problems.append(Problem(line: index + 1, message: "write user:realm:HA1 in UTF-8, as htdigest does"))
                continue
            }
            secrets[UserKey(parts[0]), default: []].append(
                Secret(realm: parts[1], algorithm: algorithm, ha1: Array(parts[2].lowercased().utf8)))
        }
    }

    /// How many users there are.
    public var count: Int { secrets.count }

    func secrets(of user: String) -> [Secret] { secrets[UserKey(user)] ?? [] }

    /// The realms of all lines, in their order by bytes.
    public var realms: [String] { Set(secrets.values.flatMap { $0.map(\.realm) }).sorted() }

    /// Whether there is a user of this name in a realm.
    public func has(_ user: String, in realm: String) -> Bool {
        secrets(of: user).contains { $0.realm.isSameBytes(as: realm) }
    }

    /// What Digest is offered with in a realm, the strongest first: a client takes one without knowing what its user has,
    /// so these are what all users of the realm have, or, when they have none in common, all that anybody has.
    func algorithms(in realm: String) -> [DigestAlgorithm] {
        let known = secrets.values.map { own in
            Set(own.lazy.filter { $0.realm.isSameBytes(as: realm) }.map(\.algorithm))
        }
        .filter { !$0.isEmpty }
        let common = DigestAlgorithm.allCases.filter { algorithm in known.allSatisfy { $0.contains(algorithm) } }
        if known.isEmpty { return [] }
        return common.isEmpty
            ? DigestAlgorithm.allCases.filter { name in known.contains { $0.contains(name) } } : common
    }
}
