// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// One request that waits for a phone, and the legs by which it goes on.
///
///     here ──302 or a numbered 100──► out ──answered──► over
///      ▲   └─ 480, 487, …: over        │
///      └── its phone has refused it, or another one has come ──┘        (a channel; a proxy keeps it here)
///
/// What becomes of it the engine's call machine decides; this executes that, and without an engine goes by `WaitingLeg+Alone`.
struct WaitingLeg {
    /// What an engine knows of the request.
    enum Engine: Equatable {
        /// Its user is not known yet.
        case unasked
        /// The question with this id has no answer.
        case asked(UInt32)
        /// It sends verbs. The ticket goes to the next engine; nil: it knows the request by `resume` alone.
        case watching(ticket: [UInt8]?)
        /// None is there, or it is silent.
        case away
        /// Nobody can be woken: who can be reached is rung, and that is all.
        case uninvolved
    }

    /// Where the request is; a proxy's is always here.
    enum Place: Equatable {
        case here
        /// At the phone of this leg.
        case out(Int)
        /// On its way back from a phone.
        case returning
    }

    /// The request as it goes to one phone.
    struct Leg: Equatable {
        enum State: Equatable {
            /// Not sent yet.
            case queued
            /// Its phone is asked whether it is there.
            case probed
            case out
            /// Its answer, 0: it was replaced or closed.
            case over(Int)
        }

        let number: Int
        /// What the engine calls it; 0: it does not know it.
        var engineNumber: Int
        var contact: WakeMessage.Contact
        var state = State.queued
        /// It is in a channel of its own, beside the phone that the request is at.
        var isBeside = false
        /// The leg that it replaces; 0 for none.
        var replaces = 0
        /// Its phone is asked by OPTIONS before the request moves there: a connection that is open says nothing of its app.
        var isDoubtful = false
        var wasProbed = false
        /// No leg: a phone that is pushed is asked besides whether it is awake after all.
        var isQuestion = false
        /// The highest provisional answer.
        var heard = 0
        /// What its phone has said for good; 0: nothing.
        var refusal = 0

        var isLive: Bool { if case .over = state { false } else { !isQuestion } }
    }

    /// Legs that no engine has named are numbered from here.
    static let firstUnnamed = 1001
    /// Milliseconds that a request waits for an engine, where none is there and nobody is surely awake.
    static let patience: Int64 = 2000
    /// Milliseconds that an engine may take to say what follows from an answer.
    static let verbPatience: Int64 = 1000
    /// Milliseconds past its wait after which an engine has failed.
    static let grace: Int64 = 1500
    /// Milliseconds for which a host may let phones ring, or take to say how a request has ended, once nobody is waited for.
    static let longestRing: Int64 = 180_000
    static let farewell: Int64 = 5000
    static let mostLegs = 256

    let subject: LegSubject
    let isChannel: Bool
    let isCall: Bool
    /// Of a message: what phones are to read.
    let content: SIPContent
    let dialog: WaitingLegs.Dialog
    var wake: WakeMessage
    var transaction: KeptRequest.Transaction
    /// In a channel: phones ring beside the one that it is at.
    var ringsAll: Bool
    var engine = Engine.unasked
    var place = Place.here
    var legs: [Leg] = []
    /// Contacts that have answered a question, of which the engine was told.
    var confirmed: Set<String> = []
    /// The best answer of phones; 0: none so far.
    var best = 0
    /// Pushes that were taken, a bit for each device.
    var pushed: UInt64 = 0
    let beganAt: Int64
    /// When the wait ends by our own clock.
    var endsAt: Int64
    /// Until then something is hoped for: an engine, or its word.
    var hopesUntil: Int64?
    /// It ends with this status as soon as it is here.
    var verdict: Int?
    /// Of a proxy: its branch has its final answer, and this is how the request ends unless its host says otherwise.
    var left: WaitingLegs.End?
    /// Legs that an engine wanted since then.
    var lateLegs: [Int] = []
    /// The highest provisional answer that the host has had here.
    var told = 100
    /// When `WaitingLegs` looks at it next.
    var watchedAt: Int64?
    private var lastNumber = 0

