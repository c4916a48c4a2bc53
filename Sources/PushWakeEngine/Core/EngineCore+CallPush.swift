// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Pushes for requests: each token once for all forks of a request, and the end told once.
extension EngineCore {
    /// Pushes a request to one of its devices.
    func push(_ device: Int, _ request: HeldRequest, _ deadline: Int64) {
        guard let chosen = request.devices.chosen[device] else { return }
        let binding = request.bindings[chosen.index]
        if request.pushedAt[device] == nil { request.pushedAt[device] = SystemClock.monotonicMilliseconds() }
        request.pushes.renew(binding.token, for: request, now: SystemClock.monotonicMilliseconds())
        if let entry = request.pushes.entries[binding.token], entry.isAccepted != nil || entry.job != nil {
            let isOwn = entry.followers.contains { $0.request === request && $0.device == device }
            if !isOwn { return follow(entry, device, request) }
        }
        let entry = request.pushes.entry(of: binding.token)
        (entry.isAccepted, entry.job) = (nil, nil)
        if !entry.followers.contains(where: { $0.request === request }) { entry.followers.append((request, device)) }
        let push = CallPush(
            push: Push(binding, request.content), chosen: chosen, deadline: deadline,
            askedAt: SystemClock.wallSeconds(), isPrompt: request.times.isBeginning)
        if request.pushes.turn != .own { return leaveToOtherNode(push, request) }
        if let refusal = refusal(of: request.content.event) { return deliver(push, request, refusal: refusal) }
        deliverInTime(push, request)
    }

    /// Another node pushes for this request: here the phone is only waited for, unless that node turns out not to push.
    private func leaveToOtherNode(_ push: CallPush, _ request: HeldRequest) {
        guard request.pushes.turn == .perhapsOfAnother, let shared else {
            return delivery.loop.atEndOfTurn { [weak self] in self?.leave(push, request) }
        }
        delivery.loop.schedule(after: shared.claimPause) { [weak self, weak shared] in
            shared?.claimAnew(request.message.key.claim, of: request.aor) { [weak self] isClaimed in
                request.pushes.turn = isClaimed ? .ofAnother : .own
                if isClaimed { self?.leave(push, request) } else { self?.takeOver(push, request) }
            }
        }
    }

    private func leave(_ push: CallPush, _ request: HeldRequest) {
        statistics.leftToOtherNodes += 1
        ended(push.push.binding, request, true)
    }

    /// The node that was to push has gone on without.
    private func takeOver(_ push: CallPush, _ request: HeldRequest) {
        ifWanted(push, request) { [weak self] isWanted in
            guard let self else { return }
            guard isWanted else { return ended(push.push.binding, request, request.machine.end == nil) }
            // A fork of the request has been faster.
            let entry = request.pushes.entries[push.push.binding.token]
            guard entry?.job == nil, entry?.isAccepted == nil else { return }
            if let refusal = refusal(of: request.content.event) { return deliver(push, request, refusal: refusal) }
            deliverInTime(push, request)
        }
    }

    /// A fork of the request has pushed this token.
    private func follow(_ entry: RequestPushes.Entry, _ device: Int, _ request: HeldRequest) {
        entry.followers.append((request, device))
        guard let isAccepted = entry.isAccepted else { return }
        if let result = entry.result { trace.answered(request.trace, device: device, result, now: delivery.loop.now) }
        delivery.loop.atEndOfTurn { [weak self, weak request] in
            guard let self, let request else { return }
            pushEnded(device, request, isAccepted)
        }
    }

    /// The push need not go, unless a fork of the request wants it.
    func dropPush(_ device: Int, _ request: HeldRequest) {
        guard let chosen = request.devices.chosen[device] else { return }
        let token = request.bindings[chosen.index].token
        guard let entry = request.pushes.entries[token], let job = entry.job,
            entry.followers.allSatisfy({ $0.request === request || $0.request.machine.end != nil })
        else { return }
        delivery.cancel([job])
    }

    /// Sends a push, or puts it off until `ignore_same` and the limits allow another.
    private func deliverInTime(_ push: CallPush, _ request: HeldRequest) {
        let now = SystemClock.monotonicMilliseconds()
        let names = limits.names(push.push.binding, push.push.content)
        let wait = wait(before: push.push, names, now)
        guard wait > 0 else {
            limits.note(names, now: now)
            statistics.pushed += 1
            return deliver(push, request)
        }
        for follower in request.pushes.entries[push.push.binding.token]?.followers ?? [] {
            trace.note(follower.request.trace, .putOff(device: follower.device, wait), now: now)
        }
        // The push before is waking the phone for this request too; but it may fail, or be dropped with its call.
        // ORDER: at a time, and not so long after the turn began: of two messages the first one goes first.
        delivery.loop.schedule(at: now &+ wait) { [weak self] in
            guard let self else { return }
            ifWanted(push, request) { [weak self] isWanted in
                guard let self else { return }
                if isWanted { return deliverInTime(push, request) }
                // It has come with the push before; of a call that is over it has heard nothing.
                ended(push.push.binding, request, request.machine.end == nil)
            }
        }
    }

    /// Milliseconds for which a push has to wait; 0: it may go, and `ignore_same` counts from now.
    private func wait(before push: Push, _ names: PushLimits.Names, _ now: Int64) -> Int64 {
        let pause = limits.pause(names, now: now)
        if pause > 0 {
            statistics.limited += 1
            return pause
        }
        guard settings.integer(.ignoreSame) > 0,
            case .tooSoon(let wait) = dedupe.note(push.binding, push.content, now: now)
        else { return 0 }
        statistics.suppressed += 1
        return wait
    }

