// SPDX-License-Identifier: MIT

/// Where one device stands in one request.
struct DeviceState {
    /// What it has said to the request.
    enum Answer {
        case none
        /// It came for a push, and said nothing to the leg that it got.
        case silence
        case accepted
        /// A final code other than 2xx, or it was left ringing.
        case declined
    }

    /// Where the push for the request stands.
    enum Push {
        case none
        case underway(Attempt)
        /// It is no longer needed; its outcome will say whether it had left.
        case dropped(Attempt)
        /// `repeatAt`: when it is pushed again if it stays away.
        case accepted(repeatAt: Int64?)
        /// No provider has taken it, and it is not sent again.
        case failed

        /// The one whose outcome is not known yet.
        var attempt: Attempt? {
            switch self {
            case .underway(let attempt), .dropped(let attempt): attempt
            case .none, .accepted, .failed: nil
            }
        }

        /// It has left, or may still.
        var mayArrive: Bool { if case .accepted = self { true } else { attempt != nil } }
    }

    enum Attempt {
        case first
        /// The first, and no connection to its provider can be had.
        case unreachable
        /// A provider has taken one before.
        case again
    }

    enum Binding {
        case kept
        /// It is gone. An app that corrects its address has until then to register anew.
        case leaving(until: Int64)
        /// Pushes may no longer reach the device.
        case gone
    }

    /// What may still bring the request to the device.
    enum Hope {
        case none
        /// Its leg may be answered.
        case leg
        /// A push may bring it.
        case push
        /// The same, once its provider can be reached.
        case provider
    }

    /// What is known of the device.
    var facts: CallDevice
    var answer = Answer.none
    /// Those that are out to it.
    var legs: DeviceLegs?
    /// Where it has registered while its leg may still be answered, or too fast, and when a leg goes there.
    var next: (contact: CallContact, at: Int64)?
    var push = Push.none
    /// Pushes so far, and the leg that was out when the last one was sent, 0 for none: a later leg went to where the device
    /// is now.
    var sent = (count: 0, afterLeg: 0)
    /// When it was pushed first.
    private var pushedAt: Int64?
    var binding = Binding.kept
    /// Of each leg so far, as it was when that was opened.
    private(set) var rungContacts: [CallContact] = []
    private var legOpenedAt: Int64 = 0
    private(set) var failedKeys: [String] = []
    /// It rings where datagrams no longer reach it: it has registered from elsewhere since.
    var hasMoved = false
    /// It has been shown the end by `ringAndCancel`.
    var endWasShown = false

    init(_ facts: CallDevice) { self.facts = facts }

    /// A provider has taken its push, and nothing else is known of it: whoever registers, and is not another device, is it.
    static var pushedUnknown: DeviceState {
        var state = DeviceState(CallDevice())
        state.push = .accepted(repeatAt: nil)
        return state
    }

    // MARK: Its legs

    /// The one that counts.
    var leg: CallLeg? { legs?.first }

    func contact(of leg: CallLeg) -> CallContact { rungContacts[leg.place] }

    /// Legs that a device gets as fast as it registers.
    private static let quickLegs = 6

    /// When it may get another leg because it has registered. Each one costs its host a branch, or a channel and a `Dial()`
    /// within another one, and who registers from new ports all the time gets them more and more slowly.
    var nextLegAt: Int64 {
        guard rungContacts.count >= Self.quickLegs else { return .min }
        return legOpenedAt + (1000 << Int64(min(rungContacts.count - Self.quickLegs, 4)))
    }

    /// A leg goes out. Returns the one that it replaces, and the one for which there is no room.
    mutating func open(
        leg number: Int, _ contact: CallContact, _ now: Int64, isSent: Bool, besideOld: Bool
    ) -> (replaced: Int?, superfluous: Int?) {
        let leg = CallLeg(number: number, place: rungContacts.count, openedAt: now, sentAt: isSent ? now : nil)
        let old = legs
        legs = DeviceLegs(leg, other: besideOld ? old?.first : old?.other)
        rungContacts.append(contact)
        hasMoved = false
        legOpenedAt = now
        next = nil
        return besideOld ? (nil, old?.other?.number) : (old?.first.number, nil)
    }

