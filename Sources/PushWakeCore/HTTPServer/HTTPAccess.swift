// SPDX-License-Identifier: MIT

/// Decides who sends a request: the operator, a user of `http_users`, or nobody.
public struct HTTPAccess {
    /// Who sends it.
    public enum Identity: Equatable, Sendable {
        /// The bearer token, or a user who is named as operator: may do everything.
        case operating
        /// May report and remove what belongs to the account of this name.
        case user(String)
    }

    /// What came of it.
    public enum Decision: Equatable, Sendable {
        case granted(Identity)
        /// Nothing was shown, or a nonce is too old: 401 with these challenges.
        case asked([HTTPResponse.Header])
        /// What was shown is wrong: 401 as well, and it counts as an attempt.
        case wrong([HTTPResponse.Header])
    }

    /// Hashes that the caller's library has.
    public struct Hashes {
        let hash: (DigestAlgorithm, [UInt8]) -> [UInt8]
        let keyed: ([UInt8]) -> [UInt8]

        /// `hash` is MD5 or SHA-256, `keyed` an HMAC with a key of this process.
        public init(hash: @escaping (DigestAlgorithm, [UInt8]) -> [UInt8], keyed: @escaping ([UInt8]) -> [UInt8]) {
            self.hash = hash
            self.keyed = keyed
        }
    }

    private let token: [UInt8]
    private let users: HTTPUsers
    private let operators: Set<String>
    private let realm: String
    private let hashes: Hashes
    private var nonces: DigestNonces
    /// What the secret of a user is compared with who does not exist.
    private static let nobody = HTTPUsers.Secret(
        realm: "", algorithm: .md5, ha1: [UInt8](repeating: UInt8(ascii: "0"), count: 32))

    /// `token` is the operator's; an empty one is nobody's.
    public init(token: [UInt8], users: HTTPUsers, operators: Set<String>, realm: String, hashes: Hashes) {
        self.token = token
        self.users = users
        self.operators = operators
        self.realm = realm
        self.hashes = hashes
        nonces = DigestNonces(tag: hashes.keyed)
    }

    /// Whether anybody can be known at all.
    public var knowsAnybody: Bool { !token.isEmpty || users.count > 0 }

    /// Decides by the Authorization field; `now` in seconds.
    public mutating func decide(_ request: ServedRequest, now: Int64) -> Decision {
        switch HTTPCredentials(request["authorization"]) {
        case .none: return .asked(challenges(isStale: false, now))
        case .unreadable: return .wrong(challenges(isStale: false, now))
        case .bearer(let shown):
            // The same length for both, and no byte of either shows in the time.
            guard !token.isEmpty, ConstantTime.areEqual(hashes.keyed(shown), hashes.keyed(token)) else {
                return .wrong(challenges(isStale: false, now))
            }
            return .granted(.operating)
        case .basic(let user, let password):
            guard isRight(user: user, password: password) else { return .wrong(challenges(isStale: false, now)) }
            return .granted(identity(user))
        case .digest(let digest): return decide(digest, request, now)
        }
    }

    /// Whether a password is the user's, in whatever realm it is kept under: apps that report tokens send it in the body.
    public func isRight(user: String, password: [UInt8]) -> Bool {
        let known = users.secrets(of: user)
        var isRight = false
        for secret in known.isEmpty ? [Self.nobody] : known {
            let text = Array("\(user):\(secret.realm):".utf8) + password
            let ha1 = Array(Hex.encode(hashes.hash(secret.algorithm, text)).utf8)
            if ConstantTime.areEqual(ha1, secret.ha1), !known.isEmpty { isRight = true }
        }
        return isRight
    }

    /// Who a user of `http_users` is.
    public func identity(_ user: String) -> Identity { operators.contains(user) ? .operating : .user(user) }

    private mutating func decide(_ digest: HTTPCredentials.Digest, _ request: ServedRequest, _ now: Int64) -> Decision {
        let secret =
            users.secrets(of: digest.user).first { $0.realm == realm && $0.algorithm == digest.algorithm }
            ?? Self.nobody
        // The target is part of what is signed; another one would be a request that the user never made.
        guard digest.realm == realm, digest.uri == request.target else {
            return .wrong(challenges(isStale: false, now))
        }
        let expected = response(digest, secret.ha1, request.method)
        let isRight = ConstantTime.areEqual(Array(digest.response.lowercased().utf8), expected)
        guard isRight, secret.realm == realm else { return .wrong(challenges(isStale: false, now)) }
        switch nonces.use(digest.nonce, count: digest.nonceCount, now: now) {
        case .good: return .granted(identity(digest.user))
        case .stale: return .asked(challenges(isStale: true, now))
        case .foreign: return .wrong(challenges(isStale: false, now))
        }
    }

    /// RFC 7616, 3.4.1.
    private func response(_ digest: HTTPCredentials.Digest, _ ha1: [UInt8], _ method: String) -> [UInt8] {
        func hex(_ text: [UInt8]) -> [UInt8] { Array(Hex.encode(hashes.hash(digest.algorithm, text)).utf8) }
        let ha2 = hex(Array("\(method):\(digest.uri)".utf8))
        let middle = ":\(digest.nonce):\(digest.nonceCount):\(digest.cnonce):auth:"
        return hex(ha1 + Array(middle.utf8) + ha2)
    }

    /// The strongest first (RFC 7616, 3.7).
    private mutating func challenges(isStale: Bool, _ now: Int64) -> [HTTPResponse.Header] {
        var values: [String] = []
        for algorithm in users.algorithms(in: realm) {
            let stale = isStale ? ", stale=true" : ""
            values.append(
                "Digest realm=\"\(realm)\", qop=\"auth\", algorithm=\(algorithm.rawValue), nonce=\"\(nonces.make(now: now))\"\(stale)"
            )
        }
        if users.count > 0 { values.append("Basic realm=\"\(realm)\", charset=\"UTF-8\"") }
        if !token.isEmpty { values.append("Bearer realm=\"\(realm)\"") }
        return values.map { .init(name: "www-authenticate", value: $0) }
    }
}
