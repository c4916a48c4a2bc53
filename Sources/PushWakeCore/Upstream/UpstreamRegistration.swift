// SPDX-License-Identifier: MIT

/// One account at one SIP server, as a gateway keeps it registered, however many phones it has.
///
///     phone's REGISTER --> REGISTER upstream --200--> phone accepted   registered, refreshed with HA1 while phones sleep
///                                            --401--> to the phone, whose next REGISTER brings the answer; or answered here
///                                            --else-> to the phone
///
/// One REGISTER at a time goes under the account's Call-ID (RFC 3261, 10.2). Nobody knows before the answer whose password
/// is right, so those that come meanwhile do not wait: each goes under a Call-ID of its own, as from another client. Only a
/// REGISTER that would end the registration goes alone. A phone is accepted only when the server accepted a REGISTER with
/// what this very phone showed: a kept HA1 never vouches for a phone. All times in monotonic milliseconds; what the machine
/// wants next is `dueAt`.
public struct UpstreamRegistration: ~Copyable {
    /// REGISTERs of phones that are under way or wait.
    public static let mostPhones = 64
    /// Those of them that show nothing: who knows a password has the other places.
    public static let mostWithoutProof = 32
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
        /// What the server asked this attempt, or, where it was answered before it asked, an earlier one.
        var asked: [UpstreamRegister.Challenged]
        /// CSeq under a Call-ID of its own; nil for the one under the account's.
        var ownCSeq: UInt32?
        var tries = 1
        var hasRaised = false
        let deadline: Int64
    }

    var policy: UpstreamPolicy
    private var attempts: [Attempt] = []
    /// Those that would end the registration while another REGISTER is under way, and all while one of those is.
    private var waiting: [PhoneRegister] = []
    private var lastNumber: UInt32
    /// Of the last REGISTER that was sent under the account's Call-ID.
    public private(set) var cseq: UInt32
    /// When the registration ends; nil while there is none.
    public internal(set) var until: Int64?
    /// Milliseconds that the server granted last; 0 while there is none.
    public internal(set) var interval: Int64 = 0
    /// Whose HA1 is kept, nil when none is.
    public private(set) var credential: DigestAlgorithm?
    /// Phones that are registered here, with the ends of their registrations.
    public internal(set) var devices: [(device: UpstreamDevice, endsAt: Int64)] = []
    /// Seconds of the last Min-Expires: asking for less first would each time cost a nonce, which may serve once only.
    private var leastExpires: UInt32 = 0
    /// What the server asked last of somebody whom it then accepted, to be answered before it asks again.
    private var known: [UpstreamRegister.Challenged] = []
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
        // Call-IDs are made of it, and the server may remember those before a restart.
        lastNumber = UInt32(truncatingIfNeeded: random.next())
    }

    /// A REGISTER is on its way.
    public var isBusy: Bool { !attempts.isEmpty }

    /// The attempt with this number is on its way.
    public func isUnderWay(_ number: UInt32) -> Bool { attempts.contains { $0.number == number } }

    /// The phone that asked for the attempt with this number; nil when the gateway itself did.
    public func phone(of number: UInt32) -> PhoneRegister? { attempts.first { $0.number == number }?.phone }

    /// No HA1 can be had for this account any more.
    public mutating func loseCredential(now: Int64) {
        credential = nil
        schedule(now)
    }

    // MARK: Phones

    /// A phone registers, or leaves. A host that has found an engine tells it of all that it holds, and of some twice.
    public mutating func register(_ phone: PhoneRegister, now: Int64, wallSeconds: Int64) -> [UpstreamAction] {
        let others = attempts.compactMap(\.phone) + waiting
        if others.contains(where: { $0.handle == phone.handle }) { return [] }
        let hasPlace = showsWho(phone) || others.count { !showsWho($0) } < Self.mostWithoutProof
        guard hasPlace, others.count < Self.mostPhones else {
            return [.refuse(phone.handle, status: 503, reason: "Too Many Registrations", headers: ["Retry-After: 5"])]
        }
        waiting.append(phone)
        defer { schedule(now) }
        return startWaiting(now, wallSeconds)
    }

    /// Something stands for the phone that the server may find right.
    private func showsWho(_ phone: PhoneRegister) -> Bool { !phone.authorization.isEmpty || answersFor(phone) }

    /// Starts all that need not wait, those who stay before those who leave.
    private mutating func startWaiting(_ now: Int64, _ wall: Int64) -> [UpstreamAction] {
        var actions: [UpstreamAction] = []
        while !waiting.isEmpty, !isEnding {
            if let next = waiting.firstIndex(where: { wanted($0, now) > 0 }) {
                actions.append(start(waiting.remove(at: next), now, wall))
            } else if wouldSend(now: now) {
                // Whoever leaves without end must not keep the account from being renewed.
                actions.append(refresh(now, wall))
            } else if attempts.isEmpty {
                actions.append(start(waiting.removeFirst(), now, wall))
            } else {
                break
            }
        }
        return actions
    }

    /// What is on its way ends the registration: what comes behind it could come before it.
    private var isEnding: Bool { attempts.contains { $0.expires == 0 } }

    private mutating func start(_ phone: PhoneRegister, _ now: Int64, _ wall: Int64) -> UpstreamAction {
        let expires = wanted(phone, now)
        if !phone.authorization.isEmpty {
            return send(phone, expires: expires, .phone(phone.authorization), now, wall)
        }
        let isAnswered = answersFor(phone) && !known.isEmpty && algorithm(of: phone) == known[0].challenge.algorithm
        return send(phone, expires: expires, isAnswered ? .digest(count(known), ofPhone: true) : .none, now, wall)
    }

    /// What the server is asked for: the last phone that leaves ends the registration, unless it shall be kept.
    private func wanted(_ phone: PhoneRegister, _ now: Int64) -> UInt32 {
        guard phone.isRemoval else { return notBelowLeast(policy.expires ?? phone.expires) }
        if policy.keeping == .always { return notBelowLeast(policy.expires ?? 3600) }
        let others = !phone.isForAll && devices.contains { !$0.device.isSamePhone(as: phone.device) && $0.endsAt > now }
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
        lastNumber &+= 1
        var attempt = Attempt(
            number: lastNumber, phone: phone, expires: expires, authorization: authorization, asked: [],
            deadline: now + Self.answerTimeout)
        if case .digest(let asked, _) = authorization { attempt.asked = asked }
        if attempts.contains(where: { $0.ownCSeq == nil }) { attempt.ownCSeq = 0 }
        let register = next(&attempt, wall)
        attempts.append(attempt)
        return .send(register)
    }

    /// A CSeq of the account is never lower than the clock: one that was used and not kept is passed by after a restart.
    private mutating func next(_ attempt: inout Attempt, _ wall: Int64) -> UpstreamRegister {
        attempt.ownCSeq = attempt.ownCSeq.map { $0 + 1 }
        if attempt.ownCSeq == nil {
            let clock = UInt32(clamping: min(max(wall - Self.epoch, 1), Int64(Int32.max) - 1))
            cseq = max(min(cseq, UInt32(Int32.max) - 2) + 1, clock)
        }
        return UpstreamRegister(
            attempt: attempt.number, cseq: attempt.ownCSeq ?? cseq, hasOwnCallID: attempt.ownCSeq != nil,
            expires: attempt.expires, authorization: attempt.authorization)
    }

    /// 2024-01-01: CSeq has 31 bits (RFC 3261, 8.1.1.5).
    private static let epoch: Int64 = 1_704_067_200

    /// Each nonce once more, whoever has used it.
    private mutating func count(_ asked: [UpstreamRegister.Challenged]) -> [UpstreamRegister.Challenged] {
        asked.map { entry in
            let place = known.firstIndex { $0.challenge == entry.challenge }
            let counted = UpstreamRegister.Challenged(
                challenge: entry.challenge, count: max(place.map { known[$0].count } ?? 0, entry.count) &+ 1)
            if let place { known[place] = counted }
            return counted
        }
    }

    // MARK: Answers

    /// The server has answered the attempt with this number, or was silent.
    public mutating func answered(
        _ number: UInt32, _ answer: UpstreamAnswer, now: Int64, wallSeconds wall: Int64
    ) -> [UpstreamAction] {
        guard let index = attempts.firstIndex(where: { $0.number == number }), answer.status >= 200 else { return [] }
        defer { schedule(now) }
        var current = attempts[index]
        var actions: [UpstreamAction] = []
        let isOut = answer.isSilence || answer.status == 408 || (500...599).contains(answer.status)
        // Where a phone wants to go says nothing of the way that the account goes.
        if !isOut { actions.append(.serverAnswered) }
        if isOut, current.phone == nil { actions.append(.serverFailed(retryAfter: answer.retryAfter)) }
        if raise(&current, answer) || answerChallenge(&current, answer) {
            actions.append(.send(next(&current, wall)))
            attempts[index] = current
            return actions
        }
        attempts.remove(at: index)
        actions += (200...299).contains(answer.status) ? accepted(current, answer, now) : refused(current, answer, now)
        return actions + startWaiting(now, wall)
    }

    /// The interval is too short for the server (RFC 3261, 10.2.8): what shows who we are does not cover it.
    private mutating func raise(_ current: inout Attempt, _ answer: UpstreamAnswer) -> Bool {
        guard answer.status == 423, !current.hasRaised, current.expires > 0, let least = answer.minExpires,
            least > current.expires
        else { return false }
        (current.expires, current.hasRaised) = (least, true)
        leastExpires = min(least, Self.longestLeast)
        if case .digest(_, let ofPhone) = current.authorization {
            // The server may take a nonce once only, and the 423 was that.
            current.isFresh = false
            current.asked = count(current.asked)
            current.authorization = .digest(current.asked, ofPhone: ofPhone)
        }
        return true
    }

    /// Answers a challenge where it can be done here; false when it must not or cannot.
    private mutating func answerChallenge(_ current: inout Attempt, _ answer: UpstreamAnswer) -> Bool {
        guard answer.status == 401 || answer.status == 407 else { return false }
        if let phone = current.phone {
            guard answersFor(phone) else { return false }
            if case .phone = current.authorization { return false }
        }
        guard current.tries < Self.mostTries,
            let algorithm = current.phone.map({ algorithm(of: $0) }) ?? credential,
            let chosen = DigestChallenge.choose(answer.challenges, for: algorithm)
        else { return false }
        // A nonce of this attempt that was answered, and is not too old: the hash is wrong.
        if current.isFresh, !chosen.isStale, current.asked.contains(where: { $0.challenge.isProxy == chosen.isProxy }) {
            return false
        }
        // A proxy and the registrar may both ask (RFC 3261, 22.3); a realm that is new takes the place of the old one.
        let kept = current.isFresh ? current.asked.filter { $0.challenge.isProxy != chosen.isProxy } : []
        current.asked = count(kept + [.init(challenge: chosen, count: 0)])
        current.authorization = .digest(current.asked, ofPhone: current.phone != nil)
        current.isFresh = true
        current.tries += 1
        return true
    }

    private mutating func accepted(_ current: Attempt, _ answer: UpstreamAnswer, _ now: Int64) -> [UpstreamAction] {
        var actions: [UpstreamAction] = []
        (failures, isRefused) = (0, false)
        if !current.asked.isEmpty { known = current.asked }
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
        devices.removeAll {
            $0.device.isSamePhone(as: phone.device) || $0.endsAt <= now || phone.isForAll && phone.isRemoval
        }
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
        let answer = attempts.lazy.map(\.deadline).min()
        dueAt = maySend ? min(nextLook(now), answer ?? .max) : answer
    }

    /// Nothing of the gateway's own is on its way, and nothing that ends the registration.
    private var maySend: Bool { attempts.allSatisfy { $0.phone != nil && $0.expires > 0 } }

    private func nextLook(_ now: Int64) -> Int64 {
        if keepsByItself, let refreshAt {
            return min(refreshAt, now + policy.lookPause, max(until ?? .max, now + 1000))
        }
        guard let until else { return now + (interval > 0 ? policy.lookPause : Self.answerTimeout) }
        return min(hasWoken || !wakes ? until : max(now, until - lead), now + policy.lookPause)
    }

    /// Its time has come. `isWanted` says whether a push binding of the user is left.
    public mutating func due(now: Int64, wallSeconds wall: Int64, isWanted: Bool) -> [UpstreamAction] {
        if let overdue = attempts.first(where: { now >= $0.deadline }) {
            var silence = UpstreamAnswer(status: 408, reason: "Request Timeout")
            silence.isSilence = true
            return answered(overdue.number, silence, now: now, wallSeconds: wall)
        }
        guard isWanted || hasPhone(now: now) || policy.keeping == .always && credential != nil else {
            return end(now, wall)
        }
        defer { schedule(now) }
        guard maySend else { return [] }
        if let until, now >= until {
            self.until = nil
            let isSilent = policy.removal == .silent || policy.waking == .orRemove
            let isRefused = policy.removal != .never && failures > 0 && credential == nil
            return [.lapsed("the upstream registration ended", removesBindings: isSilent || isRefused), .save]
        }
        if keepsByItself { return wouldSend(now: now) ? [refresh(now, wall)] : [] }
        guard let until, !hasWoken, now >= until - lead else { return [] }
        hasWoken = true
        return wakes ? [.wakePhones] : []
    }

    /// Phones are asked to register: always, or where nobody else can do it.
    private var wakes: Bool { policy.waking != .never }

    /// Whether the next `due` would send a REGISTER: the server's pace has a word in it.
    public func wouldSend(now: Int64) -> Bool {
        maySend && keepsByItself && (refreshAt.map { now >= $0 } ?? false)
    }

    /// Push bindings of these phones were removed by hand: the registration ends now, unless somebody else can be reached.
    public mutating func removed(_ phones: [UpstreamDevice], now: Int64) {
        devices.removeAll { entry in phones.contains(where: entry.device.isSamePhone) }
        dueAt = now
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
        return .digest(count(known), ofPhone: false)
    }

    /// Nobody can be reached here any more.
    private mutating func end(_ now: Int64, _ wall: Int64) -> [UpstreamAction] {
        // Somebody may just be coming.
        dueAt = attempts.lazy.map(\.deadline).min()
        guard attempts.isEmpty else { return [] }
        guard let until, until > now, keepsByItself else { return [.forget] }
        defer { schedule(now) }
        return [send(nil, expires: 0, own(), now, wall)]
    }

    /// An account that was kept over a restart, with what is left of its registration. Those whose time came meanwhile
    /// are spread over what is left to them. Whatever the clock says, nothing is left of more than was granted.
    public mutating func restore(
        until: Int64?, interval: Int64, credential: DigestAlgorithm?,
        devices: [(device: UpstreamDevice, endsAt: Int64)],
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
