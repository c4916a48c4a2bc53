// SPDX-License-Identifier: MIT

/// Goes along the way of a call to a user, from the REGISTER to the last ring, and ends with the one thing to do.
public struct UserDiagnosis: Equatable, Sendable {
    /// How a step fares.
    public enum State: String, Sendable {
        case fine = "ok"
        /// Nobody has tried it yet.
        case open
        /// It may be the cause, or become one.
        case doubtful = "look"
        /// With this no phone rings.
        case failing = "fails"
    }

    /// Steps of the way, in its order; the raw values are what people see.
    public enum Step: String, Sendable {
        case store
        case clock
        case register = "REGISTER"
        case key
        case provider
        case push
        case wake
        case call
    }

    /// What was found at one step.
    public struct Finding: Equatable, Sendable {
        public let step: Step
        public let state: State
        /// What is so.
        public let text: String
        /// What to do about it; empty when there is nothing to do.
        public let remedy: String
    }

    /// In the order of the way, phone by phone.
    public private(set) var findings: [Finding] = []
    private let facts: DiagnosisFacts

    /// Draws conclusions; nothing is looked up.
    public init(_ facts: DiagnosisFacts) {
        self.facts = facts
        lookAtAll()
    }

    private mutating func lookAtAll() {
        if let problem = facts.storeProblem {
            return add(
                .store, .failing, "the bindings cannot be read: \(problem)",
                Remedy.store(problem, isShared: facts.isStoreShared))
        }
        if let problem = facts.writeProblem {
            add(
                .store, facts.phones.isEmpty ? .failing : .doubtful,
                "no phone that registers now is bound: \(problem)",
                Remedy.store(problem, isShared: facts.isStoreShared))
        }
        if facts.isFileGone {
            add(
                .store, .failing,
                "the file of the store was taken away or replaced: what is bound now is lost when the engine ends",
                Remedy.fileIsGone)
        }
        if facts.phones.isEmpty { explainAbsence() } else { lookAtClock() }
        for (index, phone) in facts.phones.enumerated() { look(at: phone, "phone \(index + 1)") }
        lookAtLastRequest()
    }

    /// The one thing to do: about the first step that fails, else about the first that is in doubt.
    public var advice: String {
        let worst = findings.first { $0.state == .failing } ?? findings.first { $0.state == .doubtful }
        if let worst { return worst.remedy }
        if facts.phones.contains(where: \.hasWoken) { return "nothing: a call to \(shownUser) rings" }
        if let silent = facts.phones.first(where: { $0.assessment == .pushedForNone }) {
            return "it was pushed and has not registered: \(Remedy.silence(silent.provider))"
        }
        if facts.wakes == 0, facts.lastRequest == nil {
            let way =
                facts.waitsInDialplan
                ? "PushWake() in extensions.conf, which wait = dialplan asks for: call it there, or set wait = leg"
                : "pushwake_lookup() in kamailio.cfg, or to an endpoint of Asterisk whose AoR has the user's name"
            return "\(trial); if no call shows here, calls do not go through \(way)"
        }
        return trial
    }

    private var trial: String {
        "try it: pushwake try \(shownUser) calls the phone, and names the step that is missing"
    }

    /// Nothing fails.
    public var isFine: Bool { !findings.contains { $0.state == .failing } }

    private var shownUser: String { PrintableText.cleaned(facts.aor) }

    private mutating func add(_ step: Step, _ state: State, _ text: String, _ remedy: String = "") {
        findings.append(
            Finding(
                step: step, state: state, text: PrintableText.cleaned(text), remedy: PrintableText.cleaned(remedy)))
    }

    // MARK: Steps

    private mutating func explainAbsence() {
        if let other = facts.others.first {
            let shown = PrintableText.cleaned(other)
            return add(
                .register, .failing, "there is no push binding of \(facts.aor), but one of \(other)",
                "ask for the user as the registrar has it: pushwake doctor \(shown)")
        }
        if let refusal = facts.refusal {
            return add(
                .register, .failing, "the last REGISTER of \(facts.aor) brought nothing to push to: \(refusal)", refusal
            )
        }
        guard let removed = facts.removed.first else {
            return facts.registers > 0
                ? add(
                    .register, .failing, "no REGISTER of \(facts.aor) had a push token",
                    "open the app, so that it registers; if it has, it sends no push token: look at what it sends (pushwake parse FILE with a captured REGISTER), and turn push on in the app"
                )
                : add(
                    .register, .failing, "no REGISTER with a push token has come to the engine since it started",
                    "let REGISTERs go through pushwake_save() in place of save() in kamailio.cfg, or load res_pushwake.so into Asterisk; if they do, the PBX refuses them (its log says why: max_contacts, a password), or the apps send no push token"
                )
        }
        add(
            .register, .failing,
            "the last binding, \(removed.provider.name) \(removed.app), was removed: \(removed.reason)",
            remedy(after: .tokenGone, removed.cause, removed.provider))
    }

    /// Tokens for push services carry the time at which they were made (`iat`): a wrong clock makes them worthless.
    private mutating func lookAtClock() {
        guard let clock = facts.clock else { return }
        guard clock.isOff else { return add(.clock, .fine, clock.words) }
        add(.clock, clock.distance >= ClockReading.harmful ? .failing : .doubtful, clock.words, Remedy.clock)
    }

    private mutating func look(at phone: DiagnosisFacts.Phone, _ name: String) {
        let ago = Self.time(phone.registeredAgo)
        let token = "\(phone.provider.name) \(phone.app), token \(phone.token)"
        if phone.expiresIn > 0 {
            add(.register, .fine, "\(name) registered \(ago) ago: \(token)")
        } else {
            add(
                .register, .fine,
                "\(name) registered \(ago) ago: \(token); its registration is over, and it can still be woken")
        }
        guard lookAtWay(of: phone, name) else { return }
        if let choice = phone.payload {
            add(.push, .fine, "pushes to \(name) carry the payload \(choice.payload): \(choice.reason)")
        }
        lookAtPushes(of: phone, name)
    }

