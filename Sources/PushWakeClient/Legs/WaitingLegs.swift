// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// Requests of a host that wait for phones: a SIP server without I/O, to which the host dials a phone that sleeps as it dials
/// any other.
///
///     host ──INVITE, CANCEL, ACK, MESSAGE, OPTIONS──► WaitingLegs ──questions, reports──► engine: CallMachine
///          ◄──100, 180, 302, 480, 487─────────────────┘         ◄──answers, verbs───────┘
///
/// RING becomes SIP. A request in a channel (`dialplan`) gets a 302 that names leg, contact and Path, and moves there by itself;
/// it comes back when that phone does not take it. A proxy gets a numbered 100 that names the same, and adds a branch. GIVE_UP is a
/// final answer, TELL a provisional one, HOLD nothing.
///
/// It lives in the one process of the host that outlives an engine. Without one it rings who registers, ends the wait by its own
/// clock, and hands to the next engine what it holds. Times are monotonic milliseconds.
package struct WaitingLegs: ~Copyable {
    /// More requests than these are refused with 503.
    package static let most = 50_000

    /// Names a request in a channel when it comes back: its dialog.
    struct Dialog: Hashable {
        let callID: String
        let fromTag: String
    }

    var policy: LegPolicy
    var messages = LegMessages()
    var legs: [UInt64: WaitingLeg] = [:]
    /// `movesTo`: the engine's leg that a 302 has named, 0: none.
    var transactions: [KeptRequest.Transaction: (server: ServerTransaction, handle: UInt64, movesTo: Int)] = [:]
    /// Of channels.
    var dialogs: [Dialog: UInt64] = [:]
    /// Questions without an answer, and whose they are.
    var questions: [UInt32: UInt64] = [:]
    var timers = LegTimers()
    var isEngineHere = false
    /// Since when an engine owes an answer.
    var askedAt: Int64?
    private var lastHandle: UInt64
    private var random: SplitMix

    /// `seed`: for the tags of answers. `firstHandle` must be another one in each run of the host.
    package init(_ policy: LegPolicy, seed: UInt64, firstHandle: UInt64 = 0) {
        self.policy = policy
        random = SplitMix(seed: seed)
        lastHandle = firstHandle & ~Self.mark
    }

    private static let mark: UInt64 = 1 << 63

    /// Whether a handle is that of a waiting request; hosts give their own none with the highest bit.
    package static func isOwn(_ handle: UInt64) -> Bool { handle & mark != 0 }

    /// Requests that wait, or are out at a phone.
    package var count: Int { legs.count }

    /// Takes other settings, for requests to come.
    package mutating func take(_ policy: LegPolicy) { self.policy = policy }

    // MARK: What the host sends

    /// A SIP message of the host. What is none, or cannot be answered, is dropped.
    package mutating func receive(_ bytes: Span<UInt8>, now: Int64) -> [LegAction] {
        guard let request = KeptRequest(bytes) else { return [] }
        var out: [LegAction] = []
        switch request.method {
        case "ACK": acknowledge(request, now)
        case "CANCEL": cancel(request, now, &out)
        case _ where transactions[request.transaction] != nil: repeated(request.transaction, now, &out)
        case "INVITE": invite(request, bytes, now, &out)
        default: other(request, bytes, now, &out)
        }
        return out
    }

    /// A proxy sends a request again that has no answer. Until then none is needed: it waits there anyway.
    private mutating func repeated(
        _ transaction: KeptRequest.Transaction, _ now: Int64, _ out: inout [LegAction]
    ) {
        guard let server = transactions[transaction]?.server else { return }
        if let bytes = server.repeated() {
            out.append(.answer(bytes))
        } else if server.isOpen {
            answer(transaction, 100, now, &out)
        }
    }

    private mutating func acknowledge(_ request: KeptRequest, _ now: Int64) {
        transactions[request.transaction]?.server.acknowledged(now: now)
        settle(request.transaction, now)
    }

    private mutating func cancel(_ request: KeptRequest, _ now: Int64, _ out: inout [LegAction]) {
        let known = transactions[request.transaction]
        out.append(.answer(request.answer(known == nil ? 481 : 200, tag: nextTag())))
        guard let (_, handle, leg) = known else { return }
        if legs[handle]?.transaction == request.transaction {
            // A proxy cancels its branch for an answer of another one too, and says so.
            conclude(handle, .cancelled(request.reason), status: 487, now, &out)
        }
        // The 302 came too late: the request has not moved to that phone.
        if leg > 0 { reportLate(handle, leg: leg, &out) }
    }

    private mutating func invite(
        _ request: KeptRequest, _ bytes: Span<UInt8>, _ now: Int64, _ out: inout [LegAction]
    ) {
        let dialog = Dialog(callID: request.callID, fromTag: request.fromTag)
        if policy.host == .dialplan, let handle = dialogs[dialog], legs[handle] != nil {
            return comeBack(handle, request, now, &out)
        }
        guard request.toTag.isEmpty else { return refuse(request, 481, now, &out) }
        begin(request, bytes, now, &out)
        if policy.host == .dialplan, let handle = transactions[request.transaction]?.handle, handle != 0 {
            dialogs[dialog] = handle
        }
    }

    private mutating func other(
        _ request: KeptRequest, _ bytes: Span<UInt8>, _ now: Int64, _ out: inout [LegAction]
    ) {
        let isKept = policy.host == .proxy || request.method == "MESSAGE"
        switch request.method {
        case "OPTIONS": refuse(request, 200, now, &out)
        case _ where !request.toTag.isEmpty && policy.host == .dialplan: refuse(request, 481, now, &out)
        // A mailbox's notice that nobody reads: the subscription stays.
        case "NOTIFY" where !isKept: refuse(request, 200, now, &out)
        case _ where isKept: begin(request, bytes, now, &out)
        default: refuse(request, 480, now, &out)
        }
    }

    /// Answers at once and waits for nothing.
    private mutating func refuse(_ request: KeptRequest, _ status: Int, _ now: Int64, _ out: inout [LegAction]) {
        guard mayWait(request) else { return }
        open(request, handle: 0)
        answer(request.transaction, status, now, &out)
    }

    /// Nobody else can know the key in the Request-URI.
    private func mayWait(_ request: KeptRequest) -> Bool {
        policy.key.isEmpty || LegTarget(request.uri).key == policy.key
    }

    /// A new request waits from now on.
    private mutating func begin(
        _ request: KeptRequest, _ bytes: Span<UInt8>, _ now: Int64, _ out: inout [LegAction]
    ) {
        guard mayWait(request) else { return }
        let target = LegTarget(request.uri)
        guard legs.count < Self.most, !target.aor.isEmpty else {
            return refuse(request, target.aor.isEmpty ? 404 : 503, now, &out)
        }
        let handle = nextHandle(target)
        guard legs[handle] == nil else { return refuse(request, 482, now, &out) }
        let subject = LegSubject(
            handle: handle, aor: target.aor, domain: target.domain, callID: request.callID, method: request.method)
        var (wake, content, wakes) = policy.read(bytes, request)
        (wake.handle, wake.aor, wake.domain) = (handle, target.aor, target.domain)
        legs[handle] = WaitingLeg(subject, request, wake, content: content, policy, now: now)
        if !wakes { legs[handle]?.engine = .uninvolved }
        open(request, handle: handle)
        if request.method == "INVITE", policy.host == .dialplan { answer(request.transaction, 100, now, &out) }
        // A text is its sender's no more: he hears nothing of what becomes of it.
        if policy.host == .dialplan, request.method != "INVITE" { answer(request.transaction, 202, now, &out) }
        out.append(.describe(subject, isAgain: false))
        watch(handle)
    }

    /// As its host calls the request, or a number of our own.
    private mutating func nextHandle(_ target: LegTarget) -> UInt64 {
        if let call = target.call { return call | Self.mark }
        lastHandle = lastHandle &+ 1 & ~Self.mark
        return lastHandle | Self.mark
    }

    // MARK: Transactions

    mutating func open(_ request: KeptRequest, handle: UInt64) {
        let server = ServerTransaction(
            request, tag: nextTag(), isReliable: policy.isReliable, repetition: policy.repetition)
        transactions[request.transaction] = (server, handle, 0)
    }

    /// Answers a request; nothing comes of it where that has its final answer.
    mutating func answer(
        _ transaction: KeptRequest.Transaction, _ status: Int, headers: [(name: String, value: String)] = [],
        _ now: Int64, _ out: inout [LegAction]
    ) {
        guard let bytes = transactions[transaction]?.server.answer(status, headers: headers, now: now) else { return }
        out.append(.answer(bytes))
        settle(transaction, now)
    }

    /// Forgets a transaction that is over, or looks at it again in time.
    private mutating func settle(_ transaction: KeptRequest.Transaction, _ now: Int64) {
        guard let server = transactions[transaction]?.server else { return }
        if server.isOver(now: now) {
            transactions[transaction] = nil
        } else if let deadline = server.deadline {
            timers.add(deadline, .transaction(transaction))
        }
    }

    private mutating func nextTag() -> String { String(random.next(), radix: 36) }

    // MARK: Time

    /// When `tick(now:)` must be called; nil: there is nothing to wait for. Nobody is woken for a time that no longer counts.
    package mutating func nextDeadline() -> Int64? {
        while let next = timers.first, !counts(next.at, for: next.subject) {
            timers.removeFirst()
            guard case .leg(let handle) = next.subject, legs[handle]?.watchedAt == next.at else { continue }
            legs[handle]?.watchedAt = nil
            watch(handle)
        }
        return timers.first?.at
    }

    private func counts(_ time: Int64, for subject: LegTimers.Subject) -> Bool {
        switch subject {
        case .transaction(let transaction): transactions[transaction]?.server.deadline == time
        case .leg(let handle): legs[handle].map { $0.watchedAt == time && $0.deadline <= time } ?? false
        }
    }

    /// Time has passed.
    package mutating func tick(now: Int64) -> [LegAction] {
        var out: [LegAction] = []
        while let due = timers.take(due: now) {
            switch due {
            case .transaction(let transaction):
                if let bytes = transactions[transaction]?.server.tick(now: now) { out.append(.answer(bytes)) }
                settle(transaction, now)
            case .leg(let handle):
                guard let deadline = legs[handle]?.deadline else { continue }
                if legs[handle]?.watchedAt ?? .max <= now { legs[handle]?.watchedAt = nil }
                if now >= deadline { timeIsOver(handle, now, &out) }
                watch(handle)
            }
        }
        return out
    }

    /// Looks at the request again when it wants to.
    mutating func watch(_ handle: UInt64) {
        guard let leg = legs[handle], leg.deadline < leg.watchedAt ?? .max else { return }
        legs[handle]?.watchedAt = leg.deadline
        timers.add(leg.deadline, .leg(handle))
    }
}

/// Whom a Request-URI of ours names: `sip:100@…;domain=location;key=…;call=…`, escapes in the user.
struct LegTarget {
    let aor: String
    let domain: String
    let key: String
    /// What a host that knows the request by a number of its own calls it, in hexadecimal digits.
    let call: UInt64?

    init(_ uri: String) {
        let named = SIPTarget(uri)
        aor = named.user
        domain = named.parameter("domain")
        key = named.parameter("key")
        call = UInt64(named.parameter("call"), radix: 16)
    }
}

/// Numbers that nobody has to keep secret, the same for the same seed (SplitMix64, Steele and others, 2014).
struct SplitMix {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ z &>> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z &>> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z &>> 31
    }
}