    /// Whether a push that was put off still has to go: not when the call is over or the phone has come.
    private func ifWanted(_ push: CallPush, _ request: HeldRequest, _ then: @escaping (Bool) -> Void) {
        if push.push.content.event.isMessage { return then(request.machine.end != .answered) }
        guard request.machine.end == nil else { return then(false) }
        let binding = push.push.binding
        ask(about: request.aor) { (store) throws(StoreError) in
            try store.bindings(of: binding.aor, now: SystemClock.wallSeconds())
        } then: { result in
            guard request.machine.end == nil else { return then(false) }
            guard let all = try? result.get(),
                let last = all.first(where: { $0.token == binding.token && $0.provider == binding.provider })
            else { return then(true) }
            then(last.registeredAt <= push.askedAt && !request.rung.contains(last.contact))
        }
    }

    private func deliver(_ push: CallPush, _ request: HeldRequest, refusal: Verdict? = nil) {
        let entry = request.pushes.entry(of: push.push.binding.token)
        let job = delivery.push(
            push.push, type: push.chosen.type, deadline: push.deadline, refusal: refusal
        ) { [self] job, verdict, status in
            let result = settle(job, verdict, status)
            let isAccepted = result.outcome == .accepted
            // Its host still holds the request, and the next engine pushes what had no answer (`resume`).
            if verdict == .engineEnds {
                entry.job = nil
                return
            }
            let now = SystemClock.monotonicMilliseconds()
            if push.isPrompt, let time = request.times.pushed(at: job.writtenAt) {
                times.countPush(afterMicroseconds: time)
            }
            for follower in entry.followers {
                trace.answered(follower.request.trace, device: follower.device, result, now: now)
                if !isAccepted { follower.request.pushedAt[follower.device] = nil }
            }
            entry.result = result
            if isAccepted {
                countAccepted(entry, job.push, now)
            } else {
                dedupe.release(job.binding)
                request.lastReason = "\(result.outcome.name) \(result.reason)"
            }
            ended(entry, isAccepted)
        }
        job.onRetry = { [weak self, weak entry] in
            for follower in entry?.followers ?? [] { self?.pushRetried(follower.device, follower.request) }
        }
        job.onUnreachable = { [weak self, weak entry] in
            for follower in entry?.followers ?? [] { self?.pushUnreachable(follower.device, follower.request) }
        }
        entry.job = job
    }

    /// Once for each request: of a push that is repeated the phone need only wake once.
    private func countAccepted(_ entry: RequestPushes.Entry, _ push: Push, _ now: Int64) {
        guard !entry.isCounted else { return }
        entry.isCounted = true
        accepted(push.binding, now: now)
    }

    private func ended(_ binding: Binding, _ request: HeldRequest, _ isAccepted: Bool) {
        if let entry = request.pushes.entries[binding.token] { ended(entry, isAccepted) }
    }

    private func ended(_ entry: RequestPushes.Entry, _ isAccepted: Bool) {
        entry.isAccepted = isAccepted
        entry.endedAt = SystemClock.monotonicMilliseconds()
        entry.job = nil
        for follower in entry.followers { pushEnded(follower.device, follower.request, isAccepted) }
        entry.dropForgotten()
    }

    private func pushRetried(_ device: Int, _ request: HeldRequest) {
        let now = SystemClock.monotonicMilliseconds()
        dispatch(perform(request.machine.pushRetried(device: device, now: now), request))
        schedule(request, now)
    }

    private func pushUnreachable(_ device: Int, _ request: HeldRequest) {
        let now = SystemClock.monotonicMilliseconds()
        dispatch(perform(request.machine.pushUnreachable(device: device, now: now), request))
        schedule(request, now)
    }

    private func pushEnded(_ device: Int, _ request: HeldRequest, _ isAccepted: Bool) {
        let now = SystemClock.monotonicMilliseconds()
        var verbs = perform(request.machine.pushEnded(device: device, isAccepted: isAccepted, now: now), request)
        if isAccepted, request.machine.end == nil, case .handle = request.id {
            let remembered = HostVerb(.pushed, request)
            remembered.leg = device
            verbs.append(remembered)
        }
        dispatch(verbs)
        schedule(request, now)
    }

    /// Tells a device how the request ended, unless another fork of it goes on.
    func pushEnd(_ event: PushEvent, _ device: Int, _ request: HeldRequest, _ deadline: Int64) {
        guard request.pushes.live <= 0, request.pushes.turn == .own else { return }
        let group = request.devices.bindings[device].map { request.bindings[$0] }
        let plan = Plan(event, group, isAwake: group.map { _ in false })
        var content = request.content
        content.event = event
        if case .failed(let status)? = request.machine.end, status >= 600 { content.occasion = .declinedElsewhere }
        // When the call came in stays: the phone may have its push only now, and must not take this for another call.
        content.timeToLive = settings.timeToLive(of: event)
        content.endsAt = 0
        for chosen in plan.pushes {
            let refusal = refusal(of: event)
            if refusal == nil { statistics.pushed += 1 }
            delivery.push(
                Push(group[chosen.index], content), type: chosen.type, deadline: deadline, refusal: refusal
            ) { [self] job, verdict, status in
                let result = settle(job, verdict, status)
                trace.answered(request.trace, device: device, result, now: SystemClock.monotonicMilliseconds())
            }
        }
    }

    /// How a push for this event ends that the load does not allow; nil when it does.
    func refusal(of event: PushEvent) -> Verdict? { loadPolicies[event].refusal(at: load.meter.level) }
}

/// A push that a request asks for.
struct CallPush {
    let push: Push
    let chosen: Plan.Chosen
    /// Monotonic milliseconds at which the request is no longer held.
    let deadline: Int64
    /// Unix seconds of the request.
    let askedAt: Int64
    /// The request asked for it at once, and not for want of an answer.
    let isPrompt: Bool
}
