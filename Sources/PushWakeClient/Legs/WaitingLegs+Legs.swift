// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// Legs: opened, heard of, taken back.
extension WaitingLegs {
    // MARK: On the way

    /// The request goes on to this contact: at once, or when it is its turn. `isKnown`: its phone has said nothing now.
    mutating func ring(
        _ handle: UInt64, _ contact: WakeMessage.Contact, engineNumber: Int, replaces: Int = 0, isKnown: Bool = false,
        _ now: Int64, _ out: inout [LegAction]
    ) {
        guard var leg = legs[handle] else { return }
        // The engine had rung its known contact when it heard that this phone is there.
        if let index = leg.confirmedLeg(replaces, contact) {
            leg.legs[index].engineNumber = engineNumber
            legs[handle] = leg
            return adopt(handle, index, &out)
        }
        let known = leg.wake.contacts.first { $0.key == contact.key && contact.uri.isEmpty }
        guard let index = leg.add(known ?? contact, engineNumber: engineNumber, replaces: replaces) else { return }
        leg.legs[index].isDoubtful = isKnown && leg.isDoubtful(leg.legs[index].contact)
        if leg.isChannel { leg.verdict = nil }
        legs[handle] = leg
        if replaces > 0 { close(handle, leg: replaces, isReplaced: true, now, &out) }
        if leg.legs[index].state != .queued { adopt(handle, index, &out) }
    }

    /// A leg of ours has become the engine's: it hears what has been.
    private mutating func adopt(_ handle: UInt64, _ index: Int, _ out: inout [LegAction]) {
        guard let leg = legs[handle]?.legs[index] else { return }
        if policy.host == .dialplan { report(handle, index, 0, isFromPhone: false, &out) }
        if leg.heard > 0 { report(handle, index, leg.heard, isFromPhone: true, &out) }
        if case .over(let status) = leg.state, status > 0 {
            report(handle, index, status, isFromPhone: leg.refusal > 0, &out)
        }
    }

    /// Does what can be done now: the next leg, or the end.
    mutating func advance(_ handle: UInt64, _ now: Int64, _ out: inout [LegAction]) {
        guard let leg = legs[handle], leg.place == .here || mayRingBeside(leg), leg.left == nil else { return }
        if leg.place == .here, let verdict = leg.verdict, !leg.hasLiveLeg {
            return conclude(
                handle, now >= leg.endsAt ? .timedOut : .failed, status: leg.finalStatus(verdict), now, &out)
        }
        for index in leg.legs.indices where legs[handle]?.legs[index].state == .queued {
            guard let leg = legs[handle], leg.place == .here || mayRingBeside(leg) else { return }
            open(handle, index, now, &out)
        }
    }

    /// Whether a phone may ring beside the one that the request is at.
    private func mayRingBeside(_ leg: WaitingLeg) -> Bool {
        guard leg.ringsAll, leg.isChannel, leg.isCall, case .out = leg.place else { return false }
        return true
    }

    private mutating func open(_ handle: UInt64, _ index: Int, _ now: Int64, _ out: inout [LegAction]) {
        guard let leg = legs[handle] else { return }
        if leg.legs[index].isDoubtful {
            legs[handle]?.legs[index].state = .probed
            legs[handle]?.legs[index].isDoubtful = false
            legs[handle]?.legs[index].wasProbed = true
            report(handle, index, 0, isFromPhone: false, &out)
            return out.append(.probe(handle, leg: leg.legs[index].number, contact: leg.legs[index].contact))
        }
        send(handle, index, now, &out)
    }

    private mutating func send(_ handle: UInt64, _ index: Int, _ now: Int64, _ out: inout [LegAction]) {
        guard let leg = legs[handle] else { return }
        let number = leg.legs[index].number
        let wasProbed = leg.legs[index].wasProbed
        legs[handle]?.legs[index].state = .out
        if !leg.isChannel {
            announce(handle, index, now, &out)
        } else if leg.place != .here {
            legs[handle]?.legs[index].isBeside = true
            out.append(.dial(handle, leg: number, contact: leg.legs[index].contact))
        } else if leg.isCall {
            legs[handle]?.place = .out(number)
            transactions[leg.transaction]?.movesTo = leg.legs[index].engineNumber
            answer(leg.transaction, 302, headers: headers(leg, index), now, &out)
        } else {
            let text = LegText(content: leg.content, fromURI: leg.wake.fromURI, fromDisplay: leg.wake.fromDisplay)
            out.append(.forward(leg.subject, leg: number, contact: leg.legs[index].contact, text))
        }
        // Who was asked by OPTIONS counts as sent to since then.
        if leg.isChannel, !wasProbed { report(handle, index, 0, isFromPhone: false, &out) }
    }

