// SPDX-License-Identifier: MIT

extension CallMachine {
    /// How a device stood when its engine was lost.
    public struct ResumedDevice: Equatable, Sendable {
        /// A provider had taken its push.
        public var wasPushed: Bool
        /// The leg that is out to it, and where.
        public var leg: Int?
        public var contact: CallContact?

        public init(wasPushed: Bool, leg: Int?, contact: CallContact?) {
            self.wasPushed = wasPushed
            self.leg = leg
            self.contact = contact
        }
    }

    /// Goes on with a request that another engine began, instead of `start(now:)`. `devices` stand in the order of
    /// those that the machine was made with. What a leg has said so far is not known, so it counts as heard.
    public mutating func resume(_ resumed: [ResumedDevice], lastLeg: Int, now: Int64) -> [CallVerb] {
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
                devices[index].leg?.heard = .trying
            } else if devices[index].device.canBePushed, !devices[index].device.isAwake, !resumed[index].wasPushed {
                push(index, now, &verbs)
            }
        }
        settle(now, &verbs)
        return verbs
    }
}
