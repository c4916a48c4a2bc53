// SPDX-License-Identifier: MIT

/// One account at one SIP server, as a gateway keeps it registered, however many phones it has.
///
///     phone's REGISTER --> REGISTER upstream --200--> phone accepted   registered, refreshed with HA1 while phones sleep
///                                            --401--> to the phone, whose next REGISTER brings the answer; or answered here
///                                            --else-> to the phone
///
/// One REGISTER is on its way at a time (RFC 3261, 10.2); those of other phones wait for it. A phone is accepted only when
/// the server accepted a REGISTER with what this very phone showed: a kept HA1 never vouches for a phone. All times in
/// monotonic milliseconds; what the machine wants next is `dueAt`.
public struct UpstreamRegistration: ~Copyable {
    /// REGISTERs of phones that wait for another one.
    public static let mostWaiting = 16
    /// Phones that are told apart; more count as one that never leaves.
    static let mostDevices = 32
    /// Milliseconds after which a host that says nothing has forgotten the REGISTER. Longer than any timer of SIP.
    static let answerTimeout: Int64 = 60_000
    /// Milliseconds for which a phone counts as registered after a restart, at most.
    private static let longestStay: Int64 = 30 * 86_400_000
    private static let mostTries = 4
    /// Seconds, at most, that a server's Min-Expires is remembered to be.
    private static let longestLeast: UInt32 = 30 * 86_400

    /// A REGISTER that is on its way.
    struct Attempt {
        let number: UInt32
        /// Nil when no phone asked for it.
        var phone: PhoneRegister?
        var expires: UInt32
        var authorization: UpstreamRegister.Authorization
        /// The nonce came with an answer to this very attempt, so it was not too old.
        var isFresh = false
        var tries = 1
        var hasRaised = false
        let deadline: Int64
    }

    var policy: UpstreamPolicy
    var attempt: Attempt?
    private(set) var waiting: [PhoneRegister] = []
    private var attempts: UInt32 = 0
    /// Of the last REGISTER that was sent.
    public private(set) var cseq: UInt32
    /// When the registration ends; nil while there is none.
    public internal(set) var until: Int64?
    /// Milliseconds that the server granted last; 0 while there is none.
    public internal(set) var interval: Int64 = 0
    /// Whose HA1 is kept, nil when none is.
    public private(set) var credential: DigestAlgorithm?
    /// Phones that are registered here, with the ends of their registrations.
    public internal(set) var devices: [(device: UInt64, endsAt: Int64)] = []
    /// Seconds of the last Min-Expires: asking for less first would each time cost a nonce, which may serve once only.
    private var leastExpires: UInt32 = 0
    /// What the server asked last, to be answered before it asks again.
    var known: [UpstreamRegister.Challenged] = []
    /// When to look at this account; nil: not before a phone registers.
    public private(set) var dueAt: Int64?
    private var refreshAt: Int64?
    private var hasWoken = false
    /// The server has refused the gateway's own REGISTER, and nobody has been accepted since.
    private var isRefused = false
    private var failures: Int64 = 0
    private var random: SplitMix

    /// Nothing is registered yet. `cseq` is the last one that was used, `seed` any number.
    public init(_ policy: UpstreamPolicy, cseq: UInt32, seed: UInt64) {
        self.policy = policy
        self.cseq = cseq
        random = SplitMix(seed)
    }

    /// A REGISTER is on its way.
    public var isBusy: Bool { attempt != nil }

    /// The phone whose REGISTER is on its way; nil when the gateway's own is.
    public var phoneOnItsWay: PhoneRegister? { attempt?.phone }

    /// No HA1 can be had for this account any more.
    public mutating func loseCredential(now: Int64) {
        credential = nil
        schedule(now)
    }

    // MARK: Phones

