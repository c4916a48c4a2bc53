// SPDX-License-Identifier: MIT

/// Builds many requests for one project; they all share one head.
public struct FCMRequestBuilder: Sendable {
    /// Value of the `authorization` field (`Bearer …`).
    public var authorization: [UInt8] = [] {
        didSet { head = nil }
    }

    private let payloads: PayloadLibrary
    private let settings: FCMSettings
    private let authority: String
    private var head: HTTPHead?

    private static let longestToken = 2048

    public init(payloads: PayloadLibrary, settings: FCMSettings, authority: String) {
        self.payloads = payloads
        self.settings = settings
        self.authority = authority
    }

    /// Builds one request; `now` in seconds since 1970.
    public mutating func build(
        _ binding: Binding, _ content: PushContent, now: Int64
    ) throws(PushRefusal) -> HTTPRequest {
        var request = HTTPRequest()
        try write(Push(binding, content), now: now, into: &request)
        return request
    }

    /// The same into an empty request that may have room from the last one.
    public mutating func write(
        _ push: Push, now: Int64, into request: inout HTTPRequest
    ) throws(PushRefusal) {
        let (binding, event) = (push.binding, push.content.event)
        guard !binding.token.isEmpty, binding.token.utf8.count <= Self.longestToken else { throw .unusableToken }
        let platform = FCMPlatform(of: binding)
        guard let template = payloads.fcm(app: binding.app, event, platform) else { throw .noTemplate }
        request.head = try sharedHead()
        let values = PayloadValues(
            push, settings.payload, pushType: Self.pushType(of: event).name,
            timeToLive: min(push.content.timeToLive, FCMRequest.longestTimeToLive), now: now)
        request.body.reserveCapacity(768)
        guard template.render(values, limit: FCMRequest.payloadLimit, into: &request.body) else {
            throw .payloadTooLarge
        }
    }

    /// What the keyword PUSHTYPE says to an iPhone.
    private static func pushType(of event: PushEvent) -> APNsPushType {
        switch event {
        case .call: .voip
        case .refresh: .background
        default: .alert
        }
    }

    private mutating func sharedHead() throws(PushRefusal) -> HTTPHead {
        if let head { return head }
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
        let made = HTTPHead(request)
        head = made
        return made
    }
}
