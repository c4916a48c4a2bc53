// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Requests that outlived the engine which began them.
extension RequestRunner {
    /// Goes on with a request that a host holds: phones that have registered since this engine was started ring, others
    /// whose push the old engine had not finished are pushed.
    func resume(_ question: Question) {
        guard let ticket = RequestTicket(question.message), ticket.message.handle != 0 else {
            return question.fail("the ticket of this request is of another release")
        }
        if let known = calls[ticket.message.id] {
            // While a leg is out, its end says what becomes of the request.
            if known.machine.end == nil, !known.machine.isWaiting, !known.machine.hasLegs {
                let verb = HostVerb(.giveUp, known)
                (verb.status, verb.leg, verb.replaces) = (480, known.machine.newestLeg, known.nextTurn())
                dispatch([verb])
            }
            return question.reply { _ in }
        }
        // Its end came over another connection, and was faster.
        guard !pendingRequests.hasEnded(ticket.message.id, now: SystemClock.monotonicMilliseconds()) else {
            return question.reply { _ in }
        }
        guard store.shared == nil else {
            question.reply { _ in }
            let now = SystemClock.monotonicMilliseconds()
            guard pendingRequests.begin(ticket, now: now) else { return }
            // Phones that register here until the store has answered are for it, too.
            recentRegistrations.stayOpen(
                until: now + max(0, context.holdSeconds(of: ticket.message) * 1000 - ticket.age))
            askBindings(for: ticket.message.id)
            return
        }
        let read = store.askOwn { (store) throws(StoreError) in
            try store.bindings(of: ticket.message.aor, now: SystemClock.wallSeconds())
        }
        switch read {
        case .success(let bindings):
            resume(ticket, bindings)
            question.reply { _ in }
        case .failure(let error): question.fail(error, storeCannotBe: "read")
        }
    }

    /// Asks a shared store about those that it has not answered: an engine that has just been started often hears of them
    /// before its connection stands.
    func retryPendingRequests() {
        for id in pendingRequests.unasked { askBindings(for: id) }
    }

    private func askBindings(for id: RequestID) {
        guard let ticket = pendingRequests.ticket(id, now: SystemClock.monotonicMilliseconds()) else { return }
        pendingRequests.ask(id, isAsked: true)
        hold(for: ticket.message) { (store) throws(StoreError) in
            try store.bindings(of: ticket.message.aor, now: SystemClock.wallSeconds())
        } then: { [self] result, state in
            switch result {
            case .success(let bindings):
                storeOutage.end()
                resume(id, bindings, isClaimed: state.isClaimed)
            case .failure(.unusable), .failure(.full):
                // Time is over: its host hears of that.
                let latest = pendingRequests.ticket(id, now: SystemClock.monotonicMilliseconds()) ?? ticket
                guard latest.age < patience(latest) else { return resume(id, []) }
                pendingRequests.ask(id, isAsked: false)
                recheckSoon()
            case .failure(.corrupt): resume(id, [])
            }
        }
    }

    /// Milliseconds from its begin for which a request waits for the store.
    private func patience(_ ticket: RequestTicket) -> Int64 {
        let wait = context.holdSeconds(of: ticket.message) * 1000
        return ticket.isPending ? min(wait, StoreOutage.patience) : wait
    }

