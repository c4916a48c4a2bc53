// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct DigestChallengeTests {
    private func read(_ text: String, isProxy: Bool = false) -> [DigestChallenge] {
        DigestChallenge.read(text.utf8.span, isProxy: isProxy)
    }

    @Test func `a challenge has all its parts`() throws {
        let all = read(#"Digest realm="a, b", nonce="n\"1", opaque="", algorithm=MD5, qop="auth,auth-int", stale=TRUE"#)
        let one = try #require(all.first)
        #expect(all.count == 1)
        #expect(one.realm == "a, b")
        #expect(one.nonce == #"n\"1"#)
        #expect(one.opaque == "")
        #expect(one.hasAuth && one.isStale && !one.isSession)
    }

    @Test func `several challenges may stand in one header`() {
        let all = read(
            #"Digest realm="x",nonce="1",algorithm=SHA-256,qop="auth", Basic realm="y", Digest realm="x", nonce="2""#)
        #expect(all.map(\.nonce) == ["1", "2"])
        #expect(all.map(\.algorithm) == [.sha256, .md5])
    }

    @Test(arguments: [
        "", "Digest", "Digest realm=\"x\"", "Digest nonce=\"n", "Basic realm=\"x\"", "Digest nonce=\"\"",
        "Digest nonce=\"n\", algorithm=SHA-512-256", "Digest nonce=\"n\", qop=\"auth-int\"", ",,,=,=", "Digest =x",
    ])
    func `what cannot be answered is left out`(text: String) { #expect(read(text).isEmpty) }

    @Test func `the challenge is chosen that the hash answers`() {
        let all = read(
            #"Digest nonce="1",algorithm=SHA-256, Digest nonce="2",algorithm=MD5, Digest nonce="3",qop="auth""#)
        #expect(DigestChallenge.choose(all, for: .sha256)?.nonce == "1")
        #expect(DigestChallenge.choose(all, for: .md5)?.nonce == "3")
        #expect(DigestChallenge.choose([], for: .md5) == nil)
    }

    @Test(arguments: [(32, DigestAlgorithm.md5), (64, .sha256), (31, nil), (40, nil)] as [(Int, DigestAlgorithm?)])
    func `the length of HA1 tells its hash`(length: Int, algorithm: DigestAlgorithm?) {
        #expect(DigestAlgorithm(credential: Secret(String(repeating: "a", count: length))) == algorithm)
    }

    @Test func `an answer is put together as RFC 7616 says`() {
        var challenge = DigestChallenge()
        (challenge.realm, challenge.nonce, challenge.hasAuth, challenge.opaque) = ("r", "n", true, "o")
        var hashed: [String] = []
        let line = DigestAnswer(challenge, count: 258, clientNonce: "c").header(
            username: "u", credential: Secret("AB"), method: "REGISTER", uri: "sip:x",
            hash: { _, bytes in
                hashed.append(String(decoding: bytes, as: UTF8.self))
                return [UInt8(hashed.count)]
            })
        #expect(hashed == ["REGISTER:sip:x", "ab:n:00000102:c:auth:01"])
        #expect(
            line
                == #"Authorization: Digest username="u", realm="r", nonce="n", uri="sip:x", response="02", opaque="o", qop=auth, nc=00000102, cnonce="c""#
        )
    }

    @Test func `an answer to an old server has no count`() {
        var challenge = DigestChallenge()
        (challenge.nonce, challenge.isProxy, challenge.algorithmName, challenge.isSession) = (
            "n", true, "MD5-sess", true
        )
        let line = DigestAnswer(challenge, count: 1, clientNonce: "c").header(
            username: "u", credential: Secret("h"), method: "REGISTER", uri: "sip:x", hash: { _, _ in [7] })
        #expect(line.hasPrefix("Proxy-Authorization: Digest "))
        #expect(line.hasSuffix(#"algorithm=MD5-sess, cnonce="c""#))
        #expect(!line.contains("nc="))
    }
}
