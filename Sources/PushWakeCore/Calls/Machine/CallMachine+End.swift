// SPDX-License-Identifier: MIT

extension CallMachine {
    /// Milliseconds for which an end notice is of use.
    static let noticeLife: Int64 = 30_000

    /// The request has its final answer. Every phone that was pushed and does not hear of it over SIP hears of it by
    /// push, once.
    public mutating func ended(_ how: CallEnd, now: Int64) -> [CallVerb] {
        guard end == nil else { return [] }
        var how = how
        // The host knows the status; that it came of waiting is known here.
        if case .failed = how, outcome == .timedOut, !hasDevice({ $0.answer == .declined }) { how = .timedOut }
        // A dialplan goes on with its caller when no phone is left: into a mailbox, say.
        if host == .dialplan, how == .cancelled, let outcome, outcome != .answered { how = outcome }
        phase = .ended(how, at: now)
        hold = .nothing
        declineAt = nil
        var verbs = [CallVerb].withRoom(2)
        for index in devices.indices {
            dropPush(index, &verbs)
            tellEnd(how, index, now, &verbs)
        }
        verbs.append(.note(.ended(how)))
        return verbs
    }

    /// Pushes the end to a device that must hear of it.
    mutating func tellEnd(_ how: CallEnd, _ index: Int, _ now: Int64, _ verbs: inout [CallVerb]) {
        guard isCall, policy.cancelRule != .never, devices[index].facts.takesNotices,
            mustHear(devices[index], of: how, now), !isProbablyThere(index)
        else { return }
        verbs.append(.push(device: index, event: how.notice, deadline: now + Self.noticeLife))
        verbs.append(.note(.pushed(device: index, how.notice)))
    }

    private func mustHear(_ device: borrowing DeviceState, of how: CallEnd, _ now: Int64) -> Bool {
        guard device.facts.canBePushed, case .kept = device.binding, device.isOpen, !device.endWasShown else {
            return false
        }
        switch how == .cancelled ? policy.cancelRule : .unanswered {
        case .unanswered:
            return (device.wasPushed || device.hasMoved) && !device.hearsOverSIP(at: endedAt ?? now, policy)
        case .pushed: return device.wasPushed
        // What becomes of a push that is out still decides first.
        case .always: if case .dropped(let attempt) = device.push { return attempt == .again } else { return true }
        case .never: return false
        }
    }

    private var endedAt: Int64? { if case .ended(_, let at) = phase { at } else { nil } }

    /// Tokens are all that is known of this device, and the user's only phone without one has said something: it was
    /// there before its push, and is told of its own call by SIP. A notice would end the call that it has.
    public func isProbablyThere(_ index: Int) -> Bool {
        guard devices.indices.contains(index), devices[index].hasOnlyTokens,
            devices.count(where: { $0.hasOnlyTokens }) == 1, devices.count(where: { $0.isPlainPhone }) == 1
        else { return false }
        return hasDevice { $0.isPlainPhone && (!$0.isOpen || ($0.leg?.heard ?? .nothing) > .nothing) }
    }

    /// The request ended while a phone registered, and its host could no longer send the leg: the phone is there, and
    /// has heard neither of the request nor of its end.
    mutating func legWasNotSent(_ number: Int, status: Int, _ end: CallEnd, _ now: Int64) -> [CallVerb] {
        // A leg that was sent, and that its dialplan has hung up, is cancelled at its phone.
        guard let (index, leg) = find(leg: number), leg.heard == .nothing,
            host == .proxy || leg.sentAt == nil || status != 487
        else { return [] }
        let contact = devices[index].contact(of: leg)
        let wasInformed = mustHear(devices[index], of: end, now)
        if devices[index].legs?.other == nil {
            devices[index].closeLegs(isFailed: false)
        } else {
            devices[index].close(leg, isFailed: false)
        }
        var verbs: [CallVerb] = []
        ringAndCancel(index, contact, now, &verbs)
        if !wasInformed { tellEnd(end, index, now, &verbs) }
        return verbs
    }

    /// A phone that was made to show a call and comes too late is shown its end, once.
    mutating func ringAndCancel(_ index: Int, _ contact: CallContact, _ now: Int64, _ verbs: inout [CallVerb]) {
        verbs.append(.note(.late(device: index)))
        guard isCall, showsCall(devices[index], now) else { return }
        devices[index].endWasShown = true
        verbs.append(.ringAndCancel(contact: contact.key, reason: (outcome ?? .timedOut).reasonHeader))
    }

    /// A push has made it show the call, or does so now, and nothing else tells it of the end.
    private func showsCall(_ device: borrowing DeviceState, _ now: Int64) -> Bool {
        device.facts.showsCallAtOnce && device.push.mayArrive && device.isOpen && !device.endWasShown
            && !device.hearsOverSIP(at: endedAt ?? now, policy)
    }
}
