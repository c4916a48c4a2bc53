// SPDX-License-Identifier: MIT

/// The page that the engine serves: what went on, why a phone did not ring, how push services are reached. Pure: facts in,
/// HTML out, and every value is escaped.
public struct StatusPage: Sendable {
    /// What one address shows.
    public enum Content: Sendable {
        case overview(Overview)
        case calls(CallList)
        case phones(PhoneList)
        case findings(Findings)
    }

    /// What the whole page has: for browsers (Content Security Policy 3) and for everything that comes from packets.
    static let policy =
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

    private let content: Content
    private let clock: PageClock
    private let release: String
    private let host: String

    /// Shows `content` at the time of `clock`; written by `release` on `host`, which is the machine or node by name.
    public init(_ content: Content, clock: PageClock, release: String, host: String) {
        (self.content, self.clock, self.release, self.host) = (content, clock, release, host)
    }

    /// The whole document.
    public var html: String {
        var html = HTMLText()
        Self.writeHead(title, &html)
        html.markup(
            "<script src=\"/live.js\" defer></script></head><body><a class=\"skip\" href=\"#main\">To the content</a><header>"
        )
        html.markup("<nav aria-label=\"Pages of PushWake\"><a class=\"home\" href=\"/\">PushWake</a>")
        writePlaces(&html)
        html.markup("</nav><form role=\"search\" action=\"/\" method=\"get\"><label for=\"q\">User or Call-ID</label>")
        html.markup("<input id=\"q\" name=\"q\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\"")
        html.attribute("value", name)
        html.markup("><button>Search</button></form></header><main id=\"main\" tabindex=\"-1\">")
        switch content {
        case .overview(let overview): overview.write(clock, &html)
        case .calls(let list): list.write(clock, &html)
        case .phones(let list): list.write(&html)
        case .findings(let findings): findings.write(clock, &html)
        }
        html.markup("</main>")
        if case .findings(let findings) = content { findings.writeTrial(&html) }
        html.markup("<footer><p>")
        html.value("PushWake \(release) on \(host), ")
        html.markup("<time id=\"clock\"")
        html.attribute("datetime", clock.machine(clock.now))
        html.markup(">")
        html.value(clock.full(clock.now))
        html.markup("</time></p><p role=\"status\" id=\"live\"></p><noscript><p>")
        html.link("Look again", to: place)
        html.markup("</p></noscript></footer></body></html>\n")
        return html.text
    }

    /// Up to where the head ends, with a script or without.
    static func writeHead(_ title: String, _ html: inout HTMLText) {
        html.markup("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">")
        html.markup("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")
        html.markup("<meta name=\"color-scheme\" content=\"light dark\">")
        html.element("title", title)
        html.markup("<link rel=\"icon\" href=\"/icon.svg\" type=\"image/svg+xml\">")
        html.markup("<link rel=\"stylesheet\" href=\"/style.css\">")
    }

    /// Which user or Call-ID it is about; empty for all.
    private var name: String {
        if case .findings(let findings) = content { findings.name } else { "" }
    }

    private var title: String {
        switch content {
        case .overview: "PushWake on \(host)"
        case .calls: "Calls – PushWake"
        case .phones: "Phones – PushWake"
        case .findings(let findings): "\(findings.name) – PushWake"
        }
    }

    /// Its own address.
    private var place: String {
        switch content {
        case .overview: "/"
        case .calls(let list): list.filter.query(before: list.filter.before)
        case .phones(let list): list.filter.query(after: list.filter.cursor)
        case .findings(let findings): PageQuery.place(of: findings.name)
        }
    }

    private func writePlaces(_ html: inout HTMLText) {
        let here: String
        switch content {
        case .overview: here = "/"
        case .calls: here = "/calls"
        case .phones: here = "/phones"
        case .findings: here = ""
        }
        for (path, words) in [("/", "Overview"), ("/calls", "Calls"), ("/phones", "Phones")] {
            html.markup(" <a")
            html.attribute("href", path)
            if path == here { html.markup(" aria-current=\"page\"") }
            html.markup(">")
            html.value(words)
            html.markup("</a>")
        }
    }
}
