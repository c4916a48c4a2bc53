// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// Nobody knows before the server's answer whose password is right: no REGISTER may be in another one's way.
@Suite final class `REGISTERs of one account at the same time` {
    private static let credential = Secret("14d4f932e3897a39d6a17c13b526db00")
    private var machine = UpstreamRegistration(UpstreamPolicy(), cseq: 0, seed: 1)
    private var handles: UInt64 = 0
    private var now: Int64 = 1_000_000
    private let wall: Int64 = 1_790_000_000

    private func phone(
        expires: UInt32 = 600, authorization: String? = nil, credential: Secret? = nil
    ) -> [UpstreamAction] {
        handles += 1
        var phone = PhoneRegister(
            handle: .init(host: 1, number: handles), device: UpstreamDevice(fingerprint: handles))
        (phone.expires, phone.credential) = (expires, credential)
        phone.authorization = authorization.map { ["Authorization: \($0)"] } ?? []
        return machine.register(phone, now: now, wallSeconds: wall)
    }

    private func answer(_ register: UpstreamRegister, _ status: Int, nonce: String? = nil) -> [UpstreamAction] {
        var answer = UpstreamAnswer(status: status, reason: "R")
        answer.expires = 3600
        answer.challenges = nonce.map { [challenge($0)] } ?? []
        return machine.answered(register.attempt, answer, now: now, wallSeconds: wall)
    }

    private var isBusy: Bool { machine.isBusy }

    private func isOwn(_ register: UpstreamRegister) -> Bool { machine.phone(of: register.attempt) == nil }

    private func due() -> [UpstreamAction] {
        now = max(now, machine.dueAt ?? now)
        return machine.due(now: now, wallSeconds: wall, isWanted: true)
    }

    private func challenge(_ nonce: String) -> DigestChallenge {
        var challenge = DigestChallenge()
        (challenge.nonce, challenge.realm, challenge.hasAuth) = (nonce, "r", true)
        return challenge
    }

    private func sent(_ actions: [UpstreamAction]) -> [UpstreamRegister] {
        actions.compactMap { if case .send(let register) = $0 { register } else { nil } }
    }

    private func refusals(_ actions: [UpstreamAction]) -> [Int] {
        actions.compactMap { if case .refuse(_, let status, _, _) = $0 { status } else { nil } }
    }

    private func accepted(_ actions: [UpstreamAction]) -> [UInt64] {
        actions.compactMap { if case .accept(let handle, _, _) = $0 { handle.number } else { nil } }
    }

    @Test func `go side by side, each under a Call-ID of its own but the first`() throws {
        let first = try #require(sent(phone()).first)
        let second = try #require(sent(phone(authorization: "Digest b")).first)
        #expect(!first.hasOwnCallID && second.hasOwnCallID)
        #expect(second.cseq == 1 && first.cseq > 1_000_000)
        // Answers come in any order.
        #expect(accepted(answer(second, 200)) == [2])
        #expect(refusals(answer(first, 401)) == [401])
        #expect(!isBusy)
        let third = try #require(sent(phone()).first)
        #expect(!third.hasOwnCallID && third.cseq == first.cseq + 1)
        #expect(Set([first, second, third].map(\.attempt)).count == 3)
    }

    @Test func `keep Call-ID and count CSeq when they are sent again`() throws {
        _ = phone()
        let second = try #require(sent(phone(authorization: "Digest b")).first)
        var brief = UpstreamAnswer(status: 423, reason: "R")
        brief.minExpires = 7200
        let again = try #require(
            sent(machine.answered(second.attempt, brief, now: now, wallSeconds: wall)).first)
        #expect(again.attempt == second.attempt && again.hasOwnCallID && again.cseq == 2 && again.expires == 7200)
    }

    @Test func `leave places to phones that show who they are`() {
        for _ in 0..<UpstreamRegistration.mostWithoutProof { #expect(sent(phone()).count == 1) }
        #expect(refusals(phone()) == [503])
        let rest = UpstreamRegistration.mostPhones - UpstreamRegistration.mostWithoutProof
        for _ in 0..<rest { #expect(sent(phone(authorization: "Digest x")).count == 1) }
        #expect(refusals(phone(authorization: "Digest x")) == [503])
    }

    @Test func `do not keep the account from being renewed`() throws {
        let first = try #require(sent(phone(authorization: "Digest x", credential: Self.credential)).first)
        _ = answer(first, 200)
        now += 3_500_000
        let stranger = try #require(sent(phone()).first)
        let refresh = try #require(sent(due()).first)
        #expect(isOwn(refresh) && refresh.hasOwnCallID && refresh.expires == 3600)
        let again = machine.due(now: now, wallSeconds: wall, isWanted: true)
        #expect(again.isEmpty, "one refresh at a time")
        _ = answer(refresh, 200)
        let until = machine.until
        #expect(until == now + 3_600_000)
        #expect(refusals(answer(stranger, 401)) == [401])
    }

    @Test func `do not forget the account while one is under way`() throws {
        let first = try #require(sent(phone()).first)
        let looked = machine.due(now: now + 1, wallSeconds: wall, isWanted: false)
        let next = machine.dueAt ?? 0
        #expect(looked.isEmpty && next > now + 1)
        _ = answer(first, 401)
        let forgotten = machine.due(now: now + 2, wallSeconds: wall, isWanted: false)
        #expect(forgotten == [.forget])
    }

    @Test func `do not change what the server asked of those whom it accepts`() throws {
        var policy = UpstreamPolicy()
        policy.prefersCredential = true
        machine = UpstreamRegistration(policy, cseq: 0, seed: 1)
        var own = try #require(sent(phone(credential: Self.credential)).first)
        own = try #require(sent(answer(own, 401, nonce: "good")).first)
        #expect(accepted(answer(own, 200)) == [1])
        // A stranger's X-PIID is answered with the nonce that is known, which he uses up, and then with another one.
        var stranger = try #require(sent(phone(credential: Secret(String(repeating: "0", count: 32)))).first)
        stranger = try #require(sent(answer(stranger, 401, nonce: "his")).first)
        #expect(refusals(answer(stranger, 401, nonce: "his")) == [401])
        now += 3_500_000
        let refresh = try #require(sent(due()).first)
        guard case .digest(let asked, false) = refresh.authorization else {
            Issue.record("no digest")
            return
        }
        #expect(asked.map(\.challenge.nonce) == ["good"] && asked.map(\.count) == [3])
    }

    // MARK: What ends the registration

    @Test func `wait for one that would end it, and are waited for by it`() throws {
        let first = try #require(sent(phone()).first)
        #expect(phone(expires: 0).isEmpty, "it could come before the first")
        let end = try #require(sent(answer(first, 401)).first)
        #expect(end.expires == 0)
        #expect(phone(authorization: "Digest c").isEmpty, "it could come before the end")
        #expect(phone(expires: 0).isEmpty)
        let next = sent(answer(end, 401))
        #expect(next.map(\.expires) == [3600], "who stays goes before who leaves")
    }

    @Test func `are put off by none that ends it for longer than one answer takes`() throws {
        let first = try #require(sent(phone(authorization: "Digest x", credential: Self.credential)).first)
        _ = answer(first, 200)
        now += 1_000_000
        var end = try #require(sent(phone(expires: 0)).first)
        now += 2_500_000
        var refreshes = 0
        for _ in 0..<5 {
            _ = phone(expires: 0)
            let next = try #require(sent(answer(end, 401)).first)
            if isOwn(next) {
                refreshes += 1
                end = try #require(sent(answer(next, 200)).first)
            } else {
                end = next
            }
        }
        #expect(refreshes == 1)
    }
}
