// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Requests as they come: a machine for each, and the answer to its host.
extension RequestRunner {
    /// Milliseconds for which a request that is over is remembered: for phones that come late, and for late copies.
    static let retention: Int64 = 60_000
    /// Milliseconds past its wait after which a request counts as abandoned by its host.
    private static let abandonment: Int64 = 300_000
    /// Milliseconds for which a text that nobody holds waits for its turn, or for its provider.
    private static func life(ofText content: PushContent) -> Int64 { min(Int64(content.timeToLive), 3600) * 1000 }
    /// Seconds since its REGISTER for which a phone counts as awake where the host knows no contacts.
    private static let blindWindow: Int64 = 5

    /// Pushes to the sleeping phones of a user and says which contacts to ring now.
    func wake(_ question: Question, waits: Bool) {
        var request = WakeMessage(decoding: question.message)
        request.isWaited = waits
        guard store.shared != nil else { return answer(wakeNow(request), request, to: question, waits: waits) }
        if waits { question.peer?.wait = request.key }
        wake(request, until: RequestDeadline(decoding: question.message)) { [self] in
            answer($0, request, to: question, waits: waits)
        }
    }

    private func answer(
        _ result: Result<WakeAnswer, StoreError>, _ request: WakeMessage, to question: Question, waits: Bool
    ) {
        switch result {
        case .success(let answer):
            question.reply { answer.encode(into: &$0) }
            if waits, let peer = question.peer, !peer.isClosed { wait(for: request, peer) }
            // ORDER: the host hears first that it holds the request.
            ringWhoHasGone(request)
        case .failure(let error):
            if waits { question.peer?.wait = nil }
            question.fail(error, storeCannotBe: "read")
        }
    }

    private func wakeNow(_ message: WakeMessage) -> Result<WakeAnswer, StoreError> {
        context.statistics.wakes += 1
        return store.askOwn { (store) throws(StoreError) in try bindings(for: message, in: store) }
            .map { wake(message, $0, isClaimed: false) }
    }

    /// Pushes to the sleeping phones of a user; a copy of a request pushes nothing twice.
    ///
    /// A request whose sender has given up when the bindings come is left alone.
    func wake(
        _ message: WakeMessage, until deadline: RequestDeadline? = nil,
        then: @escaping (Result<WakeAnswer, StoreError>) -> Void
    ) {
        guard store.shared != nil else { return then(wakeNow(message)) }
        context.statistics.wakes += 1
        awaitingBindings[message.id] = .some(nil)
        hold(for: message) { [self] (store) throws(StoreError) in
            try bindings(for: message, in: store)
        } then: {
            [self] result, state in
            switch result {
            case .success(let bindings):
                storeOutage.end()
                let end = awaitingBindings.removeValue(forKey: message.id) ?? nil
                if deadline?.isPast(at: SystemClock.monotonicMilliseconds()) == true {
                    // The claim is over in a moment: another node may push then.
                    context.statistics.wakesExpired += 1
                    return then(.failure(.unusable("the bindings came too late")))
                }
                then(.success(wake(message, bindings, isClaimed: state.isClaimed)))
                guard let request = calls[message.id] else { return }
                if !state.isClaimed { store.shared?.confirmClaim(message.key.claim, of: message.aor) }
                if let end { return self.end(request, end) }
                // ORDER: the host hears first that it holds the request.
                ringAtOtherNodes(bindings, request)
            case .failure(let error):
                let hasEnded = (awaitingBindings.removeValue(forKey: message.id) ?? nil) != nil
                let isPast = deadline?.isPast(at: SystemClock.monotonicMilliseconds()) == true
                guard !hasEnded, !isPast, let answer = holdUntilStoreAnswers(message, error) else {
                    return then(.failure(error))
                }
                then(.success(answer))
            }
        }
    }

