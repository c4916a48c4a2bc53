// SPDX-License-Identifier: MIT

/// Goes along the steps by which a push wakes a phone for a request, and stops to explain at the first that is missing.
public struct WakingReport: Equatable, Sendable {
    /// Steps in their order; the raw values are what people see.
    public enum Step: String, Sendable {
        case binding
        case call
        case sleep
        case push
        case register = "REGISTER"
        case token
        case instance
        case registers = "one REGISTER"
        case request
        case answer = "100/180"
        case end
    }

    /// One step that was looked at.
    public struct Finding: Equatable, Sendable {
        public let step: Step
        public let isMissing: Bool
        /// Milliseconds since the request began, or since its push where that went ahead; nil where no moment belongs to it.
        public let at: Int64?
        public let text: String
    }

    /// Milliseconds: refusals by an app that has the request twice come within this time; a second of several REGISTERs
    /// within the next; and a phone has so long to end a call that its caller took back.
    private static let atOnce: Int64 = 100
    private static let together: Int64 = 1000
    private static let endTime: Int64 = 1000
    /// A binding's time is known to the second.
    private static let resolution: Int64 = 2000

    public private(set) var findings: [Finding] = []
    /// The first step that is missing; nil when none is.
    public private(set) var missing: MissingStep?
    /// The phone that is looked at; nil when there is none.
    public private(set) var phone: WakingFacts.Phone?
    private let facts: WakingFacts
    /// Of the phone that is looked at.
    private let events: [WakingFacts.Event]
    private let number: Int

    /// What will stand, however the request goes on: all before the first step that is missing so far.
    public var certain: ArraySlice<Finding> { findings.prefix { !$0.isMissing } }

    /// Draws conclusions; nothing is looked up.
    public init(_ facts: WakingFacts) {
        self.facts = facts
        let number = Self.watched(facts)
        self.number = number
        events = facts.events.filter { $0.phone == number }
        phone = facts.before.first { $0.token == facts.tokens[number] } ?? facts.before.first
        lookAtAll()
    }

    /// Of several phones, the one that came furthest.
    private static func watched(_ facts: WakingFacts) -> Int {
        let pushed = facts.events.filter { $0.what == .pushed }.map(\.phone)
        func first(_ isMeant: (WakingFacts.Event) -> Bool) -> Int? {
            facts.events.first { isMeant($0) && (pushed.isEmpty || pushed.contains($0.phone)) }?.phone
        }
        return first { if case .answered(let status) = $0.what { status >= 180 } else { false } }
            ?? first { $0.what == .rung } ?? first { $0.what == .registered } ?? pushed.first
            ?? facts.events.first?.phone ?? 1
    }

    private mutating func lookAtAll() {
        guard let phone else { return lack(.binding, .binding(removed: facts.removed)) }
        add(.binding, nil, "\(phone.provider.name) \(phone.app), token \(phone.token)")
        if let early = facts.early, !lookAt(early, phone) { return }
        guard !facts.events.isEmpty else { return lack(.call, .question(caller: facts.caller.text)) }
        if facts.early == nil {
            guard lookAtPush(phone), lookAtRegister(phone), lookAtIdentity(phone) else { return }
        }
        guard lookAtRequest() else { return }
        lookAtEnd()
    }

    private mutating func add(_ step: Step, _ at: Int64?, _ text: String) {
        findings.append(Finding(step: step, isMissing: false, at: at, text: PrintableText.cleaned(text)))
    }

    private mutating func lack(_ step: Step, _ missing: MissingStep, _ at: Int64? = nil) {
        findings.append(Finding(step: step, isMissing: true, at: at, text: missing.meaning))
        self.missing = self.missing ?? missing
    }

    private func first(_ what: WakingFacts.Event.What) -> Int64? { events.first { $0.what == what }?.at }

    // MARK: Steps

    private mutating func lookAt(_ early: WakingFacts.Early, _ phone: WakingFacts.Phone) -> Bool {
        guard took(early.outcome, early.reason, early.httpStatus, early.milliseconds, at: early.milliseconds, phone)
        else { return false }
        guard let registered = early.registered else {
            lack(.register, .register(phone.provider))
            return false
        }
        add(.register, registered, "the phone registers \(TraceText.duration(registered)) after the push")
        return true
    }

    private mutating func took(
        _ outcome: Outcome, _ reason: String, _ httpStatus: Int, _ milliseconds: Int64, at: Int64,
        _ phone: WakingFacts.Phone
    ) -> Bool {
        guard outcome == .accepted else {
            lack(.push, .acceptance(phone.provider, outcome, reason: reason), at)
            return false
        }
        add(.push, at, Self.acceptance(phone.provider, httpStatus, milliseconds))
        return true
    }

    /// What the service itself says with its answer, which is not that the phone has the push.
    private static func acceptance(_ provider: Provider, _ status: Int, _ milliseconds: Int64) -> String {
        let answer = "\(status > 0 ? "\(status) " : "")after \(milliseconds) ms"
        return switch provider {
        case .apns: "Apple answers \(answer): it will try to deliver the push, and does not say whether it does"
        case .fcm: "Google answers \(answer): the message is accepted for delivery, and not delivered yet"
        case .webpush: "the push service answers \(answer): it keeps the message until the browser takes it"
        default: "\(provider.name) answers \(answer): the push is accepted, and not delivered yet"
        }
    }

