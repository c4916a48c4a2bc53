// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Runs a machine for each request that is held: what hosts and phones report of it, and the verbs that come of it.
final class RequestRunner {
    let context: EngineContext
    let store: StoreAccess
    let hosts: HostConnections
    let outcomes: PushOutcomes
    let pushes: CallPushes
    let delivery: Delivery
    /// Requests for which phones are woken or watched.
    let calls: HeldRequests
    /// Monotonic milliseconds of the next look for requests whose host is gone.
    private var nextAbandonedLook: Int64 = 0
    /// Requests whose bindings a shared store is being asked for, and how they ended meanwhile.
    var awaitingBindings: [RequestID: CallEnd?] = [:]
    var pendingRequests = PendingRequests()
    /// Calls that wait for the bindings of a shared store do so while it has not been away for long.
    var storeOutage = StoreOutage()
    /// Users whose phones may be elsewhere without this node hearing of it, and whether they are looked at soon.
    var usersToCheck: Set<UserKey> = []
    var isRecheckDue = false
    var recentRegistrations = RecentRegistrations(now: SystemClock.monotonicMilliseconds())
    var leftContacts = LeftContacts()
    /// A phone has registered in `Binding.usualTable` since this engine has started.
    var usualTableIsInUse = false

    /// Holds at most so many requests.
    init(
        _ context: EngineContext, _ store: StoreAccess, _ hosts: HostConnections, _ pushes: CallPushes,
        _ outcomes: PushOutcomes, _ delivery: Delivery, most: Int
    ) {
        (self.context, self.store, self.hosts) = (context, store, hosts)
        (self.pushes, self.outcomes, self.delivery) = (pushes, outcomes, delivery)
        calls = HeldRequests(most: most)
        pushes.onProgress = { [weak self] in self?.progressed($0, device: $1, $2) }
        store.shared?.onAnnouncement = { [weak self] in self?.received($0) }
        store.shared?.onGap = { [weak self] in self?.recheckOtherNodes() }
    }

    /// A leg has an answer.
    func progressed(_ message: MessageReader) {
        let report = CallReport(message)
        guard let request = calls[report.id] else {
            if (100..<200).contains(report.status) {
                pendingRequests.progressed(report.id, leg: report.leg, status: report.status)
            }
            return pendingRequests.keep({ [weak self] in self?.progressed(message) }, of: report.id)
        }
        let now = SystemClock.monotonicMilliseconds()
        let (leg, status) = (report.leg, report.status)
        if status >= 0 { countRelease(of: leg, request) }
        if (180..<300).contains(status) { endWait(request, .rang, now) }
        switch status {
        case -1: request.machine.postponed(leg: leg)
        case 0: request.machine.sent(leg: leg, now: now)
        default:
            let verbs = request.machine.progressed(
                leg: leg, status: status, isFromPhone: report.isFromPhone, now: now)
            dispatch(perform(verbs, request))
        }
        schedule(request, now)
    }

    /// A request has its final answer.
    func requestEnded(_ message: MessageReader) {
        let report = CallReport(message)
        guard let request = calls[report.id] else {
            // Its bindings may still be being asked for.
            if awaitingBindings[report.id] != nil { awaitingBindings[report.id] = .some(report.end) }
            pendingRequests.end(report.id)
            pendingRequests.noteEnd(report.id, now: SystemClock.monotonicMilliseconds())
            return
        }
        if report.leg > 0 {
            countRelease(of: report.leg, request)
            let now = SystemClock.monotonicMilliseconds()
            let verbs = request.machine.progressed(leg: report.leg, status: report.status, isFromPhone: true, now: now)
            dispatch(perform(verbs, request))
        }
        end(request, report.end)
    }

    /// Milliseconds for which phones may join a request that its host has sent elsewhere.
    private static let longestContinuation: Int64 = 120_000

    /// A request was sent elsewhere, and phones may still join.
    func requestContinues(_ message: MessageReader) {
        let report = CallReport(message)
        guard let request = calls[report.id] else {
            return pendingRequests.keep({ [weak self] in self?.requestContinues(message) }, of: report.id)
        }
        let now = SystemClock.monotonicMilliseconds()
        let time = min(max(report.milliseconds, 0), Self.longestContinuation)
        dispatch(perform(request.machine.continued(until: now + time, now: now), request))
        schedule(request, now)
    }

