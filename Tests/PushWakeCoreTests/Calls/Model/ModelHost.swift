// SPDX-License-Identifier: MIT

import PushWakeCore

/// A host, delivery and phones in one, which do what the machine says and check that it may say so.
///
/// It keeps its own books on legs, pushes and who has heard what; the first broken rule ends up in `problem`.
struct ModelHost {
    enum Heard: Int { case nothing, trying, alerting }
    enum Push { case none, underway, dropped, accepted, failed }

    struct Leg {
        var number: Int
        var isSent: Bool
        var heard: Heard
        var contact: String
        var since: Int64
    }

    struct Device {
        var canBePushed = false
        var showsCallAtOnce = false
        var leg: Int?
        /// The host has come to that leg.
        var isSent = true
        var heard = Heard.nothing
        var contact = ""
        /// When that leg was sent.
        var since: Int64 = 0
        /// Its other leg, of which less was heard, or which is older.
        var other: Leg?
        var push = Push.none
        /// When it was pushed first.
        var pushedAt: Int64?
        /// The leg that was open when the last push was sent.
        var legAtPush: Int?
        var wasAccepted = false
        var hasAnswered = false
        var hasDeclined = false
        var endPushes = 0
        var shownEnds = 0
        /// It was shown the end before it could have been pushed.
        var knewEnd = false
        /// Its leg was alive when the request ended.
        var respondedOverSIP = false

        var isAwaited: Bool {
            if hasAnswered || hasDeclined || push == .none || push == .failed { return false }
            return leg == nil || heard == .nothing && leg == legAtPush && !cannotBePushed
        }
        var hasLiveLeg: Bool { leg != nil && !isAwaited }
        /// Its provider is out of reach, and it has no leg.
        var isUnlikelyToWake: Bool { isUnreachable && (push == .underway || push == .dropped) && leg == nil }
        var isUnreachable = false
        /// No provider takes its push.
        var cannotBePushed: Bool { push == .failed || (push == .underway || push == .dropped) && isUnreachable }

        func has(leg number: Int) -> Bool { leg == number || other?.number == number }

        /// The leg that counts.
        var first: Leg? {
            get { leg.map { Leg(number: $0, isSent: isSent, heard: heard, contact: contact, since: since) } }
            set {
                leg = newValue?.number
                isSent = newValue?.isSent ?? true
                heard = newValue?.heard ?? .nothing
                contact = newValue?.contact ?? contact
                since = newValue?.since ?? since
            }
        }

        /// It has said nothing to what it was sent for five seconds; nobody stands before it. It came for its push, or no
        /// provider took that.
        func isLost(_ now: Int64) -> Bool {
            (wasAccepted && leg != legAtPush || cannotBePushed) && !hasAnswered && !hasDeclined && isSent
                && heard == .nothing && contact.first != ModelHost.proxied && now - since >= 5000
        }

        /// A CANCEL tells it of the end.
        func hearsOverSIP(_ now: Int64, _ policy: CallPolicy) -> Bool {
            guard leg != nil else { return false }
            if heard != .nothing { return true }
            let silentAfter = policy.silentAfter ?? 0
            return leg != legAtPush && !(isSent && now - since >= (silentAfter > 0 ? silentAfter : 1500))
        }

        mutating func exchange() { (first, other) = (other, first) }

        /// Of two legs this one is spoken of.
        mutating func choose(leg number: Int) {
            if other?.number == number { exchange() }
        }

        /// What was heard more of counts, or else what is newer.
        mutating func order() {
            guard let first, let other else { return }
            if (other.heard.rawValue, other.number) > (first.heard.rawValue, first.number) { exchange() }
        }
    }

    /// Somebody may still be brought by a push, who is worth waiting for.
    private var isAnyoneAwaited: Bool {
        let hasLiveLeg = devices.contains { $0.hasLiveLeg }
        return devices.contains { $0.isAwaited && (hasLiveLeg || !$0.isUnlikelyToWake) }
    }

    let event: PushEvent
    let host: CallHost
    let policy: CallPolicy
    var endsAt: Int64
    var devices: [Device]
    var isHeld = false
    /// It has sent the request elsewhere, which keeps it open.
    var isElsewhere = false
    /// Nobody may join any more: a 2xx, a 6xx, or nothing left that the request could go on with.
    var isClosed = false
    var end: CallEnd?
    private var endedAt: Int64 = 0
    private(set) var problem: String?
    private var lastLeg = 0
    /// How long those that sleep may be waited for after the last decline; nil: to the end.
    private var declinePause: Int64??
    private var hasForwarded = false
    /// When that time is over; nil while it does not run.
    private var declineAt: Int64?
    /// A leg has failed by itself, or a dialplan is through with it: with no other leg out the host needs a verb.
    private var needsVerb = false
    private var hasSentProvisional = false

