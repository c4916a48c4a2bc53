// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// What is asked of the engine, and what it says. Nothing waits for an answer.
extension WaitingLegs {
    /// How a request has ended, for the engine.
    enum End: Equatable {
        /// With the Reason of the CANCEL.
        case cancelled(String)
        case answered
        case timedOut
        case failed

        /// `enum pushwake_call_end`.
        var how: Int {
            switch self {
            case .cancelled: 0
            case .answered: 1
            case .timedOut: 2
            case .failed: 3
            }
        }

        var reason: String { if case .cancelled(let reason) = self { reason } else { "" } }
    }

    // MARK: Asked

    /// The host has said who the user of a request is.
    package mutating func described(_ handle: UInt64, as user: LegUser, now: Int64) -> [LegAction] {
        guard legs[handle] != nil else { return [] }
        var out: [LegAction] = []
        legs[handle]?.learn(user)
        switch legs[handle]?.engine {
        case .unasked: ask(handle, now, &out)
        case .asked, .watching, .away: resume(handle, now, &out)
        case .uninvolved where legs[handle]?.legs.isEmpty == true: goWithoutPush(handle, now, &out)
        case .uninvolved, nil: break
        }
        watch(handle)
        return out
    }

    /// Nobody can be woken for the user of a request: it goes to who can be reached.
    package mutating func uninvolved(_ handle: UInt64, as user: LegUser, now: Int64) -> [LegAction] {
        guard legs[handle] != nil else { return [] }
        var out: [LegAction] = []
        legs[handle]?.learn(user)
        goWithoutPush(handle, now, &out)
        return out
    }

    private mutating func ask(_ handle: UInt64, _ now: Int64, _ out: inout [LegAction]) {
        guard let wake = legs[handle]?.wake else { return }
        guard isEngineHere, let question = messages.wake(wake) else {
            legs[handle]?.engine = .away
            return goAlone(handle, now, &out)
        }
        questions[question.id] = handle
        legs[handle]?.engine = .asked(question.id)
        out.append(.ask(question.bytes))
        let isSilent = askedAt.map { now &- $0 >= policy.engineTimeout } ?? false
        askedAt = askedAt ?? now
        if isSilent { goAlone(handle, now, &out) } else { legs[handle]?.hopesUntil = now &+ policy.engineTimeout }
    }

    /// Hands a request that has begun to the engine that is here now.
    private mutating func resume(_ handle: UInt64, _ now: Int64, _ out: inout [LegAction]) {
        guard isEngineHere, var leg = legs[handle] else { return }
        var ticket: [UInt8]?
        if case .watching(let known) = leg.engine { ticket = known }
        let request = leg.asResumed()
        guard
            let question = messages.resume(
                request, ticket: ticket, pushed: leg.pushed, age: now &- leg.beganAt, lastLeg: leg.lastLeg)
        else { return }
        leg.engine = .watching(ticket: ticket)
        leg.hopesUntil = nil
        legs[handle] = leg
        questions[question.id] = handle
        askedAt = askedAt ?? now
        out.append(.ask(question.bytes))
    }

    // MARK: The engine comes and goes

    /// An engine answers, and knows nothing of what is held here. `host` names this PBX to it.
    package mutating func engineCame(host: UInt64, now: Int64) -> [LegAction] {
        messages.host = host
        isEngineHere = true
        askedAt = nil
        questions.removeAll()
        // Those that have not been asked about are asked when their user is known.
        return legs.values.filter { $0.engine != .unasked && $0.engine != .uninvolved }
            .sorted { $0.handle < $1.handle }.map { .describe($0.subject, isAgain: true) }
    }

    /// The engine is gone.
    package mutating func engineLeft(now: Int64) -> [LegAction] {
        guard isEngineHere else { return [] }
        isEngineHere = false
        askedAt = nil
        let lost = questions.values.filter { legs[$0]?.isWatched == false }.sorted()
        questions.removeAll()
        var out: [LegAction] = []
        for handle in lost {
            legs[handle]?.engine = .away
            goAlone(handle, now, &out)
        }
        for handle in legs.keys.sorted() where legs[handle]?.isWatched == true {
            hopeAlone(handle, now, &out)
        }
        return out
    }

    /// A message of the engine. False: it is nothing of waiting requests.
    package mutating func receive(_ message: MessageReader, now: Int64, _ out: inout [LegAction]) -> Bool {
        switch message.kind {
        case .reply, .failure:
            guard LegMessages.isOwn(message.id) else { return false }
            askedAt = nil
            guard let handle = questions.removeValue(forKey: message.id) else { return true }
            if message.kind == .failure { failed(handle, now, &out) } else { answered(handle, message, now, &out) }
            return true
        case .verbs, .result:
            let verbs = LegVerb.read(message).filter { Self.isOwn($0.handle) }
            for verb in verbs { execute(verb, now, &out) }
            return !verbs.isEmpty
        default: return false
        }
    }

    /// The engine cannot say: its store is away, or it is of another release.
    private mutating func failed(_ handle: UInt64, _ now: Int64, _ out: inout [LegAction]) {
        guard legs[handle] != nil else { return }
        legs[handle]?.engine = .uninvolved
        goWithoutPush(handle, now, &out)
    }

