// SPDX-License-Identifier: MIT

/// A request of the page, with the number under which the engine keeps it.
public struct PageCall: Equatable, Sendable {
    public let trace: CallTrace
    public let number: UInt64

    public init(_ trace: CallTrace, number: UInt64) { (self.trace, self.number) = (trace, number) }
}

/// Which calls and messages a page lists.
public struct CallFilter: Equatable, Sendable {
    /// Spans of time that can be chosen, in minutes.
    static let spans: [Int64] = [15, 60, 360, 1440]

    /// Those alone that no phone rang for in time.
    public var isFailedOnly = false
    /// A part of the user, in any case.
    public var user = ""
    public var provider: Provider?
    /// Of the last so many minutes; nil for all.
    public var minutes: Int64?
    /// Older than the one with this number; nil for the newest.
    public var before: UInt64?

    /// All of them.
    public init() {}

    /// Reads the fields of a query; what does not fit is left out.
    public init(_ field: (String) -> String?) {
        isFailedOnly = field("failed") == "1"
        user = (field("user") ?? "").split(separator: " ").joined(separator: " ")
        provider = Provider.allCases.first { $0.name == field("provider") }
        minutes = field("minutes").flatMap { Int64($0) }.flatMap { (1...100_000).contains($0) ? $0 : nil }
        before = field("before").flatMap { UInt64($0) }
    }

    /// All calls but those that another page has.
    public var isOpen: Bool { !isFailedOnly && user.isEmpty && provider == nil && minutes == nil }

    /// Whether it is meant; `now` in monotonic milliseconds.
    public func admits(_ trace: CallTrace, now: Int64) -> Bool {
        if isOlder(trace, now: now) { return false }
        if !user.isEmpty, !trace.aor.lowercased().contains(user.lowercased()) { return false }
        if let provider, !trace.isAbout(provider) { return false }
        return !isFailedOnly || [.late, .lost].contains(trace.fate)
    }

    /// It is too old, and so are all before it.
    public func isOlder(_ trace: CallTrace, now: Int64) -> Bool {
        minutes.map { now &- trace.startedAt > $0 &* 60_000 } ?? false
    }

    /// The same conditions for what is older than this number.
    func query(before number: UInt64?) -> String {
        var parts: [String] = []
        if isFailedOnly { parts.append("failed=1") }
        if !user.isEmpty { parts.append("user=\(HTMLText.queryEscaped(user))") }
        if let provider { parts.append("provider=\(provider.name)") }
        if let minutes { parts.append("minutes=\(minutes)") }
        if let number { parts.append("before=\(number)") }
        return parts.isEmpty ? "/calls" : "/calls?\(parts.joined(separator: "&"))"
    }
}

extension CallTrace {
    /// One of its phones is woken by this provider.
    func isAbout(_ provider: Provider) -> Bool { names.contains { $0?.provider == provider } }
}

/// The page of calls and messages: a form with conditions, and a table.
public struct CallList: Equatable, Sendable {
    public let filter: CallFilter
    public let calls: [PageCall]
    /// Where to look for older ones; nil when there are none.
    public let next: UInt64?

    public init(_ filter: CallFilter, _ calls: [PageCall], next: UInt64?) {
        (self.filter, self.calls, self.next) = (filter, calls, next)
    }

    func write(_ clock: PageClock, _ html: inout HTMLText) {
        html.markup("<h1>Calls and messages</h1>")
        writeForm(&html)
        if calls.isEmpty {
            html.element("p", emptiness, class: "empty")
        } else {
            Self.write(calls, clock, &html)
        }
        html.markup("<nav class=\"turn\" aria-label=\"Pages\">")
        if filter.before != nil { html.link("Newest", to: filter.query(before: nil)) }
        if let next { html.link(calls.isEmpty ? "Look further back" : "Older", to: filter.query(before: next)) }
        html.markup("</nav>")
    }

    private var emptiness: String {
        if next != nil { return "None of the calls that were looked through. Look further back." }
        if !filter.isOpen { return "No call or message is like that. Take away a condition, or look at a longer time." }
        return filter.before != nil
            ? "There is none that is older." : "There was none since the engine started. \(Self.firstCall)"
    }

    static let firstCall =
        "A call shows here as soon as it goes through pushwake_lookup() in kamailio.cfg, or Asterisk dials a phone that can be woken."

    private func writeForm(_ html: inout HTMLText) {
        html.markup(
            "<form class=\"filter\" action=\"/calls\" method=\"get\"><label>User <input name=\"user\" type=\"search\"")
        html.markup(" autocomplete=\"off\" spellcheck=\"false\"")
        html.attribute("value", filter.user)
        html.markup("></label><label>Push service <select name=\"provider\">")
        html.option("", "any", isChosen: filter.provider == nil)
        for provider in Provider.allCases {
            html.option(provider.name, provider.name, isChosen: provider == filter.provider)
        }
        html.markup("</select></label><label>Time <select name=\"minutes\">")
        html.option("", "any", isChosen: filter.minutes == nil)
        for span in CallFilter.spans {
            let words = span < 60 ? "last \(span) minutes" : span == 60 ? "last hour" : "last \(span / 60) hours"
            html.option(String(span), words, isChosen: span == filter.minutes)
        }
        html.markup("</select></label><label class=\"check\"><input name=\"failed\" type=\"checkbox\" value=\"1\"")
        if filter.isFailedOnly { html.markup(" checked") }
        html.markup("> Failed only</label><button>Show</button></form>")
    }

    /// The table alone.
    static func write(_ calls: [PageCall], _ clock: PageClock, _ html: inout HTMLText) {
        html.markup("<table class=\"calls\"><thead><tr><th scope=\"col\">Time, ")
        html.value(clock.zone)
        html.markup(
            "</th><th scope=\"col\">Request</th><th scope=\"col\">End</th><th scope=\"col\">Phones</th></tr></thead><tbody>"
        )
        for call in calls { write(call.trace, clock, &html) }
        html.markup("</tbody></table>")
    }

    private static func write(_ trace: CallTrace, _ clock: PageClock, _ html: inout HTMLText) {
        html.markup("<tr")
        html.attribute("class", trace.fate.rawValue)
        html.markup("><td><time")
        html.attribute("datetime", clock.machine(trace.startedAt))
        html.attribute("title", clock.ago(trace.startedAt))
        html.markup(">")
        html.value(clock.time(trace.startedAt))
        html.markup("</time></td><td>")
        html.value(trace.method)
        html.markup(" to ")
        html.search(TraceText.cut(trace.aor), linkedTo: trace.aor)
        if !trace.from.isEmpty {
            html.markup(" from ")
            html.value(trace.from)
        }
        html.markup("</td><td><span class=\"fate\">")
        html.value(trace.fate.words)
        html.markup("</span> ")
        html.search(trace.endWords, linkedTo: trace.callID)
        html.markup("</td><td>")
        html.value(trace.summary)
        html.markup("</td></tr>")
    }
}

extension CallTrace {
    /// How it ended, and when.
    var endWords: String {
        guard let end else { return "goes on" }
        return "\(end.how.name) after \(TraceText.duration(end.at))"
    }
}

extension CallTrace.Fate {
    /// For people.
    var words: String {
        switch self {
        case .open: "open"
        case .rang: "rang"
        case .early: "hung up before"
        case .late: "too late"
        case .lost: "lost"
        }
    }
}
