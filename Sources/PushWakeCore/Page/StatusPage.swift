// SPDX-License-Identifier: MIT

/// The page that the engine serves: what went on, why a phone did not ring, how push services are reached. Pure: facts in,
/// HTML out, and every value is escaped.
public struct StatusPage: Sendable {
    /// A push service.
    public struct PushService: Equatable, Sendable {
        public let name: String
        /// `ready`, `backed-off`, `unreachable` or `circuit-open`.
        public let state: String
        public let connections: Int
        public let waiting: Int
        /// Mean milliseconds of its answers; nil without any.
        public let meanAnswer: Int64?

        public init(name: String, state: String, connections: Int, waiting: Int, meanAnswer: Int64?) {
            self.name = name
            self.state = state
            self.connections = connections
            self.waiting = waiting
            self.meanAnswer = meanAnswer
        }
    }

    /// What the whole page has: for browsers (Content Security Policy 3) and for everything that comes from packets.
    public static let policy =
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

    /// Which release writes it.
    public let release: String
    /// Which user or Call-ID is asked for; empty for the overview.
    public var query = ""
    public var services: [PushService] = []
    public var held = 0
    /// Nil where nobody counts them.
    public var bindings: Int?
    public var loadLevel = 0
    /// Requests of the overview, or the traces that were found.
    public var traces: [CallTrace] = []
    /// Of the user that is asked for.
    public var diagnosis: UserDiagnosis?
    /// Monotonic milliseconds.
    private let now: Int64

    /// Begins at `now`, monotonic milliseconds; written by `release`.
    public init(now: Int64, release: String) {
        self.now = now
        self.release = release
    }

