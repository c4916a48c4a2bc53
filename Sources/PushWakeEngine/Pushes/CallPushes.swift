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
    private var putOff: PutOffPushes<CallPush>
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
        let shared = request.pushes.push(to: binding.token)
        let isOwn = shared.followers.contains { $0.request === request && $0.device == device }
        switch shared.state {
        case .unsent: break
        case .waiting where isOwn: return
        case .sent where isOwn, .ended where isOwn: shared.state = .unsent
        case .waiting, .sent, .ended: return follow(shared, device, request)
        }
        if !shared.followers.contains(where: { $0.request === request }) { shared.followers.append((request, device)) }
        let push = Push(
            binding, request.content, type: chosen.type, deadline: deadline, isPrompt: request.times.isBeginning)
        let call = CallPush(push, request, shared, limits.names(binding, request.content), self)
        if request.pushes.turn != .own { return leaveToOtherNode(call) }
        deliverIfAllowed(call)
    }

    private func deliverIfAllowed(_ call: CallPush) {
        if let refusal = context.refusal(of: call.push.content.event) { return deliver(call, refusal: refusal) }
        deliverInTime(call)
    }

    /// Another node pushes for this request: here the phone is only waited for, unless that node turns out not to push.
    private func leaveToOtherNode(_ call: CallPush) {
        let request = call.request
        guard request.pushes.turn == .claimedElsewhere, let shared = store.shared else {
            return context.loop.atEndOfTurn { [weak self] in self?.leave(call) }
        }
        context.loop.schedule(after: shared.claimPause) { [weak self, weak shared] in
            shared?.claimAnew(request.message.key.claim, of: request.aor) { [weak self] isClaimed in
                request.pushes.turn = isClaimed ? .ofAnother : .own
                if isClaimed { self?.leave(call) } else { self?.takeOver(call) }
            }
        }
    }

    private func leave(_ call: CallPush) {
        context.statistics.leftToOtherNodes += 1
        ended(call.shared, true)
    }

    /// The node that was to push has gone on without.
    private func takeOver(_ call: CallPush) {
        ifWanted(call, call.request) { [weak self] isWanted in
            guard let self else { return }
            guard isWanted else { return ended(call.shared, call.request.machine.end == nil) }
            // A fork of the request may have been faster.
            if case .unsent = call.shared.state { deliverIfAllowed(call) }
        }
    }

    /// A fork of the request has pushed this token.
    private func follow(_ shared: RequestPush, _ device: Int, _ request: HeldRequest) {
        shared.followers.append((request, device))
        guard let isAccepted = shared.isAccepted else { return }
        if let result = shared.result {
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
        guard let shared = request.pushes.known(token), let job = shared.job,
            shared.followers.allSatisfy({ $0.request === request || $0.request.machine.end != nil })
        else { return }
        delivery.cancel([job])
    }

    /// Sends a push, or puts it off until `ignore_same` and the limits allow another.
    private func deliverInTime(_ call: CallPush) {
        let now = SystemClock.monotonicMilliseconds()
        let place = putOff.place(PushPriority(of: call.push.content.event), of: call.names)
        guard let (turn, wait) = turn(before: call, at: place, now) else { return deliverNow(call, now) }
        call.shared.state = .waiting
        note(call, waitsFor: turn, wait, now)
        if putOff.isFull(turn) { endUseless(for: turn, now) }
        switch putOff.add(call, at: place, for: turn) {
        case .waits: break
        case .displaced(let other): refuse(other)
        case .refused: refuse(call)
        }
        take(turn, at: now &+ wait)
    }

    private func deliverNow(_ call: CallPush, _ now: Int64) {
        limits.note(call.names, now: now)
        if context.settings.integer(.ignoreSame) > 0 {
            _ = dedupe.note(call.push.binding, call.push.content, now: now)
        }
        context.statistics.pushed += 1
        deliver(call)
    }

    /// The turn that a push has to wait for, and milliseconds until it may be; nil when the push may go now.
    ///
    /// It stands behind what waits for any of its turns and has it sooner.
    private func turn(
        before call: CallPush, at place: PutOffPushes<CallPush>.Place, _ now: Int64
    ) -> (turn: LimitKey, wait: Int64)? {
        let push = call.push
        let longest = limits.longestPause(call.names, now: now)
        let window = dedupe.turn(of: push.binding, push.content.event)
        let pause = dedupe.pause(push.binding, push.content, now: now)
        if putOff.count > 0 {
            let turns = limits.turns(of: call.names, now: now) + (window.map { [$0] } ?? [])
            if let taken = turns.first(where: { putOff.isTaken($0, before: place) }) {
                return (taken, max(longest?.wait ?? 0, pause))
            }
        }
        return longest ?? window.flatMap { pause > 0 ? ($0, pause) : nil }
    }

    private func note(_ call: CallPush, waitsFor turn: LimitKey, _ wait: Int64, _ now: Int64) {
        if case .window = turn { context.statistics.suppressed += 1 } else { context.statistics.limited += 1 }
        for follower in call.shared.followers {
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
        let call = first.element
        ifWanted(call, call.followed) { [weak self] isWanted in
            guard let self else { return }
            scheduledTurns.remove(turn)
            let now = SystemClock.monotonicMilliseconds()
            if !isWanted {
                // It has come with the push before; of a call that is over it has heard nothing.
                ended(call.shared, call.followed.machine.end == nil)
            } else if !putBack(first, from: turn, now) {
                putOff.noteTurn(first.place, for: turn)
                deliverNow(call, now)
            }
            takeNext(turn)
        }
    }

    /// Lets a push wait on at its place, where another has had its turn or it has to wait for another one too.
    private func putBack(_ first: PutOffPushes<CallPush>.Entry, from turn: LimitKey, _ now: Int64) -> Bool {
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

    /// Ends what waits for a turn and is no longer of use: it must not take the turn from others.
    private func endUseless(for turn: LimitKey, _ now: Int64) {
        let dead = putOff.removeAll(for: turn) { $0.isDead(now: now) }
        guard !dead.isEmpty else { return }
        // ORDER: another request's verbs may be in the middle of being carried out.
        context.loop.atEndOfTurn { [weak self] in
            for call in dead { self?.ended(call.shared, false) }
        }
    }

    /// Too many wait for its turn.
    private func refuse(_ call: CallPush) {
        deliver(call, refusal: Verdict(.overloaded, reason: "TooManyWaiting"))
    }

    /// Whether a push that was put off still has to go: not when the call is over or the phone has come.
    private func ifWanted(_ call: CallPush, _ request: HeldRequest, _ then: @escaping (Bool) -> Void) {
        if call.push.content.event.isMessage { return then(request.machine.end != .answered) }
        guard request.machine.end == nil else { return then(false) }
        let binding = call.push.binding
        store.ask(about: request.aor) { (store) throws(StoreError) in
            try store.bindings(of: binding.aor, now: SystemClock.wallSeconds())
        } then: { result in
            guard request.machine.end == nil else { return then(false) }
            guard let all = try? result.get(),
                let last = all.first(where: { $0.token == binding.token && $0.provider == binding.provider })
            else { return then(true) }
            then(last.registeredAt <= call.askedAt && !request.rung.contains(last.contact))
        }
    }

    private func deliver(_ call: CallPush, refusal: Verdict? = nil) {
        call.isRefused = refusal != nil
        let job = delivery.push(call.push, owner: call, refusal: refusal)
        if !job.isFinished { call.shared.state = .sent(job) }
    }

    /// The push of a call has its verdict.
    fileprivate func ended(_ call: CallPush, _ job: PushJob, _ verdict: Verdict, _ status: Int) {
        let (shared, request) = (call.shared, call.request)
        let result = outcomes.record(job, verdict, status)
        let isAccepted = result.outcome == .accepted
        // Its host still holds the request, and the next engine pushes what had no answer (`resume`).
        if verdict == .engineEnds { return shared.state = .unsent }
        let now = SystemClock.monotonicMilliseconds()
        if job.push.isPrompt, let time = request.times.pushed(at: job.writtenAt) {
            context.times.countPush(afterMicroseconds: time)
        }
        for follower in shared.followers {
            context.traces.answered(follower.request.trace, device: follower.device, result, now: now)
            if !isAccepted { follower.request.pushedAt.remove(follower.device) }
        }
        shared.result = result
        if isAccepted {
            // Once for each request: of a push that is repeated the phone need only wake once.
            if !shared.isCounted { outcomes.accepted(job.binding, now: now) }
            shared.isCounted = true
        } else {
            if !call.isRefused { dedupe.release(job.binding) }
            request.lastReason = "\(result.outcome.name) \(result.reason)"
        }
        ended(shared, isAccepted)
    }

    private func ended(_ shared: RequestPush, _ isAccepted: Bool) {
        shared.state = .ended(isAccepted: isAccepted, at: SystemClock.monotonicMilliseconds())
        progressed(shared, .ended(isAccepted: isAccepted))
        shared.dropForgotten()
    }

    fileprivate func progressed(_ shared: RequestPush, _ progress: PushProgress) {
        for follower in shared.followers { onProgress(progress, follower.device, follower.request) }
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
                Push(group[chosen.index], content, type: chosen.type, deadline: deadline),
                owner: EndPush(request, device, outcomes, context.traces), refusal: refusal)
        }
    }
}

