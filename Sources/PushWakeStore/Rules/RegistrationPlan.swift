// SPDX-License-Identifier: MIT

import PushWakeCore

/// What a registration does to the bindings that its user has.
///
/// Pure, so that every store decides alike. Indices count in the arrays given to `init`.
struct RegistrationPlan {
    /// Overtaken by a later REGISTER: nothing is to be done.
    private(set) var isStale = false
    /// Bindings whose place is taken.
    private(set) var replaced: [Int] = []
    /// Those of them that belong to other devices and give way for want of room.
    private(set) var evicted: [Int] = []
    /// Tombstones that go.
    private(set) var cleared: [Int] = []
    /// What is to be stored, each token once.
    private(set) var stored: [Binding] = []
    /// Contacts that the device has left.
    private(set) var leftContacts: [String] = []
    /// Contacts that it may have beside the new one, of the other address family.
    private(set) var otherFamily: [String] = []
    /// What of `stored` has a token that the user did not have.
    private(set) var newTokens: [Binding] = []
    /// The others whose REGISTER is the first of a period (`BindingLimits.tokenNotePeriod`).
    private(set) var dueTokens: [Binding] = []

    init(
        storing new: [Binding], over live: [Binding], tombstones: [RemovedBinding],
        perUser: Int = BindingLimits.perUser,
        now: Int64
    ) {
        guard let first = new.first else {
            isStale = true
            return
        }
        let rules = Rules(first: first, new: new)
        if live.contains(where: { rules.isOvertaken(by: $0, now: now) }) {
            isStale = true
            return
        }
        replaced = rules.matches(in: live)
        if !tombstones.isEmpty { cleared = rules.matches(in: tombstones.map(\.binding)) }
        stored = new.count == 1 ? new : Self.unique(new.filter { $0.aor.isSameBytes(as: first.aor) })
        sortTokens(live)
        for index in cleared {
            let removed = tombstones[index].binding
            keepAcceptance(of: removed)
            leave(removed, live, now)
        }
        for index in replaced { leave(live[index], live, now) }
        // ORDER: last, since a phone that gives way is still registered under its contact.
        evict(from: live, perUser)
    }

    /// A token that works does so whatever its phone registers.
    private mutating func keepAcceptance(of old: Binding) {
        guard old.acceptedAt != 0 else { return }
        for index in stored.indices where stored[index].hasSameToken(as: old) {
            stored[index].acceptedAt = old.acceptedAt
        }
    }

    private mutating func sortTokens(_ live: [Binding]) {
        for index in stored.indices {
            let binding = stored[index]
            guard let known = live.firstIndex(where: { binding.hasSameToken(as: $0) }) else {
                newTokens.append(binding)
                continue
            }
            if live[known].acceptedAt != 0 { stored[index].acceptedAt = live[known].acceptedAt }
            let period = BindingLimits.tokenNotePeriod
            if live[known].registeredAt / period != binding.registeredAt / period { dueTokens.append(binding) }
        }
    }

    /// Makes room when the user has as many bindings as one may have.
    private mutating func evict(from live: [Binding], _ perUser: Int) {
        guard live.count + stored.count > perUser else { return }
        let staying = live.indices.filter { !replaced.contains($0) }
        let excess = staying.count + stored.count - perUser
        guard excess > 0 else { return }
        evicted += staying.sorted { live[$0].registeredAt < live[$1].registeredAt }.prefix(excess)
        replaced += evicted
        if stored.count > perUser { stored = Array(stored.suffix(perUser)) }
    }

    private static func unique(_ bindings: [Binding]) -> [Binding] {
        var result: [Binding] = []
        for binding in bindings {
            result.removeAll { $0.hasSameToken(as: binding) && $0.service == binding.service }
            result.append(binding)
        }
        return result
    }

