// SPDX-License-Identifier: MIT

/// Decides what becomes of one request to a user whose phones may sleep, from its arrival to its end.
///
///     device:  rung ──silent, or its leg failed──► pushed ──REGISTER──► rung ──► alerting ──► answered
///               ▲                                    │                              └──────► declined
///               └────────── its push failed ─────────┘
///
/// A device is *awaited* while a push may still bring it: that alone keeps a request open without a leg. The request
/// ends by what its legs answer (RFC 3261, 16.7), by `giveUp`, or because the caller ends it.
///
/// The machine does no I/O and reads no clock: hosts and delivery report what happens, it answers with verbs. All
/// times are monotonic milliseconds, which leave room for a day on either side.
public struct CallMachine: ~Copyable {
    enum Phase {
        /// Phones may join.
        case open
        /// No phone joins now; what is out decides.
        case closing(CallEnd)
        case ended(CallEnd, at: Int64)
    }

    /// What keeps the request open beside its legs.
    enum Hold {
        case nothing
        /// The host, for phones that sleep.
        case host
        /// The host has sent it elsewhere, where it is answered or not: nobody is given up on.
        case elsewhere
    }

    /// Why a phone that rang does so no longer.
    enum Decline {
        /// It has said no, or nobody took it.
        case declined
        /// It has named another number, which the dialplan calls in its place and the machine does not see. It may ring
        /// until time is over.
        case forwarded
    }

    let policy: CallPolicy
    /// A message is answered by whoever takes it first, and nobody cancels the others.
    let isCall: Bool
    let event: PushEvent
    let host: CallHost
    /// When the wait ends at the latest.
    public internal(set) var endsAt: Int64
    var devices: [DeviceState]
    var phase = Phase.open
    var hold = Hold.nothing
    var lastDecline: Decline?
    /// Phones that sleep are given up on then, because all that rang have failed.
    var declineAt: Int64?
    private(set) var lastLeg = 0
    private var hasSentProvisional = false
    /// A leg is over whose end its host leaves to the next verb: one that could not be sent or timed out, and with a
    /// dialplan every one.
    var hostAwaitsVerb = false
    /// The newest leg when a proxy was told to give up, which counts for nothing there if that leg could not be sent.
    private(set) var legAtGiveUp = 0
    var repeatsGiveUp = false

    /// Begins with the devices of the user; `start(now:)` says what to do first.
    public init(
        event: PushEvent, isCall: Bool, devices: [CallDevice], policy: CallPolicy, host: CallHost = .proxy,
        endsAt: Int64
    ) {
        self.event = event
        self.isCall = isCall
        self.policy = policy
        self.host = host
        self.endsAt = endsAt
        self.devices = devices.map(DeviceState.init)
    }

    // MARK: What is known

    /// How the request has ended; nil: it has not.
    public var end: CallEnd? { if case .ended(let end, at: _) = phase { end } else { nil } }

    /// How the request has ended, or is about to.
    var outcome: CallEnd? {
        switch phase {
        case .open: nil
        case .closing(let end), .ended(let end, at: _): end
        }
    }

    /// No phone joins now.
    public var isClosed: Bool { if case .open = phase { false } else { true } }

    /// The device has said no, or was left ringing.
    public func hasDeclined(_ device: Int) -> Bool {
        devices.indices.contains(device) && devices[device].answer == .declined
    }

    /// Nobody came, or all have declined.
    public var isGivenUp: Bool {
        switch outcome {
        case .timedOut, .failed: true
        case .answered, .cancelled, .completedElsewhere, nil: false
        }
    }

    /// A leg is out.
    public var hasLegs: Bool { hasDevice { $0.legs != nil } }

    /// The newest of the legs that are out; 0 for none.
    public var newestLeg: Int {
        devices.reduce(0) { max($0, $1.legs?.first.number ?? 0, $1.legs?.other?.number ?? 0) }
    }

    /// The host keeps the request open for phones that sleep.
    public var isWaiting: Bool { hold == .host }

    /// Something may still be asked of it: a device can be pushed, or comes later.
    public var isOfUse: Bool { hasDevice { $0.facts.canBePushed } }

    /// A push may still bring the device with this contact.
    public func isAwaited(_ key: String) -> Bool {
        hasDevice { $0.isAwaited && $0.facts.contacts.contains { $0.key == key } }
    }

    /// Devices that came for their push and have said nothing to the request.
    public func silentDevices(now: Int64) -> [Int] { devices.indices.filter { devices[$0].isSilent(now) } }