    /// The whole document.
    public var html: String {
        var html = HTMLText()
        html.markup("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">")
        html.markup("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")
        html.markup("<meta name=\"color-scheme\" content=\"light dark\">")
        html.element("title", query.isEmpty ? "PushWake" : "\(query) – PushWake")
        html.markup("<link rel=\"stylesheet\" href=\"/style.css\"><script src=\"/live.js\" defer></script>")
        html.markup("</head><body>")
        html.markup("<a class=\"skip\" href=\"#main\">To the content</a><header><h1><a href=\"/\">PushWake</a></h1>")
        html.markup("<form role=\"search\" action=\"/\" method=\"get\"><label for=\"q\">User or Call-ID</label>")
        html.markup("<input id=\"q\" name=\"q\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\"")
        html.attribute("value", query)
        html.markup("><button>Search</button></form></header><main id=\"main\" tabindex=\"-1\">")
        if query.isEmpty { writeOverview(&html) } else { writeFindings(&html) }
        html.markup("</main><footer>")
        html.element("p", "PushWake \(release)")
        html.markup("<p role=\"status\" id=\"live\"></p><noscript><p>")
        html.search("Look again", linkedTo: query)
        html.markup("</p></noscript></footer></body></html>\n")
        return html.text
    }

    // MARK: Overview

    private func writeOverview(_ html: inout HTMLText) {
        html.markup("<section><h2>Now</h2><ul class=\"figures\"><li><b>")
        if let bindings {
            html.number(bindings)
            html.markup("</b> phones that can be woken</li><li><b>")
        }
        html.number(held)
        html.markup("</b> calls and messages held</li><li><b>")
        html.number(loadLevel)
        html.markup("</b> load level of 4</li></ul></section>")
        writeServices(&html)
        html.markup("<section><h2>Last calls and messages</h2>")
        if traces.isEmpty { html.markup("<p>There was none since the engine started.</p>") }
        html.markup("<ul class=\"requests\">")
        for trace in traces { writeEntry(trace, &html) }
        html.markup("</ul></section>")
    }

    private func writeServices(_ html: inout HTMLText) {
        html.markup("<section><h2>Push services</h2>")
        if services.isEmpty { html.markup("<p>None is set up: no phone can be woken.</p>") }
        html.markup("<ul class=\"services\">")
        for service in services {
            html.markup("<li")
            html.attribute("class", service.state == "ready" ? "fine" : "failing")
            html.markup("><b>")
            html.value(service.name)
            html.markup("</b> ")
            let connections = service.connections == 1 ? "1 connection" : "\(service.connections) connections"
            let pushes = service.waiting == 1 ? "1 push waits" : "\(service.waiting) pushes wait"
            var words = "\(service.state), \(connections), \(pushes)"
            if let mean = service.meanAnswer { words += ", answers in \(TraceText.duration(mean))" }
            html.value(words)
            html.markup("</li>")
        }
        html.markup("</ul></section>")
    }

    private func writeEntry(_ trace: CallTrace, _ html: inout HTMLText) {
        html.markup("<li")
        html.attribute("class", Self.style(of: trace))
        html.markup("><span class=\"when\">")
        html.value("\(UserDiagnosis.time(max(0, now &- trace.startedAt) / 1000)) ago")
        html.markup("</span> ")
        html.value(trace.method)
        html.markup(" to ")
        html.search(TraceText.cut(trace.aor), linkedTo: trace.aor)
        if !trace.from.isEmpty {
            html.markup(" from ")
            html.value(trace.from)
        }
        html.markup(": ")
        html.search(Self.ending(of: trace), linkedTo: trace.callID)
        html.markup("<br>")
        html.element("span", trace.summary, class: "summary")
        html.markup("</li>")
    }

    // MARK: One user or call

    private func writeFindings(_ html: inout HTMLText) {
        if let diagnosis { write(diagnosis, &html) }
        if traces.isEmpty, diagnosis == nil {
            html.markup("<section><h2>Nothing found</h2><p>None of the last requests has this Call-ID or is for ")
            html.value(query)
            html.markup(", and there is no phone of such a user.</p></section>")
        }
        for trace in traces { write(trace, &html) }
    }

    private func write(_ diagnosis: UserDiagnosis, _ html: inout HTMLText) {
        html.markup("<section><h2>The way of a call to ")
        html.value(query)
        html.markup("</h2><ol class=\"steps\">")
        for finding in diagnosis.findings {
            html.markup("<li")
            html.attribute("class", Self.style(of: finding.state))
            html.markup("><b>")
            html.value("\(finding.step.rawValue): \(finding.state.rawValue)")
            html.markup("</b> ")
            html.value(finding.text)
            html.markup("</li>")
        }
        html.markup("</ol><p class=\"advice\"><b>Do:</b> ")
        html.value(diagnosis.advice)
        html.markup("</p></section>")
    }

    private func write(_ trace: CallTrace, _ html: inout HTMLText) {
        html.markup("<section")
        html.attribute("class", Self.style(of: trace))
        html.markup("><h2>")
        html.value("\(trace.method) to \(trace.aor), \(UserDiagnosis.time(max(0, now &- trace.startedAt) / 1000)) ago")
        html.markup("</h2><p>")
        if !trace.from.isEmpty { html.value("From \(trace.from): ") }
        html.value("\(Self.ending(of: trace)); \(trace.summary).")
        if case .failed(let remedy) = trace.result {
            html.markup("</p><p class=\"advice\"><b>Do:</b> ")
            html.value(remedy)
        }
        html.markup("</p><p class=\"callid\">Call-ID ")
        html.value(trace.callID)
        html.markup("</p><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Sequence\">")
        SequencePicture(trace).draw("The sequence of the request; the list below has the same", into: &html)
        html.markup("</div><details><summary>Line by line</summary><ol class=\"lines\">")
        for row in trace.rows() {
            guard case .number(let at)? = row.first?.value, case .text(let text)? = row.dropFirst().first?.value else {
                continue
            }
            html.markup("<li><span class=\"when\">+")
            html.value("\(at) ms")
            html.markup("</span> ")
            html.value(text)
            html.markup("</li>")
        }
        html.markup("</ol></details></section>")
    }

    private static func ending(of trace: CallTrace) -> String {
        guard let end = trace.end else { return "goes on" }
        return "\(end.how.name) after \(TraceText.duration(end.at))"
    }

    private static func style(of trace: CallTrace) -> String {
        guard trace.end != nil else { return "open" }
        return trace.result == .fine ? "fine" : "failing"
    }

    private static func style(of state: UserDiagnosis.State) -> String {
        switch state {
        case .fine: "fine"
        case .open: "open"
        case .doubtful: "doubtful"
        case .failing: "failing"
        }
    }
}