    init(event: PushEvent, host: CallHost, policy: CallPolicy, endsAt: Int64, devices: [CallDevice]) {
        self.event = event
        self.host = host
        self.policy = policy
        self.endsAt = endsAt
        self.devices = devices.map { Device(canBePushed: $0.canBePushed, showsCallAtOnce: $0.showsCallAtOnce) }
    }

    var openLegs: [Int] { devices.flatMap { [$0.leg, $0.other?.number].compactMap(\.self) } }
    /// Legs that the machine has to close now.
    private var superfluous: [Int] = []
    var outstanding: [Int] { devices.indices.filter { devices[$0].push == .underway || devices[$0].push == .dropped } }
    var isCall: Bool { event == .call }

    /// Contacts whose name begins so stand behind a proxy.
    static let proxied: Character = "p"

    // MARK: What happens

    /// The machine goes on where another one was lost.
    mutating func willResume(_ resumed: [CallMachine.ResumedDevice], lastLeg: Int, now: Int64) {
        isHeld = true
        self.lastLeg = min(lastLeg, Int.max / 2)
        for (index, device) in resumed.enumerated() {
            devices[index].wasAccepted = device.wasPushed
            devices[index].push = device.wasPushed ? .accepted : .none
            devices[index].leg = device.leg
            devices[index].since = now
            devices[index].contact = device.contact?.key ?? ""
            devices[index].heard =
                device.leg == nil || device.status == 0 ? .nothing : device.status == 100 ? .trying : .alerting
            devices[index].legAtPush = device.wasPushed ? device.leg : nil
            guard device.leg != nil, device.status >= 300 else { continue }
            devices[index].first = nil
            (devices[index].hasDeclined, devices[index].legAtPush) = (true, nil)
            if device.status == 486, device.wasPushed { declinePause = .some(policy.declineWaits) }
        }
    }

    /// The request goes elsewhere, and phones may join until then.
    mutating func willContinue(until: Int64) {
        guard end == nil, !devices.contains(where: { $0.hasAnswered }) else { return }
        (isElsewhere, isHeld, isClosed, endsAt, declinePause) = (true, false, false, until, nil)
    }

    /// Answers of a proxy about the way to the phone.
    private static let wayFailures = [408, 430, 477, 478, 479, 500, 503]

    /// To be called before the machine hears of it.
    mutating func willProgress(leg: Int, status: Int, isFromPhone: Bool, now: Int64) {
        guard status >= 100, let index = devices.firstIndex(where: { $0.has(leg: leg) }) else { return }
        defer { devices[index].order() }
        guard end == nil else {
            devices[index].choose(leg: leg)
            // It registered when the request ended, and was never sent it.
            guard host == .proxy || !devices[index].isSent, status >= 300, !isFromPhone,
                devices[index].heard == .nothing
            else { return }
            if devices[index].other != nil {
                drop(index)
                devices[index].respondedOverSIP = devices[index].hearsOverSIP(endedAt, policy)
                registering = index
                return
            }
            devices[index].leg = nil
            devices[index].respondedOverSIP = false
            registering = index
            return
        }
        devices[index].choose(leg: leg)
        let isOfProxy = devices[index].contact.first == Self.proxied && Self.wayFailures.contains(status)
        let isFromPhone = isFromPhone && !isOfProxy
        switch status {
        case ..<200:
            guard isFromPhone, status > 100 || devices[index].contact.first != Self.proxied else { return }
            let heard = status == 100 ? Heard.trying : .alerting
            if heard.rawValue > devices[index].heard.rawValue { devices[index].heard = heard }
            if devices[index].heard == .alerting, let other = devices[index].other, other.number < leg {
                superfluous.append(other.number)
            }
        case ..<300:
            devices[index].heard = .alerting
            devices[index].hasAnswered = true
            devices[index].other = nil
            isClosed = true
            isHeld = false
        default:
            let isCutOff = !isFromPhone && status == 503 && devices[index].contact.first != Self.proxied
            if let other = devices[index].other,
                isFallBack(status, isFromPhone, from: leg, devices[index], to: other)
            {
                needsVerb = true
                return drop(index)
            }
            if let other = devices[index].other {
                superfluous.append(other.number)
                needsVerb = true
            }
            let isDecline = isFromPhone || devices[index].heard == .alerting && !isCutOff
            needsVerb = needsVerb || host == .dialplan || !isDecline
            if isFromPhone, isTooLate(status, devices[index], now) {
                devices[index].hasDeclined = true
            } else if isDecline {
                devices[index].hasDeclined = true
                let hasRung = devices[index].heard == .alerting
                let isNo =
                    (300..<400).contains(status) || status >= 600
                    || status == 486 && (hasRung || devices[index].wasAccepted)
                hasForwarded = hasForwarded || host == .dialplan && isFromPhone && (300..<400).contains(status)
                if !isFromPhone || isNo || hasRung && [408, 480].contains(status) {
                    declinePause = .some(policy.declineWaits)
                }
                if hasForwarded { declinePause = .some(nil) }
                if status >= 600 { isClosed = true }
            }
            devices[index].leg = nil
            devices[index].heard = .nothing
        }
    }