    /// A phone registers, or leaves. A host that has found an engine tells it of all that it holds, and of some twice.
    public mutating func register(_ phone: PhoneRegister, now: Int64, wallSeconds: Int64) -> [UpstreamAction] {
        if let attempt {
            if attempt.phone?.handle == phone.handle || waiting.contains(where: { $0.handle == phone.handle }) {
                return []
            }
            guard waiting.count < Self.mostWaiting else {
                return [
                    .refuse(phone.handle, status: 503, reason: "Too Many Registrations", headers: ["Retry-After: 5"])
                ]
            }
            waiting.append(phone)
            return []
        }
        return [start(phone, now, wallSeconds)]
    }

    private mutating func start(_ phone: PhoneRegister, _ now: Int64, _ wall: Int64) -> UpstreamAction {
        var authorization = UpstreamRegister.Authorization.none
        if !phone.authorization.isEmpty {
            authorization = .phone(phone.authorization)
        } else if answersFor(phone), !known.isEmpty, algorithm(of: phone) == known[0].challenge.algorithm {
            authorization = .digest(count(), ofPhone: true)
        }
        return send(phone, expires: wanted(phone, now), authorization, now, wall)
    }

    /// What the server is asked for: the last phone that leaves ends the registration, unless it shall be kept.
    private func wanted(_ phone: PhoneRegister, _ now: Int64) -> UInt32 {
        guard phone.isRemoval else { return notBelowLeast(policy.expires ?? phone.expires) }
        if policy.keeping == .always { return notBelowLeast(policy.expires ?? 3600) }
        let others = !phone.isForAll && devices.contains { $0.device != phone.device && $0.endsAt > now }
        let stays = policy.keeping == .whileWanted && phone.leavesBinding
        return others || stays ? notBelowLeast(policy.expires ?? 3600) : 0
    }

    private func notBelowLeast(_ expires: UInt32) -> UInt32 { expires == 0 ? 0 : max(expires, leastExpires) }

    private func answersFor(_ phone: PhoneRegister) -> Bool { phone.credential != nil && policy.prefersCredential }

    private func algorithm(of phone: PhoneRegister) -> DigestAlgorithm? {
        phone.credential.flatMap { DigestAlgorithm(credential: $0) }
    }

    // MARK: Sending

    private mutating func send(
        _ phone: PhoneRegister?, expires: UInt32, _ authorization: UpstreamRegister.Authorization, _ now: Int64,
        _ wall: Int64
    ) -> UpstreamAction {
        attempts &+= 1
        attempt = Attempt(
            number: attempts, phone: phone, expires: expires, authorization: authorization,
            deadline: now + Self.answerTimeout)
        schedule(now)
        return .send(next(attempts, expires, authorization, wall))
    }

    /// A CSeq is never lower than the clock: one that was used and not kept is passed by after a restart.
    private mutating func next(
        _ number: UInt32, _ expires: UInt32, _ authorization: UpstreamRegister.Authorization, _ wall: Int64
    ) -> UpstreamRegister {
        let clock = UInt32(clamping: min(max(wall - Self.epoch, 1), Int64(Int32.max) - 1))
        cseq = max(min(cseq, UInt32(Int32.max) - 2) + 1, clock)
        return UpstreamRegister(attempt: number, cseq: cseq, expires: expires, authorization: authorization)
    }

    /// 2024-01-01: CSeq has 31 bits (RFC 3261, 8.1.1.5).
    private static let epoch: Int64 = 1_704_067_200

    /// Each nonce once more.
    private mutating func count() -> [UpstreamRegister.Challenged] {
        known = known.map { .init(challenge: $0.challenge, count: $0.count &+ 1) }
        return known
    }

    // MARK: Answers

