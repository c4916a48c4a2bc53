// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// Which lane a push takes.
struct ProviderLanes {
    private var apnsProduction: (any ProviderLane)?
    private var apnsSandbox: (any ProviderLane)?
    private var fcm: (any ProviderLane)?
    private var webPush: WebPushLanes?
    private var acrobits: (any ProviderLane)?
    private let standardIsSandbox: Bool

    /// No lane at all.
    init() { standardIsSandbox = false }

    /// Reads the keys that the settings name; a lane whose key cannot be used is missing, and `problems` says why.
    init(_ settings: Settings, loop: Loop, log: EngineLog, problems: inout [String]) {
        standardIsSandbox = settings.text(.apnsEnvironment) == "sandbox"
        let (payloads, templateProblems) = PayloadFiles.load(settings)
        problems += templateProblems
        guard let payloads else { return }
        do throws(TLSError) {
            let builder = LaneBuilder(
                settings: settings, tls: try LaneBuilder.tls(settings), payloads: payloads,
                resolver: Resolver(loop: loop),
                loop: loop, log: log)
            openAPNs(builder, &problems)
            openFCM(builder, &problems)
            openWebPush(builder, &problems)
            openAcrobits(builder, &problems)
        } catch {
            problems.append("ca_file: \(error.message); no provider can be verified, so no push is sent")
        }
    }

    private mutating func openAPNs(_ builder: LaneBuilder, _ problems: inout [String]) {
        guard !builder.settings.text(.apnsKey).isEmpty else { return }
        do throws(KeyFileError) {
            apnsProduction = try builder.apns(.production)
            apnsSandbox = try builder.apns(.sandbox)
        } catch {
            problems.append("apns_key: \(error.message)")
        }
    }

    private mutating func openFCM(_ builder: LaneBuilder, _ problems: inout [String]) {
        guard !builder.settings.text(.fcmKey).isEmpty else { return }
        do throws(KeyFileError) {
            fcm = try builder.fcm()
        } catch {
            problems.append("fcm_key: \(error.message)")
        }
    }

    private mutating func openWebPush(_ builder: LaneBuilder, _ problems: inout [String]) {
        guard !builder.settings.text(.vapidKey).isEmpty else { return }
        do throws(KeyFileError) {
            webPush = try builder.webPush()
        } catch {
            problems.append("vapid_key: \(error.message)")
        }
    }

    private mutating func openAcrobits(_ builder: LaneBuilder, _ problems: inout [String]) {
        guard builder.settings.flag(.acrobits) else { return }
        acrobits = builder.acrobits()
        if acrobits == nil { problems.append("acrobits_url: is no https URL; no push goes through Acrobits") }
    }

    /// Gets the lanes that ordinary bindings take ready for the first call.
    func warmUp() {
        (standardIsSandbox ? apnsSandbox : apnsProduction)?.warmUp()
        fcm?.warmUp()
        acrobits?.warmUp()
    }

    /// The lane of a binding; nil when it is not set up.
    func lane(for binding: Binding) -> (any ProviderLane)? {
        switch binding.provider {
        case .apns:
            switch binding.environment {
            case .production: apnsProduction
            case .sandbox: apnsSandbox
            case .standard: standardIsSandbox ? apnsSandbox : apnsProduction
            }
        case .fcm: fcm
        case .webpush: webPush?.lane(for: binding)
        case .acrobits: acrobits
        case .webhook: nil
        }
    }
}

/// Puts lanes together from settings.
struct LaneBuilder {
    let settings: Settings
    let tls: TLSContext
    let payloads: PayloadLibrary
    let resolver: Resolver
    let loop: Loop
    let log: EngineLog

    /// What providers are verified against.
    static func tls(_ settings: Settings) throws(TLSError) -> TLSContext {
        let file = settings.text(.caFile)
        return try TLSContext.client(caFile: file.isEmpty ? nil : file)
    }

