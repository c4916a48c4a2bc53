// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeTransport

extension EngineDesk {
    /// Milliseconds for which late copies of a request still find it.
    private static let afterglow: Int64 = 60_000
    /// Seconds since its REGISTER for which a phone counts as awake where the host knows no contacts.
    private static let blindWindow: Int64 = 5

    /// Pushes to the sleeping phones of a user and says which contacts to ring now.
    func wake(_ message: MessageReader, _ peer: EnginePeer, waits: Bool) {
        let request = WakeMessage(decoding: message)
        do throws(StoreError) {
            let answer = try wake(request)
            reply(to: message, peer) { answer.encode(into: &$0) }
            if waits { wait(for: request, peer) }
        } catch {
            fail(message, peer, "the store cannot be read: \(error)")
        }
    }

    /// Pushes to the sleeping phones of a user; a copy of a request pushes nothing twice.
    func wake(_ request: WakeMessage) throws(StoreError) -> WakeAnswer {
        statistics.wakes += 1
        var answer = WakeAnswer(contacts: request.contacts.count)
        let bindings = try store.bindings(of: request.aor, now: SystemClock.wallSeconds())
        guard !bindings.isEmpty else { return answer }
        let now = SystemClock.monotonicMilliseconds()
        let key = Self.key(of: request)
        answer.bindings = bindings.count
        if request.event == .chat, case .notice(let reason) = MessageBody(contentType: request.contentType) {
            log(.debug, "no push event=chat aor=\(request.aor) call_id=\(request.callID): \(reason)")
            return answer
        }
        // Several: a phone may have a contact for each of its flows (RFC 5626).
        let places = bindings.map { binding in
            request.contacts.indices.filter { Self.matches(request.contacts[$0], binding) }
        }
        let awake = zip(bindings, places).map { isAwake($0, $1, request) }
        answer.awake = awake.count { $0 }
        begin(key, request, now)
        let plan = Plan(request.event, bindings, isAwake: awake)
        for skipped in plan.skipped {
            log(
                .debug,
                "no push event=\(request.event.name) aor=\(request.aor) call_id=\(request.callID): \(skipped.reason.rawValue)"
            )
        }
        for planned in plan.pushes {
            let binding = bindings[planned.index]
            push(binding, planned, request, key, now)
            // A contact is held only when a push for its phone is on a way that works.
            guard !places[planned.index].isEmpty, refusal(of: request.event) == nil else { continue }
            guard delivery.isHealthy(for: binding, planned.type) else { continue }
            for place in places[planned.index] { answer.verdicts[place] = 1 }
        }
        answer.pushed = wakes[key]?.pushed ?? 0
        return answer
    }

    /// Lets somebody wait for a phone of a wake; what has happened already is told at once.
    func wait(for request: WakeMessage, _ waiter: any WakeWaiter) {
        let now = SystemClock.monotonicMilliseconds()
        let key = Self.key(of: request)
        begin(key, request, now)
        guard let wake = wakes[key] else { return }
        for contact in wake.arrivals { waiter.tell(WaitEvent(kind: .registered, contact: contact)) }
        wakes[key]?.waiters.append(waiter)
        waiter.wait = key
        delivery.loop.schedule(after: hold(request) * 1000) { [weak self, weak waiter] in
            guard let self, let waiter, waiter.wait == key else { return }
            waiter.tell(WaitEvent(kind: .timedOut))
            stopWaiting(waiter)
        }
        if wake.pushed > 0 && wake.pending == 0 && wake.accepted == 0 { failWaiters(key) }
    }

    /// The waiter needs no more; what it waited for goes on.
    func stopWaiting(_ waiter: any WakeWaiter) {
        guard let key = waiter.wait else { return }
        waiter.wait = nil
        wakes[key]?.waiters.removeAll { $0 === waiter }
    }

    /// The held request is over.
    func callEnded(_ message: MessageReader, _ peer: EnginePeer) {
        let how = CallEnd(rawValue: Int(truncatingIfNeeded: EngineClient.number(.how, in: message))) ?? .failed
        endCall(aor: EngineClient.text(.aor, in: message), callID: EngineClient.text(.callID, in: message), how)
        reply(to: message, peer) { _ in }
    }