    /// The server has answered the attempt with this number, or was silent.
    public mutating func answered(
        _ number: UInt32, _ answer: UpstreamAnswer, now: Int64, wallSeconds wall: Int64
    ) -> [UpstreamAction] {
        guard let current = attempt, current.number == number, answer.status >= 200 else { return [] }
        var actions: [UpstreamAction] = []
        let isOut = answer.isSilence || answer.status == 408 || (500...599).contains(answer.status)
        // Where a phone wants to go says nothing of the way that the account goes.
        if !isOut { actions.append(.serverAnswered) }
        if isOut, current.phone == nil { actions.append(.serverFailed(retryAfter: answer.retryAfter)) }
        switch answer.status {
        case 200...299: actions += accepted(current, answer, now)
        case 401, 407:
            if let again = answerChallenge(current, answer, wall) { return actions + [again] }
            actions += refused(current, answer, now)
        case 423:
            if !current.hasRaised, current.expires > 0, let least = answer.minExpires, least > current.expires {
                return actions + [raise(current, to: least, wall)]
            }
            actions += refused(current, answer, now)
        default: actions += refused(current, answer, now)
        }
        attempt = nil
        // Whoever asks without end must not keep the account from being renewed.
        if current.phone != nil, wouldSend(now: now) {
            actions.append(refresh(now, wall))
        } else if !waiting.isEmpty {
            actions.append(start(waiting.removeFirst(), now, wall))
        }
        schedule(now)
        return actions
    }

    /// The interval is too short for the server (RFC 3261, 10.2.8): what shows who we are does not cover it.
    private mutating func raise(_ current: Attempt, to least: UInt32, _ wall: Int64) -> UpstreamAction {
        var again = current
        (again.expires, again.hasRaised) = (least, true)
        leastExpires = min(least, Self.longestLeast)
        if case .digest(_, let ofPhone) = again.authorization {
            // The server may take a nonce once only, and the 423 was that.
            again.isFresh = false
            again.authorization = .digest(count(), ofPhone: ofPhone)
        }
        attempt = again
        return .send(next(again.number, least, again.authorization, wall))
    }

    /// Answers a challenge where it can be done here; nil when it must not or cannot.
    private mutating func answerChallenge(
        _ current: Attempt, _ answer: UpstreamAnswer, _ wall: Int64
    ) -> UpstreamAction? {
        let ofPhone = current.phone != nil
        if let phone = current.phone {
            guard answersFor(phone) else { return nil }
            if case .phone = current.authorization { return nil }
        }
        guard current.tries < Self.mostTries,
            let algorithm = current.phone.map({ algorithm(of: $0) }) ?? credential,
            let chosen = DigestChallenge.choose(answer.challenges, for: algorithm)
        else { return nil }
        // A nonce of this attempt that was answered, and is not too old: the hash is wrong.
        if current.isFresh, !chosen.isStale, known.contains(where: { $0.challenge.isProxy == chosen.isProxy }) {
            return nil
        }
        // A proxy and the registrar may both ask (RFC 3261, 22.3); a realm that is new takes the place of the old one.
        known.removeAll { $0.challenge.isProxy == chosen.isProxy || !current.isFresh }
        known.append(.init(challenge: chosen, count: 0))
        var again = current
        again.authorization = .digest(count(), ofPhone: ofPhone)
        again.isFresh = true
        again.tries += 1
        attempt = again
        return .send(next(again.number, again.expires, again.authorization, wall))
    }

    private mutating func accepted(_ current: Attempt, _ answer: UpstreamAnswer, _ now: Int64) -> [UpstreamAction] {
        var actions: [UpstreamAction] = []
        (failures, isRefused) = (0, false)
        let granted = current.expires == 0 ? 0 : answer.expires ?? current.expires
        if granted == 0 {
            (until, interval, refreshAt) = (nil, 0, nil)
        } else {
            interval = Int64(granted) * 1000
            until = now + interval
            plan(now)
        }
        hasWoken = false
        if let phone = current.phone {
            if !phone.isRemoval, let secret = phone.credential, policy.keeping != .never {
                credential = DigestAlgorithm(credential: secret)
                actions.append(.adopt(secret))
            }
            note(phone, now)
            let limit = keepsByItself || phone.isRemoval ? nil : granted
            let headers = answer.passedHeaders.filter { $0.hasPrefix("Service-Route:") }
            actions.append(.accept(phone.handle, atMost: limit, headers: headers))
        }
        actions.append(granted == 0 ? .forget : .save)
        return actions
    }

