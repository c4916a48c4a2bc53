// SPDX-License-Identifier: MIT

/// What is known of one user or one Call-ID.
public struct Findings: Equatable, Sendable {
    /// As it was asked for.
    public let name: String
    /// The user's; nil for a Call-ID, and for a name that nobody has.
    public var diagnosis: UserDiagnosis?
    public var phones: [PagePhone] = []
    public var calls: [PageCall] = []
    /// Calls of the user can be made from the page.
    public var canTry = false

    public init(_ name: String) { self.name = name }

    private var isEmpty: Bool { diagnosis == nil && phones.isEmpty && calls.isEmpty }

    func write(_ clock: PageClock, _ html: inout HTMLText) {
        html.element("h1", name)
        if isEmpty {
            html.markup(
                "<section><h2>Nothing found</h2><p class=\"empty\">None of the last requests has this Call-ID or is for "
            )
            html.value(name)
            html.markup(", and there is no phone of such a user. Search for a part of the name, or look at ")
            html.markup("<a href=\"/phones\">all phones</a> and <a href=\"/calls\">all calls</a>.</p></section>")
        }
        if let diagnosis { write(diagnosis, &html) }
        if !phones.isEmpty {
            html.markup("<section><h2>Phones</h2>")
            PagePhone.write(phones, &html)
            html.markup("</section>")
        }
        for call in calls { write(call, clock, &html) }
        guard !isEmpty else { return }
        html.markup(
            "<details class=\"report\"><summary>Report for the app's developer</summary><button type=\"button\"")
        html.markup(" data-copy=\"report\" hidden>Copy</button><pre id=\"report\" tabindex=\"0\">")
        html.lines(report(clock))
        html.markup("</pre></details>")
    }

    /// What stands beside the page's content, so that it stays while that changes: a call to the user, step by step.
    func writeTrial(_ html: inout HTMLText) {
        guard canTry else { return }
        html.markup(
            "<aside aria-label=\"Try\"><form id=\"try\" method=\"post\" action=\"/try\"><input type=\"hidden\" name=\"user\""
        )
        html.attribute("value", name)
        html.markup("><button>Try</button> Calls this user's phones through the PBX, as pushwake try does. ")
        html.markup("Close the app and lock the phone first.</form>")
        html.markup("<pre id=\"trial\" role=\"log\" tabindex=\"0\" aria-label=\"Steps\" hidden></pre></aside>")
    }

    private func write(_ diagnosis: UserDiagnosis, _ html: inout HTMLText) {
        html.markup("<section><h2>The way of a call to ")
        html.value(name)
        html.markup("</h2><ol class=\"marked\">")
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

    private func write(_ call: PageCall, _ clock: PageClock, _ html: inout HTMLText) {
        let trace = call.trace
        html.markup("<section")
        html.attribute("class", "call \(trace.fate.rawValue)")
        html.markup("><h2>")
        html.value("\(trace.method) to \(trace.aor), ")
        html.markup("<time")
        html.attribute("datetime", clock.machine(trace.startedAt))
        html.markup(">")
        html.value(clock.full(trace.startedAt))
        html.markup("</time></h2><p><span class=\"fate\">")
        html.value(trace.fate.words)
        html.markup("</span> ")
        if !trace.from.isEmpty { html.value("From \(trace.from): ") }
        html.value("\(trace.endWords); \(trace.summary).")
        if case .failed(let remedy) = trace.result, remedy != diagnosis?.advice {
            html.markup("</p><p class=\"advice\"><b>Do:</b> ")
            html.value(remedy)
        }
        html.markup("</p><p class=\"callid\">Call-ID ")
        html.value(trace.callID)
        html.markup("</p>")
        let picture = SequencePicture(trace)
        html.markup(
            "<div class=\"picture\"><p class=\"tools\"><button type=\"button\" data-zoom=\"-1\" hidden>Smaller</button> "
        )
        html.markup("<button type=\"button\" data-zoom=\"1\" hidden>Larger</button> <a download")
        html.attribute("href", "/call.svg?number=\(call.number)")
        html.markup(">Download</a></p><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Sequence\">")
        picture.draw("The sequence of the request; the list below has the same", into: &html)
        html.markup("</div></div>")
        picture.list(into: &html)
        html.markup("<details><summary>Line by line</summary><ol class=\"lines\">")
        for line in Self.lines(of: trace) {
            html.markup("<li><span class=\"when\">+")
            html.value("\(line.at) ms")
            html.markup("</span> ")
            html.value(line.text)
            html.markup("</li>")
        }
        html.markup("</ol></details></section>")
    }

    private static func lines(of trace: CallTrace) -> [(at: Int64, text: String)] {
        trace.rows().compactMap { row in
            guard case .number(let at)? = row.first?.value, case .text(let text)? = row.dropFirst().first?.value else {
                return nil
            }
            return (at, text)
        }
    }

    /// All of it as plain text, for somebody who cannot see this page.
    private func report(_ clock: PageClock) -> [String] {
        var lines = ["PushWake, \(clock.full(clock.now)): \(name)"]
        if let diagnosis {
            lines += diagnosis.findings.map { "\($0.step.rawValue): \($0.state.rawValue): \($0.text)" }
            lines.append("Do: \(diagnosis.advice)")
        }
        lines += phones.map(\.line)
        for call in calls {
            let trace = call.trace
            lines += [
                "",
                "\(clock.full(trace.startedAt)): \(trace.method) to \(trace.aor), \(trace.endWords): \(trace.summary)",
            ]
            lines.append("Call-ID \(trace.callID)")
            lines += Self.lines(of: trace).map { "  +\($0.at) ms  \($0.text)" }
        }
        return lines
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
