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
/// times are monotonic milliseconds.
public struct CallMachine: ~Copyable {
    let policy: CallPolicy
    /// A message is answered by whoever takes it first, and nobody cancels the others.
    let isCall: Bool
    let event: PushEvent
    /// When the wait ends at the latest.
    public let endsAt: Int64
    var devices: [DeviceState]
    /// The host keeps the request open without a leg.
    var isHeld = false
    /// No phone joins any more.
    var isClosed = false
    /// Phones that sleep are given up on then, because all that rang have failed.
    var declineAt: Int64?
    public internal(set) var end: CallEnd?
    private var lastLeg = 0
    private var hasTold = false
    /// The status of the last phone that declined, or that was left ringing (408).
    private var lastDecline = 0

    /// Begins with the devices of the user; `start(now:)` says what to do first.
    public init(
        event: PushEvent, isCall: Bool, devices: [CallDevice], policy: CallPolicy, endsAt: Int64
    ) {
        self.event = event
        self.isCall = isCall
        self.policy = policy
        self.endsAt = endsAt
        self.devices = devices.map(DeviceState.init)
    }

    /// The request is here.
    public mutating func start(now: Int64) -> [CallVerb] {
        var verbs: [CallVerb] = []
        for index in devices.indices { begin(index, now, &verbs) }
        settle(now, &verbs)
        return verbs
    }

    private mutating func begin(_ index: Int, _ now: Int64, _ verbs: inout [CallVerb]) {
        let device = devices[index].device
        let known = devices[index].known
        guard device.canBePushed else {
            verbs.append(.note(.plain(device: index)))
            if let known { ring(index, known, now, &verbs) }
            return
        }
        if device.isAwake {
            verbs.append(.note(.awake(device: index, known?.reach ?? .datagram)))
            if let known { ring(index, known, now, &verbs) }
            if policy.silentAfter == 0, known != nil { push(index, now, &verbs) }
            return
        }
        verbs.append(.note(.asleep(device: index)))
        if !device.isProviderHealthy {
            if let known, known.canBeRung { ring(index, known, now, &verbs) }
            push(index, now, &verbs)
        } else if device.pushDelay > 0 {
            if let known, known.canBeRung { ring(index, known, now, &verbs) }
            devices[index].push = .scheduled(at: now + device.pushDelay)
        } else {
            push(index, now, &verbs)
        }
    }

    /// A leg is out.
    public var hasLegs: Bool { devices.contains { $0.leg != nil } }

    /// The host keeps the request open for phones that sleep.
    public var isWaiting: Bool { isHeld }

    /// Something may still be asked of it: a device can be pushed, or comes later.
    public var isOfUse: Bool { devices.contains { $0.device.canBePushed } }

    /// A push may still bring the device with this contact.
    public func isAwaited(_ key: String) -> Bool {
        devices.contains { $0.isAwaited && $0.device.contacts.contains { $0.key == key } }
    }

    // MARK: What legs say

    /// A leg has an answer. `isFromPhone` is false for what the host made up itself: a timeout, a dead connection.
    public mutating func progressed(leg: Int, status: Int, isFromPhone: Bool, now: Int64) -> [CallVerb] {
        guard end == nil, let index = devices.firstIndex(where: { $0.leg?.number == leg }),
            let current = devices[index].leg
        else { return [] }
        var verbs: [CallVerb] = []
        if status < 200 {
            guard isFromPhone, !(status == 100 && current.contact.isBehindProxy) else { return [] }
            heard(index, status, &verbs)
        } else if status < 300 {
            verbs.append(.note(.progressed(device: index, leg: leg, status: status)))
            devices[index].leg?.heard = .alerting
            devices[index].isAnswered = true
        } else {
            failed(index, current, status, isFromPhone, now, &verbs)
        }
        settle(now, &verbs)
        return verbs
    }