    private mutating func refused(_ current: Attempt, _ answer: UpstreamAnswer, _ now: Int64) -> [UpstreamAction] {
        if let phone = current.phone {
            let status = answer.isSilence ? 408 : answer.status
            let reason = answer.isSilence ? "Request Timeout" : answer.reason
            let refusal = UpstreamAction.refuse(
                phone.handle, status: status, reason: reason, headers: answer.passedHeaders)
            // A stranger may be refused in a user's name at any time: that alone says nothing of the user.
            guard isRefused, policy.removesRejected, Self.isRejection(status) else { return [refusal] }
            isRefused = false
            return [refusal, .lapsed("the SIP server rejects this user", removesBindings: true)]
        }
        failures = min(failures + 1, 20)
        let pause = Int64(random.next() % 3000)
        switch answer.status {
        case 401, 403, 404, 407, 410, 600...:
            // The same would be refused again: only the phone can say something new.
            (known, credential, refreshAt) = ([], nil, nil)
            isRefused = true
            return [.dropCredential, .save]
        case 400...407, 411...499:
            refreshAt = now + max(60_000, min(policy.lookPause, ((until ?? now) - now) / 2)) + pause
        default:
            refreshAt = now + Backoff.doubled(5_000, times: min(failures - 1, 8), cap: policy.lookPause) + pause
        }
        return []
    }

    /// Another password would not help: barred, unknown, gone, or nowhere (RFC 3261, 21.4.4, 21.4.5, 21.4.10, 21.6).
    private static func isRejection(_ status: Int) -> Bool { [403, 404, 410].contains(status) || status >= 600 }

    private mutating func note(_ phone: PhoneRegister, _ now: Int64) {
        devices.removeAll { $0.device == phone.device || $0.endsAt <= now || phone.isForAll && phone.isRemoval }
        guard !phone.isRemoval, !phone.isQuery, devices.count < Self.mostDevices else { return }
        devices.append((phone.device, now + min(Int64(phone.expires) * 1000, keepsByItself ? .max : interval)))
    }
}

// MARK: - Time

extension UpstreamRegistration {
    /// HA1 is there, and the gateway may use it.
    var keepsByItself: Bool { credential != nil && policy.keeping != .never }

    /// Before the end by so much a phone is woken that has to register itself.
    private var lead: Int64 { min(120_000, interval / 3) }

    /// A phone is registered here.
    public func hasPhone(now: Int64) -> Bool { devices.contains { $0.endsAt > now } }

    /// Before the end by so much a refresh is sent at the latest: servers count whole seconds, and a datagram that is
    /// lost is sent again after half a second.
    private var reserve: Int64 { min(2000, interval / 2) }

    /// The next refresh falls between half and nine tenths of the interval: those that began together do not stay so.
    private mutating func plan(_ now: Int64) {
        let share = Int64(500 + random.next() % 400)
        refreshAt = now + min(interval / 1000 * share, interval - reserve)
    }

    private mutating func schedule(_ now: Int64) {
        if let attempt {
            dueAt = attempt.deadline
        } else if keepsByItself, let refreshAt {
            dueAt = min(refreshAt, now + policy.lookPause, max(until ?? .max, now + 1000))
        } else if let until {
            let next = hasWoken || !wakes ? until : max(now, until - lead)
            dueAt = min(next, now + policy.lookPause)
        } else {
            dueAt = now + (interval > 0 ? policy.lookPause : Self.answerTimeout)
        }
    }