    func apns(_ environment: Environment) throws(KeyFileError) -> APNsLane {
        let signer = try APNsKeyFile.read(settings.text(.apnsKey))
        let url = settings.text(environment == .sandbox ? .apnsSandboxURL : .apnsURL)
        let origin = HTTPOrigin(url) ?? HTTPOrigin(host: "api.push.apple.com")
        let label = "apns \(environment.name)"
        let topic = settings.text(.apnsTopic)
        let apns = topic.isEmpty ? APNsSettings() : APNsSettings(topic: APNsTopic(setting: topic))
        return APNsLane(
            label: label,
            pool: pool(origin, label, connections: settings.integer(.apnsConnections)),
            credential: APNsCredential(keyID: APNsKeyFile.keyID(settings), teamID: settings.text(.apnsTeamID)),
            builder: APNsRequestBuilder(payloads: payloads, settings: apns, authority: origin.authority),
            maxFail: Int(settings.integer(.maxFail)), loop: loop, log: log, sign: { try? signer.sign($0) })
    }

    func fcm() throws(KeyFileError) -> FCMLane {
        let (account, signer) = try FCMKeyFile.read(settings.text(.fcmKey))
        let origin = HTTPOrigin(settings.text(.fcmURL)) ?? HTTPOrigin(host: "fcm.googleapis.com")
        let tokenOrigin = HTTPOrigin.split(account.tokenURI)?.0 ?? HTTPOrigin(host: "oauth2.googleapis.com")
        let label = "fcm \(account.project)"
        return FCMLane(
            account: account,
            pool: pool(origin, label, connections: settings.integer(.fcmConnections)) {
                // Google answers more streams, and any PING, with GOAWAY.
                $0.maxStreams = 100
                $0.pingAfter = nil
            },
            tokenPool: pool(tokenOrigin, "\(label) OAuth", connections: 1) { $0.pingAfter = nil },
            builder: FCMRequestBuilder(
                payloads: payloads, settings: FCMSettings(project: account.project), authority: origin.authority),
            maxFail: Int(settings.integer(.maxFail)), loop: loop, log: log, sign: { try? signer.sign($0) })
    }

    /// Services are found as phones name them, so nothing is connected yet.
    func webPush() throws(KeyFileError) -> WebPushLanes {
        let signer = try VAPIDKeyFile.read(settings.text(.vapidKey))
        let sender = WebPushSender(
            publicKey: signer.key.publicPoint(), subject: settings.text(.vapidSubject),
            settings: WebPushSettings(settings), payloads: payloads, sign: { try? signer.sign($0) })
        return WebPushLanes(sender, loop: loop) { origin, sender in webPush(to: origin, sender) }
    }

    /// The lane to one service. What its name resolves to is judged too: a public name may lead inside.
    func webPush(to origin: HTTPOrigin, _ sender: WebPushSender) -> WebPushLane {
        let label = "webpush \(origin.authority)"
        let pool = pool(origin, label, connections: 1) {
            $0.refusesLocalAddresses = !sender.settings.allowsPrivateAddresses
            $0.closeAfter = 60_000
        }
        return WebPushLane(
            origin: origin, sender: sender, pool: pool, loop: loop, label: label,
            maxFail: Int(settings.integer(.maxFail)))
    }

    func acrobits() -> AcrobitsLane? {
        let url = settings.text(.acrobitsURL)
        guard let origin = HTTPOrigin.split(url)?.0, let builder = AcrobitsRequest(settings: AcrobitsSettings(url: url))
        else { return nil }
        return AcrobitsLane(
            pool: pool(origin, "acrobits", connections: 2), builder: builder, maxFail: Int(settings.integer(.maxFail)),
            loop: loop)
    }

    private func pool(
        _ origin: HTTPOrigin, _ label: String, connections: Int64,
        adjust: (inout HTTPPoolConfiguration) -> Void = { _ in }
    ) -> ProviderPool {
        var configuration = HTTPPoolConfiguration()
        configuration.maxConnections = Int(connections)
        configuration.connectTimeout = settings.integer(.connectTimeout)
        configuration.answerTimeout = settings.integer(.requestTimeout)
        configuration.limits = HTTPAnswerLimits(keptHeaders: ["retry-after"])
        adjust(&configuration)
        let pool = HTTPConnectionPool(
            origin: origin, tls: tls, configuration: configuration, loop: loop, resolver: resolver)
        return ProviderPool(pool, label: label, log: log)
    }
}
