// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// An account and a server that says what the test wants.
private final class Bench {
    var machine: UpstreamRegistration
    var now: Int64 = 1_000_000
    let wall: Int64 = 1_790_000_000
    var sent: [UpstreamRegister] = []
    private var handles: UInt64 = 0

    static let credential = Secret("14d4f932e3897a39d6a17c13b526db00")

    init(_ change: (inout UpstreamPolicy) -> Void = { _ in }) {
        var policy = UpstreamPolicy()
        change(&policy)
        machine = UpstreamRegistration(policy, cseq: 0, seed: 1)
    }

    func phone(
        device: UInt64 = 1, expires: UInt32 = 600, authorization: String? = nil, credential: Secret? = nil,
        leavesBinding: Bool = true
    ) -> [UpstreamAction] {
        handles += 1
        var phone = PhoneRegister(
            handle: .init(host: 1, number: handles), device: UpstreamDevice(fingerprint: device))
        (phone.expires, phone.credential, phone.leavesBinding) = (expires, credential, leavesBinding)
        phone.authorization = authorization.map { ["Authorization: \($0)"] } ?? []
        return note(machine.register(phone, now: now, wallSeconds: wall))
    }

    func answer(_ status: Int, _ fill: (inout UpstreamAnswer) -> Void = { _ in }) -> [UpstreamAction] {
        var answer = UpstreamAnswer(status: status, reason: "R")
        fill(&answer)
        return note(machine.answered(sent.last?.attempt ?? 0, answer, now: now, wallSeconds: wall))
    }

    /// Goes to the time when the account wants to be looked at.
    func due(isWanted: Bool = true) -> [UpstreamAction] {
        now = max(now, machine.dueAt ?? now)
        return note(machine.due(now: now, wallSeconds: wall, isWanted: isWanted))
    }

    /// Looks until something happens.
    func dueUntilAction(isWanted: Bool = true) -> [UpstreamAction] {
        for _ in 0..<200 {
            let actions = due(isWanted: isWanted)
            if !actions.isEmpty { return actions }
        }
        return []
    }

    private func note(_ actions: [UpstreamAction]) -> [UpstreamAction] {
        for case .send(let register) in actions { sent.append(register) }
        return actions
    }

    var credential: DigestAlgorithm? { machine.credential }
    var until: Int64? { machine.until }
    var isBusy: Bool { machine.isBusy }
    var dueAt: Int64? { machine.dueAt }

    func hasPhone(after seconds: Int64) -> Bool { machine.hasPhone(now: now + seconds * 1000) }

    /// Registered with a kept HA1.
    func register(granted: UInt32 = 3600) {
        _ = phone(authorization: "Digest x", credential: Self.credential)
        _ = answer(200) { $0.expires = granted }
    }
}

private func challenge(_ nonce: String, stale: Bool = false, proxy: Bool = false, realm: String = "r")
    -> DigestChallenge
{
    var challenge = DigestChallenge()
    (challenge.nonce, challenge.realm, challenge.isStale, challenge.isProxy) = (nonce, realm, stale, proxy)
    challenge.hasAuth = true
    return challenge
}

private func accepted(_ actions: [UpstreamAction]) -> UInt32?? {
    for case .accept(_, let most, _) in actions { return .some(most) }
    return nil
}

private func refusal(_ actions: [UpstreamAction]) -> Int? {
    for case .refuse(_, let status, _, _) in actions { return status }
    return nil
}

private func digest(_ register: UpstreamRegister?) -> [(nonce: String, count: UInt32)]? {
    guard case .digest(let all, _) = register?.authorization else { return nil }
    return all.map { ($0.challenge.nonce, $0.count) }
}