    private func wake(_ message: WakeMessage, _ bindings: [Binding], isClaimed: Bool) -> WakeAnswer {
        var answer = WakeAnswer(contacts: message.contacts.count)
        let bindings = inScope(bindings, of: message)
        guard !bindings.isEmpty else { return answer }
        answer.bindings = bindings.count
        if message.event == .chat, case .notice(let reason) = MessageBody(contentType: message.contentType) {
            context.log(.debug, "no push event=chat \(EngineLog.names(message.aor, message.callID)): \(reason)")
            return answer
        }
        let earlier = calls[message.id]
        let isAnew = earlier.map(isWaitedForAnew) ?? false
        if let known = earlier, known.machine.end == nil, !isAnew {
            answer.awake = awake(known)
            answer.pushed = known.pushes.count
            answer.limit = known.forgetAt - SystemClock.monotonicMilliseconds() - Self.abandonment
            for index in message.contacts.indices where known.machine.isAwaited(message.contacts[index].key) {
                answer.verdicts[index] = 1
            }
            return answer
        }
        guard calls.hasRoom else {
            context.statistics.wakesRefused += 1
            answer.bindings = 0
            return answer
        }
        let now = SystemClock.monotonicMilliseconds()
        let ahead = calls.wokenAhead(of: message)
        let request = makeRequest(message, APNsTokenKind(context.settings).named(bindings), now, after: ahead)
        if earlier == nil, ahead == nil, message.event == .call { context.statistics.calls += 1 }
        if let ahead { handOver(ahead, now) }
        if let earlier {
            request.rung = earlier.rung.filter { !earlier.reportedRung.contains($0) }
            earlier.isSuperseded = isAnew
        }
        if isClaimed { request.pushes.turn = .claimedElsewhere }
        calls.add(request)
        let first =
            message.isLeftToPushes
            ? request.machine.startUnheld(until: now + Self.life(ofText: request.content), now: now)
            : request.machine.start(now: now)
        let verbs = perform(first, request)
        request.times.isBeginning = false
        if let earlier { end(earlier, .timedOut) }
        answer.awake = awake(request)
        answer.pushed = request.pushes.count
        take(verbs, of: request, into: &answer)
        guard request.machine.isOfUse else {
            // Its host goes on alone and says nothing more of it; a channel is told at once.
            _ = request.machine.ended(.failed(context.callPolicy.unanswered), now: now)
            calls.end(request, forgetAt: now)
            return answer
        }
        answer.isWatched = message.handle != 0
        answer.limit = request.forgetAt - now - Self.abandonment
        if answer.isWatched { answer.ticket = request.ticket }
        if message.isLeftToPushes { calls.end(request, forgetAt: now + Self.retention) }
        schedule(request, now)
        return answer
    }

    /// Bindings that a request may wake: of its user, or of the one device whose dialog it belongs to.
    private func bindings(for message: WakeMessage, in store: any BindingStore) throws(StoreError) -> [Binding] {
        guard !message.purr.isEmpty else {
            // A store may have more, from before the setting.
            return try store.bindings(of: message.aor, now: SystemClock.wallSeconds())
                .suffix(Int(context.settings.integer(.bindingsPerUser)))
        }
        guard let device = try self.store.device(ofPURR: message.purr, in: store),
            device.aor.isSameBytes(as: message.aor)
        else {
            return []
        }
        return device.bindings
    }

    /// Its wait is over, in time or because a phone came, and a channel asks once more: a dialplan tries the user again.
    private func isWaitedForAnew(_ known: HeldRequest) -> Bool {
        if case .waited = known.id { known.machine.isClosed || known.waiters.isEmpty } else { false }
    }

    /// The devices of a request's user, and which of them are awake.
    private func devices(
        of message: WakeMessage, _ bindings: [Binding], _ wall: Int64, _ now: Int64, after ahead: HeldRequest?
    ) -> CallDevices {
        // A mailbox's server reports after each REGISTER, and a push for that would bring the next REGISTER.
        let window = max(context.settings.integer(.awakeFor), message.event == .voicemail ? Self.blindWindow : 0)
        let moves = leftContacts.moves(of: message, now: now)
        var contacts = message.contacts.compactMap { contact in
            moves.contains { $0.hasLeft(contact.uri) } ? nil : contact.known
        }
        if !message.purr.isEmpty || message.scope == .others {
            // A request within a dialog is for one device alone.
            contacts.removeAll { contact in !bindings.contains { CallDevices.matches(contact, $0) } }
        }
        var devices = CallDevices(
            message.event, bindings: bindings, contacts: contacts, awakeFor: window,
            age: { max(0, wall &- $0.registeredAt) },
            isAwake: { binding in
                // A token that was reported over HTTP has no registration.
                guard message.hasNoContacts, binding.expiresAt > wall else { return false }
                return CallDevices.isFresh(wall &- binding.registeredAt, max(window, Self.blindWindow))
            })
        for index in devices.devices.indices
        where ahead?.hasWoken(devices.devices[index]) == true || hasJustRefused(devices.devices[index], message, now) {
            devices.devices[index].isAwake = true
        }
        return devices
    }

