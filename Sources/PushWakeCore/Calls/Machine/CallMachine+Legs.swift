// SPDX-License-Identifier: MIT

/// What legs say.
extension CallMachine {
    /// The host comes to this leg later, or not at all (serial forking): until it is sent its phone is not silent.
    public mutating func postponed(leg: Int) {
        guard end == nil, let index = devices.firstIndex(where: { $0.leg?.number == leg }) else { return }
        devices[index].legs?.first.sentAt = nil
        devices[index].legs?.silentAt = nil
    }

    /// The host has come to this leg: the request is on its way to the phone from now on.
    public mutating func sent(leg: Int, now: Int64) {
        guard end == nil, let index = devices.firstIndex(where: { $0.leg?.number == leg }),
            devices[index].leg?.sentAt == nil
        else { return }
        devices[index].legs?.first.sentAt = now
        watch(index, now)
    }

    /// A leg has an answer. `isFromPhone` is false for what the host made up itself: a timeout, a dead connection, or
    /// 487 of a dialplan that has hung the leg up.
    public mutating func progressed(leg number: Int, status: Int, isFromPhone: Bool, now: Int64) -> [CallVerb] {
        if let end, status >= 300, !isFromPhone { return legWasNotSent(number, status: status, end, now) }
        guard end == nil, status >= 100, let (index, leg) = find(leg: number) else { return [] }
        var verbs = [CallVerb].withRoom(4)
        switch status {
        case ..<200:
            guard isFromPhone, !(status == 100 && devices[index].contact(of: leg).isBehindProxy) else { return [] }
            received(index, leg, status, &verbs)
        case ..<300:
            received(index, leg, status, &verbs)
            // It goes to the caller at once and ends every other leg (RFC 3261, 16.7): there is nothing to hold.
            devices[index].legs?.other = nil
            devices[index].answer = .accepted
            phase = .closing(.answered)
            if hold == .host { hold = .nothing }
            declineAt = nil
        default:
            let isFromPhone = isFromPhone && devices[index].contact(of: leg).speaksItself(status)
            ended(index, leg, status, isFromPhone, now, &verbs)
            repeatsGiveUp = host == .proxy && number == legAtGiveUp && !isFromPhone && leg.heard == .nothing
        }
        decide(now, &verbs)
        return verbs
    }

    func find(leg number: Int) -> (device: Int, leg: CallLeg)? {
        for index in devices.indices {
            if let leg = devices[index].legs?[number] { return (index, leg) }
        }
        return nil
    }

    private mutating func received(_ index: Int, _ leg: CallLeg, _ status: Int, _ verbs: inout [CallVerb]) {
        let heard = CallLeg.Heard(status: status)
        devices[index].legs?.choose(leg.number)
        if heard > leg.heard || status >= 200 {
            verbs.append(.note(.progressed(device: index, leg: leg.number, status: status)))
            devices[index].legs?.first.heard = heard
            devices[index].legs?.silentAt = nil
            devices[index].next = nil
            if heard == .alerting { dropPush(index, &verbs) }
        }
        guard status < 200, let legs = devices[index].legs, let other = legs.other else { return }
        // The device rings where it has registered last, and nowhere else.
        if legs.first.heard == .alerting, leg.number > other.number {
            closeOtherLeg(index, &verbs)
        } else {
            devices[index].legs?.order()
        }
    }

    /// A leg has a final answer that takes the request from it.
    private mutating func ended(
        _ index: Int, _ leg: CallLeg, _ status: Int, _ isFromPhone: Bool, _ now: Int64, _ verbs: inout [CallVerb]
    ) {
        if devices[index].goesOn(without: leg, status, isFromPhone) {
            return fallBack(index, from: leg, status, now, &verbs)
        }
        devices[index].legs?.choose(leg.number)
        let next = devices[index].next
        hostAwaitsVerb = closeOtherLeg(index, &verbs) || host == .dialplan
        // The dialplan does not want the leg any longer, which says nothing about the phone.
        let isHungUp = host == .dialplan && status == 487 && !isFromPhone
        if isHungUp, leg.heard < .alerting { return devices[index].closeLegs(isFailed: false) }
        // It rang, and its connection broke: it comes back over another one.
        let isCutOff = !isFromPhone && status == 503 && devices[index].contact(of: leg).isDirect
        if isFromPhone || leg.heard == .alerting && !isCutOff {
            verbs.append(.note(.progressed(device: index, leg: leg.number, status: status)))
            return declined(index, leg, status, isFromPhone, now, &verbs)
        }
        devices[index].closeLegs()
        if devices[index].isOpen {
            let isSilent = leg.number != devices[index].sent.afterLeg && leg.heard == .nothing && status == 408
            devices[index].answer = isSilent ? .silence : .none
        }
        verbs.append(.note(.legFailed(device: index, leg: leg.number, status: status)))
        hostAwaitsVerb = true
        guard !isClosed else { return }
        if let next {
            follow(index, next.contact, now, &verbs)
        } else if let contact = devices[index].reachable, contact.reach == .open {
            // Another connection of the device, when one of several is gone (RFC 5626, 5.3).
            ring(index, contact, now, &verbs)
        } else if devices[index].needsPush(for: leg) {
            push(index, now, &verbs)
        }
    }

