// SPDX-License-Identifier: MIT

/// What delivery says.
extension CallMachine {
    /// A push for the call has its outcome, a dropped one too. Of a repeated push only an acceptance changes anything.
    public mutating func pushEnded(device index: Int, isAccepted: Bool, now: Int64) -> [CallVerb] {
        guard devices.indices.contains(index), let attempt = devices[index].push.attempt else { return [] }
        let isFirst = attempt != .again
        if isAccepted || !isFirst {
            let isRepeated = isCall && isAccepted && devices[index].sent.count <= policy.pushRepeats
            devices[index].push = .accepted(repeatAt: isRepeated ? policy.pushRepeat.map { now + $0 } : nil)
        } else {
            devices[index].push = if case .dropped = devices[index].push { .none } else { .failed }
        }
        var verbs = [CallVerb].withRoom(2)
        if let end {
            if isFirst { tellEnd(end, index, now, &verbs) }
        } else if isAccepted {
            if attempt == .unreachable { decide(now, &verbs) }
            tellCaller(&verbs)
        } else if isFirst, !isClosed {
            pushFailed(index, now, &verbs)
            decide(now, &verbs)
        }
        return verbs
    }

    /// No push is on its way to the device, and none has been.
    private mutating func pushFailed(_ index: Int, _ now: Int64, _ verbs: inout [CallVerb]) {
        let isAway = devices[index].legs == nil && devices[index].isOpen
        guard devices[index].cannotBePushed else {
            // It was dropped because the phone had come, which is no more than its leg can tell.
            if isAway { push(index, now, &verbs) } else { watch(index, now) }
            return
        }
        let contact = isAway ? devices[index].reachable : nil
        verbs.append(.note(.pushFailed(device: index, hasContact: contact != nil)))
        if let contact { ring(index, contact, now, &verbs) }
    }

    /// The provider has not taken a push for the call at the first try, and delivery tries again: the known contact is
    /// rung, since the push may come too late.
    public mutating func pushRetried(device index: Int, now: Int64) -> [CallVerb] {
        guard isFirstUnderway(index), devices[index].legs == nil, devices[index].isOpen,
            let contact = devices[index].reachable
        else { return [] }
        var verbs: [CallVerb] = [.note(.pushRetried(device: index))]
        ring(index, contact, now, &verbs)
        // The push is still to bring it where it is.
        devices[index].sent.afterLeg = lastLeg
        decide(now, &verbs)
        return verbs
    }

    /// The device's provider cannot be reached. Delivery goes on trying, and a call does not wait for that alone. A text
    /// does: nobody hears it wait.
    public mutating func pushUnreachable(device index: Int, now: Int64) -> [CallVerb] {
        guard isCall, isFirstUnderway(index) else { return [] }
        devices[index].push = .underway(.unreachable)
        var verbs: [CallVerb] = []
        decide(now, &verbs)
        return verbs
    }

    /// No provider has taken a push for the device, and one is under way.
    private func isFirstUnderway(_ index: Int) -> Bool {
        guard devices.indices.contains(index), !isClosed else { return false }
        return if case .underway(let attempt) = devices[index].push { attempt != .again } else { false }
    }
}
