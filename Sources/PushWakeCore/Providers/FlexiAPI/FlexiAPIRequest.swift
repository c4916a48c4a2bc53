// SPDX-License-Identifier: MIT

/// Builds requests to FlexiAPI, the HTTP interface of Linphone's account manager (`POST /api/push_notification`): it has
/// the keys of the Linphone in the app stores, and wakes it for whoever has an API key.
public struct FlexiAPIRequest: Sendable {
    /// Where it is.
    public let origin: HTTPOrigin
    private let path: String

    /// Nil when `url`, up to where `/api` follows, is no https URL.
    public init?(url: String) {
        guard let (origin, path) = HTTPOrigin.split(url), HeaderText.isTarget(path), !path.contains("?") else {
            return nil
        }
        self.origin = origin
        var base = path[...]
        while base.hasSuffix("/") { base = base.dropLast() }
        self.path = base + "/api/push_notification"
    }

    /// Builds the request of one push; `key` is the API key.
    ///
    /// Nothing of the caller goes along: the service makes up the push from its kind and the Call-ID.
    public func build(
        _ binding: Binding, _ content: PushContent, key: [UInt8]
    ) throws(PushFailure) -> HTTPRequest {
        let parameter = try Self.parameter(of: binding)
        guard Self.fits(binding.token, "-:") else { throw .unusableToken }
        var request = HTTPRequest(reservingBytes: 256 + key.count, fields: 8)
        request.append(":method", "POST")
        request.append(":scheme", "https")
        request.append(":authority", origin.authority)
        request.append(":path", path)
        request.append("accept", "application/json")
        request.append("content-type", "application/json")
        request.append("x-api-key") { $0.append(contentsOf: key) }
        var writer = JSONWriter()
        writer.object { object in
            object.name("pn_provider")
            object.string(binding.environment == .sandbox ? "apns.dev" : binding.provider.name)
            object.name("pn_param")
            object.string(parameter)
            object.name("pn_prid")
            object.string(binding.token)
            object.name("type")
            object.string(Self.type(of: content.event))
            // What is no Call-ID for the service would make it refuse the push; without one the phone just registers.
            if Self.fits(content.callID, "-~@.") {
                object.name("call_id")
                object.string(content.callID)
            }
        }
        request.body = writer.bytes
        return request
    }

    /// `pn-param` as the phone sent it, of one service: `TEAM.BUNDLE.voip`; for Google the project.
    private static func parameter(of binding: Binding) throws(PushFailure) -> String {
        var parameter = binding.app
        if binding.provider == .apns {
            // The service takes the bundle id from behind the team.
            guard !binding.team.isEmpty else { throw .unusableApp }
            parameter = "\(binding.team).\(APNsTopic.bundle(of: binding.app))"
            if let service = binding.service { parameter += ".\(service.name)" }
        }
        guard takes(app: parameter) else { throw .unusableApp }
        return parameter
    }

    /// The kinds of push that the service knows. Its `message` shows one, so all that shows nothing, or something else,
    /// is `background`.
    private static func type(of event: PushEvent) -> String {
        switch event {
        case .call: "call"
        case .chat, .groupChat, .custom: "message"
        case .cancel, .refresh, .missed, .answeredElsewhere, .voicemail, .refer: "background"
        }
    }

    /// Whether an app, or what a phone sent as `pn-param`, may stand in a request.
    static func takes(app: String) -> Bool { fits(app, ".") }

    /// Letters, digits, the underscore and `others`: what the service's patterns take.
    private static func fits(_ text: String, _ others: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7A || byte >= 0x30 && byte <= 0x39 || byte == 0x5F
                    || others.utf8.contains(byte)
            }
    }
}
