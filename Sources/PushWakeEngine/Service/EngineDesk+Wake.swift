// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeTransport

extension EngineDesk {
    /// Pushes to the sleeping phones of a user and says which contacts to ring now.
    func wake(_ message: MessageReader, _ peer: EnginePeer, waits: Bool) {
        let request = WakeMessage(decoding: message)
        let now = SystemClock.monotonicMilliseconds()
        statistics.wakes += 1
        let bindings: [Binding]
        do throws(StoreError) {
            bindings = try store.bindings(of: request.aor, now: SystemClock.wallSeconds())
        } catch {
            return fail(message, peer, "the store cannot be read: \(error)")
        }
        guard !bindings.isEmpty else {
            if waits { startWait(WakeKey(aor: request.aor, callID: request.callID, event: request.event), peer, request, now) }
            return reply(to: message, peer) { Self.encode(WakeAnswer(contacts: request.contacts.count), into: &$0) }
        }
        let key = WakeKey(aor: request.aor, callID: request.callID, event: request.event)
        var answer = WakeAnswer(contacts: request.contacts.count)
        answer.bindings = bindings.count
        let places = bindings.map { binding in request.contacts.firstIndex { Self.matches($0, binding) } }
        let awake = places.map { place in place.map { isAwake(request.contacts[$0]) } ?? false }
        answer.awake = awake.count { $0 }
        if wakes[key] == nil { wakes[key] = WakeRegister.Wake(startedAt: now, endsAt: now + hold(request) * 1000 + 60_000) }
        let plan = Plan(request.event, bindings, isAwake: awake)
        for skipped in plan.skipped {
            log(.debug, "no push event=\(request.event.name) aor=\(request.aor) call_id=\(request.callID): \(skipped.reason.rawValue)")
        }
        for planned in plan.pushes {
            let binding = bindings[planned.index]
            push(binding, planned, request, key, now)
            // A contact is held only when a push for its phone is on a way that works.
            if let place = places[planned.index], delivery.isHealthy(for: binding) { answer.verdicts[place] = 1 }
        }
        answer.pushed = wakes[key]?.pushed ?? 0
        if waits { startWait(key, peer, request, now) }
        reply(to: message, peer) { Self.encode(answer, into: &$0) }
    }

    /// The held request is over.
    func callEnded(_ message: MessageReader, _ peer: EnginePeer) {
        let aor = EngineClient.text(.aor, in: message)
        let callID = EngineClient.text(.callID, in: message)
        for key in wakes.keys(of: aor) where key.callID == callID {
            wakes[key]?.hasEnded = true
            delivery.cancel(wakes[key]?.pushes ?? [])
        }
        reply(to: message, peer) { _ in }
    }

    /// A phone has registered: channels that wait for its user go on.
    func registered(_ message: MessageReader, _ peer: EnginePeer) {
        announce(aor: EngineClient.text(.aor, in: message), contact: EngineClient.text(.contactURI, in: message))
        reply(to: message, peer) { _ in }
    }

    /// Tells every waiting channel of a user about a contact.
    func announce(aor: String, contact: String) {
        for key in wakes.keys(of: aor) {
            guard let wake = wakes[key], !wake.waiters.isEmpty else { continue }
            let elapsed = SystemClock.monotonicMilliseconds() - wake.startedAt
            log(.debug, "registered aor=\(aor) call_id=\(key.callID) after \(elapsed) ms")
            tell(wake.waiters, .registered, contact: contact, reason: "")
        }
    }

    /// Ends waits and forgets wakes whose time is over; called by the loop's clock.
    func tick(now: Int64) {
        for key in wakes.overdue(now: now) { wakes[key] = nil }
    }

    private func hold(_ request: WakeMessage) -> Int64 {
        request.seconds > 0 ? min(request.seconds, 86_400) : settings.integer(.wakeTimeout)
    }

    private func isAwake(_ contact: WakeMessage.Contact) -> Bool {
        let window = settings.integer(.awakeFor)
        return contact.isReachable || window > 0 && contact.age >= 0 && contact.age <= window
    }