    /// Its app has given up the call that a push had shown, and declines by itself.
    private func isTooLate(_ status: Int, _ device: Device, _ now: Int64) -> Bool {
        guard status == 603, device.heard != .alerting, let pushedAt = device.pushedAt else { return false }
        return device.since - pushedAt >= 15_000 && now - device.since <= 500
    }

    /// One of two legs ends, and the other goes on.
    private func isFallBack(_ status: Int, _ isFromPhone: Bool, from leg: Int, _ device: Device, to other: Leg) -> Bool
    {
        if !isFromPhone { return device.heard != .alerting || status == 503 && device.contact.first != Self.proxied }
        if status >= 600 || device.heard == .alerting { return false }
        return status == 482 || leg < other.number || other.heard == .alerting
    }

    /// The leg that counts is gone, and the other one does.
    private mutating func drop(_ index: Int) {
        let ended = devices[index].leg
        devices[index].first = devices[index].other
        devices[index].other = nil
        if devices[index].legAtPush == ended, let leg = devices[index].leg, let ended, leg < ended {
            devices[index].legAtPush = leg
        }
    }

    /// The host comes to a leg, or puts it off.
    mutating func willReach(leg: Int, isSent: Bool, now: Int64) {
        guard end == nil, let index = devices.firstIndex(where: { $0.leg == leg }) else { return }
        if isSent, !devices[index].isSent { devices[index].since = now }
        devices[index].isSent = isSent
    }

    mutating func willLoseProvider(_ index: Int) {
        guard isCall, devices.indices.contains(index), devices[index].push == .underway, !devices[index].wasAccepted,
            !isClosed
        else { return }
        devices[index].isUnreachable = true
    }

    mutating func willEndPush(_ index: Int, isAccepted: Bool) {
        guard devices.indices.contains(index) else { return }
        let wasDropped = devices[index].push == .dropped
        guard devices[index].push == .underway || wasDropped else { return }
        devices[index].isUnreachable = false
        if isAccepted { devices[index].wasAccepted = true }
        devices[index].push = devices[index].wasAccepted ? .accepted : wasDropped ? .none : .failed
    }

    /// `known`: what the machine makes of it, which knows when a failure came of waiting.
    mutating func willEnd(_ how: CallEnd, as known: CallEnd?, now: Int64) {
        guard end == nil else { return }
        end = known
        endedAt = now
        let isKnownBetter =
            switch how {
            case .failed: known == .timedOut
            // A dialplan may go on with its caller elsewhere.
            case .cancelled: host == .dialplan && known != .answered
            case .answered, .completedElsewhere, .timedOut: false
            }
        if known != how && !isKnownBetter { fail("ends \(how) as \(String(describing: known))") }
        isHeld = false
        isClosed = true
        for index in devices.indices {
            devices[index].respondedOverSIP = devices[index].hearsOverSIP(now, policy)
        }
    }

    // MARK: What the machine says