    /// The device has refused this request a moment ago, and the caller repeats it with what was asked for (RFC 3261, 22.2;
    /// RFC 4028, 7.3): it is awake, though no connection says so, and may not register for another push of the same call.
    private func hasJustRefused(_ device: CallDevice, _ message: WakeMessage, _ now: Int64) -> Bool {
        guard device.contacts.first?.reach == .datagram else { return false }
        return calls.requests(for: message.aor).contains { earlier in
            // The caller may repeat it before the host has said that the one before is over.
            earlier.message.callID == message.callID && earlier.message.cseq < message.cseq
                && (!earlier.hasEnded || now - (earlier.forgetAt - Self.retention) <= Self.blindWindow * 1000)
                && earlier.hasDeclined(device)
        }
    }

    /// A dialplan has woken the phones of a call before it dialled them, and dials them now: this leg goes on with those
    /// pushes, and what becomes of it is all that phones hear.
    func handOver(_ ahead: HeldRequest, _ now: Int64) {
        guard ahead.isAhead else { return }
        _ = ahead.machine.ended(.answered, now: now)
        calls.remove(handedOver: ahead)
        schedule(ahead, now)
    }

    /// A machine for a request that came `age` milliseconds ago. `ahead`: the one whose pushes it goes on with.
    func makeRequest(
        _ message: WakeMessage, _ bindings: [Binding], _ now: Int64, age: Int64 = 0, after ahead: HeldRequest? = nil
    ) -> HeldRequest {
        let wall = SystemClock.wallSeconds()
        var devices = devices(of: message, bindings, wall, now, after: ahead)
        for skipped in devices.skipped {
            context.log(
                .debug,
                "no push event=\(message.event.name) \(EngineLog.names(message.aor, message.callID)): \(skipped.reason.rawValue)"
            )
        }
        let isRefused = context.refusal(of: message.event) != nil
        for index in devices.devices.indices {
            guard let chosen = devices.chosen[index] else { continue }
            devices.devices[index].isProviderHealthy =
                !isRefused && delivery.isHealthy(for: bindings[chosen.index], chosen.type)
        }
        var policy = context.callPolicy.of(message.method, isInDialog: !message.purr.isEmpty)
        policy.joinsOthers = message.scope == .user
        // A channel that waits is a dialplan's, which says nothing of its legs and takes no word for its caller.
        let host = message.handle == 0 ? CallHost.dialplan : message.hostKind
        let isHeard = message.handle != 0 && host.canSay(provisional: policy.wakeProvisional)
        if message.requiresReliableAnswers || !isHeard { policy.wakeProvisional = 0 }
        let wait = max(0, context.holdSeconds(of: message) * 1000 - age)
        let machine = CallMachine(
            event: message.event,
            isCall: message.event == .call || message.event == .groupChat && message.method != "MESSAGE",
            devices: devices.devices, policy: policy, host: host, endsAt: now + wait)
        let timeToLive =
            message.event == .call
            ? UInt32(clamping: context.holdSeconds(of: message))
            : context.settings.timeToLive(of: message.event, message.occasion)
        var content = PushContent(
            event: message.event, occasion: message.occasion, callID: message.callID, fromURI: message.fromURI,
            fromDisplay: message.fromDisplay, toURI: message.toURI, text: Self.text(of: message),
            timeToLive: timeToLive, sentAt: wall,
            endsAt: message.event == .call ? wall.addingReportingOverflow(wait / 1000).partialValue : 0)
        content.hasVideo = message.offersVideo
        (content.fromTag, content.callerKey) = (message.fromTag, message.callerKey)
        // Of the same devices in the same order it is one trace.
        let begun = message.scope == .user && ahead?.isAhead == true ? ahead?.trace : nil
        let trace =
            begun
            ?? context.traces.begin(
                method: message.method.isEmpty ? message.event.name : message.method, aor: message.aor,
                callID: message.callID, cseq: message.cseq, from: message.fromURI, now: now - age)
        for index in devices.devices.indices {
            if let binding = devices.chosen[index].map({ bindings[$0.index] }) {
                context.traces.name(trace, device: index, binding)
            } else {
                context.traces.name(trace, device: index, instance: devices.devices[index].instance)
            }
        }
        return HeldRequest(
            id: message.id, message: message, machine: machine, bindings: bindings, devices: devices,
            content: content, pushes: calls.pushes(of: message.key, after: ahead), trace: trace, beganAt: now - age,
            forgetAt: now + wait + Self.abandonment,
            arrivedAt: age == 0 ? SystemClock.monotonicMicroseconds() : nil)
    }

