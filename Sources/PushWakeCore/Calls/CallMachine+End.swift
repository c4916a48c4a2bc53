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
        if case .failed = how, closing == .timedOut, !devices.contains(where: { $0.hasDeclined }) { how = .timedOut }
        // A dialplan goes on with its caller when no phone is left: into a mailbox, say.
        if host == .dialplan, how == .cancelled, let closing, closing != .answered { how = closing }
        end = how
        endedAt = now
        isHeld = false
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
        guard isCall, policy.pushesEnd, devices[index].device.takesNotices, mustHear(devices[index], of: how, now),
            !isProbablyThere(index)
        else { return }
        verbs.append(.push(device: index, event: how.notice, deadline: now + Self.noticeLife))
        verbs.append(.note(.pushed(device: index, how.notice)))
    }

    /// The request ended while a phone registered, and its host could not send the leg any more: the phone is there, and
    /// has heard neither of the request nor of its end.
    mutating func neverSent(_ leg: Int, _ end: CallEnd, _ now: Int64) -> [CallVerb] {
        guard let index = devices.firstIndex(where: { $0.has(leg: leg) }),
            let sent = devices[index].leg(leg), sent.heard == .nothing, host == .proxy || !sent.isSent
        else { return [] }
        let wasInformed = mustHear(devices[index], of: end, now)
        if devices[index].otherLeg == nil {
            devices[index].closeLeg(hasFailed: false)
        } else {
            devices[index].drop(sent, isFailed: false)
        }
        var verbs: [CallVerb] = []
        showEnd(index, sent.contact, now, &verbs)
        if !wasInformed { tellEnd(end, index, now, &verbs) }
        return verbs
    }

    /// Tokens are all that is known of this device, and the user's only phone without one has said something: it was
    /// there before its push, and is told of its own call by SIP. A notice would end the call that it has.
    public func isProbablyThere(_ index: Int) -> Bool {
        guard devices.indices.contains(index), devices[index].isTokensAlone,
            devices.count(where: { $0.isTokensAlone }) == 1, devices.count(where: { $0.isPlainPhone }) == 1
        else { return false }
        return devices.contains { $0.isPlainPhone && $0.hasSpoken }
    }

    private func mustHear(_ state: DeviceState, of how: CallEnd, _ now: Int64) -> Bool {
        guard state.device.canBePushed, !state.isUnbound, !state.isAnswered, !state.hasDeclined, !state.knowsEnd else {
            return false
        }
        guard how == .cancelled else { return state.wasPushed && !hearsOverSIP(state, now) }
        return switch policy.cancelRule {
        case .unanswered: state.wasPushed && !hearsOverSIP(state, now)
        case .pushed: state.wasPushed
        // What becomes of a push that is out still decides first.
        case .always: state.wasPushed || state.push != .dropped
        }
    }

    /// Milliseconds that a phone has for its first word where `silent_after` names none.
    private static let firstWord: Int64 = 1500

    /// Its leg is alive: the CANCEL, or what the phone said itself, tells it. To who came for a push and was silent until the
    /// end the CANCEL goes as the INVITE did: nobody reads it.
    private func hearsOverSIP(_ state: DeviceState, _ now: Int64) -> Bool {
        guard let leg = state.leg else { return false }
        if leg.heard > .nothing { return true }
        let pause = policy.silentAfter.flatMap { $0 > 0 ? $0 : nil } ?? Self.firstWord
        return leg.number != state.legAtPush && !(leg.isSent && (endedAt ?? now) - leg.since >= pause)
    }

    /// When nobody is left but phones that say nothing and that no push brings: one that came for its push has time until the
    /// wait is over, and one whose push no provider took need not be waited for. A host would wait for both as long as its
    /// transaction lets it. `.max`: somebody may still answer, or the script has a say in it.
    mutating func legsLostAt() -> Int64 {
        guard !isElsewhere, !isHeld else { return .max }
        let (isCall, host, endsAt) = (isCall, host, endsAt)
        var last: Int64 = .min
        for index in devices.indices {
            ask(index) { device in
                guard device.hasLeg else { return }
                let atOnce = device.cannotBePushed && isCall
                last = max(last, atOnce ? device.lostAt : host == .proxy ? max(device.lostAt, endsAt) : .max)
            }
        }
        return last == .min ? .max : last
    }

    /// Ends the legs of phones that say nothing.
    mutating func loseLegs(_ verbs: inout [CallVerb]) {
        for index in devices.indices {
            guard let leg = devices[index].leg?.number else { continue }
            _ = closeOtherLeg(index, &verbs)
            devices[index].closeLeg()
            devices[index].wasSilent = true
            verbs.append(.close(leg: leg))
            verbs.append(.note(.legFailed(device: index, leg: leg, status: 408)))
        }
        hostAwaitsVerb = true
    }

    /// A phone that was made to show a call and comes too late is shown its end, once.
    mutating func showEnd(_ index: Int, _ contact: CallContact, _ now: Int64, _ verbs: inout [CallVerb]) {
        verbs.append(.note(.late(device: index)))
        let state = devices[index]
        let showsCall =
            state.device.showsCallAtOnce && (state.wasPushed || state.push == .underway || state.push == .dropped)
        guard isCall, showsCall, !state.knowsEnd, !state.hasDeclined, !state.isAnswered, !hearsOverSIP(state, now)
        else { return }
        devices[index].knowsEnd = true
        verbs.append(.ringAndCancel(contact: contact.key, reason: (end ?? closing ?? .timedOut).reasonHeader))
    }
}
