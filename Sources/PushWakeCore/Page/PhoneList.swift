// SPDX-License-Identifier: MIT

/// A phone as the page lists it. Times are seconds.
public struct PagePhone: Equatable, Sendable {
    public let user: String
    /// Push service and app.
    public let service: String
    /// Shortened.
    public let token: String
    public let registeredAgo: Int64
    /// Nil for never since the engine started.
    public let pushedAgo: Int64?
    public let wokeAgo: Int64?
    /// What its pushes came to, or why its binding is gone.
    public let verdict: String

    public init(
        user: String, service: String, token: String, registeredAgo: Int64, pushedAgo: Int64?, wokeAgo: Int64?,
        verdict: String
    ) {
        (self.user, self.service, self.token, self.registeredAgo) = (user, service, token, registeredAgo)
        (self.pushedAgo, self.wokeAgo, self.verdict) = (pushedAgo, wokeAgo, verdict)
    }

    /// Its pushes wake it, or nothing says that they do not.
    private var style: String {
        if verdict.hasPrefix("wakes in") { return CallTrace.Fate.rang.rawValue }
        let isBad = ["removed", "failed", "off?"].contains { verdict.contains($0) }
        return (isBad ? CallTrace.Fate.lost : .open).rawValue
    }

    static func write(_ phones: [PagePhone], _ html: inout HTMLText) {
        html.markup("<table class=\"phones\"><thead><tr><th scope=\"col\">User</th><th scope=\"col\">App</th>")
        html.markup(
            "<th scope=\"col\">Last REGISTER</th><th scope=\"col\">Last push</th><th scope=\"col\">Last wake</th>")
        html.markup("<th scope=\"col\">Verdict</th></tr></thead><tbody>")
        for phone in phones {
            html.markup("<tr")
            html.attribute("class", phone.style)
            html.markup("><td>")
            html.search(TraceText.cut(phone.user), linkedTo: phone.user)
            html.markup("</td><td>")
            html.value(phone.service)
            html.markup(" <code>")
            html.value(phone.token)
            html.markup("</code></td>")
            for (name, time) in [
                ("Last REGISTER", phone.registeredAgo), ("Last push", phone.pushedAgo), ("Last wake", phone.wokeAgo),
            ] {
                html.markup("<td")
                html.attribute("data-name", name)
                html.markup(">")
                html.value(Self.words(time))
                html.markup("</td>")
            }
            html.markup("<td><span class=\"fate\">")
            html.value(phone.verdict)
            html.markup("</span></td></tr>")
        }
        html.markup("</tbody></table>")
    }

    static func words(_ time: Int64?) -> String { time.map { "\(UserDiagnosis.time($0)) ago" } ?? "never" }

    /// For a report: one line.
    var line: String {
        "\(service), token \(token): registered \(Self.words(registeredAgo)), pushed \(Self.words(pushedAgo)), "
            + "woke \(Self.words(wokeAgo)); \(verdict)"
    }
}

/// Which phones a page lists.
public struct PhoneFilter: Equatable, Sendable {
    /// What can be chosen besides all; the raw values are those of the form.
    public enum Choice: String, CaseIterable, Sendable {
        case never
        case silent
        case failing
        case unseen

        /// The condition of a listing, and what people read.
        public var condition: (name: String, value: String, words: String) {
            switch self {
            case .never: ("verdict", "woke 0", "never woke")
            case .silent: ("verdict", "since it woke last", "no longer wake")
            case .failing: ("verdict", "failed", "pushes fail")
            case .unseen: ("age", "+7d", "not seen for a week")
            }
        }
    }

    /// A part of the user.
    public var user = ""
    public var choice: Choice?
    /// Where the page begins; empty for the first.
    public var cursor = ""

    /// All of them.
    public init() {}

    /// Reads the fields of a query; what does not fit is left out.
    public init(_ field: (String) -> String?) {
        user = PageQuery.name(field("user") ?? "")
        choice = Choice(rawValue: field("show") ?? "")
        cursor = field("after") ?? ""
    }

    func query(after cursor: String) -> String {
        var parts: [String] = []
        if !user.isEmpty { parts.append("user=\(HTMLText.queryEscaped(user))") }
        if let choice { parts.append("show=\(choice.rawValue)") }
        if !cursor.isEmpty { parts.append("after=\(HTMLText.queryEscaped(cursor))") }
        return parts.isEmpty ? "/phones" : "/phones?\(parts.joined(separator: "&"))"
    }
}

/// What people type or paste where a user or a Call-ID is asked for.
public enum PageQuery {
    /// Without blanks around it, angle brackets, `sip:` and parameters.
    public static func name(_ text: String) -> String {
        var name = text.split(separator: " ").joined(separator: " ")[...]
        if let start = name.firstIndex(of: "<"), let end = name[start...].firstIndex(of: ">") {
            let inner = name[name.index(after: start)..<end]
            if isURI(inner) { name = inner }
        }
        guard isURI(name), let colon = name.firstIndex(of: ":") else { return String(name) }
        return String(name[name.index(after: colon)...].prefix { $0 != ";" && $0 != "?" })
    }

    /// The address of a user's or a call's page.
    public static func place(of name: String) -> String { "/?q=\(HTMLText.queryEscaped(name))" }

    private static func isURI(_ text: Substring) -> Bool {
        let text = text.prefix(5).lowercased()
        return text.hasPrefix("sip:") || text == "sips:"
    }
}

/// The page of phones: a form with conditions, and a table.
public struct PhoneList: Equatable, Sendable {
    public let filter: PhoneFilter
    public let phones: [PagePhone]
    /// Where the next page begins; nil on the last one.
    public let next: String?
    /// Why the store could not be asked; empty where it could.
    public let problem: String

    public init(_ filter: PhoneFilter, _ phones: [PagePhone], next: String?, problem: String = "") {
        (self.filter, self.phones, self.next, self.problem) = (filter, phones, next, problem)
    }

    func write(_ html: inout HTMLText) {
        html.markup("<h1>Phones</h1><form class=\"filter\" action=\"/phones\" method=\"get\"><label>User ")
        html.markup("<input name=\"user\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\"")
        html.attribute("value", filter.user)
        html.markup("></label><label>Show <select name=\"show\">")
        html.option("", "all", isChosen: filter.choice == nil)
        for choice in PhoneFilter.Choice.allCases {
            html.option(choice.rawValue, choice.condition.words, isChosen: choice == filter.choice)
        }
        html.markup("</select></label><button>Show</button></form>")
        if phones.isEmpty { html.element("p", emptiness, class: "empty") } else { PagePhone.write(phones, &html) }
        html.markup("<nav class=\"turn\" aria-label=\"Pages\">")
        if !filter.cursor.isEmpty { html.link("First", to: filter.query(after: "")) }
        if let next { html.link(phones.isEmpty ? "Look further" : "More", to: filter.query(after: next)) }
        html.markup("</nav>")
    }

    private var emptiness: String {
        if !problem.isEmpty { return problem }
        if next != nil { return "None of the phones that were looked through. Look further." }
        guard filter.user.isEmpty, filter.choice == nil else {
            return "No phone is like that. Take away a condition, or search for a shorter part of the name."
        }
        return
            "No phone has registered with a push token. pushwake parse FILE with a captured REGISTER says what a phone sends."
    }
}
