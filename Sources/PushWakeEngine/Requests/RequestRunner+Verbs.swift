// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem

/// Verbs carried out: those for delivery here, those for the host on their way to it.
extension RequestRunner {
    /// Carries out what is the engine's own part; the rest comes back for the host.
    func perform(_ verbs: [CallVerb], _ request: HeldRequest) -> [HostVerb] {
        // What becomes of a verb is told after it.
        let now = SystemClock.monotonicMilliseconds()
        context.traces.note(request.trace, verbs, now: now)
        var host: [HostVerb] = []
        var failure = ""
        for verb in verbs {
            switch verb {
            case .ring(let leg, let contact, let replacing):
                let out = HostVerb(.ring, request)
                (out.leg, out.contact, out.replaces, out.reason) = (leg, contact, replacing ?? 0, failure)
                failure = ""
                host.append(out)
            case .resend(let leg):
                let out = HostVerb(.resend, request)
                out.leg = leg
                host.append(out)
            case .close(let leg):
                let out = HostVerb(.close, request)
                out.leg = leg
                host.append(out)
            case .hold(let until):
                let out = HostVerb(.hold, request)
                out.milliseconds = max(0, until - now)
                out.replaces = request.nextTurn()
                host.append(out)
            case .giveUp(let status):
                let out = HostVerb(.giveUp, request)
                (out.status, out.leg) = (status, request.machine.newestLeg)
                out.replaces = request.nextTurn()
                if !isLate(request) { out.reason = request.lastReason }
                host.append(out)
            case .ringAndCancel(let contact, let reason):
                let out = HostVerb(.showEnd, request)
                (out.contact, out.reason) = (contact, reason)
                host.append(out)
            case .tell(let status):
                let out = HostVerb(.tell, request)
                out.status = status
                host.append(out)
            case .push(let device, let event, let deadline):
                if event == request.content.event {
                    pushes.push(to: device, request, deadline)
                } else {
                    pushes.tellEnd(event, device, request, deadline)
                }
            case .dropPush(let device): pushes.drop(device, request)
            case .note(let note):
                // The contact that is rung next is rung for want of a push.
                if case .pushFailed = note { failure = request.lastReason }
                remember(note, request, now)
            }
        }
        return host
    }

    /// Sends verbs to the hosts that hold their requests.
    func dispatch(_ verbs: [HostVerb]) {
        for verb in verbs {
            switch verb.request.id {
            case .handle(let host, _): hosts.post([verb], to: host)
            case .waited: tell(verb)
            }
        }
    }

    /// Splits off the verbs that one host executes itself, in answer to what it asked.
    func dispatch(_ verbs: [HostVerb], exceptOf host: UInt64) -> [HostVerb] {
        guard verbs.contains(where: { !$0.isFor(host) }) else { return verbs }
        var own: [HostVerb] = []
        for verb in verbs {
            if verb.isFor(host) { own.append(verb) } else { dispatch([verb]) }
        }
        return own
    }

    /// Channels that wait hear of phones, and of the end of the wait.
    private func tell(_ verb: HostVerb) {
        let request = verb.request
        switch verb.kind {
        case .ring:
            let contact = request.uri(of: verb.contact)
            request.remember(rung: contact)
            if !request.waiters.isEmpty { request.reportedRung.append(contact) }
            for waiter in request.waiters { waiter.tell(WaitEvent(kind: .registered, contact: contact)) }
        case .giveUp:
            // A leg is out: its channel knows how it fares.
            guard !request.machine.hasLegs else { return }
            if isLate(request) { finishWaiters(of: request, .timedOut) } else { failWaiters(of: request) }
        case .resend, .close, .hold, .showEnd, .pushed, .tell: break
        }
    }

    /// Its wait is over because time is.
    private func isLate(_ request: HeldRequest) -> Bool {
        SystemClock.monotonicMilliseconds() >= request.machine.endsAt
    }

    private func failWaiters(of request: HeldRequest) {
        finishWaiters(of: request, .failed(context.callPolicy.unanswered), because: request.lastReason)
    }

    /// No phone comes for who waits: for those that were pushed the call is over.
    private func finishWaiters(of request: HeldRequest, _ end: CallEnd, because reason: String = "") {
        let waiters = request.waiters
        request.waiters = []
        for waiter in waiters {
            waiter.tell(WaitEvent(kind: end == .timedOut ? .timedOut : .failed, reason: reason))
            endWait(of: waiter)
        }
        // ORDER: the core may be in the middle of this request.
        if !waiters.isEmpty { context.loop.atEndOfTurn { [weak self] in self?.end(request, end) } }
    }

    private func endWait(of waiter: any WakeWaiter) {
        waiter.wait = nil
        if let timer = waiter.waitTimer { context.loop.cancel(timer) }
        waiter.waitTimer = nil
    }

