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
    let policy: CallPolicy
    /// A message is answered by whoever takes it first, and nobody cancels the others.
    let isCall: Bool
    let event: PushEvent
    let host: CallHost
    /// When the wait ends at the latest.
    public internal(set) var endsAt: Int64
    var devices: [DeviceState]
    /// The host keeps the request open without a leg.
    var isHeld = false
    /// The host has sent the request elsewhere, where it is answered or not: phones may join, and nobody is given up on.
    var isElsewhere = false
    /// How the request is about to end: no phone joins any more.
    var closing: CallEnd?
    /// Phones that sleep are given up on then, because all that rang have failed.
    var declineAt: Int64?
    public internal(set) var end: CallEnd?
    var endedAt: Int64?
    private var lastLeg = 0
    private var hasSentProvisional = false
    /// A leg is over whose end its host leaves to the next verb: one that could not be sent or timed out, and with a
    /// dialplan every one.
    var hostAwaitsVerb = false
    /// The newest leg when a proxy was told to give up, which counts for nothing there if that leg could not be sent.
    private var legAtGiveUp = 0
    private var repeatsGiveUp = false
    private var lastDecline: Decline?

    /// Why a phone that rang does so no more.
    private enum Decline {
        /// It has said no.
        case byPhone
        /// Nobody took it.
        case leftRinging
        /// It has named another number, which the dialplan calls in its place and the machine does not see. It may ring
        /// until time is over.
        case forwarded
    }

    /// No phone joins any more.
    public var isClosed: Bool { end != nil || closing != nil }

    /// The device has said no, or was left ringing.
    public func hasDeclined(_ device: Int) -> Bool { devices.indices.contains(device) && devices[device].hasDeclined }

    /// Nobody came, or all have declined.
    public var isGivenUp: Bool {
        switch end ?? closing {
        case .timedOut, .failed: true
        case .answered, .cancelled, .completedElsewhere, nil: false
        }
    }

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
        end = .failed(202)
        verbs.append(.note(.ended(.failed(202))))
        return verbs
    }

    /// A leg that is out already stays the one to the device.
    mutating func begin(_ index: Int, _ now: Int64, _ verbs: inout [CallVerb]) {
        let device = devices[index].device
        let (known, isRung) = ask(index) { ($0.reachable, $0.hasLeg) }
        guard device.canBePushed else {
            verbs.append(.note(.plain(device: index)))
            if !isRung, let known = known ?? device.contacts.first { ring(index, known, now, &verbs) }
            return
        }
        if device.isAwake, device.contacts.isEmpty {
            // The host reaches it by itself, and knows no contacts (AGI).
            return verbs.append(.note(.awake(device: index, .datagram)))
        }
        if device.isAwake, let known {
            verbs.append(.note(.awake(device: index, known.reach)))
            if isRung { watch(index, now) } else { ring(index, known, now, &verbs) }
            if policy.silentAfter == 0, device.pushDelay <= 0 { push(index, now, &verbs) }
            return
        }
        verbs.append(.note(.asleep(device: index)))
        if !isRung, let known, device.pushDelay > 0 || !device.isProviderHealthy { ring(index, known, now, &verbs) }
        if device.pushDelay > 0, device.isProviderHealthy, devices[index].leg != nil {
            devices[index].silentAt = now + device.pushDelay
            verbs.append(.note(.delayed(device: index, device.pushDelay)))
        } else {
            push(index, now, &verbs)
        }
    }

    /// A leg is out.
    public var hasLegs: Bool { hasDevice { $0.leg != nil } }

    /// The newest of the legs that are out; 0 for none.
    public var newestLeg: Int { devices.reduce(0) { max($0, $1.leg?.number ?? 0, $1.otherLeg?.number ?? 0) } }

    /// The host keeps the request open for phones that sleep.
    public var isWaiting: Bool { isHeld }

    /// Something may still be asked of it: a device can be pushed, or comes later.
    public var isOfUse: Bool { hasDevice { $0.device.canBePushed } }

    /// A push may still bring the device with this contact.
    public func isAwaited(_ key: String) -> Bool {
        devices.contains { $0.isAwaited && $0.device.contacts.contains { $0.key == key } }
    }

    /// Devices that came for their push and have said nothing to the request.
    public func silentDevices(now: Int64) -> [Int] { devices.indices.filter { devices[$0].isSilent(now) } }

    // MARK: What legs say

    /// The host comes to this leg later, or not at all (serial forking): until it is sent its phone is not silent.
    public mutating func postponed(leg: Int) {
        guard end == nil, let index = devices.firstIndex(where: { $0.leg?.number == leg }) else { return }
        devices[index].leg?.isSent = false
        devices[index].silentAt = nil
    }

    /// The host has come to this leg: the request is on its way to the phone from now on.
    public mutating func sent(leg: Int, now: Int64) {
        guard end == nil, let index = devices.firstIndex(where: { $0.leg?.number == leg }),
            devices[index].leg?.isSent == false
        else { return }
        devices[index].leg?.isSent = true
        devices[index].leg?.since = now
        watch(index, now)
    }

    /// A leg has an answer. `isFromPhone` is false for what the host made up itself: a timeout, a dead connection, or
    /// 487 of a dialplan that has hung the leg up.
    public mutating func progressed(leg: Int, status: Int, isFromPhone: Bool, now: Int64) -> [CallVerb] {
        if let end, status >= 300, !isFromPhone { return neverSent(leg, end, now) }
        guard end == nil, let index = devices.firstIndex(where: { $0.has(leg: leg) }),
            let current = devices[index].leg(leg)
        else { return [] }
        var verbs = [CallVerb].withRoom(4)
        switch status {
        case ..<100: return []
        case ..<200:
            guard isFromPhone, !(status == 100 && current.contact.isBehindProxy) else { return [] }
            devices[index].choose(leg: leg)
            received(index, status, &verbs)
            compareLegs(index, &verbs)
        case ..<300:
            devices[index].choose(leg: leg)
            received(index, status, &verbs)
            devices[index].otherLeg = nil
            devices[index].isAnswered = true
            // It goes to the caller at once and ends every other leg (RFC 3261, 16.7): there is nothing to hold.
            closing = .answered
            isHeld = false
            declineAt = nil
        default:
            let isFromPhone = isFromPhone && current.contact.speaksItself(status)
            if devices[index].isLeft(by: current, status, isFromPhone) {
                fallBack(index, from: current, status, now, &verbs)
            } else {
                devices[index].choose(leg: leg)
                let hasClosed = closeOtherLeg(index, &verbs)
                failed(index, current, status, isFromPhone, now, &verbs)
                if hasClosed { hostAwaitsVerb = true }
            }
            repeatsGiveUp = host == .proxy && leg == legAtGiveUp && !isFromPhone && current.heard == .nothing
        }
        decide(now, &verbs)
        return verbs
    }

    private mutating func received(_ index: Int, _ status: Int, _ verbs: inout [CallVerb]) {
        guard let leg = devices[index].leg else { return }
        let heard = DeviceState.Heard(status: status)
        guard heard > leg.heard || status >= 200 else { return }
        verbs.append(.note(.progressed(device: index, leg: leg.number, status: status)))
        devices[index].leg?.heard = heard
        devices[index].silentAt = nil
        devices[index].replacement = nil
        if heard == .alerting { dropPush(index, &verbs) }
    }

    private mutating func failed(
        _ index: Int, _ leg: DeviceState.Leg, _ status: Int, _ isFromPhone: Bool, _ now: Int64,
        _ verbs: inout [CallVerb]
    ) {
        let replacement = devices[index].replacement
        hostAwaitsVerb = host == .dialplan
        if hasHungUp(status, isFromPhone), leg.heard < .alerting {
            devices[index].closeLeg(hasFailed: false)
            return
        }
        devices[index].closeLeg()
        // It rang, and its connection broke: it comes back over another one.
        let isCutOff = !isFromPhone && status == 503 && leg.contact.isDirect
        if isFromPhone || leg.heard == .alerting && !isCutOff {
            verbs.append(.note(.progressed(device: index, leg: leg.number, status: status)))
            devices[index].hasDeclined = true
            dropPush(index, &verbs)
            if isOfItsOwn(status, leg, devices[index].pushedAt, now) { return }
            decline(isFromPhone ? (isFollowed(status) ? .forwarded : .byPhone) : .leftRinging)
            if status >= 600, closing == nil { closing = .failed(status) }
            return
        }
        devices[index].wasSilent = leg.number != devices[index].legAtPush && leg.heard == .nothing && status == 408
        verbs.append(.note(.legFailed(device: index, leg: leg.number, status: status)))
        hostAwaitsVerb = true
        guard !isClosed else { return }
        if let next = replacement?.contact {
            follow(index, next, now, &verbs)
        } else if let next = devices[index].nextFlow {
            ring(index, next, now, &verbs)
        } else if devices[index].needsPush(for: leg) {
            push(index, now, &verbs)
        }
    }

    /// A phone's app that has shown the pushed call for too long has ended it, and declines the INVITE that comes too late before
    /// anybody could: liblinphone does after 15 s (`push_incoming_call_timeout`). That is no word of the user's, for whom
    /// 603 would end the call at all phones (RFC 3261, 21.6.2). Kamailio's glue decides the same (`on_late_decline`).
    private func isOfItsOwn(_ status: Int, _ leg: DeviceState.Leg, _ pushedAt: Int64?, _ now: Int64) -> Bool {
        guard status == 603, let pushedAt, leg.heard < .alerting else { return false }
        return leg.since - pushedAt >= Self.latePause && now - leg.since <= Self.quickDecline
    }

    /// Milliseconds from a push to the INVITE after which it is late, and from that to an answer that nobody gave.
    private static let (latePause, quickDecline): (Int64, Int64) = (15_000, 500)

    private mutating func decline(_ why: Decline) {
        guard lastDecline != .forwarded else { return }
        lastDecline = why
    }

    /// The dialplan does not want the leg any more, which says nothing about the phone.
    private func hasHungUp(_ status: Int, _ isFromPhone: Bool) -> Bool {
        host == .dialplan && status == 487 && !isFromPhone
    }

    // MARK: What delivery says

    /// A push for the call has its outcome, a dropped one too. Of a repeated push only an acceptance changes anything.
    public mutating func pushEnded(device index: Int, isAccepted: Bool, now: Int64) -> [CallVerb] {
        guard devices.indices.contains(index) else { return [] }
        let push = devices[index].push
        guard push == .underway || push == .dropped else { return [] }
        let isFirst = !devices[index].wasPushed
        var verbs = [CallVerb].withRoom(2)
        devices[index].isUnreachable = false
        if isAccepted {
            let isLast = devices[index].pushes > policy.pushRepeats
            devices[index].push = .accepted(repeatAt: isLast ? nil : policy.pushRepeat.map { now + $0 })
            devices[index].wasPushed = true
        } else if isFirst {
            devices[index].push = push == .dropped ? .none : .failed
        } else {
            devices[index].push = .accepted(repeatAt: nil)
        }
        if let end {
            if isFirst { tellEnd(end, index, now, &verbs) }
        } else if isAccepted {
            tellCaller(&verbs)
        } else if isFirst, !isClosed {
            pushFailed(index, now, &verbs)
            decide(now, &verbs)
        }
        return verbs
    }

    /// The provider has not taken a push for the call at the first try, and delivery tries again: the known contact is
    /// rung, since the push may come too late.
    public mutating func pushRetried(device index: Int, now: Int64) -> [CallVerb] {
        guard devices.indices.contains(index), !isClosed, devices[index].push == .underway,
            !devices[index].wasPushed, devices[index].leg == nil, !devices[index].hasDeclined,
            let contact = devices[index].reachable
        else { return [] }
        var verbs: [CallVerb] = [.note(.pushRetried(device: index))]
        ring(index, contact, now, &verbs)
        // The push is still to bring it where it is.
        devices[index].legAtPush = lastLeg
        decide(now, &verbs)
        return verbs
    }

    /// The device's provider cannot be reached. Delivery goes on trying, and a call does not wait for that alone. A text
    /// does: nobody hears it wait.
    public mutating func pushUnreachable(device index: Int, now: Int64) -> [CallVerb] {
        guard isCall, devices.indices.contains(index), !isClosed, devices[index].push == .underway,
            !devices[index].wasPushed
        else { return [] }
        devices[index].isUnreachable = true
        var verbs: [CallVerb] = []
        decide(now, &verbs)
        return verbs
    }

    /// No push is on its way to the device, and none has been.
    private mutating func pushFailed(_ index: Int, _ now: Int64, _ verbs: inout [CallVerb]) {
        let hasLeg = devices[index].leg != nil
        guard devices[index].push == .failed else {
            // It was dropped because the phone had come, which is no more than its leg can tell.
            if hasLeg { watch(index, now) } else if !devices[index].hasDeclined { push(index, now, &verbs) }
            return
        }
        let contact = hasLeg || devices[index].hasDeclined ? nil : devices[index].reachable
        verbs.append(.note(.pushFailed(device: index, hasContact: contact != nil)))
        if let contact { ring(index, contact, now, &verbs) }
    }

    // MARK: Time

    /// When `tick(now:)` must be called; nil: there is nothing to wait for.
    public mutating func deadline() -> Int64? {
        guard end == nil else { return nil }
        var next = isHeld || isElsewhere && !isClosed ? endsAt : Int64.max
        if let declineAt { next = min(next, declineAt) }
        if !isClosed {
            for index in devices.indices { next = min(next, ask(index) { $0.deadline }) }
            next = min(next, legsLostAt())
        }
        return next == .max ? nil : next
    }

    /// Time has passed.
    public mutating func tick(now: Int64) -> [CallVerb] {
        var verbs: [CallVerb] = []
        decide(now, &verbs)
        guard !isClosed else { return verbs }
        for index in devices.indices { tick(index, now, &verbs) }
        if now >= legsLostAt() { loseLegs(&verbs) }
        decide(now, &verbs)
        return verbs
    }

    private mutating func tick(_ index: Int, _ now: Int64, _ verbs: inout [CallVerb]) {
        if let next = devices[index].replacement, now >= next.at { ring(index, next.contact, now, &verbs) }
        if let at = devices[index].silentAt, now >= at {
            devices[index].silentAt = nil
            if let leg = devices[index].leg, devices[index].needsPush(for: leg) {
                verbs.append(.note(.silent(device: index, now - leg.since)))
                push(index, now, &verbs)
            }
        }
        if let at = devices[index].leavesAt, now >= at { devices[index].leavesAt = nil }
        if case .accepted(let at?) = devices[index].push, now >= at {
            devices[index].push = .accepted(repeatAt: nil)
            if devices[index].isAwaited { push(index, now, &verbs) }
        }
    }

    // MARK: Parts

    /// Whether any device is so. It copies none, as `contains` of an array would.
    @inline(__always)
    private func hasDevice(_ fits: (borrowing DeviceState) -> Bool) -> Bool {
        let devices = devices.span
        for index in devices.indices where fits(devices[index]) { return true }
        return false
    }

    mutating func ring(_ index: Int, _ contact: CallContact, _ now: Int64, _ verbs: inout [CallVerb]) {
        lastLeg += 1
        let old = keepsOldLeg(index) ? nil : devices[index].leg?.number
        let third = old == nil ? devices[index].putLegAside() : nil
        devices[index].openLeg(lastLeg, contact, now, isSent: host == .proxy)
        devices[index].orderLegs()
        watch(index, now)
        verbs.append(.ring(leg: lastLeg, contact: contact.key, replacing: old))
        let place = contact.address.isEmpty ? contact.key : contact.address
        verbs.append(.note(.rung(device: index, leg: lastLeg, contact: place)))
        if let third { verbs.append(.close(leg: third)) }
    }

    /// Numbers of earlier legs are not used again; no host has come to the last ones.
    mutating func continueLegs(after number: Int) { lastLeg = max(lastLeg, min(number, Int.max / 2)) }

    /// Gives the leg its time to be answered before the device is pushed as well.
    mutating func watch(_ index: Int, _ now: Int64) {
        guard let silentAfter = policy.silentAfter else { return }
        ask(index) { device in
            guard let leg = device.leg, leg.isSent, leg.heard == .nothing, device.needsPush(for: leg) else { return }
            let pause = max(silentAfter, device.device.pushDelay)
            if pause > 0 { device.silentAt = now + pause }
        }
    }

    /// Pushes for the request, while there is time to wait for the phone.
    mutating func push(_ index: Int, _ now: Int64, _ verbs: inout [CallVerb]) {
        guard now < endsAt, !devices[index].isUnbound else { return }
        devices[index].push = .underway
        devices[index].pushes += 1
        devices[index].pushedAt = devices[index].pushedAt ?? now
        ask(index) { $0.legAtPush = $0.leg?.number ?? 0 }
        verbs.append(.push(device: index, event: event, deadline: endsAt))
        verbs.append(.note(.pushed(device: index, event)))
    }

    /// Lets the caller hear something while every phone sleeps, once.
    private mutating func tellCaller(_ verbs: inout [CallVerb]) {
        guard isCall, isHeld, !hasLegs, !hasSentProvisional, policy.wakeProvisional > 100 else { return }
        hasSentProvisional = true
        verbs.append(.tell(status: policy.wakeProvisional))
        verbs.append(.note(.told(status: policy.wakeProvisional)))
    }

    /// Compares who can still answer with what the host was told last.
    mutating func decide(_ now: Int64, _ verbs: inout [CallVerb]) {
        guard end == nil else { return }
        guard !isElsewhere else { return decideElsewhere(now, &verbs) }
        var (hasLiveLeg, isAwaited, mayWake) = (false, false, false)
        for index in devices.indices {
            ask(index) { device in
                let isOpen = device.isAwaited
                if device.hasLeg, !isOpen { hasLiveLeg = true }
                if isOpen { isAwaited = true }
                if isOpen, !device.isUnlikelyToWake { mayWake = true }
            }
        }
        isAwaited = !isClosed && (hasLiveLeg ? isAwaited : mayWake)
        setDeclineClock(runs: isAwaited && !hasLiveLeg, now)
        let isTimeOver = now >= declineAt ?? endsAt
        let mustEnd = hostAwaitsVerb && !hasLiveLeg
        let mustRepeat = repeatsGiveUp && hasLiveLeg
        (hostAwaitsVerb, repeatsGiveUp) = (false, false)
        if isAwaited && !isTimeOver {
            if !isHeld { verbs.append(.hold(until: endsAt)) }
            isHeld = true
            return
        }
        declineAt = nil
        if !hasLiveLeg, closing == nil { closing = isTimeOver ? .timedOut : .failed(policy.unanswered) }
        if isClosed || isTimeOver {
            for index in devices.indices { dropPush(index, &verbs) }
        }
        guard isHeld || mustEnd || mustRepeat else { return }
        isHeld = false
        for index in devices.indices { closeSilentLeg(index, &verbs) }
        // A dialplan hears of the end when its last leg is over, since its phone may still become silent.
        guard host == .proxy || !hasLiveLeg else { return }
        legAtGiveUp = newestLeg
        verbs.append(.giveUp(status: policy.unanswered))
        if !mustRepeat { verbs.append(.note(.gaveUp(status: policy.unanswered))) }
    }

    private mutating func setDeclineClock(runs: Bool, _ now: Int64) {
        guard runs, let lastDecline else {
            declineAt = nil
            return
        }
        guard declineAt == nil else { return }
        let pause =
            switch lastDecline {
            case .byPhone: policy.declineWaits
            case .leftRinging: policy.noAnswerWaits
            case .forwarded: nil as Int64?
            }
        declineAt = pause.map { min(now + $0, endsAt) }
    }

    /// Nobody has heard the leg so far, and the push has not brought its phone: its timer is not worth waiting for.
    private mutating func closeSilentLeg(_ index: Int, _ verbs: inout [CallVerb]) {
        guard ask(index, { $0.isAwaited }), let leg = ask(index, { $0.leg?.number }) else { return }
        _ = closeOtherLeg(index, &verbs)
        devices[index].closeLeg()
        verbs.append(.close(leg: leg))
        verbs.append(.note(.legFailed(device: index, leg: leg, status: 408)))
    }

    /// The phone needs no push for the request any more.
    mutating func dropPush(_ index: Int, _ verbs: inout [CallVerb]) {
        guard devices[index].push == .underway else { return }
        devices[index].push = .dropped
        verbs.append(.dropPush(device: index))
    }
}