    /// Whether any device is so. It copies none, as `contains` of an array would.
    @inline(__always)
    func hasDevice(_ fits: (borrowing DeviceState) -> Bool) -> Bool {
        let devices = devices.span
        for index in devices.indices where fits(devices[index]) { return true }
        return false
    }

    // MARK: How it begins

    /// The request is here.
    public mutating func start(now: Int64) -> [CallVerb] {
        var verbs = [CallVerb].withRoom(8)
        for index in devices.indices { begin(index, now, &verbs) }
        decide(now, &verbs)
        return verbs
    }

    /// Begins a request that nobody holds, a text that its sender knows as accepted, and ends it: what is left of it are its
    /// pushes, which are of use until then.
    public mutating func startUnheld(until: Int64, now: Int64) -> [CallVerb] {
        endsAt = until
        var verbs: [CallVerb] = []
        for index in devices.indices { begin(index, now, &verbs) }
        phase = .ended(.failed(202), at: now)
        verbs.append(.note(.ended(.failed(202))))
        return verbs
    }

    /// A leg that is out already stays the one to the device.
    mutating func begin(_ index: Int, _ now: Int64, _ verbs: inout [CallVerb]) {
        let facts = devices[index].facts
        let known = devices[index].reachable
        let isRung = devices[index].legs != nil
        guard facts.canBePushed else {
            verbs.append(.note(.plain(device: index)))
            if !isRung, let known = known ?? facts.contacts.first { ring(index, known, now, &verbs) }
            return
        }
        if facts.isAwake, facts.contacts.isEmpty {
            // The host reaches it by itself, and knows no contacts (AGI).
            return verbs.append(.note(.awake(device: index, .datagram)))
        }
        if facts.isAwake, let known {
            verbs.append(.note(.awake(device: index, known.reach)))
            if isRung { watch(index, now) } else { ring(index, known, now, &verbs) }
            if policy.silentAfter == 0, facts.pushDelay <= 0 { push(index, now, &verbs) }
            return
        }
        verbs.append(.note(.asleep(device: index)))
        if !isRung, let known, facts.pushDelay > 0 || !facts.isProviderHealthy { ring(index, known, now, &verbs) }
        if facts.pushDelay > 0, facts.isProviderHealthy, devices[index].legs != nil {
            devices[index].legs?.silentAt = now + facts.pushDelay
            verbs.append(.note(.delayed(device: index, facts.pushDelay)))
        } else {
            push(index, now, &verbs)
        }
    }

    // MARK: Time

    /// When `tick(now:)` must be called; nil: there is nothing to wait for.
    public func deadline() -> Int64? {
        guard end == nil else { return nil }
        var next = hold == .nothing || hold == .elsewhere && isClosed ? Int64.max : endsAt
        if let declineAt { next = min(next, declineAt) }
        if !isClosed {
            let devices = devices.span
            for index in devices.indices { next = min(next, devices[index].deadline) }
            next = min(next, silentLegsEndAt)
        }
        return next == .max ? nil : next
    }

    /// Time has passed.
    public mutating func tick(now: Int64) -> [CallVerb] {
        var verbs: [CallVerb] = []
        decide(now, &verbs)
        guard !isClosed else { return verbs }
        for index in devices.indices { tick(index, now, &verbs) }
        if now >= silentLegsEndAt { closeSilentLegs(&verbs) }
        decide(now, &verbs)
        return verbs
    }

    private mutating func tick(_ index: Int, _ now: Int64, _ verbs: inout [CallVerb]) {
        if let next = devices[index].next, now >= next.at { ring(index, next.contact, now, &verbs) }
        if let legs = devices[index].legs, let at = legs.silentAt, now >= at {
            devices[index].legs?.silentAt = nil
            if devices[index].needsPush(for: legs.first) {
                verbs.append(.note(.silent(device: index, now - legs.first.since)))
                push(index, now, &verbs)
            }
        }
        if case .leaving(let until) = devices[index].binding, now >= until { devices[index].binding = .gone }
        if case .accepted(let at?) = devices[index].push, now >= at {
            devices[index].push = .accepted(repeatAt: nil)
            if devices[index].isAwaited { push(index, now, &verbs) }
        }
    }

    // MARK: What follows

    mutating func ring(_ index: Int, _ contact: CallContact, _ now: Int64, _ verbs: inout [CallVerb]) {
        lastLeg += 1
        let (replaced, superfluous) = devices[index].open(
            leg: lastLeg, contact, now, isSent: host == .proxy, besideOld: keepsOldLeg(index))
        watch(index, now)
        verbs.append(.ring(leg: lastLeg, contact: contact.key, replacing: replaced))
        let place = contact.address.isEmpty ? contact.key : contact.address
        verbs.append(.note(.rung(device: index, leg: lastLeg, contact: place)))
        if let superfluous { verbs.append(.close(leg: superfluous)) }
    }