    private func remember(_ note: CallNote, _ request: HeldRequest, _ now: Int64) {
        switch note {
        case .registered(let device): countWake(device, request, now)
        case .plain(let device): explainPlain(device, request, now)
        case .ended(let end): endWait(request, CallTimes.WaitEnd(end), now)
        default: break
        }
    }

    /// A phone that was pushed and registers has been woken: what is known of its token says so. It has when the
    /// request was over before, too, as long as that could have been held.
    private func countWake(_ device: Int, _ request: HeldRequest, _ now: Int64) {
        guard let pushedAt = request.pushedAt.remove(device), now <= request.machine.endsAt,
            request.devices.chosen.indices.contains(device), let chosen = request.devices.chosen[device]
        else { return }
        let binding = request.bindings[chosen.index]
        outcomes.callFailures.succeed(binding, now: SystemClock.wallSeconds())
        guard let push = request.pushes.known(binding.token), push.wokenAt == nil else { return }
        push.wokenAt = now
        outcomes.woke(binding, isCall: request.content.event == .call, milliseconds: now - pushedAt, now: now)
    }

    /// A device that cannot be pushed may have bindings that are no use for this event.
    private func explainPlain(_ device: Int, _ request: HeldRequest, _ now: Int64) {
        guard request.devices.bindings.indices.contains(device),
            let index = request.devices.bindings[device].first
        else { return }
        context.traces.name(request.trace, device: device, request.bindings[index])
        guard let skipped = request.devices.skipped.first(where: { $0.index == index }) else { return }
        context.traces.note(request.trace, .notPushed(device: device, skipped.reason), now: now)
    }

    /// The push to a device goes on, or has ended.
    func progressed(_ progress: PushProgress, device: Int, _ request: HeldRequest) {
        let now = SystemClock.monotonicMilliseconds()
        var verbs: [HostVerb]
        switch progress {
        case .retried: verbs = perform(request.machine.pushRetried(device: device, now: now), request)
        case .unreachable: verbs = perform(request.machine.pushUnreachable(device: device, now: now), request)
        case .ended(let isAccepted):
            verbs = perform(request.machine.pushEnded(device: device, isAccepted: isAccepted, now: now), request)
            if isAccepted, request.machine.end == nil, case .handle = request.id {
                let remembered = HostVerb(.pushed, request)
                remembered.leg = device
                verbs.append(remembered)
            }
        }
        dispatch(verbs)
        schedule(request, now)
    }

    // MARK: Channels that wait

    /// Lets somebody wait for a phone of a request; what has happened already is told at once.
    func wait(for message: WakeMessage, _ waiter: any WakeWaiter) {
        guard let request = calls[message.id], request.machine.end == nil else {
            endWait(of: waiter)
            return waiter.tell(WaitEvent(kind: .failed, reason: "no phone of this user can be pushed"))
        }
        request.reportedRung = request.rung
        for contact in request.rung { waiter.tell(WaitEvent(kind: .registered, contact: contact)) }
        request.waiters.append(waiter)
        waiter.wait = message.key
        let seconds = message.seconds > 0 ? min(message.seconds, 86_400) : context.settings.integer(.wakeTimeout)
        if let timer = waiter.waitTimer { context.loop.cancel(timer) }
        waiter.waitTimer = context.loop.schedule(after: seconds * 1000) { [weak self, weak waiter] in
            guard let self, let waiter, waiter.wait == message.key else { return }
            waiter.tell(WaitEvent(kind: .timedOut))
            guard let request = forget(waiter), request.waiters.isEmpty else { return }
            end(request, .timedOut)
        }
        let isOver = !request.machine.isWaiting && !request.machine.hasLegs
        if isOver { failWaiters(of: request) }
    }

    /// The waiter needs no more: it has a phone, and what becomes of the call only its PBX knows. Those that still sleep may
    /// come for as long as it would have waited.
    func stopWaiting(_ waiter: any WakeWaiter) {
        guard let request = forget(waiter), request.waiters.isEmpty, !request.machine.isClosed, !request.isHandedOver
        else { return }
        let now = SystemClock.monotonicMilliseconds()
        request.isHandedOver = true
        context.traces.note(request.trace, .wentOn, now: now)
        context.loop.schedule(after: max(request.machine.endsAt - now, 0)) { [weak self] in
            self?.end(request, .completedElsewhere)
        }
    }

    /// Nothing is told to it any more; the request that it waited for.
    @discardableResult
    func forget(_ waiter: any WakeWaiter) -> HeldRequest? {
        guard let key = waiter.wait else { return nil }
        endWait(of: waiter)
        let request = calls[.waited(key)]
        request?.waiters.removeAll { $0 === waiter }
        return request
    }
}

extension Array {
    /// Appends others. Of lists that are mostly empty the first is taken as it is, and not copied.
    mutating func take(_ others: [Element]) {
        if isEmpty { self = others } else if !others.isEmpty { append(contentsOf: others) }
    }
}