    private mutating func answered(_ handle: UInt64, _ message: MessageReader, _ now: Int64, _ out: inout [LegAction]) {
        guard case .asked = legs[handle]?.engine else { return }
        let answer = LegAnswer(message)
        guard answer.isWatched else { return goWithoutPush(handle, now, &out) }
        legs[handle]?.engine = .watching(ticket: answer.ticket)
        legs[handle]?.hopesUntil = nil
        legs[handle]?.endsAt = now &+ max(answer.limit, 0) &+ WaitingLeg.grace
        let contacts = legs[handle]?.reachable ?? []
        var held: [WakeMessage.Contact] = []
        for index in contacts.indices {
            if let number = answer.leg(at: index) {
                ring(handle, contacts[index], engineNumber: number, isKnown: true, now, &out)
            } else {
                held.append(contacts[index])
            }
        }
        for index in legs[handle]?.addQuestions(held) ?? [] {
            guard let leg = legs[handle]?.legs[index] else { continue }
            out.append(.probe(handle, leg: leg.number, contact: leg.contact))
        }
        let hasLiveLeg = legs[handle]?.hasLiveLeg == true
        if answer.hold > 0, !hasLiveLeg { ringback(handle, now, &out) }
        // A proxy's branches end its request by themselves, unless a HOLD comes.
        if answer.hold <= 0, !hasLiveLeg || policy.host == .proxy { legs[handle]?.verdict = 480 }
        advance(handle, now, &out)
        watch(handle)
    }

    private mutating func execute(_ verb: LegVerb, _ now: Int64, _ out: inout [LegAction]) {
        guard let leg = legs[verb.handle] else {
            if verb.kind == .ring { reportLate(verb.handle, leg: verb.leg, &out) }
            return
        }
        let handle = leg.handle
        if leg.left != nil {
            if verb.kind == .ring { legs[handle]?.lateLegs.append(verb.leg) }
            return
        }
        legs[handle]?.hopesUntil = nil
        switch verb.kind {
        case .ring:
            let replaced = legs[handle].flatMap { leg in
                leg.index(ofEngineLeg: verb.replaces).map { leg.legs[$0].number }
            }
            ring(handle, verb.contact, engineNumber: verb.leg, replaces: replaced ?? 0, now, &out)
        case .close: close(handle, engineNumber: verb.leg, now, &out)
        case .resend: resend(handle, engineNumber: verb.leg, now, &out)
        case .hold: legs[handle]?.verdict = nil
        case .giveUp: legs[handle]?.verdict = (200..<700).contains(verb.status) ? verb.status : 480
        case .tell: tell(handle, verb.status, now, &out)
        case .pushed:
            if (0..<64).contains(verb.leg) { legs[handle]?.pushed |= 1 << UInt64(verb.leg) }
            ringback(handle, now, &out)
        case nil: break
        }
        advance(handle, now, &out)
        watch(handle)
    }

    /// A channel whose phone is being woken rings: so hints and queues see it as called.
    private mutating func ringback(_ handle: UInt64, _ now: Int64, _ out: inout [LegAction]) {
        if policy.host == .dialplan, legs[handle]?.isCall == true { tell(handle, 180, now, &out) }
    }

    // MARK: Reported

    /// A leg has an answer: 100 to 699, or 0: it is sent now. `index` is its place.
    mutating func report(_ handle: UInt64, _ index: Int, _ status: Int, isFromPhone: Bool, _ out: inout [LegAction]) {
        guard isEngineHere, let leg = legs[handle], leg.isWatched, leg.legs[index].engineNumber > 0 else { return }
        let number = leg.legs[index].engineNumber
        if let bytes = messages.progressed(handle, leg: number, status: status, isFromPhone: isFromPhone) {
            out.append(.ask(bytes))
        }
    }

    /// The request is over, and its host has or gets its final answer; `status` 0: its host has ended the branch itself.
    mutating func finish(_ handle: UInt64, _ end: End, status: Int, _ now: Int64, _ out: inout [LegAction]) {
        guard let leg = legs.removeValue(forKey: handle) else { return }
        if dialogs[leg.dialog] == handle { dialogs[leg.dialog] = nil }
        if status > 0 { answer(leg.transaction, status, now, &out) } else { transactions[leg.transaction] = nil }
        // While it is being asked about it may yet push: the answer comes before this.
        if isEngineHere, leg.isKnown,
            let bytes = messages.ended(handle, how: end.how, status: status, reason: end.reason)
        {
            out.append(.ask(bytes))
        }
        for number in leg.lateLegs { reportLate(handle, leg: number, &out) }
        out.append(.forget(handle))
    }

    /// A phone was to ring as its request ended. The engine tells it how, once it knows of the end.
    mutating func reportLate(_ handle: UInt64, leg number: Int, _ out: inout [LegAction]) {
        guard isEngineHere,
            let bytes = messages.progressed(handle, leg: number, status: 503, isFromPhone: false)
        else { return }
        out.append(.ask(bytes))
    }

    /// Nobody is waited for now. In a channel that is the end of the request; at a proxy legs that are out decide, and
    /// the host says what came of them.
    mutating func conclude(_ handle: UInt64, _ end: End, status: Int, _ now: Int64, _ out: inout [LegAction]) {
        guard let leg = legs[handle] else { return }
        guard !leg.isChannel else { return finish(handle, end, status: status, now, &out) }
        // Workers overtake each other: what was to be closed is closed before this answer counts.
        let closed = leg.closedLegs.map(String.init).joined(separator: ",")
        answer(leg.transaction, status, headers: closed.isEmpty ? [] : [("X-PushWake-Close", closed)], now, &out)
        legs[handle]?.verdict = nil
        legs[handle]?.hopesUntil = nil
        legs[handle]?.left = end
        legs[handle]?.endsAt = now &+ (leg.hasLiveLeg ? WaitingLeg.longestRing : WaitingLeg.farewell)
        watch(handle)
    }
}