    /// Its time has come. `isWanted` says whether a push binding of the user is left.
    public mutating func due(now: Int64, wallSeconds wall: Int64, isWanted: Bool) -> [UpstreamAction] {
        if let current = attempt {
            guard now >= current.deadline else {
                schedule(now)
                return []
            }
            var silence = UpstreamAnswer(status: 408, reason: "Request Timeout")
            silence.isSilence = true
            return answered(current.number, silence, now: now, wallSeconds: wall)
        }
        guard isWanted || hasPhone(now: now) || policy.keeping == .always && credential != nil else {
            return end(now, wall)
        }
        defer { if attempt == nil { schedule(now) } }
        if let until, now >= until {
            self.until = nil
            let isSilent = policy.removal == .silent || policy.waking == .orRemove
            let isRefused = policy.removal != .never && failures > 0 && credential == nil
            return [.lapsed("the upstream registration ended", removesBindings: isSilent || isRefused), .save]
        }
        if keepsByItself {
            return refreshAt.map { now >= $0 } ?? false ? [refresh(now, wall)] : []
        }
        guard let until, !hasWoken, now >= until - lead else { return [] }
        hasWoken = true
        return wakes ? [.wakePhones] : []
    }

    /// Phones are asked to register: always, or where nobody else can do it.
    private var wakes: Bool { policy.waking != .never }

    /// Whether the next `due` would send a REGISTER: the server's pace has a word in it.
    public func wouldSend(now: Int64) -> Bool {
        attempt == nil && keepsByItself && (refreshAt.map { now >= $0 } ?? false)
    }

    /// Puts the refresh off, for the server's sake.
    public mutating func postpone(to time: Int64) { dueAt = time }

    private mutating func refresh(_ now: Int64, _ wall: Int64) -> UpstreamAction {
        refreshAt = nil
        let expires = notBelowLeast(policy.expires ?? UInt32(clamping: max(interval, 60_000) / 1000))
        return send(nil, expires: expires, own(), now, wall)
    }

    private mutating func own() -> UpstreamRegister.Authorization {
        guard let credential, known.first?.challenge.algorithm == credential else { return .none }
        return .digest(count(), ofPhone: false)
    }

    /// Nobody can be reached here any more.
    private mutating func end(_ now: Int64, _ wall: Int64) -> [UpstreamAction] {
        guard let until, until > now, keepsByItself else {
            dueAt = nil
            return [.forget]
        }
        return [send(nil, expires: 0, own(), now, wall)]
    }

    /// An account that was kept over a restart, with what is left of its registration. Those whose time came meanwhile
    /// are spread over what is left to them. Whatever the clock says, nothing is left of more than was granted.
    public mutating func restore(
        until: Int64?, interval: Int64, credential: DigestAlgorithm?, devices: [(device: UInt64, endsAt: Int64)],
        now: Int64
    ) {
        // A file may hold any number.
        let interval = min(max(interval, 0), Self.longestStay)
        self.interval = interval
        self.until = until.map { interval > 0 ? min($0, now + interval) : $0 }
        self.credential = credential
        self.devices = devices.prefix(Self.mostDevices).map { ($0.device, min($0.endsAt, now + Self.longestStay)) }
        planAnew(now)
        schedule(now)
    }

    /// So many milliseconds have passed that nobody counted: the machine slept, or the clock by which the account was
    /// restored was wrong. What would be over is taken for about to be: the server may know better.
    public mutating func passed(_ milliseconds: Int64, now: Int64) {
        until = until.map { max($0 - milliseconds, min($0, now + lead)) }
        devices = devices.map { ($0.device, $0.endsAt - milliseconds) }
        // Where it is nil there is nobody to refresh, or it is being done.
        if refreshAt != nil { planAnew(now) }
        schedule(now)
    }

    private mutating func planAnew(_ now: Int64) {
        let left = max((until ?? now) - now, 0)
        let planned = (until ?? now) - max(self.interval / 1000 * Int64(100 + random.next() % 400), reserve)
        let spread = left > 0 ? left * 4 / 5 : min(max(self.interval, 1000), 60_000)
        refreshAt = planned > now ? planned : now + Int64(random.next() % UInt64(max(spread, 1)))
    }
}
