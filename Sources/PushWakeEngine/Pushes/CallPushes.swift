// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Pushes for requests: each token once for all forks of a request, within the limits, and the end told once.
final class CallPushes {
    private let context: EngineContext
    private let store: StoreAccess
    private let outcomes: PushOutcomes
    private let delivery: Delivery
    /// Tells a second push to one device within `ignore_same`.
    private var dedupe: Dedupe
    /// How many pushes requests may cause.
    var limits: PushLimits
    /// Pushes that wait for `limits` or `dedupe`, and the turns that have a timer or are being taken.
    private var putOff: PutOffPushes<PutOffPush>
    private var scheduledTurns: Set<LimitKey> = []
    /// Hears what becomes of the push to a device of a request.
    var onProgress: (PushProgress, _ device: Int, HeldRequest) -> Void = { _, _, _ in }

    init(_ context: EngineContext, _ store: StoreAccess, _ outcomes: PushOutcomes, _ delivery: Delivery) {
        (self.context, self.store, self.outcomes, self.delivery) = (context, store, outcomes, delivery)
        (dedupe, limits) = (Self.dedupe(context.settings), Self.limits(context.settings))
        putOff = PutOffPushes(capacity: Int(context.settings.integer(.queueSize)))
    }

    private static func dedupe(_ settings: Settings) -> Dedupe {
        Dedupe(window: settings.integer(.ignoreSame), seed: UInt64.random(in: 0...UInt64.max))
    }

    private static func limits(_ settings: Settings) -> PushLimits {
        PushLimits(settings, seed: UInt64.random(in: 0...UInt64.max))
    }

    /// Goes on with other settings; limits count anew where they changed.
    func take(_ new: Settings, after old: Settings) {
        if old.text(.ignoreSame) != new.text(.ignoreSame) { dedupe = Self.dedupe(new) }
        let keys: [SettingKey] = [.devicePushes, .callerPushes, .aorPushes]
        if keys.contains(where: { old.text($0) != new.text($0) }) { limits = Self.limits(new) }
    }

    /// The phone has registered: `ignore_same` does not hold the next push.
    func release(_ binding: Binding) { dedupe.release(binding) }

    /// Pushes a request to one of its devices.
    func push(to device: Int, _ request: HeldRequest, _ deadline: Int64) {
        guard let chosen = request.devices.chosen[device] else { return }
        let binding = request.bindings[chosen.index]
        let now = SystemClock.monotonicMilliseconds()
        request.pushedAt.note(device, now)
        request.pushes.renew(binding.token, for: request, now: now)
        if let entry = request.pushes.known(binding.token), entry.isUnderWay || entry.isAccepted != nil {
            let isOwn = entry.followers.contains { $0.request === request && $0.device == device }
            if !isOwn { return follow(entry, device, request) }
            if entry.isPutOff { return }
        }
        let entry = request.pushes.entry(of: binding.token)
        (entry.isAccepted, entry.job) = (nil, nil)
        if !entry.followers.contains(where: { $0.request === request }) { entry.followers.append((request, device)) }
        let push = CallPush(
            push: Push(binding, request.content), chosen: chosen, deadline: deadline,
            askedAt: SystemClock.wallSeconds(), isPrompt: request.times.isBeginning)
        if request.pushes.turn != .own { return leaveToOtherNode(push, request) }
        if let refusal = context.refusal(of: request.content.event) { return deliver(push, request, refusal: refusal) }
        deliverInTime(push, request)
    }

    /// Another node pushes for this request: here the phone is only waited for, unless that node turns out not to push.
    private func leaveToOtherNode(_ push: CallPush, _ request: HeldRequest) {
        guard request.pushes.turn == .claimedElsewhere, let shared = store.shared else {
            return context.loop.atEndOfTurn { [weak self] in self?.leave(push, request) }
        }
        context.loop.schedule(after: shared.claimPause) { [weak self, weak shared] in
            shared?.claimAnew(request.message.key.claim, of: request.aor) { [weak self] isClaimed in
                request.pushes.turn = isClaimed ? .ofAnother : .own
                if isClaimed { self?.leave(push, request) } else { self?.takeOver(push, request) }
            }
        }
    }

