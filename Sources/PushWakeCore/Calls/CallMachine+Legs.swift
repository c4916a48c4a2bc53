// SPDX-License-Identifier: MIT

/// Two legs of one device. Whether an app that registers elsewhere was started anew, or has several connections, no
/// REGISTER says for certain; its answers do. So its first leg stays open until the second one rings. An app that has
/// the request already refuses a second copy with 482 (RFC 3261, 8.2.2.2), and the first leg goes on.
///
/// A dialplan sends each leg as a call of its own, and a message cannot be taken back: there a leg is replaced at once.
extension CallMachine {
    /// Whether the leg of a device stays open beside the next one.
    func keepsOldLeg(_ index: Int) -> Bool {
        host == .proxy && isCall && devices[index].leg?.isSent != false
    }

    /// Closes the leg that counts less; false when there is none.
    mutating func closeOtherLeg(_ index: Int, _ verbs: inout [CallVerb]) -> Bool {
        guard let other = devices[index].otherLeg?.number else { return false }
        devices[index].otherLeg = nil
        verbs.append(.close(leg: other))
        return true
    }

    /// The leg that counts was heard: the device rings where it has registered last, and nowhere else.
    mutating func compareLegs(_ index: Int, _ verbs: inout [CallVerb]) {
        guard let leg = devices[index].leg, let other = devices[index].otherLeg else { return }
        if leg.heard == .alerting, leg.number > other.number {
            _ = closeOtherLeg(index, &verbs)
        } else {
            devices[index].orderLegs()
        }
    }

    /// One of two legs is over, and the device may take the request over the other.
    mutating func fallBack(
        _ index: Int, from leg: DeviceState.Leg, _ status: Int, _ now: Int64, _ verbs: inout [CallVerb]
    ) {
        verbs.append(.note(.legFailed(device: index, leg: leg.number, status: status)))
        let wasFirst = devices[index].leg?.number == leg.number
        devices[index].drop(leg, isFailed: status != DeviceState.isMerged)
        hostAwaitsVerb = true
        guard wasFirst, !isClosed, devices[index].leg?.heard == .nothing else { return }
        if status != DeviceState.isMerged, devices[index].needsPush(for: leg) {
            push(index, now, &verbs)
        } else {
            watch(index, now)
        }
    }
}

extension CallMachine {
    /// `Dial()` calls by itself where a phone says that it is (RFC 3261, 21.3).
    func isFollowed(_ status: Int) -> Bool { host == .dialplan && (300..<400).contains(status) }
}

extension DeviceState {
    /// What a device says to a request that it has over another leg already.
    static let isMerged = 482

    /// This leg is out to the device.
    func has(leg number: Int) -> Bool { leg?.number == number || otherLeg?.number == number }

    /// The leg with this number.
    func leg(_ number: Int) -> Leg? { leg?.number == number ? leg : otherLeg?.number == number ? otherLeg : nil }

    /// Makes room for a new leg. Of two that are out the one that counts stays; the other one has to be closed.
    mutating func putLegAside() -> Int? {
        let third = otherLeg?.number
        otherLeg = leg
        return third
    }

    /// Of two legs this one is spoken of.
    mutating func choose(leg number: Int) {
        if otherLeg?.number == number { swap(&leg, &otherLeg) }
    }

    /// The leg that was heard more of comes first, or else the newer one.
    mutating func orderLegs() {
        guard let leg, let otherLeg else { return }
        if (otherLeg.heard, otherLeg.number) > (leg.heard, leg.number) { swap(&self.leg, &self.otherLeg) }
    }

    /// A leg ends, and its status says nothing about the other one: the request could not be brought there, its device
    /// has it already, or is leaving that place, or has no room for a second copy.
    func isLeft(by ended: Leg, _ status: Int, _ isFromPhone: Bool) -> Bool {
        guard let rest = leg?.number == ended.number ? otherLeg : leg, otherLeg != nil else { return false }
        guard isFromPhone else { return ended.heard < .alerting || status == 503 && ended.contact.isDirect }
        guard status < 600, ended.heard < .alerting else { return false }
        return status == Self.isMerged || ended.number < rest.number || rest.heard == .alerting
    }

    /// Takes one of two legs away.
    mutating func drop(_ ended: Leg, isFailed: Bool) {
        if leg?.number == ended.number {
            leg = otherLeg
            silentAt = nil
            // Where it has registered since it is rung all the same, unless it has said that it has the request.
            if !isFailed { replacement = nil }
        }
        otherLeg = nil
        guard let leg else { return }
        if isFailed, ended.contact.key != leg.contact.key { failedKeys.append(ended.contact.key) }
        // The push is still to bring it.
        if legAtPush == ended.number, leg.number < ended.number { legAtPush = leg.number }
    }
}
