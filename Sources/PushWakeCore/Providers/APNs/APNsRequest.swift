// SPDX-License-Identifier: MIT

internal import PushWakeBytes

/// Builds the HTTP request of one push through Apple (Apple, "Sending notification requests to APNs").
public enum APNsRequest {
    /// The kind of push that an event is for a token; nil when this token must not get it.
    ///
    /// Only a call may be `voip`: iOS kills an app that gets a voip push and reports no call. A token whose
    /// kind the phone did not name counts as voip for a call and as remote for anything else (Mizutech).
    public static func pushType(of event: PushEvent, for service: TokenUse?) -> APNsPushType? {
        if let service, !service.takesPushes { return nil }
        return switch (event, service) {
        case (.call, .voip), (.call, nil): .voip
        case (.call, .remote): .alert
        case (_, .voip): nil
        case (.refresh, _): .background
        default: .alert
        }
    }

    /// The kind of push that somebody asked for by hand, or the usual one when nobody did; nil when this token must
    /// not get it. A PushKit token gets nothing but calls, and only as `voip`; no other token gets `voip`.
    public static func pushType(
        of event: PushEvent, for service: TokenUse?, wanted: APNsPushType?
    ) -> APNsPushType? {
        guard let wanted, service?.takesPushes != false else { return pushType(of: event, for: service) }
        switch (wanted, service) {
        case (.voip, .remote), (.alert, .voip), (.background, .voip): return nil
        case (.voip, _): return event == .call ? .voip : nil
        case (.alert, _), (.background, _): return wanted
        }
    }

    /// Builds the request; `authorization` is the whole value (`bearer …`), empty with a client certificate.
    ///
    /// For one push. Who sends many uses `APNsRequestBuilder`, which keeps what they have in common.
    public static func build(
        _ binding: Binding, _ content: PushContent, _ type: APNsPushType, payloads: PayloadLibrary,
        settings: APNsSettings, authorization: [UInt8], authority: String, id: PushID, now: Int64
    ) throws(PushFailure) -> HTTPRequest {
        var builder = APNsRequestBuilder(payloads: payloads, settings: settings, authority: authority)
        builder.authorization = authorization
        return try builder.build(binding, content, type, id: id, now: now)
    }
}

/// Builds many requests for one Apple host, and keeps per app and push type the head that they share.
public struct APNsRequestBuilder: Sendable {
    /// The part of a request that does not depend on the push, and the template for its body.
    private final class Shape: Sendable {
        let app: String
        let type: APNsPushType
        let family: BuiltInPayloads.Family
        let isUrgent: Bool
        let headerBlock: HTTPHeaderBlock
        let template: PayloadTemplate

        init(
            _ app: String, _ type: APNsPushType, _ family: BuiltInPayloads.Family, isUrgent: Bool,
            headerBlock: HTTPHeaderBlock, template: PayloadTemplate
        ) {
            self.app = app
            self.type = type
            self.family = family
            self.isUrgent = isUrgent
            self.headerBlock = headerBlock
            self.template = template
        }

        /// A function of its own: what it takes from the template is counted for none.
        @inline(never)
        func render(_ push: Push, _ context: PayloadContext, into body: inout [UInt8]) -> Bool {
            template.render(push, context, limit: type.payloadLimit, into: &body)
        }
    }

    /// Value of the `authorization` field (`bearer …`); empty with a client certificate.
    public var authorization: [UInt8] = [] {
        didSet {
            shapes.removeAll(keepingCapacity: true)
            latest = nil
        }
    }

    private let payloads: PayloadLibrary
    private let settings: APNsSettings
    private let authority: String
    /// By app, two places per payload and push type: in no hurry, and urgent.
    private var shapes: [String: [Shape?]] = [:]
    /// The shape of the last push: most often the next one's too.
    private var latest: Shape?

    /// Apps are named by phones: past this many the shapes start anew.
    private static let mostApps = 256
    private static let types = APNsPushType.allCases.count
    private static let places = BuiltInPayloads.Family.allCases.count * types * 2
    private static let longestCollapseID = 64
    /// `:path`, and what every path begins with.
    private static var pathStart: String { ":path/3/device/" }
    private static let longestToken = Provider.apns.row.longestToken

    /// `authority` is host and port for the `:authority` field.
    public init(payloads: PayloadLibrary, settings: APNsSettings, authority: String) {
        self.payloads = payloads
        self.settings = settings
        self.authority = authority
    }

    /// Builds one request; `now` in seconds since 1970.
    public mutating func build(
        _ binding: Binding, _ content: PushContent, _ type: APNsPushType, id: PushID, now: Int64
    ) throws(PushFailure) -> HTTPRequest {
        var request = HTTPRequest()
        try write(Push(binding, content), type, id: id, now: now, into: &request)
        return request
    }