    /// Ends the requests of a user with this Call-ID that channels wait for, those too whose bindings are still being asked
    /// for.
    func endCall(aor: String, callID: String, _ how: CallEnd) {
        for id in awaitingBindings.keys.filter({ $0.isWaited(aor: aor, callID: callID) }) {
            awaitingBindings[id] = .some(how)
        }
        for request in calls.requests(for: aor) where request.message.callID == callID {
            if case .waited = request.id { end(request, how) }
        }
    }

    func end(_ request: HeldRequest, _ how: CallEnd) {
        guard request.machine.end == nil else { return }
        let now = SystemClock.monotonicMilliseconds()
        switch how {
        case .timedOut: outcomes.countFailures(request)
        // A proxy says what the caller heard.
        case .failed where now >= request.machine.endsAt: outcomes.countFailures(request)
        case .failed, .answered, .cancelled, .completedElsewhere: break
        }
        // What phones say to a channel that has gone on nobody hears.
        if !request.isHandedOver { outcomes.countSilences(request, now) }
        let verbs = request.machine.ended(how, now: now)
        calls.end(request, forgetAt: now + Self.retention)
        dispatch(perform(verbs, request))
        schedule(request, now)
    }

    /// The host speaks of a leg for the first time: it is out.
    private func countRelease(of leg: Int, _ request: HeldRequest) {
        guard let time = request.times.sent(leg: leg, at: SystemClock.monotonicMicroseconds()) else { return }
        context.times.countRelease(afterMicroseconds: time)
    }

    /// The caller hears a phone ring, or that none will.
    func endWait(_ request: HeldRequest, _ end: CallTimes.WaitEnd, _ now: Int64) {
        guard request.message.event == .call, request.times.endWait() else { return }
        context.times.countWait(end, milliseconds: now - request.beganAt)
    }

    /// A phone is there, as waiting legs have found out: requests that wait for its user go on.
    func registered(_ question: Question) {
        let contact = question.text(.contactURI)
        let registration = CallRegistration(contact: CallContact(key: contact))
        dispatch(registered(registration, uri: contact, aor: question.text(.aor), domain: ""))
        question.reply { _ in }
    }

    /// Tells the requests of a user about a contact; the verbs for their hosts come back.
    func registered(_ registration: CallRegistration, uri: String, aor: String, domain: String) -> [HostVerb] {
        let microseconds = SystemClock.monotonicMicroseconds()
        let now = microseconds / 1000
        recentRegistrations.add(registration, uri: uri, aor: aor, domain: domain, now: now)
        let resumed = resumeWithoutBindings(aor, registration)
        var verbs: [HostVerb] = []
        for request in calls.requests(for: aor) where request.isFor(domain) && !resumed.contains(request.id) {
            verbs.take(tell(request, of: registration, uri: uri, at: microseconds))
        }
        return verbs
    }

    /// Tells one request about a contact.
    func tell(
        _ request: HeldRequest, of registration: CallRegistration, uri: String, at microseconds: Int64
    ) -> [HostVerb] {
        guard !isDone(request, with: registration) else { return [] }
        if !uri.isEmpty { request.name(uri, registration.contact.key) }
        if request.machine.isClosed { request.remember(rung: uri) }
        let verbs = perform(request.machine.registered(registration, now: microseconds / 1000), request)
        for verb in verbs where verb.kind == .ring { request.times.released(leg: verb.leg, at: microseconds) }
        schedule(request, microseconds / 1000)
        return verbs
    }

    /// Nearly all requests of the last minute are over, and taken by the phone that registers. Channels may ask once more
    /// for one that they waited for.
    private func isDone(_ request: HeldRequest, with registration: CallRegistration) -> Bool {
        guard case .handle = request.id, request.pushedAt.isEmpty else { return false }
        return request.machine.isDone(with: registration)
    }