    /// Where a leg leads, as the host reads it: not in a Contact, which hosts correct (Asterisk's rewrite_contact).
    private func headers(_ leg: WaitingLeg, _ index: Int) -> [(name: String, value: String)] {
        let contact = leg.legs[index].contact
        let place = contact.uri.isEmpty ? contact.key : contact.uri
        let shown = [
            ("X-PushWake-Leg", String(leg.legs[index].number)), ("X-PushWake-Contact", place),
            ("X-PushWake-Path", contact.path), ("X-PushWake-Flow", contact.flow),
            ("X-PushWake-Key", leg.isChannel ? "" : contact.key),
        ]
        return shown.filter { !$0.1.isEmpty }.map { ($0.0, PrintableText.cleaned($0.1)) }
    }

    /// Names a leg to a proxy, whose worker adds the branch.
    private mutating func announce(_ handle: UInt64, _ index: Int, _ now: Int64, _ out: inout [LegAction]) {
        guard let leg = legs[handle] else { return }
        var headers = headers(leg, index)
        if leg.legs[index].replaces > 0 {
            headers.append(("X-PushWake-Replaces", String(leg.legs[index].replaces)))
        }
        instruct(handle, headers, now, &out)
    }

    /// Has a worker of a proxy do something, in a numbered 100.
    private mutating func instruct(
        _ handle: UInt64, _ headers: [(name: String, value: String)], _ now: Int64, _ out: inout [LegAction]
    ) {
        guard let number = legs[handle]?.nextNumber(), let transaction = legs[handle]?.transaction else { return }
        answer(transaction, 100, headers: [("X-PushWake-Number", String(number))] + headers, now, &out)
    }

    /// Lets the caller hear that a phone is being woken.
    mutating func tell(_ handle: UInt64, _ status: Int, _ now: Int64, _ out: inout [LegAction]) {
        guard let leg = legs[handle], leg.place == .here, status > leg.told, status < 200 else { return }
        legs[handle]?.told = status
        answer(leg.transaction, status, now, &out)
    }

    // MARK: Closed

    mutating func close(_ handle: UInt64, engineNumber: Int, _ now: Int64, _ out: inout [LegAction]) {
        guard let leg = legs[handle], let index = leg.index(ofEngineLeg: engineNumber) else { return }
        close(handle, leg: leg.legs[index].number, now, &out)
    }

    /// Nothing that comes of this leg counts now. `isReplaced`: a proxy hears of that with the leg that takes its
    /// place.
    private mutating func close(
        _ handle: UInt64, leg number: Int, isReplaced: Bool = false, _ now: Int64, _ out: inout [LegAction]
    ) {
        guard let leg = legs[handle], let index = leg.index(ofLeg: number), leg.legs[index].isLive else { return }
        let wasOut = leg.legs[index].state == .out
        legs[handle]?.legs[index].state = .over(0)
        guard wasOut else { return }
        guard leg.isChannel else {
            return isReplaced ? () : instruct(handle, [("X-PushWake-Close", String(number))], now, &out)
        }
        if leg.place == .out(number) { legs[handle]?.place = .returning }
        out.append(.close(handle, leg: number))
    }

    mutating func resend(_ handle: UInt64, engineNumber: Int, _ now: Int64, _ out: inout [LegAction]) {
        guard let leg = legs[handle], let index = leg.index(ofEngineLeg: engineNumber), leg.legs[index].state == .out
        else { return }
        let number = leg.legs[index].number
        guard leg.isChannel else { return instruct(handle, [("X-PushWake-Resend", String(number))], now, &out) }
        out.append(.resend(handle, leg: number))
    }

    // MARK: Heard of

    /// A phone has been asked by OPTIONS. `status`: its answer; 0: it was silent for `silent_after`; 503: it cannot be reached.
    package mutating func probed(_ handle: UInt64, leg number: Int, status: Int, now: Int64) -> [LegAction] {
        guard let leg = legs[handle], let index = leg.index(ofLeg: number), leg.legs[index].state == .probed else {
            return []
        }
        var out: [LegAction] = []
        switch status {
        case _ where leg.legs[index].isQuestion:
            legs[handle]?.legs[index].state = .over(0)
            // The engine takes it for a phone that has registered there.
            let key = leg.legs[index].contact.key
            let isThere = status != 0 && status != 503 && leg.isWatched && isEngineHere && !leg.rings(key)
            if isThere, let bytes = messages.registered(leg.subject.aor, key) {
                legs[handle]?.confirmed.insert(key)
                out.append(.ask(bytes))
            }
            return out
        case 503: failed(handle, index, 503, isFromPhone: false, now, &out)
        // It is pushed as well by now; without a word from the engine the request is all that may reach it.
        case 0 where leg.isWatched && isEngineHere: return []
        default: legs[handle]?.legs[index].state = .queued
        }
        advance(handle, now, &out)
        watch(handle)
        return out
    }

    /// Whether a request in a channel comes back here with this answer of a phone. The others speak to the caller themselves: who
    /// forwards, wants a password, or declines for all.
    package static func takesBack(_ status: Int) -> Bool {
        switch status {
        case ..<300, 300..<400, 401, 407, 494, 600...: false
        default: true
        }
    }