    /// The host holds the request; whether it has to is decided again. Numbers of its legs are not used again; no host has
    /// come to the last ones.
    mutating func continueLegs(after number: Int) {
        lastLeg = max(lastLeg, min(number, Int.max / 2))
        hold = .host
    }

    /// Gives the leg its time to be answered before the device is pushed as well.
    mutating func watch(_ index: Int, _ now: Int64) {
        guard let silentAfter = policy.silentAfter, let leg = devices[index].leg, leg.sentAt != nil,
            leg.heard == .nothing, devices[index].needsPush(for: leg)
        else { return }
        let pause = max(silentAfter, devices[index].facts.pushDelay)
        if pause > 0 { devices[index].legs?.silentAt = now + pause }
    }

    /// Pushes for the request, while there is time to wait for the phone.
    mutating func push(_ index: Int, _ now: Int64, _ verbs: inout [CallVerb]) {
        guard now < endsAt, case .kept = devices[index].binding else { return }
        devices[index].pushed(now)
        verbs.append(.push(device: index, event: event, deadline: endsAt))
        verbs.append(.note(.pushed(device: index, event)))
    }

    /// The phone no longer needs a push for the request.
    mutating func dropPush(_ index: Int, _ verbs: inout [CallVerb]) {
        guard case .underway(let attempt) = devices[index].push else { return }
        devices[index].push = .dropped(attempt)
        verbs.append(.dropPush(device: index))
    }

    /// Lets the caller hear something while every phone sleeps, once.
    mutating func tellCaller(_ verbs: inout [CallVerb]) {
        guard isCall, hold == .host, !hasLegs, !hasSentProvisional, policy.wakeProvisional > 100 else { return }
        hasSentProvisional = true
        verbs.append(.tell(status: policy.wakeProvisional))
        verbs.append(.note(.told(status: policy.wakeProvisional)))
    }

    /// No phone joins now; how the request is to end was perhaps decided before.
    mutating func close(as end: CallEnd) {
        if case .open = phase { phase = .closing(end) }
    }

    // MARK: The decision

    /// Compares who can still answer with what the host was told last.
    mutating func decide(_ now: Int64, _ verbs: inout [CallVerb]) {
        guard end == nil else { return }
        guard hold != .elsewhere else { return decideElsewhere(now, &verbs) }
        let isAwaited = !isClosed && isAnyoneAwaited
        let hasLiveLeg = hasDevice { $0.hope == .leg }
        declineAt =
            isAwaited && !hasLiveLeg ? declineAt ?? declinePause.map { [endsAt] in min(now + $0, endsAt) } : nil
        let isTimeOver = now >= declineAt ?? endsAt
        let mustEnd = hostAwaitsVerb && !hasLiveLeg
        let mustRepeat = repeatsGiveUp && hasLiveLeg
        (hostAwaitsVerb, repeatsGiveUp) = (false, false)
        if isAwaited && !isTimeOver {
            if hold == .nothing { verbs.append(.hold(until: endsAt)) }
            hold = .host
            return
        }
        declineAt = nil
        if !hasLiveLeg { close(as: isTimeOver ? .timedOut : .failed(policy.unanswered)) }
        if isClosed || isTimeOver {
            for index in devices.indices { dropPush(index, &verbs) }
        }
        guard hold == .host || mustEnd || mustRepeat else { return }
        hold = .nothing
        // Nobody has heard these so far, and no push has brought their phones: their timers are not worth waiting for.
        for index in devices.indices where devices[index].isAwaited { closeLegs(index, &verbs) }
        // A dialplan hears of the end when its last leg is over, since its phone may still become silent.
        guard host == .proxy || !hasLiveLeg else { return }
        legAtGiveUp = newestLeg
        verbs.append(.giveUp(status: policy.unanswered))
        if !mustRepeat { verbs.append(.note(.gaveUp(status: policy.unanswered))) }
    }

    /// Somebody is worth waiting for. A provider out of reach alone is not, and does no harm beside a leg.
    private var isAnyoneAwaited: Bool {
        hasDevice { $0.hope == .push } || hasDevice { $0.hope == .provider } && hasDevice { $0.hope == .leg }
    }

    /// How long phones that sleep are waited for when none rings; nil: to the end.
    private var declinePause: Int64? {
        switch lastDecline {
        case .declined: policy.declineWaits
        case .forwarded, nil: nil
        }
    }
}