    /// Its leg is no longer out. `isFailed`: the contact of the one that counted is not tried again.
    mutating func closeLegs(isFailed: Bool = true) {
        if isFailed, let leg { failedKeys.append(contact(of: leg).key) }
        legs = nil
        next = nil
    }

    /// One of two legs is over. `isFailed`: its contact is not tried again.
    mutating func close(_ ended: CallLeg, isFailed: Bool) {
        guard let legs, let rest = legs.other(than: ended) else { return }
        var left = DeviceLegs(rest)
        if legs.first.number != ended.number {
            left.silentAt = legs.silentAt
        } else if !isFailed {
            // Where it has registered since it is rung all the same, unless it has said that it has the request.
            next = nil
        }
        self.legs = left
        let key = contact(of: ended).key
        if isFailed, key != contact(of: rest).key { failedKeys.append(key) }
        // The push is still to bring it.
        if sent.afterLeg == ended.number, rest.number < ended.number { sent.afterLeg = rest.number }
    }

    /// It registers: it has left where it was before, unless it has several flows (RFC 5626), or had this contact already.
    mutating func supersede(by contact: CallContact) {
        guard !facts.contacts.contains(where: { $0.key == contact.key }) else { return }
        for old in facts.contacts where !old.isBeside(contact) { failedKeys.append(old.key) }
    }

    /// Another device has turned out to be this one: its contacts and its legs are this one's.
    mutating func takeOver(_ other: DeviceState) {
        facts.instance = other.facts.instance
        facts.contacts = other.facts.contacts
        (legs, next, rungContacts) = (other.legs, other.next, other.rungContacts)
        failedKeys += other.failedKeys
    }

    mutating func pushed(_ now: Int64) {
        pushedAt = pushedAt ?? now
        push = .underway(wasPushed ? .again : .first)
        sent.count += 1
        sent.afterLeg = leg?.number ?? 0
    }
}

/// What follows from that.
extension DeviceState {
    /// It has neither accepted nor declined.
    var isOpen: Bool { answer == .none || answer == .silence }

    /// A provider has taken a push for the request.
    var wasPushed: Bool { if case .accepted = push { true } else { push.attempt == .again } }

    /// No provider has taken its push: it is not sent again, or no connection to the provider can be had.
    var cannotBePushed: Bool {
        if case .failed = push { true } else { push.attempt == .unreachable }
    }

    private var mayBeWoken: Bool { if case .gone = binding { false } else { push.mayArrive } }

    var hope: Hope {
        guard let leg else {
            guard isOpen, next != nil || mayBeWoken else { return .none }
            return if case .underway(.unreachable) = push, next == nil { .provider } else { .push }
        }
        guard isOpen, leg.heard == .nothing else { return .leg }
        // Whether it is still connected there, its node will say.
        return rungContacts[leg.place].isElsewhere || leg.number == sent.afterLeg && mayBeWoken && !cannotBePushed
            ? .push : .leg
    }

    /// A push may still bring it.
    var isAwaited: Bool { hope == .push || hope == .provider }

    /// Nothing but its push is known of it.
    var isUnknown: Bool {
        wasPushed && legs == nil && facts.contacts.isEmpty && facts.tokens.isEmpty && facts.instance.isEmpty
    }

    /// Its tokens are all that is known of it.
    var hasOnlyTokens: Bool { facts.hasOnlyTokens && facts.contacts.isEmpty && legs == nil && isOpen }

    /// A phone of which no token is known; not one that another has turned out to be.
    var isPlainPhone: Bool { facts.tokens.isEmpty && !isUnknown && !(facts.contacts.isEmpty && legs == nil) }

    /// Where a request can go without the phone's help, the best one first: nil when it has to come by itself.
    var reachable: CallContact? {
        var best: Int?
        for index in facts.contacts.indices
        where facts.contacts[index].canBeRung && !failedKeys.contains(facts.contacts[index].key) {
            if facts.contacts[index].reach == .open { return facts.contacts[index] }
            if best == nil { best = index }
        }
        return best.map { facts.contacts[$0] }
    }

