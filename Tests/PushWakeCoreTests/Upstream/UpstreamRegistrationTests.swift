// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// An account and a server that says what the test wants.
private final class Bench {
    var machine: UpstreamRegistration
    var now: Int64 = 1_000_000
    let wall: Int64 = 1_790_000_000
    private(set) var sent: [UpstreamRegister] = []
    private(set) var actions: [UpstreamAction] = []
    private var handles: UInt64 = 0

    static let credential = Secret("14d4f932e3897a39d6a17c13b526db00")

    init(_ change: (inout UpstreamPolicy) -> Void = { _ in }) {
        var policy = UpstreamPolicy()
        change(&policy)
        machine = UpstreamRegistration(policy, cseq: 0, seed: 1)
    }

    /// A phone's REGISTER comes.
    @discardableResult func phone(
        device: UInt64 = 1, expires: UInt32 = 600, authorization: String? = nil, credential: Secret? = nil,
        leavesBinding: Bool = true
    ) -> Self {
        handles += 1
        var phone = PhoneRegister(
            handle: .init(host: 1, number: handles), device: UpstreamDevice(fingerprint: device))
        (phone.expires, phone.credential, phone.leavesBinding) = (expires, credential, leavesBinding)
        phone.authorization = authorization.map { ["Authorization: \($0)"] } ?? []
        return note(machine.register(phone, now: now, wallSeconds: wall))
    }

    /// Registered with a kept HA1.
    @discardableResult func register(granted: UInt32 = 3600) -> Self {
        phone(authorization: "Digest x", credential: Self.credential).grant(granted)
    }

    @discardableResult func answer(_ status: Int, _ fill: (inout UpstreamAnswer) -> Void = { _ in }) -> Self {
        var answer = UpstreamAnswer(status: status, reason: "R")
        fill(&answer)
        return note(machine.answered(sent.last?.attempt ?? 0, answer, now: now, wallSeconds: wall))
    }

    @discardableResult func grant(_ seconds: UInt32) -> Self { answer(200) { $0.expires = seconds } }

    @discardableResult func ask(
        _ nonce: String, stale: Bool = false, proxy: Bool = false, realm: String = "r"
    ) -> Self {
        answer(proxy ? 407 : 401) {
            $0.challenges = [challenge(nonce, stale: stale, proxy: proxy, realm: realm)]
        }
    }

    /// Its interval is too brief.
    @discardableResult func raise(_ seconds: UInt32) -> Self { answer(423) { $0.minExpires = seconds } }

    @discardableResult func silence() -> Self { answer(408) { $0.isSilence = true } }

    /// Goes to the time when the account wants to be looked at.
    @discardableResult func look(isWanted: Bool = true) -> Self {
        now = max(now, machine.dueAt ?? now)
        return note(machine.due(now: now, wallSeconds: wall, isWanted: isWanted))
    }

    /// Looks until something happens.
    @discardableResult func due(isWanted: Bool = true) -> Self {
        for _ in 0..<200 where look(isWanted: isWanted).actions.count > 0 { return self }
        return self
    }

    private func note(_ actions: [UpstreamAction]) -> Self {
        for case .send(let register) in actions { sent.append(register) }
        self.actions = actions
        return self
    }

    // MARK: What came of the last step

    @discardableResult func does(
        _ action: UpstreamAction, _ does: Bool = true, at line: SourceLocation = #_sourceLocation
    ) -> Self {
        #expect(actions.contains(action) == does, sourceLocation: line)
        return self
    }

    @discardableResult func does(exactly all: [UpstreamAction], at line: SourceLocation = #_sourceLocation) -> Self {
        #expect(actions == all, sourceLocation: line)
        return self
    }

    /// The phone is told to come again in so many seconds, or when it likes.
    @discardableResult func accepted(_ seconds: UInt32?, at line: SourceLocation = #_sourceLocation) -> Self {
        #expect(PushWakeCoreTests.accepted(actions) == .some(seconds), sourceLocation: line)
        return self
    }

    @discardableResult func refused(_ status: Int, at line: SourceLocation = #_sourceLocation) -> Self {
        #expect(refusal(actions) == status, sourceLocation: line)
        return self
    }

