// SPDX-License-Identifier: MIT

/// Decides who sends a request: the operator, a user of `http_users`, or nobody.
public struct HTTPAccess {
    /// Who sends it.
    public enum Identity: Equatable, Sendable {
        /// The bearer token, or a user of the own realm who is named as operator: may do everything.
        case operating
        /// May report and remove what belongs to its own account.
        case user(String, realm: String)

        /// Whether this may be done for a user of the registrar: by operators, and by the user itself, whose AoR is its
        /// name, with its realm behind it where AoRs have a domain.
        public func mayActFor(_ aor: String) -> Bool {
            switch self {
            case .operating: true
            case .user(let name, let realm): aor.isSameBytes(as: name) || aor.isSameBytes(as: "\(name)@\(realm)")
            }
        }
    }

    /// What came of it.
    public enum Decision: Equatable, Sendable {
        case granted(Identity)
        /// Nothing was shown, or a nonce is too old (`isStale`): 401 with `challenges`.
        case asked(isStale: Bool)
        /// What was shown is wrong: 401 as well. `isGuess`: it was no token, and counts as an attempt at a password.
        case wrong(isGuess: Bool)
        /// Its address may not try passwords now; what it showed was not looked at.
        case limited
    }

    /// Hashes that the caller's library has.
    public struct Hashes: Sendable {
        let hash: @Sendable (DigestAlgorithm, [UInt8]) -> [UInt8]
        let keyed: @Sendable ([UInt8]) -> [UInt8]

        /// `hash` is MD5 or SHA-256, `keyed` an HMAC with a key of this process.
        public init(
            hash: @escaping @Sendable (DigestAlgorithm, [UInt8]) -> [UInt8],
            keyed: @escaping @Sendable ([UInt8]) -> [UInt8]
        ) {
            self.hash = hash
            self.keyed = keyed
        }
    }

    private var token: [UInt8] = []
    private var users = HTTPUsers()
    private var operators: Set<UserKey> = []
    private var realm = ""
    /// What Digest is offered with.
    private var algorithms: [DigestAlgorithm] = []
    private let hashes: Hashes
    private var nonces: DigestNonces
    /// What the secret of a user is compared with who does not exist.
    private static let nobody = HTTPUsers.Secret(
        realm: "", algorithm: .md5, ha1: [UInt8](repeating: UInt8(ascii: "0"), count: 32))

    /// Nobody is let in before `change`.
    public init(hashes: Hashes) {
        self.hashes = hashes
        nonces = DigestNonces(tag: hashes.keyed)
    }

    /// Goes on with others: `token` is the operator's, an empty one nobody's; nil for either stands for what there was.
    /// Nonces that clients have stay good.
    public mutating func change(token: [UInt8]?, users: HTTPUsers?, operators: [String], realm: String) {
        self.token = token ?? self.token
        self.users = users ?? self.users
        (self.operators, self.realm) = (Set(operators.map { UserKey($0) }), realm)
        // A challenge must not go through all users.
        algorithms = self.users.algorithms(in: realm)
    }

    /// Decides by what a request's Authorization field says; `now` in seconds. `mayGuess`: not too many wrong passwords came
    /// from its address. Of a token it need not be asked: nobody finds one by trying.
    public mutating func decide(
        _ credentials: HTTPCredentials, of request: ServedRequest, mayGuess: Bool = true, now: Int64
    ) -> Decision {
        if case .bearer(let shown) = credentials {
            // The same length for both, and no byte of either shows in the time.
            let isRight = !token.isEmpty && ConstantTime.areEqual(hashes.keyed(shown), hashes.keyed(token))
            return isRight ? .granted(.operating) : .wrong(isGuess: false)
        }
        if credentials == .none { return .asked(isStale: false) }
        guard mayGuess else { return .limited }
        switch credentials {
        case .none, .unreadable, .bearer: return .wrong(isGuess: true)
        case .basic(let user, let password):
            return identity(user: user, password: password).map { .granted($0) } ?? .wrong(isGuess: true)
        case .digest(let digest): return decide(digest, request, now)
        }
    }

    /// Who a name and a password stand for, in whatever realm that is kept under: apps that report tokens may send both in
    /// the body. Nil when they are wrong.
    public func identity(user: String, password: [UInt8]) -> Identity? {
        let known = users.secrets(of: user)
        var found: Identity?
        // Who does not exist takes as long as who shows a wrong password.
        for secret in known.isEmpty ? [Self.nobody] : known {
            let text = Array("\(user):\(secret.realm):".utf8) + password
            let ha1 = Array(Hex.encode(hashes.hash(secret.algorithm, text)).utf8)
            guard ConstantTime.areEqual(ha1, secret.ha1), !known.isEmpty else { continue }
            // The same password in two realms: that of the own realm counts.
            if found == nil || secret.realm.isSameBytes(as: realm) { found = identity(user, secret.realm) }
        }
        return found
    }

    private func identity(_ user: String, _ realm: String) -> Identity {
        operators.contains(UserKey(user)) && realm.isSameBytes(as: self.realm)
            ? .operating : .user(user, realm: realm)
    }

    private mutating func decide(_ digest: HTTPCredentials.Digest, _ request: ServedRequest, _ now: Int64) -> Decision {
        let known = users.secrets(of: digest.user).first {
            $0.realm.isSameBytes(as: realm) && $0.algorithm == digest.algorithm
        }
        // Who does not exist takes as long as who shows a wrong password.
        let secret = known ?? Self.nobody
        // The target is part of what is signed; another one would be a request that the user never made.
        guard digest.realm.isSameBytes(as: realm), digest.uri.isSameBytes(as: request.target) else {
            return .wrong(isGuess: true)
        }
        let expected = response(digest, secret.ha1, request.method)
        let isRight = ConstantTime.areEqual(Array(digest.response.lowercased().utf8), expected)
        guard isRight, known != nil else { return .wrong(isGuess: true) }
        switch nonces.use(digest.nonce, count: digest.nonceCount, now: now) {
        case .good: return .granted(identity(digest.user, realm))
        case .stale: return .asked(isStale: true)
        case .malformed: return .wrong(isGuess: true)
        }
    }

    /// RFC 7616, 3.4.1.
    private func response(_ digest: HTTPCredentials.Digest, _ ha1: [UInt8], _ method: String) -> [UInt8] {
        func hex(_ text: [UInt8]) -> [UInt8] { Array(Hex.encode(hashes.hash(digest.algorithm, text)).utf8) }
        let ha2 = hex(Array("\(method):\(digest.uri)".utf8))
        let middle = ":\(digest.nonce):\(digest.nonceCount):\(digest.cnonce):auth:"
        return hex(ha1 + Array(middle.utf8) + ha2)
    }

    /// The fields of a 401, the strongest first (RFC 7616, 3.7); `now` in seconds. Make them only to send them: each has a
    /// nonce, of which so many are kept.
    public mutating func challenges(isStale: Bool = false, now: Int64) -> [HTTPResponse.Header] {
        var values: [String] = []
        for algorithm in algorithms {
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
