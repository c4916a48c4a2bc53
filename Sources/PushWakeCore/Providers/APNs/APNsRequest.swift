// SPDX-License-Identifier: MIT

/// Builds the HTTP request of one push through Apple (Apple, "Sending notification requests to APNs").
public enum APNsRequest {
    /// The fields that differ per binding and event, but not per push.
    private static let longestCollapseID = 64
    private static let longestToken = 1024

    /// The kind of push that an event is for a token; nil when this token must not get it.
    ///
    /// Only a call may be `voip`: iOS kills an app that gets a voip push and reports no call. A token whose
    /// kind the phone did not name counts as voip for a call and as remote for anything else (Mizutech).
    public static func pushType(of event: PushEvent, for service: Service?) -> APNsPushType? {
        switch (event, service) {
        case (.call, .voip), (.call, nil): .voip
        case (.call, .remote): .alert
        case (_, .voip): nil
        case (.refresh, _): .background
        default: .alert
        }
    }

    /// Builds the request; `authorization` is the whole value (`bearer …`), empty with a client certificate.
    public static func build(
        _ binding: Binding, _ content: PushContent, _ type: APNsPushType, payloads: PayloadLibrary,
        settings: APNsSettings, authorization: [UInt8], authority: String, id: PushID, now: Int64
    ) throws(PushRefusal) -> HTTPRequest {
        guard HeaderText.isPathSegment(binding.token, atMost: longestToken) else { throw .unusableToken }
        guard let template = payloads.apns(app: binding.app, type) else { throw .noTemplate }
        let topic = settings.topic.value(for: binding.app, type)
        if let topic, !HeaderText.isFieldValue(topic) { throw .unusableApp }
        if case .fixed(let name) = settings.pushType, !HeaderText.isFieldValue(name) { throw .unusableApp }

        var request = HTTPRequest(reservingBytes: 768, fields: 12)
        request.append(":method", "POST")
        request.append(":scheme", "https")
        request.append(":authority", authority)
        request.append(":path", neverIndexed: true) { out in
            out.append(contentsOf: "/3/device/".utf8)
            out.append(contentsOf: binding.token.utf8)
        }
        if !authorization.isEmpty { request.append("authorization") { $0.append(contentsOf: authorization) } }
        if let topic { request.append("apns-topic", topic) }
        switch settings.pushType {
        case .automatic: request.append("apns-push-type", type.name)
        case .omitted: break
        case .fixed(let name): request.append("apns-push-type", name)
        }
        request.append("apns-priority", type.priority)
        request.append("apns-expiration") { appendExpiration(content, now, to: &$0) }
        request.append("apns-id", neverIndexed: true) { id.append(to: &$0) }
        appendCollapseID(content, type, to: &request)

        let values = PayloadValues(
            binding: binding, content: content, settings: settings.payload, pushType: type.name, now: now)
        request.body.reserveCapacity(512)
        guard template.render(values, limit: type.payloadLimit, into: &request.body) else { throw .payloadTooLarge }
        return request
    }

    /// 0 for "now or never", else the second at which Apple may forget the push.
    private static func appendExpiration(_ content: PushContent, _ now: Int64, to out: inout [UInt8]) {
        let end = now.addingReportingOverflow(Int64(content.timeToLive)).partialValue
        Decimal.append(content.timeToLive == 0 ? 0 : end, to: &out)
    }

    /// Notices about one call replace each other on the screen, refreshes replace refreshes; messages do not.
    private static func appendCollapseID(
        _ content: PushContent, _ type: APNsPushType, to request: inout HTTPRequest
    ) {
        guard type != .voip else { return }
        switch content.event {
        case .refresh: request.append("apns-collapse-id", "refresh")
        case .call, .cancel, .missed, .answeredElsewhere:
            guard !content.callID.isEmpty else { return }
            request.append("apns-collapse-id", neverIndexed: true) { out in
                HeaderText.appendIdentifier(content.callID, atMost: longestCollapseID, to: &out)
            }
        case .chat, .custom, .groupChat: break
        }
    }
}