    private mutating func lookAtPush(_ phone: WakingFacts.Phone) -> Bool {
        let ends = events.filter { if case .pushEnded = $0.what { true } else { false } }
        // One that was tried again counts as it ended.
        let accepted = ends.first { if case .pushEnded(.accepted, _, _, _) = $0.what { true } else { false } }
        if let end = accepted ?? ends.first,
            case .pushEnded(let outcome, let reason, let status, let milliseconds) = end.what
        {
            return took(outcome, reason, status, milliseconds, at: end.at, phone)
        }
        if first(.pushed) != nil {
            lack(.push, .acceptance(phone.provider, .unavailable, reason: "it has not answered"))
            return false
        }
        for event in events {
            switch event.what {
            case .awake: lack(.sleep, .sleep, event.at)
            case .notPushed(let reason): lack(.push, .permission(reason), event.at)
            case .notPushable: lack(.push, .permission("its token is not for this kind of request"), event.at)
            default: continue
            }
            return false
        }
        lack(.push, .permission("the trace has no push"))
        return false
    }

    private mutating func lookAtRegister(_ phone: WakingFacts.Phone) -> Bool {
        let pushed = first(.pushed) ?? 0
        if let registered = first(.registered) {
            if let left = facts.callerLeft, registered > left {
                lack(.register, .lateRegister(registered - pushed), registered)
                return false
            }
            add(
                .register, registered,
                "the phone connects and registers \(TraceText.duration(registered - pushed)) after the push")
            return true
        }
        if let stranger = facts.events.first(where: { $0.what == .registered && $0.at >= pushed }) {
            lack(.register, .samePhone, stranger.at)
        } else if facts.wakesBefore > 0 {
            lack(.register, .nextWake(phone.provider, after: facts.wakesBefore))
        } else {
            lack(.register, .register(phone.provider))
        }
        return false
    }

    /// What it was pushed as, and what it has registered as; false while that is not known.
    private mutating func lookAtIdentity(_ phone: WakingFacts.Phone) -> Bool {
        let registered = events.filter { $0.what == .registered }.map(\.at)
        guard let came = registered.first else { return true }
        if let seenAt = facts.seenAt, seenAt < came + Self.together { return false }
        let sameToken = facts.after.first { $0.token == phone.token }
        let sameInstance = facts.after.first { !phone.instance.isEmpty && $0.instance == phone.instance }
        if let sameToken {
            if sameToken.registeredAt < came - Self.resolution {
                lack(.token, .sameToken(was: phone.token, now: ""), came)
            } else {
                add(.token, came, "the same token")
            }
            if sameToken.instance == phone.instance {
                add(.instance, came, phone.instance.isEmpty ? "no +sip.instance, as before" : "the same +sip.instance")
            } else {
                lack(.instance, .sameInstance(was: phone.instance, now: sameToken.instance), came)
            }
        } else if let sameInstance {
            lack(.token, .sameToken(was: phone.token, now: sameInstance.token), came)
        } else {
            lack(.token, .sameToken(was: phone.token, now: ""), came)
        }
        let together = registered.filter { $0 < came + Self.together }.count
        if together > 1 {
            lack(.registers, .oneRegister(together), came)
        } else {
            add(.registers, came, "one REGISTER")
        }
        return true
    }

    private mutating func lookAtRequest() -> Bool {
        guard let rung = first(.rung) else {
            lack(.request, .request)
            return false
        }
        add(.request, rung, "\(facts.method) is sent to where the phone has registered")
        var heard = 0
        var ringsAt: Int64?
        for event in events where event.at >= rung {
            switch event.what {
            case .answered(let status) where status < 180: heard = max(heard, status)
            case .answered(let status) where status < 300: ringsAt = ringsAt ?? event.at
            case .answered(let status) where ringsAt == nil && status != 487, .failed(let status) where status == 482:
                return refuses(status, event.at, after: event.at - rung)
            default: break
            }
        }
        if let at = ringsAt {
            add(.answer, at, facts.method == "INVITE" ? "the phone rings" : "the phone takes the text")
            return true
        }
        if let early = facts.early { lack(.answer, .lateRequest(status: 0, seconds: early.ahead / 1000)) }
        lack(.answer, heard > 0 ? .ringing : .answer)
        return false
    }

    private mutating func refuses(_ status: Int, _ at: Int64, after: Int64) -> Bool {
        let step: MissingStep =
            if let early = facts.early {
                .lateRequest(status: status, seconds: early.ahead / 1000)
            } else {
                .oneCall(status: status, isAtOnce: after <= Self.atOnce)
            }
        lack(.answer, step, at)
        return false
    }

    private mutating func lookAtEnd() {
        guard facts.method == "INVITE" else { return }
        if let answer = facts.caller.answer {
            return add(.end, answer, "the phone has answered, and the caller hung up")
        }
        let end = events.last {
            if case .answered(let status) = $0.what { status >= 300 && status != 487 } else { false }
        }
        if let end, facts.caller.cancelled == nil { return add(.end, end.at, "somebody has declined the call") }
        guard let cancelled = facts.caller.cancelled else { return }
        if let ended = facts.caller.ended, ended - cancelled <= Self.endTime {
            return add(.end, ended, "the caller hangs up, and the call is over after \(ended - cancelled) ms")
        }
        lack(.end, .cancel, cancelled)
    }
}
