// SPDX-License-Identifier: MIT

public import PushWakeClient
public import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Which pushes a SIP request would cause, told as JSON: what `pushwake explain` prints. Needs no network and no key.
public struct PushExplanation: Sendable {
    /// One object, without a line end: `requests` and `skipped`; tokens are in full, secrets are placeholders.
    public let json: [UInt8]
    /// What could not be used on the way, for people.
    public private(set) var problems: [String]

    /// Why nothing can be explained.
    public enum Failure: Error, Equatable, Sendable {
        /// A file is no SIP request; says which and what to give.
        case notSIP(String)
        /// Something that the settings name cannot be read.
        case unreadable(String)

        /// The sentence alone.
        var message: String {
            switch self {
            case .notSIP(let message), .unreadable(let message): message
            }
        }
    }

    /// Explains `request` for the phone that sent `register`; `event` in place of the request's own, `wanted` in
    /// place of the type that Apple's tokens would get.
    public static func explain(
        register: [UInt8], request: [UInt8], event: PushEvent? = nil, wanted: APNsPushType? = nil, settings: Settings
    ) throws(Failure) -> PushExplanation {
        var problems: [String] = []
        let explained = try Self.settings(settings, &problems)
        var explanation = try explain(
            register: register, request: request, event: event, wanted: wanted, explained,
            now: SystemClock.wallSeconds(), id: randomID())
        explanation.problems += problems
        return explanation
    }

    /// Explains `request` for the phones of a user, as they stand in the file that the settings name (`store_path`);
    /// the file is only read.
    public static func explain(
        aor: String, request: [UInt8], event: PushEvent? = nil, wanted: APNsPushType? = nil, settings: Settings
    ) throws(Failure) -> PushExplanation {
        let bindings: [Binding]
        do throws(StoreError) {
            bindings = try SQLiteStore(reading: settings.text(.storePath)).bindings(
                of: aor, now: SystemClock.wallSeconds())
        } catch {
            throw .unreadable("store_path: \(error)")
        }
        return try explain(bindings, of: aor, request: request, event: event, wanted: wanted, settings: settings)
    }

    /// Explains `request` for these bindings of a user.
    static func explain(
        _ bindings: [Binding], of aor: String, request: [UInt8], event: PushEvent?, wanted: APNsPushType? = nil,
        settings: Settings
    ) throws(Failure) -> PushExplanation {
        var problems: [String] = []
        let explained = try Self.settings(settings, &problems)
        let now = SystemClock.wallSeconds()
        if bindings.isEmpty { problems.append("\(aor) has no push binding") }
        let json = try explain(
            bindings.map { Candidate($0) }, request, event, wanted: wanted, explained, now: now, id: randomID())
        return PushExplanation(json: json, problems: problems)
    }

    /// A binding, and what keeps every push from it.
    struct Candidate {
        let binding: Binding
        let obstacle: String?

        init(_ binding: Binding, obstacle: String? = nil) {
            self.binding = binding
            self.obstacle = obstacle
        }
    }

    /// Explains without reading anything: `id` names the pushes, `now` is in seconds since 1970.
    static func explain(
        register: [UInt8], request: [UInt8], event: PushEvent?, wanted: APNsPushType? = nil,
        _ settings: ExplainedSettings,
        now: Int64, id: PushID
    ) throws(Failure) -> PushExplanation {
        let others = WebhookProviders(settings.settings)
        let (registration, isSIP) = RegisterDocument.read(register.span, others: others)
        guard isSIP else { throw .notSIP("the file of --register does not begin like a SIP message; give a REGISTER") }
        if registration.problems.contains(where: { $0.code == .notRegister }) {
            throw .notSIP("the file of --register holds another SIP message; give the REGISTER of the phone")
        }
        let candidates = registration.contacts.flatMap { contact in
            contact.bindings.map { Candidate($0, obstacle: obstacle(to: contact, of: registration)) }
        }
        var problems = registration.problems.map(text)
        if registration.contacts.isEmpty, problems.isEmpty { problems = ["the REGISTER has no Contact to push to"] }
        let json = try explain(
            candidates, mute: registration.contacts.filter { $0.bindings.isEmpty }, request, event, wanted: wanted,
            settings, now: now, id: id)
        return PushExplanation(json: json, problems: problems)
    }

    private static func text(_ problem: Problem) -> String {
        problem.parameter.isEmpty ? problem.message : "\(problem.parameter): \(problem.message)"
    }

    /// Explains for bindings from wherever, and for `mute` contacts that bind nothing: `id` names the pushes, `now`
    /// is in seconds since 1970.
    static func explain(
        _ candidates: [Candidate], mute contacts: [RegisteredContact] = [], _ request: [UInt8], _ event: PushEvent?,
        wanted: APNsPushType? = nil,
        _ settings: ExplainedSettings, now: Int64,
        id: PushID
    ) throws(Failure) -> [UInt8] {
        guard let request = IncomingRequest(file: request.span) else {
            throw .notSIP("the file of --request does not begin like a SIP request; give an INVITE or a MESSAGE")
        }
        var plan = ExplainedPlan()
        switch push(for: request, event, settings.settings) {
        case .failure(let noPush):
            for candidate in candidates { plan.skip(candidate.binding, candidate.obstacle ?? noPush.reason) }
        case .success(let (event, occasion)):
            let content = content(event, occasion, request, settings.settings, now)
            plan.add(candidates, content, wanted: wanted, settings, now: now, id: id)
        }
        for contact in contacts { plan.skip(contact, reason(for: contact)) }
        return plan.json
    }

