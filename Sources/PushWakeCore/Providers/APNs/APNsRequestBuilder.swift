// SPDX-License-Identifier: MIT

/// Builds many requests for one Apple host, and keeps per app and push type the head that they share.
public struct APNsRequestBuilder: Sendable {
    /// The part of a request that does not depend on the push, and the template for its body.
    private struct Head: Sendable {
        let request: HTTPRequest
        let template: PayloadTemplate
    }

    /// Value of the `authorization` field (`bearer …`); empty with a client certificate.
    public var authorization: [UInt8] = [] {
        didSet { heads.removeAll(keepingCapacity: true) }
    }

    private let payloads: PayloadLibrary
    private let settings: APNsSettings
    private let authority: String
    /// By app, one place per push type.
    private var heads: [String: [Head?]] = [:]

    /// Apps are named by phones: past this many the heads start anew.
    private static let mostApps = 256
    private static let longestCollapseID = 64
    private static let longestToken = 1024
    /// `:path` stands fourth; its value is written per push.
    private static let pathIndex = 3

    public init(payloads: PayloadLibrary, settings: APNsSettings, authority: String) {
        self.payloads = payloads
        self.settings = settings
        self.authority = authority
    }

    /// Builds one request; `now` in seconds since 1970.
    public mutating func build(
        _ binding: Binding, _ content: PushContent, _ type: APNsPushType, id: PushID, now: Int64
    ) throws(PushRefusal) -> HTTPRequest {
        guard HeaderText.isPathSegment(binding.token, atMost: Self.longestToken) else { throw .unusableToken }
        let head = try head(binding.app, type)
        var request = head.request
        request.reserve(bytes: 192 + binding.token.utf8.count, fields: 4)
        request.replaceField(at: Self.pathIndex, ":path", neverIndexed: true) { out in
            out.append(contentsOf: "/3/device/".utf8)
            out.append(contentsOf: binding.token.utf8)
        }
        request.append("apns-expiration") { Self.appendExpiration(content, now, to: &$0) }
        request.append("apns-id", neverIndexed: true) { id.append(to: &$0) }
        Self.appendCollapseID(content, type, to: &request)

        let values = PayloadValues(
            binding: binding, content: content, settings: settings.payload, pushType: type.name, now: now)
        request.body.reserveCapacity(512)
        guard head.template.render(values, limit: type.payloadLimit, into: &request.body) else {
            throw .payloadTooLarge
        }
        return request
    }

    private mutating func head(_ app: String, _ type: APNsPushType) throws(PushRefusal) -> Head {
        let place = Int(type.rawValue)
        if let head = heads[app]?[place] { return head }
        if heads.count >= Self.mostApps { heads.removeAll(keepingCapacity: true) }
        let head = try makeHead(app, type)
        heads[app, default: Array(repeating: nil, count: APNsPushType.allCases.count)][place] = head
        return head
    }

    private func makeHead(_ app: String, _ type: APNsPushType) throws(PushRefusal) -> Head {
        guard let template = payloads.apns(app: app, type) else { throw .noTemplate }
        let topic = settings.topic.value(for: app, type)
        if let topic, !HeaderText.isFieldValue(topic) { throw .unusableApp }
        if case .fixed(let name) = settings.pushType, !HeaderText.isFieldValue(name) { throw .unusableApp }
        var request = HTTPRequest(reservingBytes: 512, fields: 12)
        request.append(":method", "POST")
        request.append(":scheme", "https")
        request.append(":authority", authority)
        request.append(":path", "")
        if !authorization.isEmpty { request.append("authorization") { $0.append(contentsOf: authorization) } }
        if let topic { request.append("apns-topic", topic) }
        switch settings.pushType {
        case .automatic: request.append("apns-push-type", type.name)
        case .omitted: break
        case .fixed(let name): request.append("apns-push-type", name)
        }
        request.append("apns-priority", type.priority)
        return Head(request: request, template: template)
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