/// What becomes of a push that a request has asked for.
enum PushProgress {
    case ended(isAccepted: Bool)
    case retried
    case unreachable
}

/// A push that a request asks for: it waits until `ignore_same` and the limits allow it, and hears what becomes of it.
private final class CallPush: PushOwner {
    let push: Push
    /// Who asked for it; forks may follow.
    let request: HeldRequest
    /// What it is to the request and its forks.
    let shared: RequestPush
    /// What limits know it by.
    let names: PushLimits.Names
    /// Unix seconds at which it was asked for.
    let askedAt = SystemClock.wallSeconds()
    /// It was refused here and not sent.
    var isRefused = false
    private weak var pushes: CallPushes?
    private var isRetried = false
    private var isUnreachable = false

    init(
        _ push: consuming Push, _ request: HeldRequest, _ shared: RequestPush, _ names: PushLimits.Names,
        _ pushes: CallPushes
    ) {
        self.push = push
        (self.request, self.shared, self.names, self.pushes) = (request, shared, names, pushes)
    }

    /// A fork that is held still, where there is one.
    var followed: HeldRequest { shared.followers.first { $0.request.machine.end == nil }?.request ?? request }

    /// It is of no use: its time is over, or each of its requests is. A message is shown even when nobody holds it any
    /// more, unless it was delivered.
    func isDead(now: Int64) -> Bool {
        guard now < push.deadline else { return true }
        let isMessage = push.content.event.isMessage
        return shared.followers.allSatisfy {
            isMessage ? $0.request.machine.end == .answered : $0.request.machine.end != nil
        }
    }

    func ended(_ job: PushJob, _ verdict: Verdict, status: Int) { pushes?.ended(self, job, verdict, status) }

    // Once each: what waits at a provider hears it with every connection that cannot be had.
    func retried(_ job: PushJob) {
        guard !isRetried, shared.job != nil else { return }
        isRetried = true
        pushes?.progressed(shared, .retried)
    }

    func unreachable(_ job: PushJob) {
        guard !isUnreachable, shared.job != nil else { return }
        isUnreachable = true
        pushes?.progressed(shared, .unreachable)
    }
}

/// A push that tells a device how its request ended: the trace alone hears what becomes of it.
private final class EndPush: PushOwner {
    private let request: HeldRequest
    private let device: Int
    private let outcomes: PushOutcomes
    private let traces: TraceRing

    init(_ request: HeldRequest, _ device: Int, _ outcomes: PushOutcomes, _ traces: TraceRing) {
        (self.request, self.device, self.outcomes, self.traces) = (request, device, outcomes, traces)
    }

    func ended(_ job: PushJob, _ verdict: Verdict, status: Int) {
        let result = outcomes.record(job, verdict, status)
        traces.answered(request.trace, device: device, result, now: SystemClock.monotonicMilliseconds())
    }
}