    /// Drops what has not left yet; phones that were pushed for a call and did not come hear how it ended.
    func endCall(aor: String, callID: String, _ how: CallEnd) {
        for key in wakes.keys(of: aor) where key.callID == callID {
            guard let wake = wakes[key], wake.end == nil else { continue }
            wakes[key]?.end = how
            delivery.cancel(wake.pushes)
            guard key.event == .call, settings.flag(.cancelPush), let event = how.news else { continue }
            pushEnd(event, key, wake)
        }
    }

    /// A phone has registered: channels that wait for its user go on.
    func registered(_ message: MessageReader, _ peer: EnginePeer) {
        announce(aor: EngineClient.text(.aor, in: message), contact: EngineClient.text(.contactURI, in: message))
        reply(to: message, peer) { _ in }
    }

    /// Tells every waiting channel of a user about a contact.
    func announce(aor: String, contact: String) {
        for key in wakes.keys(of: aor) {
            guard let wake = wakes[key], wake.end == nil else { continue }
            if wake.arrivals.count < 32 && !wake.arrivals.contains(contact) { wakes[key]?.arrivals.append(contact) }
            for waiter in wake.waiters { waiter.tell(WaitEvent(kind: .registered, contact: contact)) }
        }
    }

    /// Forgets wakes whose time is over; called by the loop's clock.
    func tick(now: Int64) {
        for key in wakes.overdue(now: now) { wakes[key] = nil }
        reportLeftOut(now: now)
    }
}

extension EngineDesk {
    private static func key(of request: WakeMessage) -> WakeKey {
        WakeKey(aor: request.aor, callID: request.callID, event: request.event)
    }

    private func begin(_ key: WakeKey, _ request: WakeMessage, _ now: Int64) {
        guard wakes[key] == nil else { return }
        wakes[key] = WakeRegister.Wake(endsAt: now + hold(request) * 1000 + Self.afterglow)
    }

    private func hold(_ request: WakeMessage) -> Int64 {
        request.seconds > 0 ? min(request.seconds, 86_400) : settings.integer(.wakeTimeout)
    }

    private func isAwake(_ binding: Binding, _ places: [Int], _ request: WakeMessage) -> Bool {
        let window = settings.integer(.awakeFor)
        if request.isBlind {
            let age = SystemClock.wallSeconds() &- binding.registeredAt
            return age >= 0 && age <= max(window, Self.blindWindow)
        }
        return places.contains { place in
            let contact = request.contacts[place]
            return contact.isReachable || window > 0 && contact.age >= 0 && contact.age <= window
        }
    }

    private static func matches(_ contact: WakeMessage.Contact, _ binding: Binding) -> Bool {
        if !contact.instance.isEmpty && !binding.instance.isEmpty { return contact.instance == binding.instance }
        return !contact.uri.isEmpty
            && (contact.uri == binding.contact || contact.uri == binding.contactWithoutPushParameters)
    }

    private func push(_ binding: Binding, _ planned: Plan.Chosen, _ request: WakeMessage, _ key: WakeKey, _ now: Int64)
    {
        guard var wake = wakes[key], wake.tokens.insert(binding.token).inserted else { return }
        let isCall = request.event == .call
        let content = PushContent(
            event: request.event, callID: request.callID, fromURI: request.fromURI,
            fromDisplay: Self.displayName(request.fromDisplay), toURI: request.toURI, text: Self.text(of: request),
            timeToLive: UInt32(clamping: isCall ? hold(request) : settings.integer(.messageTimeToLive)),
            sentAt: SystemClock.wallSeconds())
        wake.content = content
        wake.pending += 1
        let push = WakePush(
            push: Push(binding, content), plan: planned, deadline: now + hold(request) * 1000,
            askedAt: content.sentAt)
        if let refusal = refusal(of: request.event) {
            wakes[key] = wake
            return deliver(push, key, refusal: refusal)
        }
        wake.pushed += 1
        wakes[key] = wake
        deliverInTime(push, key, now)
    }

    /// Sends a push, or puts it off until `ignore_same` allows the device another.
    private func deliverInTime(_ push: WakePush, _ key: WakeKey, _ now: Int64) {
        guard settings.integer(.ignoreSame) > 0,
            case .tooSoon(let wait) = dedupe.note(push.push.binding, push.push.content, now: now)
        else {
            statistics.pushed += 1
            return deliver(push, key)
        }
        statistics.suppressed += 1
        // The push before is waking the phone for this request too; but it may fail, or be dropped with its call.
        delivery.loop.schedule(after: wait) { [weak self] in
            guard let self, let wake = wakes[key] else { return }
            if isWanted(push, wake, of: key.aor) {
                deliverInTime(push, key, SystemClock.monotonicMilliseconds())
            } else {
                wakes[key]?.pending -= 1
                wakes[key]?.accepted += 1
            }
        }
    }