    private mutating func declined(
        _ index: Int, _ leg: CallLeg, _ status: Int, _ isFromPhone: Bool, _ now: Int64, _ verbs: inout [CallVerb]
    ) {
        devices[index].closeLegs()
        devices[index].answer = .declined
        dropPush(index, &verbs)
        guard !devices[index].isTooLate(leg, status, now) else { return }
        if lastDecline != .forwarded {
            lastDecline =
                decline(index, hasRung: leg.heard == .alerting, status, isFromPhone: isFromPhone) ?? lastDecline
        }
        if status >= 600 { close(as: .failed(status)) }
    }

    /// What the answer of one phone says about its user. 486 is a no if the phone rang, or a push made it show the call.
    /// Otherwise that phone alone cannot take the request: it is engaged, is the caller's own, or lacks the number or the
    /// codec (404, 480, 482, 488, 500 …).
    func decline(_ index: Int, hasRung: Bool, _ status: Int, isFromPhone: Bool) -> Decline? {
        guard isFromPhone else { return .declined }
        return switch status {
        // `Dial()` calls by itself where a phone says that it is (RFC 3261, 21.3).
        case ..<400: host == .dialplan ? .forwarded : .declined
        case 408 where hasRung, 480 where hasRung: .declined
        case 486 where hasRung || devices[index].wasPushed, 600...: .declined
        default: nil
        }
    }

    /// One of two legs is over, and the device may take the request over the other.
    private mutating func fallBack(
        _ index: Int, from leg: CallLeg, _ status: Int, _ now: Int64, _ verbs: inout [CallVerb]
    ) {
        verbs.append(.note(.legFailed(device: index, leg: leg.number, status: status)))
        let wasFirst = devices[index].leg?.number == leg.number
        devices[index].close(leg, isFailed: status != CallLeg.merged)
        hostAwaitsVerb = true
        guard wasFirst, !isClosed, devices[index].leg?.heard == .nothing else { return }
        if status != CallLeg.merged, devices[index].needsPush(for: leg) {
            push(index, now, &verbs)
        } else {
            watch(index, now)
        }
    }

    // MARK: Closing them

    /// Whether the leg of a device stays open beside the next one. A dialplan sends each leg as a call of its own, and a
    /// message cannot be taken back: there a leg is replaced at once.
    func keepsOldLeg(_ index: Int) -> Bool {
        host == .proxy && isCall && devices[index].leg?.sentAt != nil
    }

    /// Closes the leg that counts less; false when there is none.
    @discardableResult
    mutating func closeOtherLeg(_ index: Int, _ verbs: inout [CallVerb]) -> Bool {
        guard let other = devices[index].legs?.other else { return false }
        devices[index].legs?.other = nil
        verbs.append(.close(leg: other.number))
        return true
    }

    /// Closes all legs of a device of which nothing was heard.
    mutating func closeLegs(_ index: Int, _ verbs: inout [CallVerb]) {
        guard let leg = devices[index].leg else { return }
        closeOtherLeg(index, &verbs)
        devices[index].closeLegs()
        verbs.append(.close(leg: leg.number))
        verbs.append(.note(.legFailed(device: index, leg: leg.number, status: 408)))
    }

    /// When nobody is left but phones that say nothing and that no push brings: one that came for its push has time until the
    /// wait is over, and one whose push no provider took need not be waited for. A host would wait for both as long as its
    /// transaction lets it. `.max`: somebody may still answer, or the script has a say in it.
    var silentLegsEndAt: Int64 {
        guard hold == .nothing else { return .max }
        var last: Int64 = .min
        let devices = devices.span
        for index in devices.indices where devices[index].legs != nil {
            let (lostAt, isAtOnce) = (devices[index].lostAt, devices[index].cannotBePushed && isCall)
            last = max(last, isAtOnce ? lostAt : host == .proxy ? max(lostAt, endsAt) : .max)
        }
        return last == .min ? .max : last
    }

    mutating func closeSilentLegs(_ verbs: inout [CallVerb]) {
        for index in devices.indices where devices[index].legs != nil {
            closeLegs(index, &verbs)
            devices[index].answer = .silence
        }
        hostAwaitsVerb = true
    }
}