    /// Tells the requests of a user that a contact is gone.
    func unregistered(uri: String, aor: String, domain: String) -> [HostVerb] {
        let now = SystemClock.monotonicMilliseconds()
        recentRegistrations.remove(uri: uri, aor: aor, domain: domain)
        var verbs: [HostVerb] = []
        for request in calls.requests(for: aor) where request.isFor(domain) {
            verbs += perform(request.machine.unregistered(contact: request.key(of: uri), now: now), request)
            schedule(request, now)
        }
        return verbs
    }

    /// Tells the requests of a user that bindings of his are gone, which no push may reach any more.
    func unbound(_ gone: [Binding], of aor: String) -> [HostVerb] {
        guard !gone.isEmpty else { return [] }
        let now = SystemClock.monotonicMilliseconds()
        var verbs: [HostVerb] = []
        for request in calls.requests(for: aor) {
            for device in request.devices.chosen.indices {
                guard let own = request.binding(of: device), gone.hasToken(of: own) else { continue }
                verbs += perform(request.machine.unbound(device: device, now: now), request)
            }
            schedule(request, now)
        }
        return verbs
    }

    /// Forgets requests whose time is over; called by the loop's clock.
    func tick(now: Int64) {
        calls.sweep(now: now)
        recentRegistrations.sweep(now: now)
        guard now >= nextAbandonedLook else { return }
        nextAbandonedLook = now + 10_000
        for request in calls.abandoned(now: now) { end(request, .timedOut) }
    }

    /// Asks the machine again when it wants to be asked.
    func schedule(_ request: HeldRequest, _ now: Int64) {
        let deadline = request.machine.deadline()
        if request.timer?.at == deadline { return }
        if let timer = request.timer { context.loop.cancel(timer.id) }
        request.timer = deadline.map { at in
            (
                at,
                // One that has ended has no timer.
                context.loop.schedule(at: at) { [weak self] in
                    guard let self else { return }
                    request.timer = nil
                    let now = context.loop.now
                    dispatch(perform(request.machine.tick(now: now), request))
                    schedule(request, now)
                }
            )
        }
    }
}

/// What a host reports of a request that it holds, read in one go.
private struct CallReport {
    private var host: UInt64 = 0
    private var handle: UInt64 = 0
    private var how: Int64 = 0
    private var reason = ""
    private(set) var leg = 0
    private(set) var status = 0
    private(set) var isFromPhone = false
    private(set) var milliseconds: Int64 = 0

    init(_ message: MessageReader) {
        var reader = message
        while let field = reader.next() {
            switch field.tag {
            case .host: host = UInt64(bitPattern: reader.number(field))
            case .handle: handle = UInt64(bitPattern: reader.number(field))
            case .leg: leg = Int(truncatingIfNeeded: reader.number(field))
            case .status: status = Int(truncatingIfNeeded: reader.number(field))
            case .fromPhone: isFromPhone = reader.number(field) != 0
            case .how: how = reader.number(field)
            case .reason: reason = reader.text(field)
            case .milliseconds: milliseconds = reader.number(field)
            default: break
            }
        }
    }

    /// Which request it is about.
    var id: RequestID { .handle(host: host, handle) }

    /// How the request has ended.
    var end: CallEnd { CallEnd(how: how, status: status, reason: reason) }
}

extension CallTimes.WaitEnd {
    /// Of a request whose phones were silent until its end.
    init(_ end: CallEnd) {
        switch end {
        case .answered: self = .rang
        case .cancelled, .completedElsewhere: self = .cancelled
        case .timedOut: self = .timedOut
        case .failed: self = .failed
        }
    }
}

extension CallEnd {
    /// What a host says: `enum pushwake_call_end`, the status that was sent, the Reason header of the CANCEL.
    init(how: Int64, status: Int, reason: String) {
        switch how {
        case 0: self.init(cancelReason: reason)
        case 1: self = .answered
        case 2: self = .timedOut
        default: self = .failed(status)
        }
    }
}

extension [Binding] {
    /// One of them is pushed as this one is.
    func hasToken(of binding: Binding) -> Bool {
        contains { $0.provider == binding.provider && $0.app == binding.app && $0.token == binding.token }
    }
}

extension HeldRequest {
    /// The binding that a device is pushed by; nil when it has none.
    func binding(of device: Int) -> Binding? {
        guard devices.chosen.indices.contains(device), let chosen = devices.chosen[device] else { return nil }
        return bindings[chosen.index]
    }
}
