// SPDX-License-Identifier: MIT

extension WebhookSettings {
    /// The body of a webhook whose operator wrote none: all that is known about the push.
    public static let usualJSON = """
        {"event":"<event>","provider":"<provider>","app":"<package>","token":"<token>","call-id":"<call-id>",\
        "from-uri":"<from-uri>","from-name":"<from-name>","to-uri":"<to-uri>","title":"<title>","body":"<body>",\
        "text":"<text>","priority":"<priority>","ttl":<ttl>,"sent-at":<sent-at>}
        """

    /// The same as a form.
    public static let usualForm =
        "event=<event>&provider=<provider>&app=<package>&token=<token>&call-id=<call-id>&from-uri=<from-uri>"
        + "&from-name=<from-name>&to-uri=<to-uri>&title=<title>&body=<body>&text=<text>&priority=<priority>"
        + "&ttl=<ttl>&sent-at=<sent-at>"
}
