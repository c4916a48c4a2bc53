// SPDX-License-Identifier: MIT

/// Builds the HTTP request of one push through Google (FCM HTTP v1).
public enum FCMRequest {
    /// Longest payload in bytes.
    public static let payloadLimit = 4096
    /// Four weeks, in seconds.
    public static let longestTimeToLive: UInt32 = 2_419_200

    /// Builds the request; `authorization` is the whole value (`Bearer …`).
    ///
    /// For one push. Who sends many uses `FCMRequestBuilder`, which keeps what they have in common.
    public static func build(
        _ binding: Binding, _ content: PushContent, payloads: PayloadLibrary, settings: FCMSettings,
        authorization: [UInt8], authority: String, now: Int64
    ) throws(PushFailure) -> HTTPRequest {
        var builder = FCMRequestBuilder(payloads: payloads, settings: settings, authority: authority)
        builder.authorization = authorization
        return try builder.build(binding, content, now: now)
    }
}

/// Builds many requests for one project; they all share one head.
public struct FCMRequestBuilder: Sendable {
    /// Value of the `authorization` field (`Bearer …`).
    public var authorization: [UInt8] = [] {
        didSet { headerBlock = nil }
    }

    private let payloads: PayloadLibrary
    private let settings: FCMSettings
    private let authority: String
    /// Bytes of a token that count as payload. Google issues shorter ones and names no limit; GCM's was 4,096.
    private static let usualToken = 2048
    private var headerBlock: HTTPHeaderBlock?

    public init(payloads: PayloadLibrary, settings: FCMSettings, authority: String) {
        self.payloads = payloads
        self.settings = settings
        self.authority = authority
    }

    /// Builds one request; `now` in seconds since 1970.
    public mutating func build(
        _ binding: Binding, _ content: PushContent, now: Int64
    ) throws(PushFailure) -> HTTPRequest {
        var request = HTTPRequest()
        try write(Push(binding, content), now: now, into: &request)
        return request
    }

    /// The same into an empty request that may have room from the last one.
    public mutating func write(
        _ push: Push, now: Int64, into request: inout HTTPRequest
    ) throws(PushFailure) {
        let (binding, event) = (push.binding, push.content.event)
        guard !binding.token.isEmpty else { throw .unusableToken }
        let platform = FCMPlatform(of: binding)
        guard
            let template = payloads.fcm(app: binding.app, event, platform, for: PayloadSign(of: binding).family)
        else { throw .noTemplate }
        request.headerBlock = try sharedHeaderBlock()
        let context = PayloadContext(
            of: push, settings.payload, pushType: Self.pushType(of: event).name,
            timeToLive: min(push.content.timeToLive, FCMRequest.longestTimeToLive), now: now)
        request.body.reserveCapacity(768)
        // Google limits what the phone gets, and the token is not part of that: a long one leaves the text its room.
        let limit = FCMRequest.payloadLimit + max(0, binding.token.utf8.count - Self.usualToken)
        guard template.render(push, context, limit: limit, into: &request.body) else {
            throw .payloadTooLarge
        }
    }

    /// What the keyword PUSHTYPE says to an iPhone: Google has no VoIP push, and sends to the token for alerts.
    private static func pushType(of event: PushEvent) -> APNsPushType { event == .refresh ? .background : .alert }

    private mutating func sharedHeaderBlock() throws(PushFailure) -> HTTPHeaderBlock {
        if let headerBlock { return headerBlock }
        guard HeaderText.isPathSegment(settings.project, atMost: 255) else { throw .unusableApp }
        var request = HTTPRequest(reservingBytes: 256 + authorization.count, fields: 6)
        request.append(":method", "POST")
        request.append(":scheme", "https")
        request.append(":authority", authority)
        request.append(":path") { out in
            out.append(contentsOf: "/v1/projects/".utf8)
            out.append(contentsOf: settings.project.utf8)
            out.append(contentsOf: "/messages:send".utf8)
        }
        request.append("authorization") { $0.append(contentsOf: authorization) }
        request.append("content-type", "application/json")
        let made = HTTPHeaderBlock(request)
        headerBlock = made
        return made
    }
}

/// What kind of phone or browser a registration token of Google's leads to.
public enum FCMPlatform: UInt8, Sendable, CaseIterable {
    case android = 0
    /// An iPhone whose app takes its pushes through Firebase (the attribute is `ios`).
    case ios = 1
    /// A browser whose page takes its pushes through Firebase (`web`).
    case web = 2

    /// The attribute that names it. Our own, from what X-MPUSH or a token given by hand says: of a Contact it is not read.
    public static let attribute = "pn-platform"

    /// The platform of the token; Android unless the attribute says otherwise.
    public init(of binding: Binding) {
        switch binding.attributes[Self.attribute]?.lowercased() {
        case "ios": self = .ios
        case "web": self = .web
        default: self = .android
        }
    }

    /// Sections of a message that are meant for others, and a topic for Apple: Google knows that of the app.
    var foreignSections: Set<String> {
        switch self {
        case .android: ["message.apns", "message.webpush"]
        case .ios: ["message.android", "message.android_v2", "message.webpush", "message.apns.headers.apns-topic"]
        case .web: ["message.android", "message.android_v2", "message.apns"]
        }
    }
}

/// What an operator decides about pushes through Google.
public struct FCMSettings: Equatable, Sendable {
    /// Project of the service account that the pushes go out under.
    public var project: String
    public var payload: PayloadSettings

    public init(project: String, payload: PayloadSettings = PayloadSettings()) {
        self.project = project
        self.payload = payload
    }
}
