// SPDX-License-Identifier: MIT

extension CallMachine {
    /// How a device stood when its engine was lost.
    public struct ResumedDevice: Equatable, Sendable {
        /// A provider had taken its push.
        public var wasPushed: Bool
        /// The leg that is out to it, where, and the last status that it answered; 0 for none. Above 300 the leg is over.
        public var leg: Int?
        public var contact: CallContact?
        public var status: Int

        public init(wasPushed: Bool, leg: Int?, contact: CallContact?, status: Int = 0) {
            self.wasPushed = wasPushed
            self.leg = leg
            self.contact = contact
            self.status = status
        }
    }

    /// The host has given up on all phones and sends the request elsewhere, into a mailbox or to a colleague. Phones that
    /// wake until then ring beside that; whoever answers first has the request.
    public mutating func continued(until: Int64, now: Int64) -> [CallVerb] {
        guard end == nil, outcome != .answered else { return [] }
        phase = .open
        hold = .elsewhere
        declineAt = nil
        endsAt = until
        var verbs: [CallVerb] = [.note(.continued(max(0, until - now)))]
        decide(now, &verbs)
        return verbs
    }

    /// The host keeps the request open by itself, so that only time has to be looked after.
    mutating func decideElsewhere(_ now: Int64, _ verbs: inout [CallVerb]) {
        if now >= endsAt { close(as: .timedOut) }
        guard isClosed else { return }
        for index in devices.indices { dropPush(index, &verbs) }
    }

    /// Begins a request whose devices were not known when it came, instead of `start(now:)`: its host has rung by itself whom it
    /// could reach, and holds it. `rung` stand in the order of the devices; `registrations` came since then.
    public mutating func startLate(
        _ rung: [ResumedDevice], lastLeg: Int, registrations: [CallRegistration] = [], now: Int64
    ) -> [CallVerb] {
        var verbs: [CallVerb] = []
        continueLegs(after: lastLeg)
        for index in devices.indices where index < rung.count { takeUp(index, rung[index], now) }
        var isThere = Set(devices.indices.filter { devices[$0].leg?.heard == .alerting || !devices[$0].isOpen })
        for registration in registrations {
            _ = join(registration, now, &verbs)
            if let device = index(of: registration) { isThere.insert(device) }
        }
        for index in devices.indices where !isThere.contains(index) { begin(index, now, &verbs) }
        decide(now, &verbs)
        return verbs
    }

    /// Goes on with a request that another engine began, instead of `start(now:)`. `resumed` stand in the order of those that
    /// the machine was made with; those that follow are known from their push alone. A leg that has said nothing may be older
    /// than the push. `registrations` came after the other engine was lost.
    public mutating func resume(
        _ resumed: [ResumedDevice], lastLeg: Int, registrations: [CallRegistration] = [], now: Int64
    ) -> [CallVerb] {
        var verbs: [CallVerb] = []
        continueLegs(after: lastLeg)
        for index in devices.indices where index < resumed.count {
            if resumed[index].wasPushed { devices[index].push = .accepted(repeatAt: nil) }
            guard takeUp(index, resumed[index], now) else { continue }
            if resumed[index].wasPushed { devices[index].sent.afterLeg = devices[index].leg?.number ?? 0 }
            watch(index, now)
        }
        // Pushed phones of which nothing is known any more (`store=memory`).
        for state in resumed.dropFirst(devices.count) where state.wasPushed { devices.append(.pushedUnknown) }
        for registration in registrations { _ = join(registration, now, &verbs) }
        for index in devices.indices where index < resumed.count && devices[index].legs == nil {
            guard devices[index].isOpen, devices[index].facts.canBePushed, !devices[index].facts.isAwake,
                !resumed[index].wasPushed
            else {
                continue
            }
            push(index, now, &verbs)
        }
        decide(now, &verbs)
        return verbs
    }

    /// The leg that is out to a device, or what its phone has answered; false when no leg is out.
    @discardableResult
    private mutating func takeUp(_ index: Int, _ resumed: ResumedDevice, _ now: Int64) -> Bool {
        guard let number = resumed.leg, let contact = resumed.contact else { return false }
        guard resumed.status < 300 else {
            guard contact.speaksItself(resumed.status) else { return false }
            devices[index].answer = .declined
            lastDecline = decline(index, hasRung: false, resumed.status, isFromPhone: true) ?? lastDecline
            return false
        }
        _ = devices[index].open(leg: number, contact, now, isSent: true, besideOld: false)
        devices[index].legs?.first.heard = .init(status: resumed.status)
        return true
    }
}