    private func leave(_ push: CallPush, _ request: HeldRequest) {
        context.statistics.leftToOtherNodes += 1
        ended(push.push.binding, request, true)
    }

    /// The node that was to push has gone on without.
    private func takeOver(_ push: CallPush, _ request: HeldRequest) {
        ifWanted(push, request) { [weak self] isWanted in
            guard let self else { return }
            guard isWanted else { return ended(push.push.binding, request, request.machine.end == nil) }
            // A fork of the request has been faster.
            let entry = request.pushes.known(push.push.binding.token)
            guard entry?.isUnderWay != true, entry?.isAccepted == nil else { return }
            if let refusal = context.refusal(of: request.content.event) {
                return deliver(push, request, refusal: refusal)
            }
            deliverInTime(push, request)
        }
    }

    /// A fork of the request has pushed this token.
    private func follow(_ entry: RequestPushes.Entry, _ device: Int, _ request: HeldRequest) {
        entry.followers.append((request, device))
        guard let isAccepted = entry.isAccepted else { return }
        if let result = entry.result {
            context.traces.answered(request.trace, device: device, result, now: context.loop.now)
        }
        context.loop.atEndOfTurn { [weak self, weak request] in
            guard let self, let request else { return }
            onProgress(.ended(isAccepted: isAccepted), device, request)
        }
    }

    /// The push need not go, unless a fork of the request wants it.
    func drop(_ device: Int, _ request: HeldRequest) {
        guard let chosen = request.devices.chosen[device] else { return }
        let token = request.bindings[chosen.index].token
        guard let entry = request.pushes.known(token), let job = entry.job,
            entry.followers.allSatisfy({ $0.request === request || $0.request.machine.end != nil })
        else { return }
        delivery.cancel([job])
    }

    /// Sends a push, or puts it off until `ignore_same` and the limits allow another.
    private func deliverInTime(_ push: CallPush, _ request: HeldRequest) {
        let now = SystemClock.monotonicMilliseconds()
        let pending = PutOffPush(
            push: push, request: request, names: limits.names(push.push.binding, push.push.content))
        let place = putOff.place(PushPriority(of: push.push.content.event), of: pending.names)
        guard let (turn, wait) = turn(before: pending, at: place, now) else { return deliverNow(pending, now) }
        pending.entry.isPutOff = true
        note(pending, waitsFor: turn, wait, now)
        if putOff.isFull(turn) { endUseless(for: turn, now) }
        switch putOff.add(pending, at: place, for: turn) {
        case .waits: break
        case .displaced(let other): refuse(other)
        case .refused: refuse(pending)
        }
        take(turn, at: now &+ wait)
    }

    private func deliverNow(_ pending: PutOffPush, _ now: Int64) {
        let push = pending.push.push
        pending.entry.isPutOff = false
        limits.note(pending.names, now: now)
        if context.settings.integer(.ignoreSame) > 0 { _ = dedupe.note(push.binding, push.content, now: now) }
        context.statistics.pushed += 1
        deliver(pending.push, pending.request)
    }

    /// The turn that a push has to wait for, and milliseconds until it may be; nil when the push may go now.
    ///
    /// It stands behind what waits for any of its turns and has it sooner.
    private func turn(
        before pending: PutOffPush, at place: PutOffPushes<PutOffPush>.Place, _ now: Int64
    ) -> (turn: LimitKey, wait: Int64)? {
        let push = pending.push.push
        let longest = limits.longestPause(pending.names, now: now)
        let window = dedupe.turn(of: push.binding, push.content.event)
        let pause = dedupe.pause(push.binding, push.content, now: now)
        if putOff.count > 0 {
            let turns = limits.turns(of: pending.names, now: now) + (window.map { [$0] } ?? [])
            if let taken = turns.first(where: { putOff.isTaken($0, before: place) }) {
                return (taken, max(longest?.wait ?? 0, pause))
            }
        }
        return longest ?? window.flatMap { pause > 0 ? ($0, pause) : nil }
    }