    private static func matches(_ contact: WakeMessage.Contact, _ binding: Binding) -> Bool {
        if !contact.instance.isEmpty && !binding.instance.isEmpty { return contact.instance == binding.instance }
        guard !contact.uri.isEmpty else { return false }
        // A registrar may keep contacts without their push parameters: the Asterisk module sees to it.
        return contact.uri == binding.contact || contact.uri == binding.contactWithoutPushParameters
    }

    private func push(_ binding: Binding, _ planned: Plan.Push, _ request: WakeMessage, _ key: WakeKey, _ now: Int64) {
        guard var wake = wakes[key], wake.tokens.insert(binding.token).inserted else { return }
        let isCall = request.event == .call
        let content = PushContent(
            event: request.event, callID: request.callID, fromURI: request.fromURI, fromDisplay: Self.displayName(request.fromDisplay),
            toURI: request.toURI, text: request.text,
            timeToLive: UInt32(clamping: isCall ? hold(request) : settings.integer(.messageTimeToLive)),
            sentAt: SystemClock.wallSeconds())
        wake.pushed += 1
        wake.pending += 1
        wakes[key] = wake
        statistics.pushed += 1
        let id = delivery.push(
            binding, content, type: planned.type, delay: planned.delay, deadline: now + hold(request) * 1000
        ) { [self] job, verdict, status in
            let result = settle(job, verdict, status)
            wakeProgressed(key, result)
        }
        wakes[key]?.pushes.append(id)
    }

    /// The name as people read it: quotes removed, quoted-pairs resolved.
    private static func displayName(_ raw: String) -> String {
        let bytes = Array(raw.utf8)
        return NameAddress.displayName(bytes.span)
    }

    private func wakeProgressed(_ key: WakeKey, _ result: PushResult) {
        guard var wake = wakes[key] else { return }
        wake.pending -= 1
        if result.outcome == .accepted { wake.accepted += 1 } else { wake.lastReason = "\(result.outcome.name) \(result.reason)" }
        wakes[key] = wake
        if wake.pending == 0 && wake.accepted == 0 {
            tell(wake.waiters, .failed, contact: "", reason: wake.lastReason)
            endWaits(key)
        }
    }

    private func startWait(_ key: WakeKey, _ peer: EnginePeer, _ request: WakeMessage, _ now: Int64) {
        if wakes[key] == nil { wakes[key] = WakeRegister.Wake(startedAt: now, endsAt: now + hold(request) * 1000 + 60_000) }
        wakes[key]?.waiters.append(peer)
        peer.wait = key
        delivery.loop.schedule(after: hold(request) * 1000) { [weak self, weak peer] in
            guard let self, let peer, peer.wait == key else { return }
            tell([peer], .timedOut, contact: "", reason: "")
            wakes[key]?.waiters.removeAll { $0 === peer }
            peer.wait = nil
        }
    }

    private func endWaits(_ key: WakeKey) {
        for peer in wakes[key]?.waiters ?? [] { peer.wait = nil }
        wakes[key]?.waiters = []
    }

    private func tell(_ waiters: [EnginePeer], _ kind: WaitKind, contact: String, reason: String) {
        guard !waiters.isEmpty else { return }
        writer.begin(.waitEvent, id: 0)
        writer.put(.kind, kind.rawValue)
        writer.put(.contactURI, contact)
        writer.put(.reason, reason)
        for peer in waiters { peer.send(writer.bytes) }
    }

    private static func encode(_ answer: WakeAnswer, into writer: inout MessageWriter) {
        writer.put(.bindings, answer.bindings)
        writer.put(.pushed, answer.pushed)
        writer.put(.awake, answer.awake)
        writer.put(.verdicts, answer.verdicts)
    }
}

/// What a `wake` is answered with.
private struct WakeAnswer {
    var bindings = 0
    var pushed = 0
    var awake = 0
    /// Per contact: 0 ring, 1 hold.
    var verdicts: [UInt8]

    init(contacts: Int) { verdicts = Array(repeating: 0, count: contacts) }
}

/// What a waiting channel hears; raw values are `enum pushwake_wait_kind`.
enum WaitKind: Int {
    case registered = 1
    case timedOut = 2
    case failed = 3
}