@Suite struct UpstreamRegistrationTests {
    @Test func `a phone's REGISTER goes up and its challenge comes back`() {
        let bench = Bench()
        _ = bench.phone()
        #expect(bench.sent.last?.expires == 3600)
        #expect(bench.sent.last?.authorization == UpstreamRegister.Authorization.none)
        let actions = bench.answer(401) {
            $0.challenges = [challenge("n")]
            $0.passedHeaders = ["WWW-Authenticate: Digest …"]
        }
        #expect(refusal(actions) == 401)
        #expect(
            actions.contains { action in
                if case .refuse(_, _, _, let headers) = action {
                    headers == ["WWW-Authenticate: Digest …"]
                } else {
                    false
                }
            })
        _ = bench.phone(authorization: "Digest x")
        #expect(bench.sent.last?.authorization == .phone(["Authorization: Digest x"]))
        #expect(bench.sent[1].cseq > bench.sent[0].cseq)
        // Nobody here can renew it: the phone must come again in time.
        #expect(accepted(bench.answer(200) { $0.expires = 300 }) == .some(300))
    }

    @Test func `with X-PIID a phone may sleep longer than the server grants`() {
        let bench = Bench()
        _ = bench.phone(authorization: "Digest x", credential: Bench.credential)
        let actions = bench.answer(200) { $0.expires = 300 }
        #expect(accepted(actions) == .some(nil))
        #expect(actions.contains(.adopt(Bench.credential)))
    }

    @Test func `a phone counts as registered for as long as it was granted`() {
        let own = Bench()
        _ = own.phone(expires: 600, authorization: "Digest x", credential: Bench.credential)
        _ = own.answer(200) { $0.expires = 6 }
        #expect(own.hasPhone(after: 599) && !own.hasPhone(after: 601))
        let other = Bench()
        _ = other.phone(expires: 600, authorization: "Digest x")
        _ = other.answer(200) { $0.expires = 6 }
        #expect(other.hasPhone(after: 5) && !other.hasPhone(after: 7))
    }

    @Test func `X-PIID of a phone that the server refuses is not kept`() {
        let bench = Bench()
        _ = bench.phone(credential: Bench.credential)
        let actions = bench.answer(401) { $0.challenges = [challenge("n")] }
        #expect(refusal(actions) == 401)
        #expect(!actions.contains(.adopt(Bench.credential)))
        #expect(bench.credential == nil)
    }

    @Test func `a kept HA1 vouches for no phone`() {
        let bench = Bench { $0.prefersCredential = true }
        bench.register()
        _ = bench.phone(device: 2)
        #expect(bench.sent.last?.authorization == UpstreamRegister.Authorization.none)
        #expect(refusal(bench.answer(401) { $0.challenges = [challenge("n")] }) == 401)
    }

    @Test func `with prefer_md5_auth the gateway answers for the phone`() {
        let bench = Bench { $0.prefersCredential = true }
        _ = bench.phone(credential: Bench.credential)
        _ = bench.answer(401) { $0.challenges = [challenge("n")] }
        #expect(digest(bench.sent.last)?.map(\.nonce) == ["n"])
        #expect(accepted(bench.answer(200) { $0.expires = 60 }) == .some(nil))
        // The nonce is used again.
        _ = bench.phone(device: 2, credential: Bench.credential)
        #expect(digest(bench.sent.last)?.map(\.count) == [2])
    }

    @Test func `a wrong X-PIID is tried once, then the phone is asked`() {
        let bench = Bench { $0.prefersCredential = true }
        _ = bench.phone(credential: Bench.credential)
        _ = bench.answer(401) { $0.challenges = [challenge("n1")] }
        #expect(refusal(bench.answer(401) { $0.challenges = [challenge("n2")] }) == 401)
        #expect(bench.sent.count == 2)
    }

    @Test(arguments: [false, true])
    func `a phone whose bindings are removed by hand ends the registration at once, if it is the last`(
        hasAnother: Bool
    ) {
        let bench = Bench()
        bench.register()
        if hasAnother {
            _ = bench.phone(device: 2, authorization: "Digest y")
            _ = bench.answer(200) { $0.expires = 3600 }
        }
        bench.machine.removed([UpstreamDevice(fingerprint: 1)], now: bench.now)
        #expect(bench.dueAt == bench.now)
        let before = bench.sent.count
        _ = bench.due(isWanted: false)
        #expect(bench.sent.dropFirst(before).map(\.expires) == (hasAnother ? [] : [0]))
    }

    @Test func `refreshes fall between half and nine tenths of the interval`() throws {
        for _ in 0..<50 {
            let bench = Bench()
            bench.register(granted: 1000)
            let due = try #require(bench.dueAt)
            #expect((500_000...900_000).contains(due - bench.now))
        }
    }

    @Test func `of a short interval two seconds are left, of the shortest half`() {
        for (granted, latest) in [(UInt32(4), Int64(2000)), (10, 8000), (2, 1000)] {
            let bench = Bench()
            bench.register(granted: granted)
            for _ in 0..<20 {
                let begin = bench.now
                #expect(!bench.dueUntilAction().isEmpty)
                #expect(bench.now - begin <= latest, "of \(granted) s")
                _ = bench.answer(200) { $0.expires = granted }
            }
        }
    }

    @Test func `a refresh uses the nonce again, and a new one when it is stale`() {
        let bench = Bench()
        bench.register()
        #expect(bench.dueUntilAction().count == 1)
        #expect(bench.sent.last?.authorization == UpstreamRegister.Authorization.none)
        _ = bench.answer(401) { $0.challenges = [challenge("n1")] }
        #expect(digest(bench.sent.last)?.map(\.count) == [1])
        _ = bench.answer(200) { $0.expires = 3600 }
        _ = bench.dueUntilAction()
        #expect(digest(bench.sent.last)?.map(\.count) == [2])
        _ = bench.answer(401) { $0.challenges = [challenge("n2", stale: true)] }
        #expect(digest(bench.sent.last)?.map(\.nonce) == ["n2"])
        #expect(digest(bench.sent.last)?.map(\.count) == [1])
        _ = bench.answer(200) { $0.expires = 3600 }
        #expect(bench.until != nil)
    }

    @Test func `an old nonce that is refused without stale is tried anew`() {
        let bench = Bench()
        bench.register()
        _ = bench.dueUntilAction()
        _ = bench.answer(401) { $0.challenges = [challenge("n1")] }
        _ = bench.answer(200) { $0.expires = 3600 }
        _ = bench.dueUntilAction()
        _ = bench.answer(401) { $0.challenges = [challenge("n2", realm: "other")] }
        #expect(digest(bench.sent.last)?.map(\.nonce) == ["n2"])
        #expect(bench.credential == .md5)
    }

    @Test func `a proxy and the registrar may both ask`() {
        let bench = Bench()
        bench.register()
        _ = bench.dueUntilAction()
        _ = bench.answer(407) { $0.challenges = [challenge("p", proxy: true)] }
        _ = bench.answer(401) { $0.challenges = [challenge("w")] }
        #expect(digest(bench.sent.last)?.map(\.nonce) == ["p", "w"])
    }

    @Test func `a server that asks without end is not answered without end`() {
        let bench = Bench()
        bench.register()
        _ = bench.dueUntilAction()
        let before = bench.sent.count
        for round in 0..<10 { _ = bench.answer(401) { $0.challenges = [challenge("n\(round)", stale: true)] } }
        #expect(bench.sent.count - before <= 4)
        #expect(!bench.isBusy)
    }

    @Test func `a challenge for another hash is not answered`() {
        let bench = Bench()
        bench.register()
        _ = bench.dueUntilAction()
        var other = challenge("n")
        other.algorithm = .sha256
        let actions = bench.answer(401) { $0.challenges = [other] }
        #expect(actions.contains(.dropCredential))
    }

    @Test func `an interval that is too brief is raised`() {
        let bench = Bench()
        _ = bench.phone(authorization: "Digest x")
        _ = bench.answer(423) { $0.minExpires = 7200 }
        #expect(bench.sent.last?.expires == 7200)
        #expect(bench.sent.last?.authorization == .phone(["Authorization: Digest x"]))
        #expect(refusal(bench.answer(423) { $0.minExpires = 9000 }) == 423)
    }

    @Test func `the least interval of a server is asked for at once from then on`() {
        let bench = Bench()
        _ = bench.phone(authorization: "Digest x")
        _ = bench.answer(423) { $0.minExpires = 7200 }
        #expect(refusal(bench.answer(401)) == 401, "the nonce was used up")
        _ = bench.phone(authorization: "Digest y", credential: Bench.credential)
        #expect(bench.sent.last?.expires == 7200)
        _ = bench.answer(200) { $0.expires = 7200 }
        _ = bench.dueUntilAction()
        #expect(bench.sent.last?.expires == 7200)
        // A nonce that serves once is used up by a 423 of the gateway's own REGISTER, too.
        _ = bench.answer(401) { $0.challenges = [challenge("n1")] }
        _ = bench.answer(423) { $0.minExpires = 9000 }
        _ = bench.answer(401) { $0.challenges = [challenge("n2")] }
        #expect(bench.sent.last?.expires == 9000 && digest(bench.sent.last)?.first?.nonce == "n2")
    }

    @Test func `an answer to another attempt is none`() {
        let bench = Bench()
        _ = bench.phone()
        let answer = UpstreamAnswer(status: 200)
        let actions = bench.machine.answered(77, answer, now: bench.now, wallSeconds: bench.wall)
        #expect(actions.isEmpty)
        #expect(bench.answer(100).isEmpty)
        #expect(bench.isBusy)
    }

    @Test func `a phone whose way is dead says nothing of the server`() {
        let bench = Bench()
        _ = bench.phone()
        #expect(!bench.answer(408) { $0.isSilence = true }.contains(.serverFailed(retryAfter: nil)))
    }

    // MARK: Phones that leave

    @Test(arguments: [
        (1, true, false, UInt32(3600)), (1, false, false, 0), (0, true, false, 0), (2, false, false, 3600),
        (0, false, true, 3600),
    ])
    func `only the last phone's un-REGISTER ends the registration`(
        keeping: Int, leavesBinding: Bool, hasOther: Bool, expires: UInt32
    ) {
        let bench = Bench { $0.keeping = .init(rawValue: keeping) ?? .always }
        bench.register()
        if hasOther {
            _ = bench.phone(device: 2, authorization: "Digest y")
            _ = bench.answer(200) { $0.expires = 3600 }
        }
        _ = bench.phone(expires: 0, authorization: "Digest x", leavesBinding: leavesBinding)
        #expect(bench.sent.last?.expires == expires)
        #expect(accepted(bench.answer(200)) != nil)
        #expect((bench.until == nil) == (expires == 0))
    }

    // MARK: Without HA1

    @Test func `without HA1 the phone is woken before the end`() throws {
        let bench = Bench()
        _ = bench.phone(authorization: "Digest x")
        _ = bench.answer(200) { $0.expires = 3600 }
        let until = try #require(bench.until)
        #expect(bench.dueUntilAction() == [.wakePhones])
        #expect((until - 120_000...until).contains(bench.now))
        #expect(bench.dueUntilAction().contains(.lapsed("the upstream registration ended", removesBindings: false)))
        #expect(bench.now >= until)
    }

    @Test(arguments: [(UpstreamPolicy.Waking.never, false), (.orRemove, true)])
    func `phones are not woken, or lose their binding, by setting`(waking: UpstreamPolicy.Waking, removes: Bool) {
        let bench = Bench { $0.waking = waking }
        _ = bench.phone(authorization: "Digest x")
        _ = bench.answer(200) { $0.expires = 600 }
        var seen = bench.dueUntilAction()
        if waking != .never {
            #expect(seen == [.wakePhones])
            seen = bench.dueUntilAction()
        }
        #expect(seen.contains(.lapsed("the upstream registration ended", removesBindings: removes)))
    }

    // MARK: Trouble

    @Test func `a refused HA1 wakes the phone, and takes its binding only when it does not come`() {
        let bench = Bench()
        bench.register()
        _ = bench.dueUntilAction()
        #expect(bench.answer(403).contains(.dropCredential))
        #expect(bench.dueUntilAction() == [.wakePhones])
        #expect(bench.dueUntilAction().contains(.lapsed("the upstream registration ended", removesBindings: true)))
    }

    @Test(arguments: [(403, true), (404, true), (410, true), (604, true), (401, false), (423, false), (503, false)])
    func `a user whom the server rejects twice, gateway and phone, loses the bindings at once`(
        status: Int, isRejection: Bool
    ) {
        let bench = Bench()
        bench.register()
        _ = bench.dueUntilAction()
        _ = bench.answer(403)
        _ = bench.phone(device: 2, authorization: "Digest y")
        let lapsed = UpstreamAction.lapsed("the SIP server rejects this user", removesBindings: true)
        #expect(bench.answer(status).contains(lapsed) == isRejection)
    }

    @Test func `whom the server rejects in a user's name says nothing of the user`() {
        let lapsed = UpstreamAction.lapsed("the SIP server rejects this user", removesBindings: true)
        let kept = Bench()
        kept.register()
        _ = kept.phone(device: 2, authorization: "Digest y")
        #expect(!kept.answer(403).contains(lapsed))
        // By setting, and for a phone that has been accepted since.
        let told = Bench { $0.removesRejected = false }
        told.register()
        _ = told.dueUntilAction()
        _ = told.answer(403)
        _ = told.phone(authorization: "Digest y")
        #expect(!told.answer(403).contains(lapsed))
        let back = Bench()
        back.register()
        _ = back.dueUntilAction()
        _ = back.answer(403)
        back.register()
        _ = back.phone(device: 2, authorization: "Digest y")
        #expect(!back.answer(403).contains(lapsed))
    }

    @Test func `a server that is away is asked again and again, and nothing is given up`() {
        let bench = Bench()
        bench.register()
        _ = bench.dueUntilAction()
        for _ in 0..<20 {
            let actions = bench.answer(408) { $0.isSilence = true }
            #expect(actions.contains(.serverFailed(retryAfter: nil)))
            let before = bench.sent.count
            var rounds = 0
            while bench.sent.count == before, rounds < 10 {
                let looked = bench.dueUntilAction()
                rounds += 1
                #expect(!looked.contains { if case .lapsed(_, true) = $0 { true } else { false } })
            }
            #expect(bench.sent.count == before + 1)
        }
        _ = bench.answer(200) { $0.expires = 3600 }
        #expect(bench.until == bench.now + 3_600_000)
        #expect(bench.credential == .md5)
    }

    @Test func `a host that says nothing has forgotten the REGISTER`() {
        let bench = Bench()
        _ = bench.phone()
        let actions = bench.dueUntilAction()
        #expect(refusal(actions) == 408)
        #expect(!bench.isBusy)
    }

    @Test func `an account that nobody wants is ended at its server`() {
        let bench = Bench()
        bench.register()
        bench.now += 700_000
        #expect(bench.dueUntilAction(isWanted: false).count == 1)
        #expect(bench.sent.last?.expires == 0)
        #expect(bench.answer(200).contains(.forget))
    }

    @Test func `who was never registered is forgotten`() {
        let bench = Bench()
        _ = bench.phone()
        _ = bench.answer(401)
        #expect(bench.dueUntilAction(isWanted: false) == [.forget])
    }

    // MARK: Restart

    @Test func `after a restart a refresh comes in time, and with a higher CSeq`() {
        for seed in UInt64(0)..<50 {
            var machine = UpstreamRegistration(UpstreamPolicy(), cseq: 40, seed: seed)
            machine.restore(until: 500_000, interval: 600_000, credential: .md5, devices: [], now: 0)
            var now: Int64 = 0
            var sent: UpstreamRegister?
            while sent == nil, now < 600_000 {
                now = machine.dueAt ?? .max
                for case .send(let register) in machine.due(now: now, wallSeconds: 1_790_000_000, isWanted: true) {
                    sent = register
                }
            }
            #expect(now < 500_000)
            #expect(sent.map { $0.cseq > 40 && $0.cseq < UInt32(Int32.max) } == true)
        }
    }

    @Test(arguments: [Int64.min, -1, .max]) func `a file may hold any interval`(interval: Int64) {
        var machine = UpstreamRegistration(UpstreamPolicy(), cseq: 40, seed: 1)
        machine.restore(until: 500_000, interval: interval, credential: .md5, devices: [], now: 1_000_000)
        #expect(machine.dueAt != nil)
        var pace = UpstreamPace()
        pace.add(interval: interval)
    }
}