    private func note(_ pending: PutOffPush, waitsFor turn: LimitKey, _ wait: Int64, _ now: Int64) {
        if case .window = turn { context.statistics.suppressed += 1 } else { context.statistics.limited += 1 }
        for follower in pending.entry.followers {
            context.traces.note(follower.request.trace, .putOff(device: follower.device, wait, turn.setting), now: now)
        }
    }

    /// Lets somebody have a turn at its time: one timer for all that wait for it.
    private func take(_ turn: LimitKey, at time: Int64) {
        guard putOff.first(for: turn) != nil, scheduledTurns.insert(turn).inserted else { return }
        context.loop.schedule(at: time) { [weak self] in
            guard let self else { return }
            scheduledTurns.remove(turn)
            take(turn)
        }
    }

    private func take(_ turn: LimitKey) {
        let now = SystemClock.monotonicMilliseconds()
        endUseless(for: turn, now)
        guard let first = putOff.popFirst(for: turn) else { return }
        guard !putBack(first, from: turn, now) else { return takeNext(turn) }
        scheduledTurns.insert(turn)
        // The push before is waking the phone for this request too; but it may fail, or be dropped with its call.
        let pending = first.element
        ifWanted(pending.push, pending.followed) { [weak self] isWanted in
            guard let self else { return }
            scheduledTurns.remove(turn)
            let now = SystemClock.monotonicMilliseconds()
            if !isWanted {
                // It has come with the push before; of a call that is over it has heard nothing.
                end(pending, isAccepted: pending.followed.machine.end == nil)
            } else if !putBack(first, from: turn, now) {
                putOff.noteTurn(first.place, for: turn)
                deliverNow(pending, now)
            }
            takeNext(turn)
        }
    }

    /// Lets a push wait on at its place, where another has had its turn or it has to wait for another one too.
    private func putBack(_ first: PutOffPushes<PutOffPush>.Entry, from turn: LimitKey, _ now: Int64) -> Bool {
        guard let (next, wait) = self.turn(before: first.element, at: first.place, now) else { return false }
        putOff.putBack(first, for: next)
        if next != turn { note(first.element, waitsFor: next, wait, now) }
        take(next, at: now &+ wait)
        return true
    }

    /// Whoever is next has the turn after this one.
    private func takeNext(_ turn: LimitKey) {
        guard let first = putOff.first(for: turn) else { return }
        let now = SystemClock.monotonicMilliseconds()
        let next = self.turn(before: first.element, at: first.place, now)
        take(turn, at: next?.turn == turn ? now &+ (next?.wait ?? 0) : now)
    }

    /// Ends what waits for a turn and is of no use any more: it must not take it from others.
    private func endUseless(for turn: LimitKey, _ now: Int64) {
        let dead = putOff.removeAll(for: turn) { $0.isDead(now: now) }
        guard !dead.isEmpty else { return }
        // ORDER: another request's verbs may be in the middle of being carried out.
        context.loop.atEndOfTurn { [weak self] in
            for pending in dead { self?.end(pending, isAccepted: false) }
        }
    }

    private func end(_ pending: PutOffPush, isAccepted: Bool) {
        pending.entry.isPutOff = false
        ended(pending.entry, isAccepted)
    }

    /// Too many wait for its turn.
    private func refuse(_ pending: PutOffPush) {
        pending.entry.isPutOff = false
        deliver(
            pending.push, pending.request, refusal: Verdict(.overloaded, reason: "TooManyWaiting"))
    }