    /// The same into an empty request that may have room from the last one.
    public mutating func write(
        _ push: Push, _ type: APNsPushType, id: PushID, now: Int64, into request: inout HTTPRequest
    ) throws(PushFailure) {
        let token = push.binding.token
        guard HeaderText.isPathSegment(token, atMost: Self.longestToken) else { throw .unusableToken }
        // A refresh is silent, and as slow as Apple wants it; one that somebody wants shown by hand is to be seen.
        let isUrgent = push.content.event == .refresh || push.content.isUrgent(settings.payload)
        let shape = try shape(push.binding.app, type, PayloadSign(of: push.binding).family, isUrgent: isUrgent)
        request.headerBlock = shape.headerBlock
        request.append(Self.pathStart, nameCount: 5, neverIndexed: true, room: token.utf8.count) {
            $0.append(copying: token.utf8.span)
        }
        // Shown late, it would announce a call that is over.
        let isRinging = type == .alert && push.content.event == .call
        request.append("apns-expiration", room: Decimal.room) {
            Self.appendExpiration(isRinging ? 0 : push.content.timeToLive, now, to: &$0)
        }
        request.append("apns-id", neverIndexed: true, room: PushID.room) { id.append(to: &$0) }
        Self.appendCollapseID(push.content, type, id: id, to: &request)

        let context = PayloadContext(of: push, settings.payload, pushType: type.name, now: now)
        guard shape.render(push, context, into: &request.body) else {
            throw .payloadTooLarge
        }
    }

    private mutating func shape(
        _ app: String, _ type: APNsPushType, _ family: BuiltInPayloads.Family, isUrgent: Bool
    ) throws(PushFailure) -> Shape {
        if let latest, latest.type == type, latest.family == family, latest.isUrgent == isUrgent, latest.app == app {
            return latest
        }
        let index = (family.place * Self.types + Int(type.rawValue)) * 2 + (isUrgent ? 1 : 0)
        if let shape = shapes[app]?[index] {
            latest = shape
            return shape
        }
        if shapes.count >= Self.mostApps { shapes.removeAll(keepingCapacity: true) }
        let shape = try makeShape(app, type, family, isUrgent: isUrgent)
        shapes[app, default: Array(repeating: nil, count: Self.places)][index] = shape
        latest = shape
        return shape
    }

    private func makeShape(
        _ app: String, _ type: APNsPushType, _ family: BuiltInPayloads.Family, isUrgent: Bool
    ) throws(PushFailure) -> Shape {
        guard let template = payloads.apns(app: app, type, for: family) else { throw .noTemplate }
        let topic = settings.topic.value(for: app, type)
        if let topic, !HeaderText.isFieldValue(topic) || topic.hasPrefix(".") { throw .unusableApp }
        var request = HTTPRequest(reservingBytes: 512, fields: 12)
        request.append(":method", "POST")
        request.append(":scheme", "https")
        request.append(":authority", authority)
        if !authorization.isEmpty { request.append("authorization") { $0.append(contentsOf: authorization) } }
        if let topic { request.append("apns-topic", topic) }
        if settings.pushType != .omitted { request.append("apns-push-type", type.name) }
        request.append("apns-priority", isUrgent ? type.priority : APNsPushType.lowPriority)
        return Shape(app, type, family, isUrgent: isUrgent, headerBlock: HTTPHeaderBlock(request), template: template)
    }

    /// 0 for "now or never", else the second at which Apple may forget the push.
    private static func appendExpiration(_ timeToLive: UInt32, _ now: Int64, to out: inout OutputSpan<UInt8>) {
        let end = now.addingReportingOverflow(Int64(timeToLive)).partialValue
        Decimal.append(timeToLive == 0 ? 0 : end, to: &out)
    }

    /// Notices about one call or one mailbox replace each other on the screen, refreshes replace refreshes. A message
    /// replaces only itself, when it has to be sent again because its answer was lost.
    private static func appendCollapseID(
        _ content: PushContent, _ type: APNsPushType, id: PushID, to request: inout HTTPRequest
    ) {
        guard type != .voip else { return }
        switch content.event {
        case .refresh: request.append("apns-collapse-id", "refresh")
        case .call, .cancel, .missed, .answeredElsewhere, .refer:
            request.append("apns-collapse-id", neverIndexed: true) { out in
                if content.callID.isEmpty { return id.append(to: &out) }
                HeaderText.appendIdentifier(content.callID, atMost: longestCollapseID, to: &out)
            }
        case .voicemail:
            request.append("apns-collapse-id", neverIndexed: true) { out in
                out.append(contentsOf: "voicemail-".utf8)
                Fingerprint.appendHex(of: content.toURI, to: &out)
            }
        case .chat, .custom, .groupChat: request.append("apns-collapse-id", neverIndexed: true) { id.append(to: &$0) }
        }
    }
}

/// What an operator decides about pushes through Apple.
public struct APNsSettings: Equatable, Sendable {
    public var topic: APNsTopic
    public var pushType: APNsPushTypeRule
    public var payload: PayloadSettings

    public init(
        topic: APNsTopic = .automatic, pushType: APNsPushTypeRule = .automatic,
        payload: PayloadSettings = PayloadSettings()
    ) {
        self.topic = topic
        self.pushType = pushType
        self.payload = payload
    }
}

extension APNsSettings {
    /// Takes what the operator set.
    public init(_ settings: Settings) {
        self.init(
            topic: APNsTopic(setting: settings.text(.apnsTopic)),
            pushType: APNsPushTypeRule(setting: settings.text(.apnsPushType)), payload: PayloadSettings(settings))
    }
}