    private mutating func heard(_ index: Int, _ status: Int, _ verbs: inout [CallVerb]) {
        guard let leg = devices[index].leg else { return }
        let heard: DeviceState.Heard = status == 100 ? .trying : .alerting
        guard heard > leg.heard else { return }
        verbs.append(.note(.progressed(device: index, leg: leg.number, status: status)))
        devices[index].leg?.heard = heard
        devices[index].silentAt = nil
        devices[index].replacement = nil
        if heard == .alerting { devices[index].hasRung = true }
        switch devices[index].push {
        case .scheduled: devices[index].push = .none
        case .underway where heard == .alerting: verbs.append(.dropPush(device: index))
        case .none, .underway, .accepted, .failed: break
        }
    }

    private mutating func failed(
        _ index: Int, _ leg: DeviceState.Leg, _ status: Int, _ isFromPhone: Bool, _ now: Int64,
        _ verbs: inout [CallVerb]
    ) {
        devices[index].closeLeg()
        if isFromPhone || leg.heard == .alerting {
            verbs.append(.note(.progressed(device: index, leg: leg.number, status: status)))
            devices[index].hasDeclined = true
            lastDecline = status
            if status >= 600 { isClosed = true }
            return
        }
        verbs.append(.note(.legFailed(device: index, leg: leg.number, status: status)))
        if let next = devices[index].replacement {
            ring(index, next, now, &verbs)
        } else if let next = devices[index].nextFlow(after: leg.contact) {
            ring(index, next, now, &verbs)
        } else if devices[index].device.canBePushed, devices[index].push == .none {
            push(index, now, &verbs)
        }
    }

    // MARK: What delivery says

    /// A push for the call has its outcome. Of a repeated push only an acceptance changes anything.
    public mutating func pushEnded(device index: Int, isAccepted: Bool, now: Int64) -> [CallVerb] {
        guard devices.indices.contains(index), devices[index].push == .underway else { return [] }
        var verbs: [CallVerb] = []
        if isAccepted {
            let isLast = devices[index].pushes > policy.pushRepeats
            devices[index].push = .accepted(repeatAt: isLast ? nil : policy.pushRepeat.map { now + $0 })
            let isFirst = !devices[index].wasPushed
            devices[index].wasPushed = true
            if let end {
                if isFirst { tellEnd(end, index, now, &verbs) }
            } else {
                tellCaller(&verbs)
            }
            return verbs
        }
        devices[index].push = devices[index].wasPushed ? .accepted(repeatAt: nil) : .failed
        guard end == nil, !isClosed, !devices[index].wasPushed else { return [] }
        let known = devices[index].leg == nil && !devices[index].hasDeclined ? devices[index].known : nil
        let usable = known.flatMap { $0.canBeRung && !devices[index].hasFailed($0) ? $0 : nil }
        verbs.append(.note(.pushFailed(device: index, hasContact: usable != nil)))
        if let usable { ring(index, usable, now, &verbs) }
        settle(now, &verbs)
        return verbs
    }

    // MARK: Time

    /// When `tick(now:)` must be called; nil: there is nothing to wait for.
    public func deadline() -> Int64? {
        guard end == nil else { return nil }
        var next = isHeld ? endsAt : Int64.max
        if let declineAt { next = min(next, declineAt) }
        if !isClosed {
            for device in devices { next = min(next, device.deadline) }
        }
        return next == .max ? nil : next
    }

    /// Time has passed.
    public mutating func tick(now: Int64) -> [CallVerb] {
        guard end == nil else { return [] }
        var verbs: [CallVerb] = []
        if now >= endsAt || declineAt.map({ now >= $0 }) == true {
            giveUp(now, &verbs)
            return verbs
        }
        guard !isClosed else { return [] }
        for index in devices.indices { tick(index, now, &verbs) }
        settle(now, &verbs)
        return verbs
    }

