// SPDX-License-Identifier: MIT

/// Goes along the way of a call to a user, from the REGISTER to the last ring, and ends with the one thing to do.
public struct UserDiagnosis: Equatable, Sendable {
    /// How a step fares.
    public enum State: String, Sendable {
        case fine = "ok"
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
                facts.isStoreShared
                    ? "repair the server of store, or the way to it: the log says since when it is away"
                    : "repair the store: pushwake check looks at its directory")
        }
        if let problem = facts.writeProblem {
            add(
                .store, facts.phones.isEmpty ? .failing : .doubtful,
                "no phone that registers now is bound: \(problem)",
                "repair the store: this step says what is wrong with it")
        }
        if facts.isFileGone {
            add(
                .store, .failing,
                "the file of the store was taken away or replaced: what is bound now is lost when the engine ends",
                "start the engine anew: phones are bound again by their next REGISTER")
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
            return "it was pushed and has not registered: \(Self.silence(silent.provider))"
        }
        return "try it: pushwake send call \(shownUser), and see whether the phone wakes"
    }

    /// Nothing fails.
    public var isFine: Bool { !findings.contains { $0.state == .failing } }

    private var shownUser: String { PrintableText.cleaned(facts.aor) }

    private mutating func add(_ step: Step, _ state: State, _ text: String, _ remedy: String = "") {
        findings.append(Finding(step: step, state: state, text: PrintableText.cleaned(text), remedy: remedy))
    }

    // MARK: Steps

    private mutating func explainAbsence() {
        if let other = facts.others.first {
            let shown = PrintableText.cleaned(other)
            return add(
                .register, .failing, "there is no push binding of \(facts.aor), but one of \(other)",
                "ask for the user as the registrar has it: pushwake doctor \(shown)")
        }
        guard let removed = facts.removed.first else {
            return add(
                .register, .failing, "no REGISTER of \(facts.aor) had a push token that can be used here",
                "look at what the phone sends (pushwake parse FILE with a captured REGISTER), and in the log for what is wrong with it"
            )
        }
        add(
            .register, .failing,
            "the last binding, \(removed.provider.name) \(removed.app), was removed: \(removed.reason)",
            "open the app on the phone, so that it registers with a token of today; it must be logged in")
    }

    /// Tokens for push services carry the time at which they were made (`iat`): a wrong clock makes them worthless.
    private mutating func lookAtClock() {
        guard let clock = facts.clock else { return }
        guard clock.isOff else { return add(.clock, .fine, clock.words) }
        add(.clock, clock.distance >= ClockReading.harmful ? .failing : .doubtful, clock.words, Self.setClock)
    }

    private static let setClock =
        "set this machine's clock and keep it right by NTP (timedatectl, chronyc tracking): the tokens for Apple and Google carry its time"

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
                remedy(after: cause.outcome, cause.reason))
            return true
        case .refused(let problem):
            let text = "\(provider) gives no access for the key of \(name): \(problem)"
            add(.key, .failing, text, remedy(after: .misconfigured, problem))
            return true
        case .unreachable(let problem):
            add(.key, .fine, "there is a key for \(name)")
            let isCertificate = problem.contains("certificate") && Self.isAboutTime(problem)
            add(
                .provider, .failing, "\(provider) cannot be reached: \(problem)",
                isCertificate
                    ? "compare this machine's clock with the time (timedatectl): a certificate is good from one day to another"
                    : "let this machine reach \(provider) over TLS: firewall, http_proxy, ca_file, and a clock that is right"
            )
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
                .provider, .fine,
                connections > 0
                    ? "\(provider) is reached over TLS, \(words)" : "\(provider) is connected when it is needed")
            return true
        }
    }

    private mutating func lookAtPushes(of phone: DiagnosisFacts.Phone, _ name: String) {
        let words = phone.assessment.words
        let last = phone.lastPushAgo.map { ", the last one \(Self.time($0)) ago" } ?? ""
        switch phone.assessment {
        case .neverPushed: add(.push, .fine, "\(name) was \(words)")
        case .pushedForNone:
            add(.push, .fine, "a push to \(name) was accepted, for no call\(last)")
            guard let ago = phone.lastPushAgo else { break }
            let hasCome = phone.registeredAgo <= ago
            add(.wake, .fine, "\(name) has \(hasCome ? "registered" : "not registered") since")
        case .failing(_, let outcome):
            let state: State = outcome == .throttled || outcome == .overloaded ? .doubtful : .failing
            let reason = outcome == .misconfigured ? facts.configurationErrors[phone.provider] : nil
            add(
                .push, state, "\(name): \(words)\(reason.map { " (\($0))" } ?? "")\(last)",
                remedy(after: outcome, reason ?? ""))
        case .unproven(let accepted):
            add(.push, .fine, "\(accepted) of the pushes to \(name) were accepted\(last)")
            add(.wake, .fine, "\(name): \(words), which says nothing yet")
        case .neverWoke, .stoppedWaking:
            add(.push, .fine, "pushes to \(name) are accepted\(last)")
            add(.wake, .failing, "\(name): \(words)", Self.silence(phone.provider))
        case .wakes:
            add(.push, .fine, "pushes to \(name) are accepted\(last)")
            add(.wake, .fine, "\(name) \(words)")
        case .wakesSometimes:
            add(.push, .fine, "pushes to \(name) are accepted\(last)")
            add(.wake, .doubtful, "\(name) \(words)", Self.silence(phone.provider))
        }
    }

    private mutating func lookAtLastRequest() {
        guard let request = facts.lastRequest else {
            return add(.call, .fine, "there was no call or message since the engine started")
        }
        let text =
            "\(request.method), \(Self.time(request.ago)) ago, \(request.end): \(request.summary)"
        let isFine = request.end == CallEnd.answered.name || request.end.isEmpty || request.end == "not watched"
        add(.call, isFine ? .fine : .doubtful, text, "read it line by line: pushwake trace \(shownUser)")
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

    /// What to do about pushes that end so; `reason` is the service's own word.
    private func remedy(after outcome: Outcome, _ reason: String) -> String {
        guard outcome == .misconfigured else { return Self.remedy(outcome) }
        // Apple takes a token of the last hour; who makes one anew and hears this again has a clock that is behind.
        if reason.hasPrefix("ExpiredProviderToken") || Self.isAboutTime(reason) { return Self.setClock }
        if reason.hasPrefix("InvalidProviderToken"), facts.clock?.isOff == true { return Self.setClock }
        if reason.hasPrefix("PERMISSION_DENIED") { return FCMResponse.permissionRemedy }
        if reason.hasPrefix("THIRD_PARTY_AUTH_ERROR") { return FCMResponse.thirdPartyRemedy }
        return Self.remedy(outcome)
    }

    /// Tokens have `iat`, certificates `notBefore` and `notAfter`.
    private static func isAboutTime(_ reason: String) -> Bool {
        ["(iat)", "not yet valid", "has expired"].contains { reason.contains($0) }
    }

    private static func remedy(_ outcome: Outcome) -> String {
        switch outcome {
        case .tokenGone:
            "open the app on the phone, so that it registers with a token of today; where others fail too, compare environment, topic and project with the app's"
        case .rejected: "see what would be sent (pushwake explain), and what the log says that the provider refuses"
        case .misconfigured:
            "compare key, key id, team, topic and environment with the provider's console, and the clock with the time; the log has the provider's word"
        case .throttled: "wait; when it happens often, fewer pushes must go to this phone: device_pushes"
        case .unavailable: "look at the way to the provider: firewall, http_proxy, DNS; the log has the reason"
        case .expired: "look at wake_timeout and the provider's answers: the push did not leave in time"
        case .overloaded: "look at pushwake stats: the engine has more pushes than it can send"
        case .accepted: ""
        }
    }

    private static func silence(_ provider: Provider) -> String {
        let rest = "start the app once, and see whether it registers when it is pushed (pushwake send call)"
        return "\(provider.row.phoneRemedy); \(rest)"
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