    mutating func execute(_ verbs: [CallVerb], now: Int64) {
        for position in verbs.indices {
            switch verbs[position] {
            case .ring(let leg, let contact, let replacing):
                guard position + 1 < verbs.count, case .note(.rung(let device, leg, contact)) = verbs[position + 1]
                else {
                    fail("ring \(leg) has no note")
                    continue
                }
                ring(device, leg, contact, replacing, now)
                // A push that is tried again still has to bring its phone where that is rung meanwhile.
                if position > 0, verbs[position - 1] == .note(.pushRetried(device: device)) {
                    devices[device].legAtPush = leg
                }
            case .close(let leg):
                if superfluous.contains(leg) {
                    superfluous.removeAll { $0 == leg }
                    for index in devices.indices where devices[index].other?.number == leg {
                        devices[index].other = nil
                    }
                    continue
                }
                if let index = devices.firstIndex(where: { $0.other?.number == leg }) {
                    // Its silent legs are not waited for.
                    if !devices[index].isAwaited && !areLost(now) { fail("close \(leg), which may be answered") }
                    devices[index].other = nil
                    continue
                }
                guard let index = devices.firstIndex(where: { $0.leg == leg }),
                    devices[index].isAwaited || areLost(now)
                else {
                    fail("close \(leg), which is not open or not silent")
                    continue
                }
                needsVerb = needsVerb || !devices[index].isAwaited
                devices[index].leg = nil
            case .resend(let leg):
                if isClosed { fail("resend \(leg) after the end") }
                if !openLegs.contains(leg) { fail("resend \(leg), which is not open") }
            case .hold(let until):
                if isHeld || isElsewhere || isClosed || until != endsAt || now >= endsAt { fail("hold") }
                isHeld = true
            case .giveUp(let status): giveUp(status, now)
            case .ringAndCancel(let contact, _): showEnd(contact)
            case .tell(let status):
                if status != policy.wakeProvisional || !isCall || hasSentProvisional || isClosed || !isHeld
                    || !openLegs.isEmpty
                {
                    fail("tell \(status)")
                }
                hasSentProvisional = true
            case .push(let device, let event, let deadline): push(device, event, deadline, now)
            case .dropPush(let device):
                if devices[device].push != .underway { fail("drop \(device), which is not under way") }
                devices[device].push = .dropped
            case .note: continue
            }
        }
        if needsVerb && !isHeld && !isElsewhere && end == nil && devices.allSatisfy({ !$0.hasLiveLeg }) {
            fail("the host needs a verb")
        }
        needsVerb = false
        if !superfluous.isEmpty && end == nil { fail("legs \(superfluous) stay open") }
        superfluous = []
        // A dialplan rings on and is not told that nobody else is waited for.
        if host == .dialplan, isHeld, !mustBeHeld(now), devices.contains(where: { $0.hasLiveLeg }) { isHeld = false }
        if isElsewhere ? now >= endsAt : devices.allSatisfy({ !$0.hasLiveLeg }) && !isHeld { isClosed = true }
        setDeclineClock(now)
        if problem == nil { checkHold(now) }
    }

    /// Nobody is left but phones that say nothing. Those that came for their push have until the wait is over.
    private func areLost(_ now: Int64) -> Bool {
        // A tick that is late ends the hold of a dialplan, and then these legs.
        !isElsewhere && !isClosed && (!isHeld || host == .dialplan && !mustBeHeld(now))
            && devices.allSatisfy {
                $0.leg == nil || $0.isLost(now) && ($0.cannotBePushed && isCall || host == .proxy && now >= endsAt)
            }
    }

    private mutating func ring(_ device: Int, _ leg: Int, _ contact: String, _ replacing: Int?, _ now: Int64) {
        if device == devices.count { devices.append(Device()) }
        if isClosed { fail("ring \(leg) after the end") }
        if leg <= lastLeg { fail("ring \(leg) after \(lastLeg)") }
        // A proxy lets the first leg of a call ring on until the second one rings.
        let keepsFirst = host == .proxy && isCall && devices[device].leg != nil && devices[device].isSent
        if (keepsFirst ? nil : devices[device].leg) != replacing { fail("ring \(leg) replaces \(replacing ?? 0)") }
        if keepsFirst {
            if let third = devices[device].other { superfluous.append(third.number) }
            devices[device].other = devices[device].first
        }
        if devices[device].hasDeclined || devices[device].hasAnswered { fail("ring \(leg): \(device) has answered") }
        lastLeg = max(lastLeg, leg)
        devices[device].leg = leg
        devices[device].contact = contact
        devices[device].heard = .nothing
        devices[device].isSent = host == .proxy
        devices[device].since = now
        devices[device].order()
    }