    /// Whether a push that was put off still has to go: not when the call is over or the phone has come.
    private func ifWanted(_ push: CallPush, _ request: HeldRequest, _ then: @escaping (Bool) -> Void) {
        if push.push.content.event.isMessage { return then(request.machine.end != .answered) }
        guard request.machine.end == nil else { return then(false) }
        let binding = push.push.binding
        store.ask(about: request.aor) { (store) throws(StoreError) in
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
            push.push, type: push.chosen.type, isTimed: push.isPrompt, deadline: push.deadline, refusal: refusal
        ) { [self] job, verdict, status in
            let result = outcomes.record(job, verdict, status)
            let isAccepted = result.outcome == .accepted
            // Its host still holds the request, and the next engine pushes what had no answer (`resume`).
            if verdict == .engineEnds {
                entry.job = nil
                return
            }
            let now = SystemClock.monotonicMilliseconds()
            if push.isPrompt, let time = request.times.pushed(at: job.writtenAt) {
                context.times.countPush(afterMicroseconds: time)
            }
            for follower in entry.followers {
                context.traces.answered(follower.request.trace, device: follower.device, result, now: now)
                if !isAccepted { follower.request.pushedAt.remove(follower.device) }
            }
            entry.result = result
            if isAccepted {
                countAccepted(entry, job.push, now)
            } else {
                if refusal == nil { dedupe.release(job.binding) }
                request.lastReason = "\(result.outcome.name) \(result.reason)"
            }
            ended(entry, isAccepted)
        }
        // A job that has ended lets go of these, and its entry of the job.
        job.onRetry = { [self] in
            for follower in entry.followers { onProgress(.retried, follower.device, follower.request) }
        }
        job.onUnreachable = { [self] in
            for follower in entry.followers { onProgress(.unreachable, follower.device, follower.request) }
        }
        entry.job = job
    }

    /// Once for each request: of a push that is repeated the phone need only wake once.
    private func countAccepted(_ entry: RequestPushes.Entry, _ push: Push, _ now: Int64) {
        guard !entry.isCounted else { return }
        entry.isCounted = true
        outcomes.accepted(push.binding, now: now)
    }

    private func ended(_ binding: Binding, _ request: HeldRequest, _ isAccepted: Bool) {
        if let entry = request.pushes.known(binding.token) { ended(entry, isAccepted) }
    }

    private func ended(_ entry: RequestPushes.Entry, _ isAccepted: Bool) {
        entry.isAccepted = isAccepted
        entry.endedAt = SystemClock.monotonicMilliseconds()
        entry.job = nil
        for follower in entry.followers {
            onProgress(.ended(isAccepted: isAccepted), follower.device, follower.request)
        }
        entry.dropForgotten()
    }

    /// Tells a device how the request ended, unless another fork of it goes on.
    func tellEnd(_ event: PushEvent, _ device: Int, _ request: HeldRequest, _ deadline: Int64) {
        guard request.pushes.live <= 0, request.pushes.turn == .own else { return }
        let group = request.devices.bindings[device].map { request.bindings[$0] }
        let plan = Plan(event, group, isAwake: group.map { _ in false })
        var content = request.content
        content.event = event
        if let end = request.machine.end { content.occasion = end.occasion }
        // When the call came in stays: the phone may have its push only now, and must not take this for another call.
        content.timeToLive = context.settings.timeToLive(of: event)
        content.endsAt = 0
        for chosen in plan.pushes {
            let refusal = context.refusal(of: event)
            if refusal == nil { context.statistics.pushed += 1 }
            delivery.push(
                Push(group[chosen.index], content), type: chosen.type, deadline: deadline, refusal: refusal
            ) { [self] job, verdict, status in
                let result = outcomes.record(job, verdict, status)
                context.traces.answered(request.trace, device: device, result, now: SystemClock.monotonicMilliseconds())
            }
        }
    }
}

/// What becomes of a push that a request has asked for.
enum PushProgress {
    case ended(isAccepted: Bool)
    case retried
    case unreachable
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

/// A push that waits until `ignore_same` and the limits allow it.
struct PutOffPush {
    let push: CallPush
    /// Who asked for it; forks may follow.
    let request: HeldRequest
    /// What limits know it by.
    let names: PushLimits.Names

    var entry: RequestPushes.Entry { request.pushes.entry(of: push.push.binding.token) }

    /// A fork that is held still, where there is one.
    var followed: HeldRequest { entry.followers.first { $0.request.machine.end == nil }?.request ?? request }

    /// It is of no use: its time is over, or each of its requests is. A message is shown even when nobody holds it any
    /// more, unless it was delivered.
    func isDead(now: Int64) -> Bool {
        guard now < push.deadline else { return true }
        let isMessage = push.push.content.event.isMessage
        return entry.followers.allSatisfy {
            isMessage ? $0.request.machine.end == .answered : $0.request.machine.end != nil
        }
    }
}