    /// Takes a request whose bindings a shared store cannot tell now: phones that can be reached ring, and who sleeps is pushed
    /// when the store answers. Nil when its host cannot hold it, or the store has been away for long.
    func holdUntilStoreAnswers(_ message: WakeMessage, _ error: StoreError) -> WakeAnswer? {
        if case .corrupt = error { return nil }
        let now = SystemClock.monotonicMilliseconds()
        guard message.handle != 0, message.purr.isEmpty, calls.hasRoom, pendingRequests.hasRoom,
            storeOutage.mayWait(now: now)
        else { return nil }
        var message = message
        var answer = WakeAnswer(contacts: message.contacts.count)
        var lastLeg = 0
        for index in message.contacts.indices {
            guard message.contacts[index].known.contact.canBeRung else {
                answer.verdicts[index] = 1
                continue
            }
            lastLeg += 1
            message.contacts[index].leg = lastLeg
            answer.legs[index] = UInt16(clamping: lastLeg)
        }
        let ticket = RequestTicket(pending: message, lastLeg: lastLeg)
        guard pendingRequests.begin(ticket, now: now) else { return nil }
        recentRegistrations.stayOpen(until: now + patience(ticket))
        answer.isWatched = true
        answer.hold = context.holdSeconds(of: message) * 1000
        answer.limit = answer.hold
        answer.ticket = message.ticket(text: Self.text(of: message), devices: [], isPending: true)
        context.log(.info, "held until the store answers \(EngineLog.names(message.aor, message.callID)): \(error)")
        recheckSoon()
        return answer
    }

    /// The bindings are here, or not to be waited for: a phone has come. `isClaimed`: another node may push.
    private func resume(_ id: RequestID, _ bindings: [Binding], isClaimed: Bool = false) {
        let now = SystemClock.monotonicMilliseconds()
        if let ticket = pendingRequests.ticket(id, now: now) {
            let reports = pendingRequests.end(id)
            resume(ticket, bindings, isClaimed: isClaimed)
            for report in reports { report() }
        } else if let request = calls[id], request.machine.end == nil {
            // It has begun without them.
            ringAtOtherNodes(bindings, request, within: request.age(now))
        }
    }

    /// A phone has registered, about whose requests a shared store has yet to answer: what an earlier engine has pushed is
    /// known without it, and so is a leg that is out to it. Those that go on now.
    func resumeWithoutBindings(_ aor: String, _ registration: CallRegistration) -> [RequestID] {
        let now = SystemClock.monotonicMilliseconds()
        let waiting = pendingRequests.requests(for: aor).filter { id in
            guard let ticket = pendingRequests.ticket(id, now: now) else { return false }
            return !ticket.isPending && !ticket.hasLeg(to: registration)
        }
        for id in waiting { resume(id, []) }
        return waiting
    }

    private func resume(_ ticket: RequestTicket, _ bindings: [Binding], isClaimed: Bool = false) {
        let now = SystemClock.monotonicMilliseconds()
        let ahead = calls.wokenAhead(of: ticket.message)
        let request = makeRequest(
            ticket.message, APNsTokenKind(context.settings).named(inScope(bindings, of: ticket.message)), now,
            age: ticket.age, after: ahead)
        if let ahead { handOver(ahead, now) }
        if ticket.isPending, isClaimed { request.pushes.turn = .claimedElsewhere }
        calls.add(request)
        context.traces.note(request.trace, ticket.isPending ? .bindingsLate(ticket.age) : .resumed, now: now)
        let devices = request.resumedDevices(ticket, bindings.isEmpty && !ticket.isPending)
        let early = recentRegistrations.registrations(
            for: request, since: ticket.isPending ? request.beganAt : .min, now: now)
        for (registration, uri) in early where !uri.isEmpty { request.name(uri, registration.contact.key) }
        // What was announced while no engine was here was announced to nobody.
        let elsewhere = registrationsElsewhere(bindings, request, within: request.age(now))
        let registrations = early.map(\.registration) + elsewhere
        let verbs =
            ticket.isPending
            ? request.machine.startLate(devices, lastLeg: ticket.lastLeg, registrations: registrations, now: now)
            : request.machine.resume(devices, lastLeg: ticket.lastLeg, registrations: registrations, now: now)
        dispatch(perform(verbs, request))
        schedule(request, now)
        guard ticket.isPending else { return context.statistics.resumed += 1 }
        if !isClaimed, !bindings.isEmpty { store.shared?.confirmClaim(request.message.key.claim, of: request.aor) }
    }
}
