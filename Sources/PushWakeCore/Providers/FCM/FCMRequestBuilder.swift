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
    private var head: HTTPRequest?

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
        guard !binding.token.isEmpty, binding.token.utf8.count <= Self.longestToken else { throw .unusableToken }
        let platform = FCMPlatform(of: binding)
        guard let template = payloads.fcm(app: binding.app, content.event, platform) else { throw .noTemplate }
        var request = try sharedHead()
        let values = PayloadValues(
            binding: binding, content: content, settings: settings.payload,
            pushType: content.event == .call ? "voip" : "alert",
            timeToLive: min(content.timeToLive, FCMRequest.longestTimeToLive), now: now)
        request.body.reserveCapacity(768)
        guard template.render(values, limit: FCMRequest.payloadLimit, into: &request.body) else {
            throw .payloadTooLarge
        }
        return request
    }

    private mutating func sharedHead() throws(PushRefusal) -> HTTPRequest {
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
        head = request
        return request
    }
}
