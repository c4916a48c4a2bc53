// SPDX-License-Identifier: MIT

/// Builds requests to Acrobits' push service ("SIPIS-less push calls", "HTTP push").
///
/// `Id` is the Call-ID in all events of one call, so that the INVITE needs no `X-Push-ID`.
public struct AcrobitsRequest: Sendable {
    private static let payloadLimit = 4096

    private let origin: HTTPOrigin
    private let path: String
    private let settings: AcrobitsSettings
    private let call: PayloadTemplate
    private let missed: PayloadTemplate
    private let elsewhere: PayloadTemplate
    private let text: PayloadTemplate
    private let generic: PayloadTemplate

    /// Nil when the URL of the settings is not an https URL.
    public init?(settings: AcrobitsSettings) {
        guard let (origin, path) = HTTPOrigin.split(settings.url), HeaderText.isTarget(path),
            let call = Self.template("NotifyIncomingCall", Self.callMembers),
            let missed = Self.template("NotifyIncomingCallMissed", Self.callOverMembers),
            let elsewhere = Self.template("NotifyIncomingCallAnsweredElsewhere", Self.callOverMembers),
            let text = Self.template("NotifyTextMessage", Self.textMembers),
            let generic = Self.template("NotifyGenericTextMessage", Self.genericMembers)
        else { return nil }
        self.origin = origin
        self.path = path.isEmpty ? "/" : path
        self.settings = settings
        self.call = call
        self.missed = missed
        self.elsewhere = elsewhere
        self.text = text
        self.generic = generic
    }

    /// Builds the request and says where to send it; `now` in seconds since 1970.
    public func build(
        _ binding: Binding, _ content: PushContent, now: Int64
    ) throws(PushFailure) -> (origin: HTTPOrigin, request: HTTPRequest) {
        guard !binding.token.isEmpty else { throw .unusableToken }
        guard !binding.app.isEmpty else { throw .unusableApp }
        guard let template = template(for: content.event) else { throw .noSuchPush }
        var request = HTTPRequest(reservingBytes: 256, fields: 5)
        request.append(":method", "POST")
        request.append(":scheme", "https")
        request.append(":authority", origin.authority)
        request.append(":path", path)
        request.append("content-type", "application/json")
        let values = PayloadValues(binding: binding, content: content, settings: settings.payload, now: now)
        guard template.render(values, limit: Self.payloadLimit, into: &request.body) else { throw .payloadTooLarge }
        return (origin, request)
    }

    private func template(for event: PushEvent) -> PayloadTemplate? {
        switch event {
        case .call: call
        case .cancel, .missed: missed
        case .answeredElsewhere: elsewhere
        case .chat: text
        case .custom, .groupChat, .voicemail, .refer: generic
        case .refresh: nil
        }
    }

    private static func template(_ verb: String, _ members: String) -> PayloadTemplate? {
        let source = """
            {"verb":"\(verb)","AppId":"<package>","DeviceToken":"<token>","Selector":"<selector>",\(members),\
            "UserDisplayName":"<from-name>","UserName":"<from-user>","Sound":"<sound>","Timestamp":"<sent-at>"}
            """
        return try? PayloadTemplate(json: source.utf8)
    }

    private static let callMembers = #""Id":"<call-id>","Domain":"<from-host>","Media":"<media>","Badge":"0""#
    private static let callOverMembers = #""Id":"<call-id>","Domain":"<from-host>","Badge":"1""#
    private static let textMembers =
        #""Id":"<call-id>","ThreadId":"<from-uri>","ContentType":"text/plain","Message":"<text>","Badge":"1""#
    private static let genericMembers = #""Message":"<body>","Badge":"1""#
}

/// What an operator decides about pushes through Acrobits.
public struct AcrobitsSettings: Equatable, Sendable {
    /// The push service; https.
    public var url: String
    public var payload: PayloadSettings

    public init(
        url: String = "https://pnm.cloudsoftphone.com/pnm2/send", payload: PayloadSettings = PayloadSettings()
    ) {
        self.url = url
        self.payload = payload
    }
}