    private mutating func tick(_ index: Int, _ now: Int64, _ verbs: inout [CallVerb]) {
        if let at = devices[index].replaceAt, now >= at, let contact = devices[index].replacement {
            ring(index, contact, now, &verbs)
        }
        if let at = devices[index].silentAt, now >= at {
            devices[index].silentAt = nil
            if devices[index].push == .none, let leg = devices[index].leg {
                verbs.append(.note(.silent(device: index, now - leg.since)))
                push(index, now, &verbs)
            }
        }
        switch devices[index].push {
        case .scheduled(let at) where now >= at: push(index, now, &verbs)
        case .accepted(let at?) where now >= at:
            if devices[index].isAwaited {
                push(index, now, &verbs)
            } else {
                devices[index].push = .accepted(repeatAt: nil)
            }
        case .none, .scheduled, .underway, .accepted, .failed: break
        }
    }

    // MARK: Parts

    mutating func ring(_ index: Int, _ contact: CallContact, _ now: Int64, _ verbs: inout [CallVerb]) {
        lastLeg += 1
        let old = devices[index].leg?.number
        devices[index].openLeg(lastLeg, contact, now)
        if devices[index].device.canBePushed, devices[index].push == .none, let pause = policy.silentAfter, pause > 0 {
            devices[index].silentAt = now + max(pause, devices[index].device.pushDelay)
        }
        verbs.append(.ring(leg: lastLeg, contact: contact.key, replacing: old))
        verbs.append(.note(.rung(device: index, leg: lastLeg, contact: contact.key)))
    }

    /// Numbers of earlier legs are not used again.
    mutating func continueLegs(after number: Int) { lastLeg = max(lastLeg, number) }

    mutating func push(_ index: Int, _ now: Int64, _ verbs: inout [CallVerb]) {
        devices[index].push = .underway
        devices[index].pushes += 1
        devices[index].legAtPush = devices[index].leg?.number ?? 0
        verbs.append(.push(device: index, event: event, deadline: endsAt))
        verbs.append(.note(.pushed(device: index, event)))
    }

    /// Lets the caller hear something while every phone sleeps, once.
    private mutating func tellCaller(_ verbs: inout [CallVerb]) {
        guard isCall, !hasTold, policy.wakeProvisional > 100, !devices.contains(where: { $0.leg != nil }) else {
            return
        }
        hasTold = true
        verbs.append(.tell(status: policy.wakeProvisional))
        verbs.append(.note(.told(status: policy.wakeProvisional)))
    }

    /// Compares who can still answer with what the host was told last.
    mutating func settle(_ now: Int64, _ verbs: inout [CallVerb]) {
        guard end == nil else { return }
        let isAwaited = !isClosed && devices.contains { $0.isAwaited }
        guard isAwaited else {
            declineAt = nil
            guard isHeld else { return }
            isHeld = false
            let status = failureStatus
            verbs.append(.giveUp(status: status))
            verbs.append(.note(.gaveUp(status: status)))
            return
        }
        if !isHeld {
            isHeld = true
            verbs.append(.hold(until: endsAt))
        }
        if devices.contains(where: { $0.leg != nil }) {
            declineAt = nil
        } else if declineAt == nil, lastDecline != 0 {
            let pause = lastDecline == 408 ? policy.noAnswerWaits : policy.declineWaits
            declineAt = pause.map { min(now + $0, endsAt) }
        }
    }

    private mutating func giveUp(_ now: Int64, _ verbs: inout [CallVerb]) {
        isClosed = true
        declineAt = nil
        for index in devices.indices {
            if devices[index].push == .underway { verbs.append(.dropPush(device: index)) }
        }
        guard isHeld else { return }
        isHeld = false
        let status = failureStatus
        verbs.append(.giveUp(status: status))
        verbs.append(.note(.gaveUp(status: status)))
    }

    /// What the caller hears when no leg has an answer of its own.
    private var failureStatus: Int { event.isMessage ? policy.unansweredMessage : 480 }
}