    /// What the last REGISTER to the server asks for.
    @discardableResult func sends(_ expires: UInt32, at line: SourceLocation = #_sourceLocation) -> Self {
        #expect(sent.last?.expires == expires, sourceLocation: line)
        return self
    }

    @discardableResult func sends(
        _ authorization: UpstreamRegister.Authorization, at line: SourceLocation = #_sourceLocation
    ) -> Self {
        #expect(sent.last?.authorization == authorization, sourceLocation: line)
        return self
    }

    @discardableResult func digests(_ nonces: [String], at line: SourceLocation = #_sourceLocation) -> Self {
        #expect(digest(sent.last)?.map(\.nonce) == nonces, sourceLocation: line)
        return self
    }

    @discardableResult func digests(count: [UInt32], at line: SourceLocation = #_sourceLocation) -> Self {
        #expect(digest(sent.last)?.map(\.count) == count, sourceLocation: line)
        return self
    }

    var credential: DigestAlgorithm? { machine.credential }
    var until: Int64? { machine.until }
    var isBusy: Bool { machine.isBusy }
    var dueAt: Int64? { machine.dueAt }

    func hasPhone(after seconds: Int64) -> Bool { machine.hasPhone(now: now + seconds * 1000) }
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
        let bench = Bench().phone().sends(3600).sends(UpstreamRegister.Authorization.none)
        bench.answer(401) {
            $0.challenges = [challenge("n")]
            $0.passedHeaders = ["WWW-Authenticate: Digest …"]
        }
        .refused(401)
        #expect(
            bench.actions.contains { action in
                if case .refuse(_, _, _, let headers) = action {
                    headers == ["WWW-Authenticate: Digest …"]
                } else {
                    false
                }
            })
        bench.phone(authorization: "Digest x").sends(.phone(["Authorization: Digest x"]))
        #expect(bench.sent[1].cseq > bench.sent[0].cseq)
        // Nobody here can renew it: the phone must come again in time.
        bench.grant(300).accepted(300)
    }

    @Test func `with X-PIID a phone may sleep longer than the server grants`() {
        Bench().phone(authorization: "Digest x", credential: Bench.credential).grant(300).accepted(nil)
            .does(.adopt(Bench.credential))
    }

    @Test func `a phone counts as registered for as long as it was granted`() {
        let own = Bench().phone(expires: 600, authorization: "Digest x", credential: Bench.credential).grant(6)
        #expect(own.hasPhone(after: 599) && !own.hasPhone(after: 601))
        let other = Bench().phone(expires: 600, authorization: "Digest x").grant(6)
        #expect(other.hasPhone(after: 5) && !other.hasPhone(after: 7))
    }

    @Test func `X-PIID of a phone that the server refuses is not kept`() {
        let bench = Bench().phone(credential: Bench.credential).ask("n").refused(401)
            .does(.adopt(Bench.credential), false)
        #expect(bench.credential == nil)
    }

    @Test func `a kept HA1 vouches for no phone`() {
        Bench({ $0.prefersCredential = true }).register().phone(device: 2).sends(UpstreamRegister.Authorization.none)
            .ask("n").refused(401)
    }

    @Test func `with prefer_md5_auth the gateway answers for the phone`() {
        let bench = Bench({ $0.prefersCredential = true }).phone(credential: Bench.credential).ask("n").digests(["n"])
            .grant(60).accepted(nil)
        // The nonce is used again.
        bench.phone(device: 2, credential: Bench.credential).digests(count: [2])
    }

    @Test func `a wrong X-PIID is tried once, then the phone is asked`() {
        let bench = Bench({ $0.prefersCredential = true }).phone(credential: Bench.credential).ask("n1")
            .ask("n2").refused(401)
        #expect(bench.sent.count == 2)
    }

    @Test(arguments: [false, true])
    func `a phone whose bindings are removed by hand ends the registration at once, if it is the last`(
        hasAnother: Bool
    ) {
        let bench = Bench().register()
        if hasAnother { bench.phone(device: 2, authorization: "Digest y").grant(3600) }
        bench.machine.removed([UpstreamDevice(fingerprint: 1)], now: bench.now)
        #expect(bench.dueAt == bench.now)
        let before = bench.sent.count
        bench.look(isWanted: false)
        #expect(bench.sent.dropFirst(before).map(\.expires) == (hasAnother ? [] : [0]))
    }

    @Test func `refreshes fall between half and nine tenths of the interval`() throws {
        for _ in 0..<50 {
            let bench = Bench().register(granted: 1000)
            let due = try #require(bench.dueAt)
            #expect((500_000...900_000).contains(due - bench.now))
        }
    }

    @Test func `of a short interval two seconds are left, of the shortest half`() {
        for (granted, latest) in [(UInt32(4), Int64(2000)), (10, 8000), (2, 1000)] {
            let bench = Bench().register(granted: granted)
            for _ in 0..<20 {
                let begin = bench.now
                #expect(!bench.due().actions.isEmpty)
                #expect(bench.now - begin <= latest, "of \(granted) s")
                bench.grant(granted)
            }
        }
    }

    @Test func `a refresh uses the nonce again, and a new one when it is stale`() {
        let bench = Bench().register().due()
        #expect(bench.actions.count == 1)
        bench.sends(UpstreamRegister.Authorization.none).ask("n1").digests(count: [1]).grant(3600).due()
            .digests(count: [2]).ask("n2", stale: true).digests(["n2"]).digests(count: [1]).grant(3600)
        #expect(bench.until != nil)
    }

    @Test func `an old nonce that is refused without stale is tried anew`() {
        let bench = Bench().register().due().ask("n1").grant(3600).due().ask("n2", realm: "other").digests(["n2"])
        #expect(bench.credential == .md5)
    }

    @Test func `a proxy and the registrar may both ask`() {
        Bench().register().due().ask("p", proxy: true).ask("w").digests(["p", "w"])
    }

    @Test func `a server that asks without end is not answered without end`() {
        let bench = Bench().register().due()
        let before = bench.sent.count
        for round in 0..<10 { bench.ask("n\(round)", stale: true) }
        #expect(bench.sent.count - before <= 4)
        #expect(!bench.isBusy)
    }

    @Test func `a challenge for another hash is not answered`() {
        let bench = Bench().register().due()
        var other = challenge("n")
        other.algorithm = .sha256
        bench.answer(401) { $0.challenges = [other] }.does(.dropCredential)
    }

    @Test func `an interval that is too brief is raised`() {
        Bench().phone(authorization: "Digest x").raise(7200).sends(7200).sends(.phone(["Authorization: Digest x"]))
            .raise(9000).refused(423)
    }

    @Test func `the least interval of a server is asked for at once from then on`() {
        // The nonce was used up.
        let bench = Bench().phone(authorization: "Digest x").raise(7200).answer(401).refused(401)
            .phone(authorization: "Digest y", credential: Bench.credential).sends(7200).grant(7200).due().sends(7200)
        // A nonce that serves once is used up by a 423 of the gateway's own REGISTER, too.
        bench.ask("n1").raise(9000).ask("n2").sends(9000).digests(["n2"])
    }

    @Test(arguments: [("-1", nil), ("0", 0), ("600", 600)] as [(String, UInt32?)])
    func `upper_expire is what the server is asked for, or left to the phone`(value: String, expires: UInt32?) throws {
        var settings = Settings()
        try settings.set(.upperExpire, to: value)
        #expect(UpstreamPolicy(settings).expires == expires)
    }

    @Test func `an answer to another attempt is none`() {
        let bench = Bench().phone()
        let answer = UpstreamAnswer(status: 200)
        let actions = bench.machine.answered(77, answer, now: bench.now, wallSeconds: bench.wall)
        #expect(actions.isEmpty)
        bench.answer(100).does(exactly: [])
        #expect(bench.isBusy)
    }

    @Test func `a phone whose way is dead says nothing of the server`() {
        Bench().phone().silence().does(.serverFailed(retryAfter: nil), false)
    }

    // MARK: Phones that leave

    @Test(arguments: [
        (1, true, false, UInt32(3600)), (1, false, false, 0), (0, true, false, 0), (2, false, false, 3600),
        (0, false, true, 3600),
    ])
    func `only the last phone's un-REGISTER ends the registration`(
        keeping: Int, leavesBinding: Bool, hasOther: Bool, expires: UInt32
    ) {
        let bench = Bench({ $0.keeping = .init(rawValue: keeping) ?? .always }).register()
        if hasOther { bench.phone(device: 2, authorization: "Digest y").grant(3600) }
        bench.phone(expires: 0, authorization: "Digest x", leavesBinding: leavesBinding).sends(expires)
        #expect(accepted(bench.answer(200).actions) != nil)
        #expect((bench.until == nil) == (expires == 0))
    }

    // MARK: Without HA1

    @Test func `without HA1 the phone is woken before the end`() throws {
        let bench = Bench().phone(authorization: "Digest x").grant(3600)
        let until = try #require(bench.until)
        bench.due().does(exactly: [.wakePhones])
        #expect((until - 120_000...until).contains(bench.now))
        bench.due().does(.lapsed("the upstream registration ended", removesBindings: false))
        #expect(bench.now >= until)
    }

    @Test(arguments: [(UpstreamPolicy.Waking.never, false), (.orRemove, true)])
    func `phones are not woken, or lose their binding, by setting`(waking: UpstreamPolicy.Waking, removes: Bool) {
        let bench = Bench({ $0.waking = waking }).phone(authorization: "Digest x").grant(600)
        if waking != .never { bench.due().does(exactly: [.wakePhones]) }
        bench.due().does(.lapsed("the upstream registration ended", removesBindings: removes))
    }

    // MARK: Trouble

    @Test func `a refused HA1 wakes the phone, and takes its binding only when it does not come`() {
        Bench().register().due().answer(403).does(.dropCredential).due().does(exactly: [.wakePhones])
            .due().does(.lapsed("the upstream registration ended", removesBindings: true))
    }

    @Test(arguments: [(403, true), (404, true), (410, true), (604, true), (401, false), (423, false), (503, false)])
    func `a user whom the server rejects twice, gateway and phone, loses the bindings at once`(
        status: Int, isRejection: Bool
    ) {
        Bench().register().due().answer(403).phone(device: 2, authorization: "Digest y").answer(status)
            .does(.lapsed("the SIP server rejects this user", removesBindings: true), isRejection)
    }

    @Test func `whom the server rejects in a user's name says nothing of the user`() {
        let lapsed = UpstreamAction.lapsed("the SIP server rejects this user", removesBindings: true)
        Bench().register().phone(device: 2, authorization: "Digest y").answer(403).does(lapsed, false)
        // By setting, and for a phone that has been accepted since.
        Bench({ $0.removesRejected = false }).register().due().answer(403).phone(authorization: "Digest y")
            .answer(403).does(lapsed, false)
        Bench().register().due().answer(403).register().phone(device: 2, authorization: "Digest y")
            .answer(403).does(lapsed, false)
    }

    @Test func `a server that is away is asked again and again, and nothing is given up`() {
        let bench = Bench().register().due()
        for _ in 0..<20 {
            bench.silence().does(.serverFailed(retryAfter: nil))
            let before = bench.sent.count
            var rounds = 0
            while bench.sent.count == before, rounds < 10 {
                let looked = bench.due().actions
                rounds += 1
                #expect(!looked.contains { if case .lapsed(_, true) = $0 { true } else { false } })
            }
            #expect(bench.sent.count == before + 1)
        }
        bench.grant(3600)
        #expect(bench.until == bench.now + 3_600_000)
        #expect(bench.credential == .md5)
    }

    @Test func `a host that says nothing has forgotten the REGISTER`() {
        let bench = Bench().phone().due().refused(408)
        #expect(!bench.isBusy)
    }

    @Test func `an account that nobody wants is ended at its server`() {
        let bench = Bench().register()
        bench.now += 700_000
        #expect(bench.due(isWanted: false).actions.count == 1)
        bench.sends(0).answer(200).does(.forget)
    }

    @Test func `who was never registered is forgotten`() {
        Bench().phone().answer(401).due(isWanted: false).does(exactly: [.forget])
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