    private mutating func giveUp(_ status: Int, _ now: Int64) {
        let hasLiveLeg = devices.contains { $0.hasLiveLeg }
        if isElsewhere { fail("give up what has gone elsewhere") }
        if !isHeld && (!needsVerb || hasLiveLeg && host == .dialplan) { fail("give up what is not held") }
        if host == .dialplan && hasLiveLeg { fail("give up while a dialplan rings") }
        needsVerb = false
        if status != policy.unanswered {
            fail("give up \(status)")
        }
        setDeclineClock(now)
        if isAnyoneAwaited && !isClosed && now < declineAt ?? endsAt { fail("give up too early") }
        isHeld = false
        if !hasLiveLeg { isClosed = true }
    }

    private mutating func setDeclineClock(_ now: Int64) {
        guard !isClosed, !isElsewhere, isAnyoneAwaited, let declinePause, !devices.contains(where: { $0.hasLiveLeg })
        else {
            declineAt = nil
            return
        }
        if declineAt == nil { declineAt = declinePause.map { min(now + $0, endsAt) } }
    }

    private mutating func push(_ device: Int, _ event: PushEvent, _ deadline: Int64, _ now: Int64) {
        if !devices[device].canBePushed { fail("push \(device), which has no token") }
        if devices[device].hasAnswered || devices[device].hasDeclined { fail("push \(device), which has answered") }
        if let end {
            if event != end.notice || deadline <= now { fail("push \(device) \(event.name) after the end") }
            devices[device].endPushes += 1
            return
        }
        if event != self.event || deadline != endsAt { fail("push \(device) \(event.name) during the call") }
        if isClosed || now >= endsAt { fail("push \(device) too late") }
        if devices[device].heard == .alerting { fail("push \(device), which rings") }
        if devices[device].push == .failed { fail("push \(device), whose push has failed") }
        if outstanding.contains(device) { fail("push \(device) twice at once") }
        devices[device].push = .underway
        devices[device].pushedAt = devices[device].pushedAt ?? now
        devices[device].legAtPush = devices[device].leg
    }

    private mutating func showEnd(_ contact: String) {
        guard let index = registering else { return fail("show end, and nobody has registered") }
        let device = devices[index]
        let mayShowCall = device.wasAccepted || device.push == .underway || device.push == .dropped
        if !isCall || !isClosed || !device.showsCallAtOnce || !mayShowCall { fail("show end to \(index)") }
        if device.hasAnswered || device.hasDeclined { fail("show end to \(index), which has answered") }
        devices[index].shownEnds += 1
        if device.endPushes == 0 { devices[index].knewEnd = true }
    }

    /// The device whose REGISTER the machine is about to hear of, where it is a known one.
    var registering: Int?

    // MARK: What must hold

    private func mustBeHeld(_ now: Int64) -> Bool {
        !isClosed && !isElsewhere && now < declineAt ?? endsAt && devices.contains { $0.isAwaited }
    }

    private mutating func checkHold(_ now: Int64) {
        if mustBeHeld(now) != isHeld { fail(isHeld ? "held for nobody" : "not held though a phone is awaited") }
    }

    /// After `tick(now)`.
    mutating func checkDeadline(_ deadline: Int64?, now: Int64) {
        if let deadline, deadline <= now { fail("the deadline stays at \(deadline), \(now - deadline) ms ago") }
        if isHeld || isElsewhere && !isClosed, deadline.map({ $0 > endsAt }) ?? true {
            fail("no deadline at wake_timeout")
        }
        if let declineAt, deadline.map({ $0 > declineAt }) ?? true { fail("no deadline at \(declineAt)") }
        if now >= endsAt && isHeld { fail("held beyond wake_timeout") }
    }

    /// After the end, when every push has its outcome.
    mutating func checkNotices() {
        guard let end else { return fail("no end") }
        for (index, device) in devices.enumerated() where problem == nil {
            if device.shownEnds > 1 { fail("\(index) was shown the end \(device.shownEnds) times") }
            let expected = expectedNotices(of: device, after: end)
            if device.endPushes != expected { fail("\(index) was pushed the end \(device.endPushes) times") }
        }
    }

    private func expectedNotices(of device: Device, after end: CallEnd) -> Int {
        guard isCall, policy.cancelRule != .never, device.canBePushed, !device.hasAnswered, !device.hasDeclined else {
            return 0
        }
        if device.knewEnd { return 0 }
        if end == .cancelled, policy.cancelRule == .always { return 1 }
        guard device.wasAccepted else { return 0 }
        if end == .cancelled, policy.cancelRule == .pushed { return 1 }
        return device.respondedOverSIP ? 0 : 1
    }

    private mutating func fail(_ what: String) {
        if problem == nil { problem = what }
    }
}
