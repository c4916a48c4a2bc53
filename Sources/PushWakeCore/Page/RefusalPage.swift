// SPDX-License-Identifier: MIT

/// What a browser shows where the engine refuses. Strangers see it: it says nothing of this machine.
enum RefusalPage {
    static func html(_ status: Int, _ text: String) -> String {
        var html = HTMLText()
        StatusPage.writeHead("\(ServedAnswer.reason(status)) – PushWake", &html)
        html.markup(
            "</head><body><header><nav aria-label=\"Pages of PushWake\"><a class=\"home\" href=\"/\">PushWake</a>")
        html.markup("</nav></header><main>")
        html.element("h1", ServedAnswer.reason(status))
        html.element("p", "\(text.prefix(1).uppercased())\(text.dropFirst()).")
        html.markup("<p>")
        html.link(status == 401 ? "Sign in" : "To the overview", to: "/")
        html.markup("</p></main></body></html>\n")
        return html.text
    }
}

extension ServedRequest {
    /// A browser asks for a page, and no program for data.
    var wantsPage: Bool { self["accept"]?.lowercased().contains("text/html") ?? false }
}

extension ServedAnswer {
    /// What is wrong and what to do: a page for a browser's window, `{"error": "…"}` for everybody else.
    public static func problem(_ status: Int, _ text: String, for request: ServedRequest) -> ServedAnswer {
        request.wantsPage ? page(status, RefusalPage.html(status, text)) : problem(status, text)
    }

    /// A page, which may use what StatusPage's policy says.
    public static func page(_ status: Int, _ html: String) -> ServedAnswer {
        ServedAnswer(
            status, type: "text/html; charset=utf-8", body: Array(html.utf8),
            headers: [.init(name: "content-security-policy", value: StatusPage.policy)])
    }
}