    /// Whether a push that was put off still has to go: not when the call is over or the phone has come.
    private func isWanted(_ push: WakePush, _ wake: WakeRegister.Wake, of aor: String) -> Bool {
        if push.push.content.event.isMessage { return wake.end != .answered }
        guard wake.end == nil else { return false }
        do throws(StoreError) {
            let binding = push.push.binding
            let all = try store.bindings(of: aor, now: SystemClock.wallSeconds())
            guard let last = all.first(where: { $0.token == binding.token && $0.provider == binding.provider }) else {
                return true
            }
            return last.registeredAt <= push.askedAt && !wake.arrivals.contains(last.contact)
        } catch {
            return true
        }
    }

    private func deliver(_ push: WakePush, _ key: WakeKey, refusal: Verdict? = nil) {
        let job = delivery.push(
            push.push, type: push.plan.type, delay: push.plan.delay, deadline: push.deadline, refusal: refusal
        ) { [self] job, verdict, status in
            let result = settle(job, verdict, status)
            wakes[key]?.pushes.removeAll { $0 === job }
            progress(key, job.binding, result)
        }
        wakes[key]?.pushes.append(job)
    }

    /// A phone shows text; of anything else it is only told.
    private static func text(of request: WakeMessage) -> String {
        MessageBody(contentType: request.contentType) == .text ? request.text : ""
    }

    private func progress(_ key: WakeKey, _ binding: Binding, _ result: PushResult) {
        if result.outcome != .accepted { dedupe.release(binding) }
        guard var wake = wakes[key] else { return }
        wake.pending -= 1
        if result.outcome == .accepted {
            wake.accepted += 1
            wake.acceptedTokens.insert(binding.token)
        } else {
            wake.lastReason = "\(result.outcome.name) \(result.reason)"
        }
        wakes[key] = wake
        if wake.pending == 0 && wake.accepted == 0 { failWaiters(key) }
    }

    /// How a push for this event ends that the load does not allow; nil when it does.
    func refusal(of event: PushEvent) -> Verdict? { loadPolicies[event].refusal(at: load.meter.level) }

    private func failWaiters(_ key: WakeKey) {
        guard let wake = wakes[key] else { return }
        for waiter in wake.waiters {
            waiter.tell(WaitEvent(kind: .failed, reason: wake.lastReason))
            waiter.wait = nil
        }
        wakes[key]?.waiters = []
    }

    private func pushEnd(_ event: PushEvent, _ key: WakeKey, _ wake: WakeRegister.Wake) {
        // A phone that has registered hears it over SIP; an arrival without contact may be any of them.
        guard !wake.acceptedTokens.isEmpty, !wake.arrivals.contains("") else { return }
        do throws(StoreError) {
            let bindings = try store.bindings(of: key.aor, now: SystemClock.wallSeconds())
            let isPushed = Set(bindings.filter { wake.acceptedTokens.contains($0.token) }.map(\.contact))
            let mayHear = isPushed.subtracting(wake.arrivals)
            let plan = Plan(event, bindings, isAwake: bindings.map { !mayHear.contains($0.contact) })
            var content = wake.content ?? PushContent(event: event, callID: key.callID, toURI: key.aor)
            content.event = event
            content.timeToLive = settings.timeToLive(of: event)
            content.sentAt = SystemClock.wallSeconds()
            let deadline = SystemClock.monotonicMilliseconds() + 30_000
            for planned in plan.pushes {
                let refusal = refusal(of: event)
                if refusal == nil { statistics.pushed += 1 }
                delivery.push(
                    Push(bindings[planned.index], content), type: planned.type, deadline: deadline, refusal: refusal
                ) {
                    [self] job, verdict, status in _ = settle(job, verdict, status)
                }
            }
        } catch {
            log(.error, "no \(event.name) push aor=\(key.aor) call_id=\(key.callID): \(error)")
        }
    }

    /// The name as people read it: quotes removed, quoted-pairs resolved.
    private static func displayName(_ raw: String) -> String {
        let bytes = Array(raw.utf8)
        return NameAddress.displayName(bytes.span)
    }
}
