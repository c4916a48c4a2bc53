// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `APNs provider token` {
    private let start: Int64 = 1_700_000_000

    /// A credential whose first token was minted at `start`.
    private func minted() -> APNsCredential {
        var credential = APNsCredential(keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        mint(&credential, now: start)
        return credential
    }

    private func mint(_ credential: inout APNsCredential, now: Int64) {
        if case .sign(let input) = credential.authorization(now: now) {
            _ = credential.signed(input, signature: Array(repeating: 1, count: 64))
        }
    }

    private func generation(_ credential: inout APNsCredential, now: Int64) -> UInt32? {
        if case .use(_, let generation) = credential.authorization(now: now) { return generation }
        return nil
    }

    @Test func `is signed over Apple's header and claims`() throws {
        var credential = APNsCredential(keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        guard case .sign(let input) = credential.authorization(now: start) else {
            Issue.record("no signature wanted")
            return
        }
        let parts = input.split(separator: UInt8(ascii: "."))
        let header = try #require(Base64URL.decode(String(decoding: parts[0], as: UTF8.self)))
        let claims = try #require(Base64URL.decode(String(decoding: parts[1], as: UTF8.self)))
        #expect(String(decoding: header, as: UTF8.self) == #"{"alg":"ES256","kid":"ABC123DEFG"}"#)
        #expect(String(decoding: claims, as: UTF8.self) == #"{"iss":"DEF123GHIJ","iat":1700000000}"#)
        let value = credential.signed(input, signature: [0xFF, 0xEE])
        #expect(value == Array("bearer ".utf8) + input + Array("._-4".utf8))
        let action = credential.authorization(now: start + 1)
        #expect(action == .use(value, generation: 1))
    }

    @Test(arguments: [0, 1199, 2699]) func `is used for 45 minutes`(age: Int64) {
        var credential = minted()
        let used = generation(&credential, now: start + age)
        #expect(used == 1)
    }

    @Test(arguments: [2700, 3600, 1_000_000, -61])
    func `is minted anew when it is old or the clock was set back`(age: Int64) {
        var credential = minted()
        let before = generation(&credential, now: start + age)
        mint(&credential, now: start + age)
        let after = generation(&credential, now: start + age)
        #expect(before == nil)
        #expect(after == 2)
    }

    @Test func `survives a clock that steps back a little`() {
        var credential = minted()
        let used = generation(&credential, now: start - 60)
        #expect(used == 1)
    }

    @Test func `is minted anew once when Apple calls it expired`() {
        var credential = minted()
        let first = credential.expired(generation: 1, now: start + 10)
        let between = generation(&credential, now: start + 10)
        mint(&credential, now: start + 10)
        let second = credential.expired(generation: 2, now: start + 12)
        let after = generation(&credential, now: start + 12)
        #expect(first == .resend)
        #expect(between == nil)
        #expect(second == .giveUp)
        #expect(after == 2)
    }

    @Test func `is not minted again for late answers to the old one`() {
        var credential = minted()
        _ = credential.expired(generation: 1, now: start + 10)
        mint(&credential, now: start + 10)
        let late = credential.expired(generation: 1, now: start + 11)
        let used = generation(&credential, now: start + 11)
        #expect(late == .resend)
        #expect(used == 2)
    }

    @Test func `may be called expired again after 20 minutes`() {
        var credential = minted()
        _ = credential.expired(generation: 1, now: start + 10)
        mint(&credential, now: start + 10)
        let action = credential.expired(generation: 2, now: start + 10 + 1200)
        #expect(action == .resend)
    }
}
