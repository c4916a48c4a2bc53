// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `The page` {
    private let evil = "\"><script>alert(1)</script>'&"

    private func trace(_ aor: String = "bob", from: String = "sip:alice@example.com") -> CallTrace {
        var trace = CallTrace(method: "INVITE", aor: aor, callID: "call-1", cseq: 1, from: from, now: 1000)
        trace.name(0, .init(provider: .apns, app: "com.a", token: "abc…def"))
        trace.append([.note(.asleep(device: 0)), .note(.pushed(device: 0, .call)), .hold(until: 5000)], now: 1000)
        trace.append(
            PushAnswer(
                event: .call, outcome: .accepted, reason: "", httpStatus: 200, milliseconds: 43, isBindingRemoved: false
            ),
            device: 0, now: 1043)
        trace.append(.registered(device: 0), now: 2000)
        trace.append(.rung(device: 0, leg: 1, contact: "sip:bob@192.0.2.1"), now: 2001)
        trace.append(.progressed(device: 0, leg: 1, status: 180), now: 2100)
        trace.append(.progressed(device: 0, leg: 1, status: 200), now: 4000)
        trace.append(.ended(.answered), now: 4001)
        return trace
    }

    @Test func `draws a call between caller, PBX, push service and phone, in the order of time`() {
        let picture = SequencePicture(trace())
        #expect(picture.columns == ["caller", "PBX", "apns", "phone 1"])
        let arrows = picture.steps.filter { $0.from != $0.to }
        #expect(
            arrows.map(\.label) == [
                "INVITE", "push (call)", "call: accepted", "REGISTER", "INVITE", "180", "200", "answered",
            ])
        #expect(arrows.map(\.from) == [0, 1, 2, 3, 1, 3, 3, 1] && arrows.map(\.to) == [1, 2, 1, 1, 3, 1, 1, 0])
        #expect(zip(picture.steps, picture.steps.dropFirst()).allSatisfy { $0.at <= $1.at })
    }

    @Test func `lets nothing that comes from outside become markup`() {
        var page = StatusPage(now: 9000, release: "0.1.0")
        page.traces = [trace(evil, from: evil)]
        var other = page
        other.query = evil
        var facts = DiagnosisFacts(aor: evil)
        facts.removed = [.init(provider: .apns, app: evil, reason: evil)]
        other.diagnosis = UserDiagnosis(facts)
        for html in [page.html, other.html] {
            #expect(!html.contains("<script>alert") && !html.contains("'&") && html.contains("&lt;script&gt;"))
            // Our own, in the head, and no other.
            #expect(html.components(of: "<script") == 1)
        }
        #expect(page.html.contains("href=\"/?q=%22%3e%3cscript"))
    }

    @Test func `cuts a long name where it is shown and not where it leads`() {
        var page = StatusPage(now: 9000, release: "0.1.0")
        let long = String(repeating: "a", count: 200)
        page.traces = [trace(long)]
        #expect(page.html.contains("href=\"/?q=\(long)\"") && !page.html.contains(">\(long)<"))
        #expect(page.html.contains(">\(long.prefix(128))<"))
    }

    @Test func `names a caller only where there is one`() {
        var page = StatusPage(now: 9000, release: "0.1.0")
        page.traces = [trace(from: "")]
        #expect(!page.html.contains(" from "))
        page.query = "bob"
        #expect(!page.html.contains("From "))
    }

    @Test func `says which release writes it`() {
        #expect(StatusPage(now: 0, release: "0.1.0+37.gabc1234").html.contains("<p>PushWake 0.1.0+37.gabc1234</p>"))
    }

    @Test func `shows a number of phones only where somebody counts them`() {
        var page = StatusPage(now: 0, release: "0.1.0")
        #expect(!page.html.contains("phones that can be woken") && page.html.contains("load level"))
        page.bindings = 7
        #expect(page.html.contains("<b>7</b> phones that can be woken"))
    }

    @Test func `works without anything to show`() {
        var page = StatusPage(now: 0, release: "0.1.0")
        #expect(page.html.contains("There was none since the engine started"))
        page.query = "nobody"
        #expect(page.html.contains("Nothing found"))
    }

    @Test func `has nothing that the policy forbids`() {
        var page = StatusPage(now: 9000, release: "0.1.0")
        page.query = "bob"
        page.traces = [trace()]
        for forbidden in [" style=", " onclick", " onload", "http://", "javascript:"] {
            #expect(!page.html.contains(forbidden), "\(forbidden)")
        }
        #expect(!PageAssets.script.contains("innerHTML") && !PageAssets.script.contains("eval"))
    }

    @Test func `has a trace of many lines within bounds`() {
        var long = trace()
        for number in 0..<200 { long.append(.progressed(device: number % 300, leg: number, status: 183), now: 5000) }
        var page = StatusPage(now: 9000, release: "0.1.0")
        page.query = "bob"
        page.traces = Array(repeating: long, count: 5)
        #expect(page.html.utf8.count < 400_000)
    }
}

extension String {
    /// How often a text occurs.
    fileprivate func components(of text: String) -> Int {
        var rest = self[...]
        var count = 0
        while let found = rest.firstRange(of: text) {
            count += 1
            rest = rest[found.upperBound...]
        }
        return count
    }
}
