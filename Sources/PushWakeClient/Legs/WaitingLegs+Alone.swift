// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// What becomes of waiting requests while no engine answers.
///
/// | request | what becomes of it |
/// |---|---|
/// | comes now, and a phone is surely awake | rings there |
/// | comes now, and nobody is | waits two seconds for the next engine; then the known contact, else 480 |
/// | was pushed before | waits for who registers, until its time is over |
/// | its phone has refused it | that is its answer |
extension WaitingLegs {
    /// A phone of this user has registered, and the engine did not hear of it: all that wait for him go there.
    package mutating func registered(
        _ contact: WakeMessage.Contact, aor: String, domain: String, now: Int64
    ) -> [LegAction] {
        var out: [LegAction] = []
        for handle in legs.keys.sorted() {
            guard let leg = legs[handle], leg.subject.aor == aor, leg.subject.domain == domain, leg.mayRing(contact)
            else { continue }
            // Whether it is the phone that says nothing nobody can tell; where all ring both may.
            let isOne = leg.isChannel && !leg.ringsAll
            let replaced = isOne ? leg.legs.first { $0.isLive && $0.heard == 0 }?.number : nil
            ring(handle, contact, engineNumber: 0, replaces: replaced ?? 0, now, &out)
            legs[handle]?.hopesUntil = nil
            advance(handle, now, &out)
            watch(handle)
        }
        return out
    }

    /// No engine can be asked: who is surely awake rings, and else one is hoped for.
    mutating func goAlone(_ handle: UInt64, _ now: Int64, _ out: inout [LegAction]) {
        guard let leg = legs[handle], leg.engine != .uninvolved, !leg.isWatched, leg.left == nil else { return }
        legs[handle]?.hopesUntil = leg.hasLiveLeg ? nil : min(leg.beganAt, now) &+ WaitingLeg.patience
        ringKnown(handle, now, &out) { [awakeFor = policy.awakeFor] in
            $0.reach == .open || CallDevices.isFresh($0.age, awakeFor)
        }
        if legs[handle]?.hasLiveLeg == true { legs[handle]?.hopesUntil = nil }
        watch(handle)
    }

    /// Nobody can be woken: who can be reached rings, and that is all.
    mutating func goWithoutPush(_ handle: UInt64, _ now: Int64, _ out: inout [LegAction]) {
        legs[handle]?.engine = .uninvolved
        legs[handle]?.hopesUntil = nil
        ringKnown(handle, now, &out) { _ in true }
        goOnAlone(handle, now, &out)
        watch(handle)
    }

    /// Rings those known contacts that were not rung yet.
    private mutating func ringKnown(
        _ handle: UInt64, _ now: Int64, _ out: inout [LegAction], where isWanted: (WakeMessage.Contact) -> Bool
    ) {
        guard let leg = legs[handle] else { return }
        for contact in leg.reachable
        where contact.reach != .lost && contact.reach != .refuses && isWanted(contact) {
            guard !leg.legs.contains(where: { $0.contact.key == contact.key && !$0.isQuestion }) else { continue }
            ring(handle, contact, engineNumber: 0, isKnown: true, now, &out)
        }
        advance(handle, now, &out)
    }

    /// A leg is over, and no engine says what follows.
    mutating func goOnAlone(_ handle: UInt64, _ now: Int64, _ out: inout [LegAction]) {
        guard let leg = legs[handle], !leg.hasLiveLeg else { return }
        let isHoped = leg.engine != .uninvolved && leg.best == 0 && (leg.pushed != 0 || leg.hopesUntil != nil)
        if !isHoped { legs[handle]?.verdict = 480 }
        advance(handle, now, &out)
    }

    /// The engine of this request is gone. What a phone has said counts at once: the next engine would ring nobody else in time.
    mutating func hopeAlone(_ handle: UInt64, _ now: Int64, _ out: inout [LegAction]) {
        guard let leg = legs[handle], !leg.hasLiveLeg, leg.best > 0 || leg.verdict != nil else { return }
        legs[handle]?.verdict = leg.verdict ?? 480
        advance(handle, now, &out)
        watch(handle)
    }

    /// What was hoped for has not come, or the whole wait is over.
    mutating func timeIsOver(_ handle: UInt64, _ now: Int64, _ out: inout [LegAction]) {
        guard let leg = legs[handle] else { return }
        if now >= leg.endsAt { return end(handle, leg, now, &out) }
        legs[handle]?.hopesUntil = nil
        switch leg.engine {
        case .asked:
            let isFirst = !leg.hasLiveLeg && now < leg.beganAt &+ WaitingLeg.patience
            isFirst ? goAlone(handle, now, &out) : ringAll(handle, now, &out)
        case .away: ringAll(handle, now, &out)
        // It owes a verb since a leg was over.
        case .watching: goOnAlone(handle, now, &out)
        case .unasked, .uninvolved: break
        }
    }

    private mutating func ringAll(_ handle: UInt64, _ now: Int64, _ out: inout [LegAction]) {
        ringKnown(handle, now, &out) { _ in true }
        goOnAlone(handle, now, &out)
    }

    /// By our own clock. Whoever rings goes on: the caller, or the host, has a time of their own for that.
    private mutating func end(_ handle: UInt64, _ leg: WaitingLeg, _ now: Int64, _ out: inout [LegAction]) {
        let rings = leg.isChannel && leg.legs.contains { $0.state == .out && $0.heard > 100 }
        guard !rings else {
            legs[handle]?.endsAt = now &+ 60_000
            return
        }
        if case .out(let number) = leg.place {
            // It says nothing, and is taken back.
            legs[handle]?.verdict = 480
            legs[handle]?.endsAt = now &+ WaitingLeg.grace
            if let index = leg.index(ofLeg: number), leg.legs[index].isLive {
                legs[handle]?.legs[index].state = .over(0)
                legs[handle]?.place = .returning
                return out.append(.close(handle, leg: number))
            }
        }
        if let end = leg.left { return finish(handle, end, status: 487, now, &out) }
        conclude(handle, .timedOut, status: leg.finalStatus(480), now, &out)
    }
}
