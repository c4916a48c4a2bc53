// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// What the settings make of a push, without any key: where it would go and what it would say.
struct ExplainedSettings {
    let settings: Settings
    let payloads: PayloadLibrary
    /// Nil when none is set or it makes no sense.
    let webhook: WebhookSetup?
    /// Apple's certificates; nil when none are set.
    var certificates: APNsCertificateChoice?
    /// Project of the service account for a package or project; nil when none serves it.
    let project: (_ app: String) -> String?

    /// Says what one push looks like on the wire; `now` in seconds since 1970.
    func request(
        _ binding: Binding, _ content: PushContent, type: APNsPushType?, isWanted: Bool = false, id: PushID,
        now: Int64
    ) throws(PushFailure) -> HTTPRequest {
        if let webhook, webhook.providers.serves(binding) {
            return try Self.webhook(webhook, binding, content, id, now)
        }
        if FlexiAPIApps(settings).serves(binding) { return try flexiAPI(binding, content) }
        return switch binding.provider {
        case .apns: try apns(binding, content, isWanted ? type : usual(type, binding), id, now)
        case .fcm: try fcm(binding, content, now)
        case .webpush: try webPush(binding, content, now)
        case .acrobits: try acrobits(binding, content, now)
        case .harmonyos: try harmonyOS(binding, content, now)
        case .webhook: throw .noWebhook
        }
    }

    /// What the pushes of a phone carry, and why.
    func payloadChoice(for binding: Binding) -> PayloadLibrary.Choice {
        payloads.choice(for: binding, webhook: WebhookProviders(settings), flexiAPI: FlexiAPIApps(settings))
    }

    /// The type that the settings give a push which would be `type` by its event.
    private func usual(_ type: APNsPushType?, _ binding: Binding) -> APNsPushType? {
        let rule = APNsPushTypeRule(setting: settings.text(.apnsPushType))
        return type.map { rule.type(insteadOf: $0, for: binding.service) }
    }

    private func apns(
        _ binding: Binding, _ content: PushContent, _ type: APNsPushType?, _ id: PushID, _ now: Int64
    ) throws(PushFailure) -> HTTPRequest {
        guard let type else { throw .noSuchPush }
        let isSandbox = binding.environment.isSandbox(ifStandard: settings.text(.apnsEnvironment) == "sandbox")
        let isCertified =
            certificates?.certificate(for: binding.app, type, in: isSandbox ? .sandbox : .production, now: now) != nil
        if certificates != nil, !isCertified, settings.text(.apnsKey).isEmpty { throw .noCertificate }
        let origin = HTTPOrigin(settings.text(isSandbox ? .apnsSandboxURL : .apnsURL))
        return try APNsRequest.build(
            binding, content, type, payloads: payloads,
            settings: APNsSettings(settings),
            authorization: isCertified ? [] : Array("bearer <provider token>".utf8),
            authority: origin?.authority ?? "api.push.apple.com", id: id, now: now)
    }

    private func fcm(_ binding: Binding, _ content: PushContent, _ now: Int64) throws(PushFailure) -> HTTPRequest {
        guard let project = project(binding.app) else { throw .noAccount }
        return try FCMRequest.build(
            binding, content, payloads: payloads,
            settings: FCMSettings(project: project, payload: PayloadSettings(settings)),
            authorization: Array("Bearer <access token>".utf8),
            authority: HTTPOrigin(settings.text(.fcmURL))?.authority ?? "fcm.googleapis.com", now: now)
    }

    private func webPush(_ binding: Binding, _ content: PushContent, _ now: Int64) throws(PushFailure) -> HTTPRequest {
        var (_, request) = try WebPushRequest.build(
            binding, content, payloads: payloads, settings: WebPushSettings(settings),
            authorization: Array("vapid t=<token>, k=<public key>".utf8), crypto: PlainWebPush(), now: now)
        request.body = PlainWebPush.payload(of: request.body)
        return request
    }

    /// Signature and secret fields stand for themselves by name.
    private static func webhook(
        _ webhook: WebhookSetup, _ binding: Binding, _ content: PushContent, _ id: PushID, _ now: Int64
    ) throws(PushFailure) -> HTTPRequest {
        let request = try webhook.request.build(binding, content, id: id, now: now) { _ in
            webhook.secret.isEmpty ? nil : Array("t=<seconds>,v1=<signature>".utf8)
        }
        guard !webhook.secretFields.isEmpty else { return request }
        var shown = HTTPRequest(reservingBytes: 512, fields: request.fields.count)
        for field in request.headerList {
            shown.append(field.name, webhook.secretFields.contains(field.name) ? "<secret>" : field.value)
        }
        shown.body = request.body
        return shown
    }

    private func flexiAPI(_ binding: Binding, _ content: PushContent) throws(PushFailure) -> HTTPRequest {
        guard let builder = FlexiAPIRequest(url: settings.text(.flexiAPIURL)) else { throw .noTemplate }
        return try builder.build(binding, content, key: Array("<api key>".utf8))
    }
}

/// Leaves the payload of a Web Push as it is, for people who want to read it.
private struct PlainWebPush: WebPushCrypto {
    /// Bytes before the payload: salt, record size, length of the key, key.
    private static let head = 86

    func agree(with peer: [UInt8]) -> (publicKey: [UInt8], secret: [UInt8])? {
        (Array(repeating: 0, count: 65), Array(repeating: 0, count: 32))
    }

    func salt() -> [UInt8]? { Array(repeating: 0, count: 16) }

    func hmac(key: [UInt8], _ data: [UInt8]) -> [UInt8]? { Array(repeating: 0, count: 32) }

    func seal(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8]) -> [UInt8]? { plaintext }

    /// What was to be sealed, without the delimiter behind it.
    static func payload(of body: [UInt8]) -> [UInt8] { Array(body.dropFirst(head).dropLast()) }
}