    /// Why a Contact binds nothing.
    private static func reason(for contact: RegisteredContact) -> String {
        if let problem = contact.problem { return text(problem) }
        return switch contact.push {
        case .none, .bind, .unusable: "the Contact has no push parameters"
        case .query: "the Contact only asks which push services there are: it has no pn-prid"
        case .unbind: "the Contact wants no more pushes: its token is null"
        }
    }

    /// Why a request wakes nobody.
    private struct NoPush: Error {
        let reason: String
    }

    /// What is pushed for a request; an event by hand keeps what the request says about it. A PURR is taken for one that
    /// the phone was given.
    private static func push(
        for request: IncomingRequest, _ asked: PushEvent?, _ settings: Settings
    ) -> Result<(PushEvent, PushOccasion), NoPush> {
        var found: Result<(PushEvent, PushOccasion), NoPush>
        switch RequestPolicy(settings).decision(on: request, hasPURR: !request.purr.isEmpty) {
        case .wakes(let event, let occasion, _): found = .success((event, occasion))
        case .ends(let end): found = .success((end.notice, end.occasion))
        case .nobody(let reason): found = .failure(NoPush(reason: reason))
        }
        guard let asked else { return found }
        if asked == .answeredElsewhere { return .success((asked, request.end?.occasion ?? .usual)) }
        if case .success((asked, let occasion)) = found { return .success((asked, occasion)) }
        return .success((asked, .usual))
    }

    private static func content(
        _ event: PushEvent, _ occasion: PushOccasion, _ request: IncomingRequest, _ settings: Settings, _ now: Int64
    ) -> PushContent {
        var content = PushContent(
            event: event, occasion: occasion, callID: request.callID, fromURI: request.fromURI,
            fromDisplay: request.fromDisplay,
            toURI: request.toURI, text: request.text,
            timeToLive: settings.timeToLive(of: event, occasion), sentAt: now)
        content.fromTag = request.fromTag
        content.hasVideo = request.offersVideo
        return content
    }

    private static func obstacle(to contact: RegisteredContact, of registration: Registration) -> String? {
        if registration.isRemoval(contact) { return "the REGISTER removes this contact" }
        if registration.isPushedUpstream { return "a proxy nearer to the phone pushes already" }
        return nil
    }

    private static func settings(
        _ settings: Settings, _ problems: inout [String]
    ) throws(Failure) -> ExplainedSettings {
        let (payloads, templateProblems) = PayloadFiles.load(settings)
        problems += templateProblems
        guard let payloads else { throw .unreadable("no payload can be used") }
        let accounts = FCMKeySources.areSet(in: settings) ? FCMKeys(settings) : nil
        problems += (accounts?.problems ?? []).map { "\($0.setting): \($0.message)" }
        var webhook: WebhookSetup?
        do throws(WebhookSetup.Problem) {
            webhook = try WebhookSetup.load(settings)
        } catch {
            problems.append("\(error.setting): \(error.message)")
        }
        let certificates = certificates(settings, &problems)
        return ExplainedSettings(
            settings: settings, payloads: payloads, webhook: webhook, certificates: certificates
        ) { app in
            accounts.map { $0.project(for: app) } ?? app
        }
    }

    private static func certificates(_ settings: Settings, _ problems: inout [String]) -> APNsCertificateChoice? {
        guard !settings.text(.apnsCert).isEmpty else { return nil }
        let name = SettingsTable.description(of: .apnsCert).name
        var files: [APNsCertificateFile] = []
        do throws(KeyFileError) {
            let found = APNsCertificateFiles(try APNsCertificateFiles.paths(settings), settings)
            problems += found.allProblems(now: SystemClock.wallSeconds()).map { "\(name): \($0)" }
            files = found.usable
        } catch {
            problems.append("\(name): \(error.message)")
        }
        return APNsCertificateChoice(
            files.map(\.certificate), topic: APNsTopic(setting: settings.text(.apnsTopic)))
    }

    private static func randomID() -> PushID {
        var random = Randomness()
        return PushID(high: random.next(), low: random.next())
    }
}

extension EngineClient {
    /// Asks the engine what `request` would push to the devices of a user, with the engine's own settings and store.
    public func explain(
        aor: String, request: [UInt8], event: PushEvent?, wanted: APNsPushType? = nil
    ) throws(ClientError) -> PushExplanation {
        begin(.query)
        put(.query, Int64(EngineQuery.explain.rawValue))
        put(.argument, aor)
        put(.text, request.span)
        put(.name, event?.name ?? "")
        put(.pushType, wanted?.name ?? "")
        let reply = try call(milliseconds: 5000)
        var json: [UInt8] = []
        var problems: [String] = []
        var reader = reply
        while let field = reader.next() {
            switch field.tag {
            case .text: json = Array(reader.bytes[field.range])
            case .problem: problems.append(reader.text(field))
            default: break
            }
        }
        return PushExplanation(json: json, problems: problems)
    }
}
