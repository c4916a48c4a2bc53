// SPDX-License-Identifier: MIT

/// Builds the HTTP request of one Web Push (RFC 8030), UnifiedPush included.
public enum WebPushRequest {
    private static let longestURL = Provider.webpush.row.longestToken

    /// Where a subscription leads, when it may be used: https, a host that is allowed, nothing odd in the path.
    public static func target(
        of subscription: String, _ settings: WebPushSettings
    ) throws(PushFailure) -> (origin: HTTPOrigin, path: String) {
        guard subscription.utf8.count <= longestURL, let (origin, path) = HTTPOrigin.split(subscription),
            settings.allows(host: origin.host), HeaderText.isTarget(path)
        else { throw .forbiddenURL }
        return (origin, path.isEmpty ? "/" : path)
    }

    /// Builds the request and says where to send it.
    ///
    /// With the phone's keys (`pn-p256dh`, `pn-auth`) the payload goes along, encrypted; without them the push
    /// is empty, as RFC 8599, 12 has it. `authorization` is the whole VAPID value, empty for none.
    public static func build(
        _ binding: Binding, _ content: PushContent, payloads: PayloadLibrary, settings: WebPushSettings,
        authorization: [UInt8], crypto: some WebPushCrypto, now: Int64
    ) throws(PushFailure) -> (origin: HTTPOrigin, request: HTTPRequest) {
        let (origin, path) = try target(of: binding.token, settings)
        var request = HTTPRequest(reservingBytes: 512 + path.utf8.count, fields: 10)
        request.append(":method", "POST")
        request.append(":scheme", "https")
        request.append(":authority", origin.authority)
        request.append(":path", path, neverIndexed: true)
        if !authorization.isEmpty { request.append("authorization") { $0.append(contentsOf: authorization) } }
        request.append("ttl") { Decimal.append(UInt64(content.timeToLive), to: &$0) }
        request.append("urgency", urgency(of: content, settings.payload))
        appendTopic(content, to: &request)
        if let keys = try keys(of: binding) {
            request.append("content-encoding", "aes128gcm")
            let hasTitle = content.title != "null"
            guard let template = payloads.webPush(app: binding.app, content.event, hasTitle: hasTitle) else {
                throw .noTemplate
            }
            // WebKit, "Declarative Web Push", explainer: the type tells such a message from any other JSON.
            let type = template.isDeclarative ? "application/notification+json" : "application/octet-stream"
            request.append("content-type", type)
            let payload = try payload(binding, content, template, settings, now)
            request.body = try WebPushMessage.encrypt(payload, publicKey: keys.publicKey, secret: keys.secret, crypto)
        }
        return (origin, request)
    }

    private static func payload(
        _ binding: Binding, _ content: PushContent, _ template: PayloadTemplate, _ settings: WebPushSettings,
        _ now: Int64
    ) throws(PushFailure) -> [UInt8] {
        var payload: [UInt8] = []
        let values = PayloadValues(binding: binding, content: content, settings: settings.payload, now: now)
        guard template.render(values, limit: WebPushMessage.longestPayload, into: &payload) else {
            throw .payloadTooLarge
        }
        return payload
    }

    /// RFC 8030, 5.3: what a phone shows or stops at once is high.
    private static func urgency(of content: PushContent, _ settings: PayloadSettings) -> String {
        switch content.event {
        case .custom, .missed: "normal"
        default: content.isUrgent(settings) ? "high" : "normal"
        }
    }

    /// RFC 8030, 5.4: notices of one call or mailbox replace each other at the service while the phone is away.
    private static func appendTopic(_ content: PushContent, to request: inout HTTPRequest) {
        switch content.event {
        case .refresh: request.append("topic", "refresh")
        case .call, .cancel, .missed, .answeredElsewhere, .refer:
            guard !content.callID.isEmpty else { return }
            request.append("topic", neverIndexed: true) { Fingerprint.appendHex(of: content.callID, to: &$0) }
        case .voicemail:
            request.append("topic", neverIndexed: true) { Fingerprint.appendHex(of: content.toURI, to: &$0) }
        case .chat, .custom, .groupChat: break
        }
    }

    private static func keys(of binding: Binding) throws(PushFailure) -> WebPushKeys? {
        guard let point = binding.attributes[.publicKey], let secret = binding.attributes[.authSecret] else {
            return nil
        }
        guard let keys = WebPushKeys(p256dh: point, auth: secret) else { throw .unusableKeys }
        return keys
    }
}
