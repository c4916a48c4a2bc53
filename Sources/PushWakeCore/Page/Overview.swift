// SPDX-License-Identifier: MIT

/// What the page shows first: what needs attention, the last hour, push services and the newest calls.
public struct Overview: Equatable, Sendable {
    /// A push service.
    public struct PushService: Equatable, Sendable {
        public let name: String
        /// `ready`, `backed-off`, `tokens-refused`, `unreachable` or `circuit-open`.
        public let state: String
        /// Why it is not ready; empty where nobody has said.
        public let reason: String
        public let connections: Int
        public let waiting: Int
        /// Its answers in the last hour, milliseconds; nil without any.
        public let median: Int64?

        public init(name: String, state: String, reason: String, connections: Int, waiting: Int, median: Int64?) {
            (self.name, self.state, self.reason) = (name, state, reason)
            (self.connections, self.waiting, self.median) = (connections, waiting, median)
        }

        var isReady: Bool { state == "ready" }

        var words: String {
            let pushes = waiting == 0 ? "" : waiting == 1 ? "1 push waits" : "\(waiting) pushes wait"
            guard isReady else {
                let cause = reason.isEmpty ? state : "\(state): \(reason)"
                return pushes.isEmpty ? cause : "\(cause); \(pushes)"
            }
            var parts = [connections == 1 ? "1 connection" : "\(connections) connections"]
            if !pushes.isEmpty { parts.append(pushes) }
            if let median { parts.append("answers in \(TraceText.duration(median)) (median)") }
            return "ready, \(parts.joined(separator: ", "))"
        }
    }

    /// Something that somebody has to look at.
    public struct Concern: Equatable, Sendable {
        public let text: String
        public let remedy: String
        /// Where the page says more; empty for nowhere.
        public let link: String

        public init(_ text: String, _ remedy: String, link: String = "") {
            (self.text, self.remedy, self.link) = (text, remedy, link)
        }
    }

    /// The most urgent first.
    public var concerns: [Concern] = []
    public var services: [PushService] = []
    public var held = 0
    /// Nil where nobody counts them.
    public var bindings: Int?
    public var loadLevel = 0
    public var hour = HourReport()
    public var calls: [PageCall] = []

    public init() {}

    /// The levels of load in words.
    public static let loadWords = ["calm", "normal", "high", "very high", "extreme"]

    func write(_ clock: PageClock, _ html: inout HTMLText) {
        html.markup("<h1 class=\"hidden\">Overview</h1>")
        writeConcerns(&html)
        html.markup("<section><h2>Now</h2><ul class=\"figures\">")
        if let bindings {
            figure(String(bindings), bindings == 1 ? "phone that can be woken" : "phones that can be woken", &html)
        }
        figure(String(held), held == 1 ? "call or message held" : "calls and messages held", &html)
        figure(Self.loadWords[min(max(loadLevel, 0), 4)], "load", &html)
        html.markup("</ul></section>")
        hour.write(&html)
        writeServices(&html)
        html.markup("<section><h2>Last calls and messages</h2>")
        if calls.isEmpty {
            html.markup("<p class=\"empty\">There was none since the engine started. ")
            html.value(CallList.firstCall)
            html.markup("</p>")
        } else {
            CallList.write(calls, clock, &html)
            html.markup("<p><a href=\"/calls\">All calls and messages</a></p>")
        }
        html.markup("</section>")
    }

    private func figure(_ number: String, _ words: String, _ html: inout HTMLText) {
        html.markup("<li><b>")
        html.value(number)
        html.markup("</b> ")
        html.value(words)
        html.markup("</li>")
    }

    private func writeConcerns(_ html: inout HTMLText) {
        html.markup("<section><h2>Needs attention</h2>")
        guard !concerns.isEmpty else { return html.markup("<p class=\"good\">Nothing.</p></section>") }
        html.markup("<ul class=\"marked\">")
        for concern in concerns {
            html.markup("<li class=\"failing\"><b>")
            if concern.link.isEmpty { html.value(concern.text) } else { html.link(concern.text, to: concern.link) }
            html.markup("</b><br>")
            html.value("Do: \(concern.remedy)")
            html.markup("</li>")
        }
        html.markup("</ul></section>")
    }

    private func writeServices(_ html: inout HTMLText) {
        html.markup("<section><h2>Push services</h2>")
        if services.isEmpty {
            html.markup("<p class=\"empty\">None is set up.</p>")
        }
        html.markup("<ul class=\"marked\">")
        for service in services {
            html.markup("<li")
            html.attribute("class", service.isReady ? "fine" : "failing")
            html.markup("><b>")
            html.value(service.name)
            html.markup("</b> ")
            html.value(service.words)
            html.markup("</li>")
        }
        html.markup("</ul></section>")
    }
}