    /// A leg has an answer: 100 to 699, or 0: the host sends it now. `isFromPhone` is false for what the host made itself.
    package mutating func progressed(
        _ handle: UInt64, leg number: Int, status: Int, isFromPhone: Bool, now: Int64
    ) -> [LegAction] {
        guard let leg = legs[handle], let index = leg.index(ofLeg: number), leg.legs[index].isLive else { return [] }
        var out: [LegAction] = []
        switch status {
        case ..<100: if !leg.isChannel { report(handle, index, status, isFromPhone: isFromPhone, &out) }
        case ..<200:
            guard status > leg.legs[index].heard else { return [] }
            legs[handle]?.legs[index].heard = status
            report(handle, index, status, isFromPhone: isFromPhone, &out)
        case ..<300:
            legs[handle]?.legs[index].state = .over(status)
            report(handle, index, status, isFromPhone: isFromPhone, &out)
            // A proxy says itself that its request is over, and cancels this branch.
            if leg.isChannel { finish(handle, .answered, status: 487, now, &out) }
        default:
            let isBeside = leg.legs[index].isBeside
            // Nobody follows what a phone beside another one names.
            let status = isBeside && (300..<400).contains(status) ? 480 : status
            failed(handle, index, status, isFromPhone: isFromPhone, now, &out)
            if isBeside, status >= 600 {
                refuseForAll(handle, status, now, &out)
                advance(handle, now, &out)
            } else if !isBeside, leg.isChannel, leg.isCall, isFromPhone, !Self.takesBack(status) {
                finish(handle, .failed, status: status, now, &out)
            } else {
                advance(handle, now, &out)
            }
        }
        watch(handle)
        return out
    }

    /// A phone beside others has declined for all of them (RFC 3261, 16.7): none rings on.
    private mutating func refuseForAll(_ handle: UInt64, _ status: Int, _ now: Int64, _ out: inout [LegAction]) {
        for number in legs[handle]?.legs.map(\.number) ?? [] { close(handle, leg: number, now, &out) }
        legs[handle]?.verdict = status
    }

    private mutating func failed(
        _ handle: UInt64, _ index: Int, _ status: Int, isFromPhone: Bool, _ now: Int64, _ out: inout [LegAction]
    ) {
        guard let leg = legs[handle] else { return }
        let number = leg.legs[index].number
        legs[handle]?.legs[index].state = .over(status)
        if isFromPhone {
            legs[handle]?.best = FinalAnswer.better(leg.best, status)
            legs[handle]?.legs[index].refusal = status
        }
        if leg.place == .out(number) { legs[handle]?.place = .returning }
        if !leg.isChannel { failedAtProxy(handle, leg.legs[index], status, isFromPhone: isFromPhone, now, &out) }
        report(handle, index, status, isFromPhone: isFromPhone, &out)
        if leg.isWatched, isEngineHere, leg.legs[index].engineNumber > 0 {
            askedAt = askedAt ?? now
            legs[handle]?.hopesUntil = now &+ WaitingLeg.verbPatience
        } else {
            goOnAlone(handle, now, &out)
        }
    }

    private mutating func failedAtProxy(
        _ handle: UInt64, _ leg: WaitingLeg.Leg, _ status: Int, isFromPhone: Bool, _ now: Int64,
        _ out: inout [LegAction]
    ) {
        // Its connection is gone, and the host would wait for it.
        if !isFromPhone { instruct(handle, [("X-PushWake-Close", String(leg.number))], now, &out) }
        // The word of a proxy before the phone: the engine will say whether the phone is waited for.
        let isUnreached =
            isFromPhone && leg.heard <= 100 && !leg.contact.path.isEmpty && FinalAnswer.isAboutTheWay(status)
        if isUnreached, legs[handle]?.isWatched == true, isEngineHere { legs[handle]?.verdict = nil }
    }

    /// A request in a channel is here again: its phone has not taken it, or it is taken back.
    mutating func comeBack(_ handle: UInt64, _ request: KeptRequest, _ now: Int64, _ out: inout [LegAction]) {
        guard let leg = legs[handle] else { return }
        // One that the host has left without a word.
        answer(leg.transaction, 487, now, &out)
        open(request, handle: handle)
        legs[handle]?.transaction = request.transaction
        legs[handle]?.told = 100
        answer(request.transaction, 100, now, &out)
        if case .out(let number) = leg.place, let index = leg.index(ofLeg: number) {
            // Nobody has said why.
            failed(handle, index, 503, isFromPhone: false, now, &out)
        }
        legs[handle]?.place = .here
        advance(handle, now, &out)
        watch(handle)
    }

    /// The host has given a request up: its caller has hung up, or has what he wanted elsewhere. `how` is `enum pushwake_call_end`;
    /// `status` 0: it wants no answer.
    package mutating func ended(
        _ handle: UInt64, how: Int, status: Int, reason: String, now: Int64
    ) -> [LegAction] {
        var out: [LegAction] = []
        let end: End =
            switch how {
            // Its CANCEL may have said why.
            case 0: .cancelled(reason.isEmpty ? legs[handle]?.left?.reason ?? "" : reason)
            case 1: .answered
            case 2: .timedOut
            default: .failed
            }
        finish(handle, end, status: status == 0 || (300..<700).contains(status) ? status : 487, now, &out)
        return out
    }
}
