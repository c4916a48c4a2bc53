// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Pushes by hand: to a user's devices, or to one token.
final class ManualPushes {
    private let context: EngineContext
    private let store: StoreAccess
    private let outcomes: PushOutcomes
    private let delivery: Delivery

    init(_ context: EngineContext, _ store: StoreAccess, _ outcomes: PushOutcomes, _ delivery: Delivery) {
        (self.context, self.store, self.outcomes, self.delivery) = (context, store, outcomes, delivery)
    }

    /// One push that a peer asks for.
    func send(_ question: Question) {
        let event = PushEvent(rawValue: UInt8(truncatingIfNeeded: question.number(.event))) ?? .custom
        targets(of: question.message, event) { [self] result in
            switch result {
            case .success(let targets): send(question, event, to: targets)
            case .failure(let refusal):
                question.fail(refusal.text, isMissing: refusal.isMissing, isStoreAway: refusal.isStoreAway)
            }
        }
    }

    private func send(_ question: Question, _ event: PushEvent, to targets: [Target]) {
        let waits = question.number(.waits) != 0
        let seconds = question.number(.seconds)
        let deadline = SystemClock.monotonicMilliseconds() + (seconds > 0 ? min(seconds, 3600) : 60) * 1000
        let pending = PendingSend(question, outcomes, waitsFor: waits ? targets.count : 0)
        let content = self.content(of: question.message, event)
        let refusal = context.refusal(of: event)
        for target in targets {
            if refusal == nil { context.statistics.pushed += 1 }
            let push = Push(
                target.binding, content, type: target.type, isTypeGiven: target.isWanted, deadline: deadline)
            delivery.push(push, owner: pending, refusal: refusal)
        }
        if !waits { question.reply { $0.put(.pushed, targets.count) } }
    }

    /// Pushes to a user's devices without waiting for the outcome; tells how many, or why none.
    func send(_ content: PushContent, to aor: String, then: @escaping (Result<Int, SendError>) -> Void) {
        devices(of: aor, content.event, wanted: nil) { [self] result in
            then(result.map { send(content, to: $0) })
        }
    }

    private func send(_ content: PushContent, to targets: [Target]) -> Int {
        var content = content
        content.timeToLive = context.settings.timeToLive(of: content.event)
        content.sentAt = SystemClock.wallSeconds()
        let deadline = SystemClock.monotonicMilliseconds() + 60_000
        let refusal = context.refusal(of: content.event)
        for target in targets {
            if refusal == nil { context.statistics.pushed += 1 }
            delivery.push(
                Push(target.binding, content, type: target.type, deadline: deadline), owner: outcomes, refusal: refusal)
        }
        return targets.count
    }

    /// One token to push to, and as what.
    private struct Target {
        let binding: Binding
        let type: APNsPushType?
        /// The type was asked for by hand.
        let isWanted: Bool
    }

    /// Why nothing can be sent.
    struct SendError: Error {
        let text: String
        /// The user has nothing to push to.
        var isMissing = false
        var isStoreAway = false
    }

    private func targets(
        of message: MessageReader, _ event: PushEvent, then: @escaping (Result<[Target], SendError>) -> Void
    ) {
        let name = EngineClient.text(.pushType, in: message)
        let wanted = APNsPushType(name: name)
        guard name.isEmpty || wanted != nil else {
            return then(.failure(SendError(text: "there is no push type \"\(name)\"; write voip, alert or background")))
        }
        let aor = EngineClient.text(.aor, in: message)
        guard !aor.isEmpty else { return then(target(of: message, event, wanted).map { [$0] }) }
        guard EngineClient.text(.token, in: message).isEmpty else {
            return then(.failure(SendError(text: "a user and a token are both given; give one of them")))
        }
        devices(of: aor, event, wanted: wanted, then: then)
    }

    /// One token by hand, with the attributes that its service needs.
    private func target(
        of message: MessageReader, _ event: PushEvent, _ wanted: APNsPushType?
    ) -> Result<Target, SendError> {
        let name = EngineClient.text(.provider, in: message)
        let app = EngineClient.text(.app, in: message)
        let token = EngineClient.text(.token, in: message)
        guard !token.isEmpty else { return .failure(SendError(text: "a token is missing")) }
        var binding: Binding
        if let (provider, environment) = Self.provider(named: name) {
            binding = Binding(provider: provider, environment: environment, app: app, token: token, dialect: .given)
        } else if context.policy.others.serves(named: name) {
            binding = Binding(otherService: name, app: app, token: token, dialect: .given)
        } else {
            let known = "\(Provider.names()), or what webhook_providers has"
            return .failure(SendError(text: "there is no provider \"\(name)\"; write \(known)"))
        }
        if name == "j" { binding.attributes[FCMPlatform.attribute] = "ios" }
        if let refusal = Self.complete(&binding, from: message) { return .failure(refusal) }
        guard binding.provider == .apns else { return .success(Target(binding: binding, type: nil, isWanted: false)) }
        // By hand a text says by itself what its token is for.
        if event == .call, wanted == nil { binding = APNsTokenKind(context.settings).named(binding) }
        guard let type = APNsRequest.pushType(of: event, for: binding.service, wanted: wanted) else {
            let reason: Plan.Reason = binding.service == .voip && wanted == nil ? .voipTokenOnly : .otherType
            return .failure(SendError(text: reason.rawValue))
        }
        return .success(Target(binding: binding, type: type, isWanted: wanted != nil))
    }