    /// Notes the contact of a binding that goes, where no other has it and the phone does not have it beside the new one.
    private mutating func leave(_ old: Binding, _ live: [Binding], _ now: Int64) {
        let contact = old.contact
        guard !contact.isEmpty, !stored.contains(where: { $0.contact.isSameBytes(as: contact) }),
            !(leftContacts + otherFamily).contains(where: { $0.isSameBytes(as: contact) }), let new = stored.first
        else { return }
        for index in live.indices where live[index].forgetAt > now && !replaced.contains(index) {
            if live[index].contact.isSameBytes(as: contact) { return }
        }
        if !old.isBeside(instance: new.instance, contact: new.contact, flowNumber: new.flowNumber) {
            leftContacts.append(contact)
        } else if old.flowNumber == 0 || new.flowNumber == 0 {
            otherFamily.append(contact)
        }
    }
}

/// Which stored bindings a REGISTER touches.
private struct Rules {
    private let first: Binding
    private let new: [Binding]
    private let device: DeviceIdentity

    init(first: Binding, new: [Binding]) {
        self.first = first
        self.new = new
        device = DeviceIdentity(instance: first.instance, contact: first.contact, callID: first.callID)
    }

    func isOvertaken(by old: Binding, now: Int64) -> Bool {
        old.expiresAt > now && old.cseq > first.cseq
            && now.subtractingSaturating(old.registeredAt) <= BindingLimits.overtaking && !first.callID.isEmpty
            && old.callID.isSameBytes(as: first.callID)
    }

    /// A device whose token comes again under another instance (reinstalled, say) leaves with all its tokens.
    func matches(in bindings: [Binding]) -> [Int] {
        var matching: [Int] = []
        // Nobody asks for it, as a rule: the device has what it had.
        var sameToken: [Int]?
        for index in bindings.indices {
            var isMatch = !isOfSameRegister(bindings[index]) && device.owns(bindings[index])
            if !isMatch {
                let same = sameToken ?? bindings.indices.filter { hasSameToken(bindings[$0]) }
                sameToken = same
                isMatch = same.contains { bindings[$0].isSibling(of: bindings[index]) }
            }
            if isMatch { matching.append(index) }
        }
        return matching
    }

    private func hasSameToken(_ old: Binding) -> Bool { new.contains { $0.hasSameToken(as: old) } }

    /// One REGISTER may bring several Contacts (RFC 3261, 10.2.1); they do not replace each other.
    private func isOfSameRegister(_ old: Binding) -> Bool {
        old.cseq == first.cseq && !first.callID.isEmpty && old.callID.isSameBytes(as: first.callID)
            && !old.contact.isSameBytes(as: first.contact)
    }
}

/// What a jump of the wall clock does to bindings: time has not passed, so what was valid stays valid for as long.
///
/// Forward, that is what was registered by the old clock and would be over by the new one; backward, what is from the
/// future by the new one, and by more than nodes differ and a walk through a shared store takes: phones register
/// meanwhile by a clock that is right. What another clock has stamped before, and is over by the right one, stays over.
struct ClockShift {
    let old: Int64
    let new: Int64

    init(from old: Int64, to new: Int64) { (self.old, self.new) = (old, new) }

    /// Seconds that a time may lie ahead.
    private static let slack: Int64 = 3600

    /// Seconds to add to times.
    var seconds: Int64 { new.subtractingReportingOverflow(old).partialValue }

    /// Condition of a row, with `old` as ?1 and `new` as ?2.
    static let condition = """
        CASE WHEN ?2 > ?1 THEN registered_at <= ?1 AND forget_at > ?1 AND forget_at <= ?2 ELSE registered_at > ?2 + \(slack) END
        """

    /// The same of a binding.
    func concerns(_ binding: Binding) -> Bool {
        new > old
            ? binding.registeredAt <= old && binding.forgetAt > old && binding.forgetAt <= new
            : binding.registeredAt > new.addingSaturating(Self.slack)
    }

    func apply(to binding: inout Binding) {
        binding.registeredAt = binding.registeredAt.addingSaturating(seconds)
        binding.expiresAt = binding.expiresAt.addingSaturating(seconds)
        binding.forgetAt = binding.forgetAt.addingSaturating(seconds)
    }
}