    init(
        _ subject: LegSubject, _ request: KeptRequest, _ wake: WakeMessage, content: SIPContent, _ policy: LegPolicy,
        now: Int64
    ) {
        self.subject = subject
        dialog = WaitingLegs.Dialog(callID: request.callID, fromTag: request.fromTag)
        self.wake = wake
        self.content = content
        isChannel = policy.host == .dialplan
        isCall = request.method == "INVITE"
        ringsAll = policy.ringsAll
        transaction = request.transaction
        beganAt = now
        let seconds = wake.seconds > 0 ? min(wake.seconds, 86_400) * 1000 : policy.wakeTimeout
        endsAt = now &+ seconds &+ Self.grace
    }

    var handle: UInt64 { subject.handle }

    /// When `WaitingLegs` has to look at it.
    var deadline: Int64 { min(endsAt, hopesUntil ?? .max) }

    var isWatched: Bool { if case .watching = engine { true } else { false } }

    var lastLeg: Int { legs.reduce(0) { max($0, $1.number) } }

    /// Of which nothing counts now, and no phone has said so.
    var closedLegs: [Int] {
        legs.filter { leg in
            if case .over(let status) = leg.state { leg.refusal == 0 && !(200..<300).contains(status) } else { false }
        }.map(\.number)
    }

    /// A phone may still answer.
    var hasLiveLeg: Bool { legs.contains { $0.isLive } }

    func index(ofLeg number: Int) -> Int? { legs.firstIndex { $0.number == number } }

    func index(ofEngineLeg number: Int) -> Int? { legs.firstIndex { $0.engineNumber == number && number > 0 } }

    /// The engine, or we ourselves (`number` 0), want this contact rung. A leg that is out to it already becomes the one that is meant.
    mutating func add(_ contact: WakeMessage.Contact, engineNumber number: Int, replaces: Int) -> Int? {
        let same = legs.firstIndex { $0.engineNumber == 0 && $0.contact.key == contact.key && !$0.isQuestion }
        if let same, number > 0 {
            legs[same].engineNumber = number
            return same
        }
        guard legs.count < Self.mostLegs, number == 0 || index(ofLeg: number) == nil else { return nil }
        let own = max(number, number > 0 ? 0 : max(lastLeg + 1, Self.firstUnnamed))
        legs.append(Leg(number: own, engineNumber: number, contact: contact, replaces: replaces))
        return legs.count - 1
    }

    /// Whether the request is at this contact, or on its way there.
    func rings(_ key: String) -> Bool { legs.contains { $0.isLive && $0.contact.key == key } }

    /// The place of the leg that a new one would replace, if it leads to the same contact and that has only answered a question.
    /// That phone must not get the request twice.
    mutating func confirmedLeg(_ replaced: Int, _ contact: WakeMessage.Contact) -> Int? {
        guard let index = index(ofLeg: replaced), legs[index].isLive, legs[index].contact.key == contact.key,
            confirmed.remove(contact.key) != nil
        else { return nil }
        return index
    }

    /// Whether a phone that counts as awake is asked before the request moves there, since only its connection says so.
    func isDoubtful(_ contact: WakeMessage.Contact) -> Bool {
        isChannel && isCall && contact.reach == .open && !contact.isBehindProxy && contact.path.isEmpty
    }

    /// Asks phones that are being pushed whether they are awake after all; the places of the questions.
    mutating func addQuestions(_ contacts: [WakeMessage.Contact]) -> [Int] {
        guard isChannel, isCall else { return [] }
        var added: [Int] = []
        for contact in contacts
        where contact.reach == .datagram && !contact.isBehindProxy && contact.path.isEmpty && legs.count < Self.mostLegs
        {
            var leg = Leg(
                number: max(lastLeg + 1, Self.firstUnnamed), engineNumber: 0, contact: contact, state: .probed)
            leg.isQuestion = true
            legs.append(leg)
            added.append(legs.count - 1)
        }
        return added
    }

    /// Of the next 100 that a worker of a proxy does something for: they overtake each other.
    mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// What the caller of a proxy hears from this branch in the end: 599 loses against everything that phones say.
    func finalStatus(_ wanted: Int) -> Int {
        if isChannel { return best > 0 ? best : wanted }
        guard wanted >= 300 else { return wanted }
        return hasLiveLeg || best > 0 ? 599 : wanted
    }
}
