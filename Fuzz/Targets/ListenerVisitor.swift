// SPDX-License-Identifier: MIT

import PushWakeCore

@testable import PushWakeEngine
@testable import PushWakeTransport

/// Somebody before the access check of the listener, who knows alice's password and nothing else, and what must come of
/// each attempt.
struct ListenerVisitor {
    /// Seconds since 1970 at which it comes.
    static let begin: Int64 = 1_700_000_000

    private static let realm = "h"
    private static let password = "sesame"
    private static let token = Array("0123456789abcdef".utf8)
    private static let hashes = HTTPAccess.Hashes(
        hash: { Crypto.digest($0, $1) }, keyed: { Crypto.hmacSHA256(key: [7], $0) })
    private static let users = HTTPUsers(
        Array(DigestAlgorithm.allCases.map { "alice:\(realm):\(ha1($0))\n" }.joined().utf8))
    private static let mostChallenges = 200
    /// Seconds for which a nonce may be used.
    private static let lifetime: Int64 = 300

    /// An answer to a challenge.
    private struct Signature {
        let nonce: String
        let count: UInt32
        var isUsed = false
    }

    private struct Nonce {
        let text: String
        let madeAt: Int64
        var lastCount: UInt32 = 0
    }

    /// The address may try passwords.
    var mayGuess = true
    private var access = HTTPAccess(hashes: Self.hashes)
    private var nonces: [Nonce] = []
    private var challenges = 0
    private var signatures: [String: Signature] = [:]
    /// What was made and not shown yet.
    private var made: (text: String, response: String)?

    init() { access.change(token: Self.token, users: Self.users, operators: [], realm: Self.realm) }

    private static func ha1(_ algorithm: DigestAlgorithm) -> String {
        hash(algorithm, "alice:\(realm):\(password)")
    }

    private static func hash(_ algorithm: DigestAlgorithm, _ text: String) -> String {
        Hex.encode(Crypto.digest(algorithm, Array(text.utf8)))
    }

    /// The Authorization of a GET of "/" by Digest, right or with one part spoilt.
    mutating func authorization(_ choice: UInt8, _ count: UInt8) -> String {
        guard !nonces.isEmpty else { return "" }
        let latest = nonces.suffix(16).map(\.text)
        let nonce = latest[Int(choice >> 4) % latest.count]
        let algorithm = choice & 8 == 0 ? DigestAlgorithm.sha256 : .md5
        let digits = String(repeating: "0", count: 6) + Hex.encode([count])
        func hash(_ text: String) -> String { Self.hash(algorithm, text) }
        var response = hash("\(Self.ha1(algorithm)):\(nonce):\(digits):c:auth:\(hash("GET:/"))")
        var (user, shown, number, uri) = ("alice", nonce, digits, "/")
        let spoilt = choice & 7
        switch spoilt {
        case 1: user = "bob"
        case 2: shown = nonce.replacing("-", with: "-1", maxReplacements: 1)
        case 3: number = "000000ff" == digits ? "00000001" : "000000ff"
        case 4: uri = "/other"
        case 5: response = String(response.reversed())
        case 6: response = ""
        default: break
        }
        let isWhole = spoilt == 0 || spoilt == 7
        if isWhole, signatures[response] == nil {
            signatures[response] = Signature(nonce: nonce, count: UInt32(count))
        }
        let text =
            "Digest username=\"\(user)\", realm=\"\(Self.realm)\", nonce=\"\(shown)\", uri=\"\(uri)\", qop=auth, "
            + "nc=\(number), cnonce=\"c\", response=\"\(response)\", algorithm=\(algorithm.rawValue)"
        made = isWhole ? (text, response) : nil
        return text
    }

    /// Looks at a request as the engine does.
    mutating func visit(_ request: ServedRequest, now: Int64) {
        let shown = request["authorization"]
        let mustPass = mustPass(request, now)
        let decision = access.decide(HTTPCredentials(shown), of: request, mayGuess: mayGuess, now: now)
        if mustPass, decision != .granted(.user("alice", realm: Self.realm)) {
            fatalError("\(decision): \(shown ?? "")")
        }
        switch decision {
        case .granted(let identity): checkGrant(identity, shown)
        case .asked(let isStale): challenge(isStale: isStale, now: now)
        case .wrong, .limited: break
        }
        read(request)
    }

    /// It shows what was made for it, new and whole.
    private func mustPass(_ request: ServedRequest, _ now: Int64) -> Bool {
        guard mayGuess, let made, request["authorization"] == made.text, request.method == "GET", request.target == "/",
            let signature = signatures[made.response], !signature.isUsed,
            let nonce = nonces.first(where: { $0.text == signature.nonce })
        else { return false }
        return signature.count > nonce.lastCount && now - nonce.madeAt < Self.lifetime
    }

    private mutating func checkGrant(_ identity: HTTPAccess.Identity, _ shown: String?) {
        switch HTTPCredentials(shown) {
        case .bearer(Self.token) where identity == .operating: return
        case .basic("alice", Array(Self.password.utf8)) where mayGuess && identity == .user("alice", realm: Self.realm):
            return
        case .digest(let digest) where mayGuess && identity == .user("alice", realm: Self.realm):
            let response = digest.response.lowercased()
            guard let signature = signatures[response], !signature.isUsed,
                let index = nonces.firstIndex(where: { $0.text == signature.nonce }),
                signature.count > nonces[index].lastCount
            else { break }
            signatures[response]?.isUsed = true
            nonces[index].lastCount = signature.count
            return
        default: break
        }
        fatalError("\(identity) was let in with \(shown ?? "nothing")")
    }

    private mutating func challenge(isStale: Bool, now: Int64) {
        guard challenges < Self.mostChallenges else { return }
        challenges += 1
        for field in access.challenges(isStale: isStale, now: now) {
            guard !field.value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { fatalError("more than a line") }
            let parts = field.value.split(separator: "nonce=\"")
            guard parts.count == 2, let text = parts[1].split(separator: "\"").first else { continue }
            guard !nonces.contains(where: { $0.text == text }) else { fatalError("the same nonce again") }
            nonces.append(Nonce(text: String(text), madeAt: now))
        }
    }

    /// Its fields: no control character but what phones may show.
    private func read(_ request: ServedRequest) {
        _ = (request.mediaType, request.isForAnotherSite)
        guard let fields = try? HTTPFields(request) else { return }
        for name in ["text", "title", "token", "a"] {
            let mayHaveLines = name == "text" || name == "title"
            for byte in (fields[name] ?? "").utf8 where byte < 0x20 || byte == 0x7F {
                guard mayHaveLines, byte == 0x0A || byte == 0x09 else { fatalError("\(name) has a control character") }
            }
        }
    }
}