    /// A leg is over, and its status says nothing about the one beside it: the request could not be brought there, its
    /// device has it already, or is leaving that place, or has no room for a second copy.
    func goesOn(without ended: CallLeg, _ status: Int, _ isFromPhone: Bool) -> Bool {
        guard let legs, legs.other != nil, let rest = legs.other(than: ended) else { return false }
        guard isFromPhone else { return ended.heard < .alerting || status == 503 && contact(of: ended).isDirect }
        guard status < 600, ended.heard < .alerting else { return false }
        return status == CallLeg.merged || ended.number < rest.number || rest.heard == .alerting
    }

    /// A phone's app that has shown the pushed call for too long has ended it, and declines the INVITE that comes too late before
    /// anybody could: liblinphone does after 15 s (`push_incoming_call_timeout`). That is no word of the user's, for whom
    /// 603 would end the call at all phones (RFC 3261, 21.6.2). Kamailio's glue decides the same (`on_late_decline`).
    func isTooLate(_ leg: CallLeg, _ status: Int, _ now: Int64) -> Bool {
        guard status == 603, let pushedAt, leg.heard < .alerting else { return false }
        return leg.since - pushedAt >= Self.latePause && now - leg.since <= Self.quickDecline
    }

    /// Milliseconds from a push to the INVITE after which it is late, and from that to an answer that nobody gave.
    private static let (latePause, quickDecline): (Int64, Int64) = (15_000, 500)

    /// Milliseconds for which an app that a push has woken is there for its request, at the least.
    private static let wakeGrace: Int64 = 1000

    /// A push is of use when its leg brings nothing: it was not pushed, or came for its push, and the host came to its leg so
    /// much later that the app may be suspended again (an announcement between, or phones that are rung in turn).
    func needsPush(for leg: CallLeg) -> Bool {
        guard facts.canBePushed, case .kept = binding else { return false }
        switch push {
        case .none: return true
        case .accepted:
            return leg.heard == .nothing && leg.number != sent.afterLeg && leg.since - leg.openedAt >= Self.wakeGrace
        case .underway, .dropped, .failed: return false
        }
    }

    /// Milliseconds within which a phone that is there says something.
    static let silence: Int64 = 5000

    /// When its leg counts as lost: nothing else brings it now, since it came for its push or no provider took one,
    /// and it said nothing to what it was sent since. A proxy or a node before the phone may take its time.
    var lostAt: Int64 {
        guard isOpen, let leg, let sentAt = leg.sentAt, leg.heard == .nothing,
            cannotBePushed || wasPushed && leg.number != sent.afterLeg, rungContacts[leg.place].isDirect
        else { return .max }
        return sentAt + Self.silence
    }

    /// It came for a push, and has said nothing since.
    func isSilent(_ now: Int64) -> Bool {
        wasPushed && (legs == nil ? answer == .silence : now >= lostAt)
    }

    /// Milliseconds that a phone has for its first word where `silent_after` names none.
    private static let firstWord: Int64 = 1500

    /// Its leg is alive: the CANCEL, or what the phone said itself, tells it of the end. To who came for a push and was
    /// silent until the end the CANCEL goes as the INVITE did: nobody reads it. Nor does a phone that rings over UDP and moves.
    func hearsOverSIP(at end: Int64, _ policy: CallPolicy) -> Bool {
        guard let leg else { return false }
        if leg.heard > .nothing { return !hasMoved }
        let pause = policy.silentAfter.flatMap { $0 > 0 ? $0 : nil } ?? Self.firstWord
        return leg.number != sent.afterLeg && end - (leg.sentAt ?? end) < pause
    }

    /// When something has to be done for it; `.max` for never.
    var deadline: Int64 {
        var deadline = min(legs?.silentAt ?? .max, next?.at ?? .max)
        if case .accepted(let at?) = push { deadline = min(deadline, at) }
        if case .leaving(let until) = binding { deadline = min(deadline, until) }
        return deadline
    }
}
