// SPDX-License-Identifier: MIT

/// Builds requests to Huawei's Push Kit for HarmonyOS 5 and later ("Scenario-based messages", `v3`).
///
/// A call is a VoIP message, which starts the app; Huawei wants it for nothing else, not even for the end of a call.
/// What is to be read is a notification, and all else a background message.
public struct HarmonyOSRequest: Sendable {
    /// Value of `push-type`.
    public enum Kind: String, Sendable {
        case notification = "0"
        case background = "6"
        case voip = "10"
    }

    static let payloadLimit = 4096
    /// Seconds that Huawei keeps a message: 15 days at most.
    static let longestTimeToLive: UInt32 = 1_296_000

    /// Where requests go.
    public let origin: HTTPOrigin
    private let project: String
    private let settings: PayloadSettings
    private let facts: PayloadTemplate
    private let message: PayloadTemplate
    private let missed: PayloadTemplate

    /// Nil when the project cannot stand in a path.
    public init?(origin: HTTPOrigin, project: String, settings: PayloadSettings) {
        guard HeaderText.isPathSegment(project, atMost: 255),
            let facts = try? PayloadTemplate(json: Self.factsText.utf8),
            let message = try? PayloadTemplate(json: Self.shown("IM").utf8),
            let missed = try? PayloadTemplate(json: Self.shown("MISS_CALL").utf8)
        else { return nil }
        self.origin = origin
        self.project = project
        self.settings = settings
        self.facts = facts
        self.message = message
        self.missed = missed
    }

    /// What an event goes as.
    public static func kind(of event: PushEvent) -> Kind {
        switch event {
        case .call: .voip
        case .chat, .groupChat, .custom, .missed, .voicemail: .notification
        case .cancel, .refresh, .answeredElsewhere, .refer: .background
        }
    }

    /// Builds one request; `authorization` is the whole value (`Bearer …`), `now` in seconds since 1970.
    public func build(
        _ binding: Binding, _ content: PushContent, authorization: [UInt8], now: Int64
    ) throws(PushFailure) -> HTTPRequest {
        guard !binding.token.isEmpty, binding.token.utf8.count <= Provider.harmonyos.row.longestToken else {
            throw .unusableToken
        }
        let kind = Self.kind(of: content.event)
        var request = HTTPRequest(reservingBytes: 384 + authorization.count, fields: 7)
        request.append(":method", "POST")
        request.append(":scheme", "https")
        request.append(":authority", origin.authority)
        request.append(":path", "/v3/\(project)/messages:send")
        request.append("authorization") { $0.append(contentsOf: authorization) }
        request.append("content-type", "application/json")
        request.append("push-type", kind.rawValue)
        let timeToLive = min(max(content.timeToLive, 1), Self.longestTimeToLive)
        let values = PayloadValues(
            binding: binding, content: content, settings: settings, timeToLive: timeToLive, now: now)
        let template = kind != .notification ? facts : content.event == .missed ? missed : message
        var payload: [UInt8] = []
        // Half of it is left for quotes in quotes, the token and the rest.
        guard template.render(values, limit: Self.payloadLimit / 2, into: &payload) else { throw .payloadTooLarge }
        appendBody(kind, payload, binding.token, timeToLive, to: &request.body)
        guard request.body.count <= Self.payloadLimit else { throw .payloadTooLarge }
        return request
    }

    private func appendBody(
        _ kind: Kind, _ payload: [UInt8], _ token: String, _ timeToLive: UInt32, to out: inout [UInt8]
    ) {
        out.append(contentsOf: "{\"payload\":".utf8)
        if kind == .notification {
            out += payload
        } else {
            out.append(contentsOf: "{\"extraData\":\"".utf8)
            TextEscape.json.append(payload.span, to: &out)
            out.append(contentsOf: "\"}".utf8)
        }
        out.append(contentsOf: ",\"target\":{\"token\":[\"".utf8)
        TextEscape.json.append(token, to: &out)
        out.append(contentsOf: "\"]},\"pushOptions\":{\"ttl\":".utf8)
        Decimal.append(UInt64(timeToLive), to: &out)
        out.append(contentsOf: "}}".utf8)
    }

    private static let members = """
        "event":"<event>","call-id":"<call-id>","from-uri":"<from-uri>","display-name":"<from-name>",\
        "to-uri":"<to-uri>","sent-at":<sent-at>,"expires-at":<expires-at>
        """

    /// `scene` is what Huawei's own example tells the app of a call.
    private static let factsText = "{\"scene\":\"voice\",\(members)}"

    /// The app's start page opens, and is told what it was opened for.
    private static func shown(_ category: String) -> String {
        """
        {"notification":{"category":"\(category)","title":"<title>","body":"<body>",\
        "clickAction":{"actionType":0,"data":{\(members)}}}}
        """
    }
}