    /// False when nothing behind it need be looked at.
    private mutating func lookAtWay(of phone: DiagnosisFacts.Phone, _ name: String) -> Bool {
        let provider = phone.provider.name
        switch phone.way {
        case .missing(let cause):
            add(.key, .failing, "nothing can be pushed to \(name): \(cause)", "\(cause); then pushwake reload")
            return false
        case .circuitOpen(let cause):
            add(.key, .fine, "there is a key for \(name)")
            add(
                .provider, .failing,
                "the pushes to \(provider) failed so often that its circuit is open: \(cause.outcome.name) \(cause.reason)",
                remedy(after: cause.outcome, cause.reason, phone.provider))
            return true
        case .refused(let problem):
            let text = "\(provider) gives no access for the key of \(name): \(problem)"
            add(.key, .failing, text, remedy(after: .misconfigured, problem, phone.provider))
            return true
        case .unreachable(let problem):
            add(.key, .fine, "there is a key for \(name)")
            add(
                .provider, .failing, "\(provider) cannot be reached: \(problem)",
                Remedy.unreachable(problem, phone.provider))
            return true
        case .backedOff:
            add(.key, .fine, "there is a key for \(name)")
            add(
                .provider, .doubtful, "\(provider) has asked for a pause",
                "wait a minute; when it asks often, fewer pushes must go there: caller_pushes, aor_pushes")
            return true
        case .ready(let connections):
            add(.key, .fine, "there is a key for \(name)")
            let words = connections == 1 ? "1 connection is open" : "\(connections) connections are open"
            add(
                .provider, connections > 0 ? .fine : .open,
                connections > 0
                    ? "\(provider) is reached over TLS, \(words)" : "\(provider) is connected when it is needed")
            return true
        }
    }

    private mutating func lookAtPushes(of phone: DiagnosisFacts.Phone, _ name: String) {
        let words = phone.assessment.words
        let last = phone.lastPushAgo.map { ", the last one \(Self.time($0)) ago" } ?? ""
        switch phone.assessment {
        case .neverPushed: add(.push, .open, "\(name) was \(words)")
        case .pushedForNone:
            add(.push, .fine, "a push to \(name) was accepted, for no call\(last)")
            guard let ago = phone.lastPushAgo else { break }
            let hasCome = phone.registeredAgo <= ago
            add(.wake, hasCome ? .fine : .open, "\(name) has \(hasCome ? "registered" : "not registered") since")
        case .failing(_, let outcome):
            let state: State = outcome == .throttled || outcome == .overloaded ? .doubtful : .failing
            let reason = phone.lastFailure
            add(
                .push, state, "\(name): \(words)\(reason.isEmpty ? "" : " (\(reason))")\(last)",
                remedy(after: outcome, reason, phone.provider))
        case .unproven(let accepted):
            add(.push, .fine, "\(accepted) of the pushes to \(name) were accepted\(last)")
            add(.wake, .open, "\(name): \(words), which says nothing yet")
        case .neverWoke, .stoppedWaking:
            add(.push, .fine, "pushes to \(name) are accepted\(last)")
            add(.wake, .failing, "\(name): \(words)", Remedy.silence(phone.provider))
        case .wakes:
            add(.push, .fine, "pushes to \(name) are accepted\(last)")
            add(.wake, .fine, "\(name) \(words)")
        case .wakesSometimes:
            add(.push, .fine, "pushes to \(name) are accepted\(last)")
            add(.wake, .doubtful, "\(name) \(words)", Remedy.silence(phone.provider))
        }
    }

    private mutating func lookAtLastRequest() {
        if !facts.wakesCalls {
            add(.call, .failing, "calls wake no phone: wake_requests has no INVITE", "add INVITE to wake_requests")
        }
        guard let request = facts.lastRequest else {
            // Calls of users without a phone to push are not kept.
            guard !facts.phones.isEmpty else { return }
            return add(.call, .open, "there was no call or message since the engine started")
        }
        let trace = request.trace
        let end = trace.ending.isEmpty ? "goes on" : trace.ending
        let text = "\(trace.method), \(Self.time(request.ago)) ago, \(end): \(trace.summary)"
        switch trace.result {
        case .open: add(.call, .open, text)
        case .fine: add(.call, .fine, text)
        case .early(let remedy): add(.call, .doubtful, text, remedy)
        case .failed(let remedy): add(.call, .failing, text, remedy)
        }
    }

    /// `40 s`, `5 min`, `3 h`, `2 days`.
    static func time(_ seconds: Int64) -> String {
        switch seconds {
        case ..<120: "\(max(seconds, 0)) s"
        case ..<7200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) days"
        }
    }

    // MARK: Remedies

    /// The same as `Remedy.push`, where this machine's clock is not known to be wrong.
    private func remedy(after outcome: Outcome, _ reason: String, _ provider: Provider) -> String {
        if reason.hasPrefix("InvalidProviderToken"), facts.clock?.isOff == true { return Remedy.clock }
        return Remedy.push(outcome, reason, provider)
    }
}

extension DiagnosisFacts.Phone {
    /// It registers for calls, or has after the last push of another kind.
    fileprivate var hasWoken: Bool {
        switch assessment {
        case .wakes: true
        case .pushedForNone: lastPushAgo.map { registeredAgo <= $0 } ?? false
        case .neverPushed, .failing, .unproven, .neverWoke, .stoppedWaking, .wakesSometimes: false
        }
    }
}