    /// Bindings whose phone takes the request at once.
    private func awake(_ request: HeldRequest) -> Int {
        request.devices.devices.indices.reduce(0) { count, index in
            count + (request.devices.devices[index].isAwake ? request.devices.bindings[index].count : 0)
        }
    }

    /// The first verbs are the answer itself.
    private func take(_ verbs: [HostVerb], of request: HeldRequest, into answer: inout WakeAnswer) {
        for index in answer.verdicts.indices { answer.verdicts[index] = 1 }
        for verb in verbs {
            switch verb.kind {
            case .ring:
                guard let index = request.message.contacts.firstIndex(where: { $0.key == verb.contact }) else {
                    continue
                }
                answer.verdicts[index] = 0
                answer.legs[index] = UInt16(clamping: verb.leg)
            case .hold: answer.hold = verb.milliseconds
            case .giveUp: answer.hold = 0
            case .resend, .close, .showEnd, .pushed, .tell: break
            }
        }
    }

    /// A phone shows text; of anything else it is only told.
    static func text(of message: WakeMessage) -> String {
        if message.text.isEmpty || message.event == .voicemail { return message.text }
        return MessageBody(contentType: message.contentType) == .text ? message.text : ""
    }
}

/// Somebody who waits for a phone: a channel behind a connection, or an AGI session.
protocol WakeWaiter: AnyObject {
    /// Set while it waits, and before that while the bindings are being asked for: a hang-up ends that too.
    var wait: WakeKey? { get set }
    /// Ends the wait when its time is over.
    var waitTimer: Loop.TimerID? { get set }

    /// Takes an event; must not call back.
    func tell(_ event: WaitEvent)
}

extension RequestRunner {
    /// Phones that have gone to another contact when the host had looked for those of the request ring where they are.
    private func ringWhoHasGone(_ message: WakeMessage) {
        guard message.handle != 0, let request = calls[message.id], request.machine.end == nil else { return }
        let microseconds = SystemClock.monotonicMicroseconds()
        for move in leftContacts.moves(of: message, now: microseconds / 1000)
        where !message.contacts.contains(where: { $0.key == move.registration.contact.key }) {
            dispatch(tell(request, of: move.registration, uri: move.uri, at: microseconds))
        }
    }

    /// Bindings of the phones that a request is for, in the table that its script looks in. A PURR names the phone, wherever
    /// that is.
    func inScope(_ bindings: [Binding], of message: WakeMessage) -> [Binding] {
        guard message.purr.isEmpty, !message.domain.isEmpty else { return message.inScope(bindings) }
        return message.inScope(bindings.filter { $0.isIn(table: message.domain, usualIsInUse: usualTableIsInUse) })
    }
}

extension WakeMessage {
    /// Bindings of the phones that the request is for. A contact that a leg is out to may be that of a phone that it has woken.
    fileprivate func inScope(_ bindings: [Binding]) -> [Binding] {
        guard scope != .user else { return bindings }
        let named = contacts.filter { scope == .contacts || $0.leg == 0 }.map(\.known)
        return bindings.filter { binding in
            named.contains { CallDevices.matches($0, binding) } == (scope == .contacts)
        }
    }
}