    /// Takes what else is known about a token given by hand; says what is wrong with it.
    private static func complete(_ binding: inout Binding, from message: MessageReader) -> SendError? {
        var fields = message
        var name = ""
        while let field = fields.next() {
            switch field.tag {
            case .attributeName: name = fields.text(field)
            case .attributeValue: binding.attributes[name] = fields.text(field)
            case .environment:
                let word = fields.text(field)
                if word.isEmpty { continue }
                guard let environment = Environment.allCases.first(where: { $0.name == word }) else {
                    return SendError(text: "there is no environment \"\(word)\"; write production or sandbox")
                }
                binding.environment = environment
            case .service:
                let word = fields.text(field)
                if word.isEmpty { continue }
                guard let service = TokenUse.allCases.first(where: { $0.name == word }) else {
                    return SendError(text: "there is no service \"\(word)\"; write voip or remote")
                }
                binding.service = service
            default: break
            }
        }
        guard (binding.attributes[.publicKey] == nil) == (binding.attributes[.authSecret] == nil) else {
            return SendError(text: "a subscription has both p256dh and auth, or neither")
        }
        return nil
    }

    private func devices(
        of aor: String, _ event: PushEvent, wanted: APNsPushType?, then: @escaping (Result<[Target], SendError>) -> Void
    ) {
        let kind = APNsTokenKind(context.settings)
        store.ask(about: aor) { (store) throws(StoreError) in
            try store.bindings(of: aor, now: SystemClock.wallSeconds())
        } then: { result in
            then(Self.devices(of: aor, result, event, wanted: wanted, kind))
        }
    }

    private static func devices(
        of aor: String, _ found: Result<[Binding], StoreError>, _ event: PushEvent, wanted: APNsPushType?,
        _ kind: APNsTokenKind
    ) -> Result<[Target], SendError> {
        switch found {
        case .success(let stored):
            let bindings = kind.named(stored)
            guard !bindings.isEmpty else {
                return .failure(SendError(text: "\(aor) has no push binding", isMissing: true))
            }
            let plan = Plan(event, bindings, isAwake: bindings.map { _ in false }, wanted: wanted)
            guard !plan.pushes.isEmpty else {
                let reasons = Set(plan.skipped.map(\.reason.rawValue)).sorted().joined(separator: "; ")
                return .failure(SendError(text: "no device of \(aor) takes this push: \(reasons)"))
            }
            let isWanted = wanted != nil
            return .success(
                plan.pushes.map { Target(binding: bindings[$0.index], type: $0.type, isWanted: isWanted) })
        case .failure(let error):
            return .failure(SendError(text: "the store cannot be read: \(error)", isStoreAway: true))
        }
    }

    private func content(of message: MessageReader, _ event: PushEvent) -> PushContent {
        var callID = EngineClient.text(.callID, in: message)
        if callID.isEmpty { callID = context.makeCallID() }
        let (aor, from) = (EngineClient.text(.aor, in: message), EngineClient.text(.fromURI, in: message))
        let uri = SIPAddressParts.uri(typed: from, for: aor)
        var name = EngineClient.text(.fromDisplay, in: message)
        if uri.isEmpty, name.isEmpty { name = from }
        return PushContent(
            event: event, callID: callID, fromURI: uri, fromDisplay: name, toURI: aor,
            text: EngineClient.text(.text, in: message), title: EngineClient.text(.title, in: message),
            timeToLive: context.settings.timeToLive(of: event), sentAt: SystemClock.wallSeconds())
    }

    /// Mizutech's letters, the names of `pn-provider`, and what older phones say.
    private static func provider(named name: String) -> (Provider, Environment)? {
        switch name {
        case "a", "j", "android", "firebase", "google": (.fcm, .standard)
        case "i", "apple", "ios": (.apns, .standard)
        case "w": (.webpush, .standard)
        case "apns.dev": (.apns, .sandbox)
        default: Provider.allCases.first { $0.name == name && $0 != .webhook }.map { ($0, .standard) }
        }
    }
}

/// A `send` whose sender may wait for the outcomes.
private final class PendingSend: PushOwner {
    private let question: Question
    private let outcomes: PushOutcomes
    private let count: Int
    private var results: [PushResult] = []

    /// With a count of 0 nobody waits.
    init(_ question: Question, _ outcomes: PushOutcomes, waitsFor count: Int) {
        (self.question, self.outcomes, self.count) = (question, outcomes, count)
    }

    func ended(_ job: PushJob, _ verdict: Verdict, status: Int) {
        results.append(outcomes.record(job, verdict, status))
        guard results.count == count else { return }
        question.reply { writer in
            writer.put(.pushed, count)
            for result in results {
                writer.put(.row, 1)
                writer.column("provider", result.provider.name)
                writer.column("app", result.app)
                writer.column("token", result.token)
                writer.column("outcome", result.outcome.name)
                writer.column("status", Int64(result.httpStatus))
                writer.column("reason", result.reason)
                writer.column("ms", result.microseconds / 1000)
            }
        }
    }
}
