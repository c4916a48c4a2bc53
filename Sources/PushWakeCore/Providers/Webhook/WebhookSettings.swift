// SPDX-License-Identifier: MIT

/// An HTTP request of the operator's own, for any provider that PushWake does not know.
///
/// Everything but the host may hold keywords: Mizutech's words, `<name>`s, and in the URL Flexisip's `$name`s.
public struct WebhookSettings: Equatable, Sendable {
    /// What the body is, which decides how values are escaped in it.
    public enum Body: Equatable, Sendable {
        case none
        /// A JSON object.
        case json(String)
        /// `name=value&…`.
        case form(String)
        case text(String)
    }

    /// One header field; the value may hold keywords.
    public struct Header: Equatable, Sendable {
        public let name: String
        public let value: String
        /// The value is sent as it is: a key may look like a keyword.
        public let isLiteral: Bool

        public init(name: String, value: String, isLiteral: Bool = false) {
            self.name = name
            self.value = value
            self.isLiteral = isLiteral
        }
    }

    /// Upper case.
    public var method: String
    /// https; keywords in path and query only.
    public var url: String
    public var headers: [Header]
    public var body: Body
    /// What statuses mean where it is not the usual.
    public var answers: WebhookAnswers
    public var payload: PayloadSettings

    public init(
        method: String = "POST", url: String, headers: [Header] = [], body: Body = .none,
        answers: WebhookAnswers = WebhookAnswers(), payload: PayloadSettings = PayloadSettings()
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.answers = answers
        self.payload = payload
    }
}

extension WebhookSettings {
    /// The body of a webhook whose operator wrote none: all that is known about the push.
    public static let usualJSON = """
        {"event":"<event>","provider":"<provider>","app":"<package>","token":"<token>","call-id":"<call-id>",\
        "from-uri":"<from-uri>","from-name":"<from-name>","to-uri":"<to-uri>","title":"<title>","body":"<body>",\
        "text":"<text>","priority":"<priority>","ttl":<ttl>,"sent-at":<sent-at>,\
        "expires-at":<expires-at>}
        """

    /// The same as a form.
    public static let usualForm =
        "event=<event>&provider=<provider>&app=<package>&token=<token>&call-id=<call-id>&from-uri=<from-uri>"
        + "&from-name=<from-name>&to-uri=<to-uri>&title=<title>&body=<body>&text=<text>&priority=<priority>"
        + "&ttl=<ttl>&sent-at=<sent-at>&expires-at=<expires-at>"
}
