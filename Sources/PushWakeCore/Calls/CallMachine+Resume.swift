// SPDX-License-Identifier: MIT

extension CallMachine {
    /// How a device stood when its engine was lost.
    public struct ResumedDevice: Equatable, Sendable {
        /// A provider had taken its push.
        public var wasPushed: Bool
        /// The leg that is out to it, where, and the last status that it answered; 0 for none.
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
        guard end == nil, closing != .answered, !devices.contains(where: { $0.isAnswered }) else { return [] }
        isElsewhere = true
        isHeld = false
        closing = nil
        declineAt = nil
        endsAt = until
        var verbs: [CallVerb] = [.note(.continued(max(0, until - now)))]
        decide(now, &verbs)
        return verbs
    }

    /// The host keeps the request open by itself, so that only time has to be looked after.
    mutating func decideElsewhere(_ now: Int64, _ verbs: inout [CallVerb]) {
        if now >= endsAt, closing == nil { closing = .timedOut }
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
        isHeld = true
        for index in devices.indices where index < rung.count {
            guard let leg = rung[index].leg, let contact = rung[index].contact else { continue }
            devices[index].openLeg(leg, contact, now)
            devices[index].leg?.heard = .init(status: rung[index].status)
        }
        var isThere = Set(devices.indices.filter { devices[$0].leg?.heard == .alerting })
        for registration in registrations {
            _ = join(registration, now, &verbs)
            if let device = index(of: registration) { isThere.insert(device) }
        }
        for index in devices.indices where !isThere.contains(index) { begin(index, now, &verbs) }
        decide(now, &verbs)
        return verbs
    }

    /// Goes on with a request that another engine began, instead of `start(now:)`. `devices` stand in the order of
    /// those that the machine was made with; those that follow are known from their push alone. A leg that has said nothing may be older than the push. `registrations` came
    /// after the other engine was lost.
    public mutating func resume(
        _ resumed: [ResumedDevice], lastLeg: Int, registrations: [CallRegistration] = [], now: Int64
    ) -> [CallVerb] {
        var verbs: [CallVerb] = []
        continueLegs(after: lastLeg)
        // The host still holds it; whether it has to is decided below.
        isHeld = true
        for index in devices.indices where index < resumed.count {
            if resumed[index].wasPushed {
                devices[index].push = .accepted(repeatAt: nil)
                devices[index].wasPushed = true
            }
            if let leg = resumed[index].leg, let contact = resumed[index].contact {
                devices[index].openLeg(leg, contact, now)
                devices[index].leg?.heard = .init(status: resumed[index].status)
                devices[index].legAtPush = resumed[index].wasPushed ? leg : 0
                watch(index, now)
            }
        }
        // Pushed phones of which nothing is known any more (`store=memory`).
        for state in resumed.dropFirst(devices.count) where state.wasPushed { devices.append(.nameless) }
        for registration in registrations { _ = join(registration, now, &verbs) }
        for index in devices.indices where index < resumed.count && devices[index].leg == nil {
            guard devices[index].device.canBePushed, !devices[index].device.isAwake, !resumed[index].wasPushed else {
                continue
            }
            push(index, now, &verbs)
        }
        decide(now, &verbs)
        return verbs
    }
}
