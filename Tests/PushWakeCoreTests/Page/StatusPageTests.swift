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
            PushResult(event: .call, outcome: .accepted, httpStatus: 200, microseconds: 43_000),
            device: 0, now: 1043)
        trace.append(.registered(device: 0), now: 2000)
        trace.append(.rung(device: 0, leg: 1, contact: "sip:bob@192.0.2.1"), now: 2001)
        trace.append(.progressed(device: 0, leg: 1, status: 180), now: 2100)
        trace.append(.progressed(device: 0, leg: 1, status: 200), now: 4000)
        trace.append(.ended(.answered), now: 4001)
        return trace
    }

    /// A call whose phone was pushed and does not come.
    private func silent(_ aor: String = "bob", reason: String = "") -> CallTrace {
        var trace = CallTrace(method: "INVITE", aor: aor, callID: "call-2@x", cseq: 1, from: "sip:a@b", now: 1000)
        trace.name(0, .init(provider: .fcm, app: "com.a", token: "abc…def"))
        trace.append([.note(.asleep(device: 0)), .note(.pushed(device: 0, .call))], now: 1000)
        let outcome: Outcome = reason.isEmpty ? .accepted : .rejected
        trace.append(
            PushResult(event: .call, outcome: outcome, httpStatus: 200, microseconds: 43_000, reason: reason),
            device: 0, now: 1043)
        trace.append(.ended(.timedOut), now: 6000)
        return trace
    }

    private let clock = PageClock(now: 9000, wall: 1_795_850_000, offset: 3600, zone: "CET")

    private func html(_ content: StatusPage.Content) -> String {
        StatusPage(content, clock: clock, release: "0.1.0", host: "pbx1").html
    }

    private func found(_ name: String, _ traces: CallTrace...) -> Findings {
        var findings = Findings(name)
        findings.calls = traces.map { PageCall($0, number: 7) }
        return findings
    }

    private func phone(_ text: String) -> PagePhone {
        PagePhone(
            user: text, service: text, token: text, registeredAgo: 700_000, pushedAgo: nil, wokeAgo: 3, verdict: text)
    }

    /// Every content, with a text wherever one can come from outside.
    private func contents(_ text: String) -> [StatusPage.Content] {
        var overview = Overview()
        overview.calls = [PageCall(trace(text, from: text), number: 1)]
        overview.services = [
            .init(name: text, state: "unreachable", reason: text, connections: 0, waiting: 2, median: 1)
        ]
        overview.concerns = [.init(text, text, link: "/phones"), .init(text, text)]
        var filter = CallFilter()
        filter.user = text
        var phones = PhoneFilter()
        (phones.user, phones.cursor) = (text, text)
        var findings = found(text, trace(text, from: text), silent(text, reason: text))
        findings.phones = [phone(text)]
        findings.canTry = true
        var facts = DiagnosisFacts(aor: text)
        facts.removed = [.init(provider: .apns, app: text, reason: text)]
        findings.diagnosis = UserDiagnosis(facts)
        return [
            .overview(overview), .calls(CallList(filter, overview.calls, next: 3)),
            .calls(CallList(filter, [], next: nil)),
            .phones(PhoneList(phones, [phone(text)], next: text)),
            .phones(PhoneList(phones, [], next: nil, problem: text)),
            .findings(findings), .findings(Findings(text)),
        ]
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

    @Test func `draws what is missing`() {
        let steps = SequencePicture(silent()).steps.filter { $0.kind == .missing }
        #expect(steps.map(\.label) == ["no REGISTER"] && steps.map(\.from) == [3] && steps.map(\.at) == [5000])
        #expect(SequencePicture(silent(reason: "BadDeviceToken")).steps.allSatisfy { $0.kind != .missing })
        #expect(SequencePicture(trace()).steps.allSatisfy { $0.kind != .missing })
        var unanswered = CallTrace(method: "INVITE", aor: "bob", callID: "c", cseq: 1, from: "", now: 0)
        unanswered.name(0, .init(provider: .fcm))
        unanswered.append(.pushed(device: 0, .call), now: 0)
        unanswered.append(.ended(.cancelled), now: 900)
        let missing = SequencePicture(unanswered).steps.filter { $0.kind == .missing }
        #expect(missing.map(\.label) == ["no answer"] && missing.map(\.from) == [2])
    }

    @Test func `cuts no label, and marks where nothing happened for long`() {
        let reason = "the provider says " + String(repeating: "long ", count: 20) + String(repeating: "w", count: 60)
        var html = HTMLText()
        SequencePicture(silent(reason: reason)).draw("picture", into: &html)
        #expect(!html.text.contains("…") && html.text.contains("5 s later") && html.text.contains("pause"))
        #expect(html.text.components(of: "long") == 20 && html.text.components(of: "w<") == 1)
        var list = HTMLText()
        SequencePicture(silent()).list(into: &list)
        #expect(list.text.contains("class=\"missing\"") && list.text.contains("phone 1 → PBX: no REGISTER"))
    }

    @Test func `gives a picture as a file with its own colours and nothing that runs`() {
        let svg = SequencePicture(trace(evil, from: evil)).document(evil)
        #expect(svg.hasPrefix("<svg") && svg.contains("xmlns=\"http://www.w3.org/2000/svg\"") && svg.contains("--rang"))
        #expect(!svg.contains("<script") && !svg.contains("url("))
    }

    @Test func `lets nothing that comes from outside become markup`() {
        for content in contents(evil) {
            let html = html(content)
            #expect(!html.contains("<script>alert") && !html.contains("'&"))
            #expect(html.contains("&lt;script&gt;") || html.contains("%3Cscript") || html.contains("%3cscript"))
            // Our own, in the head, and no other.
            #expect(html.components(of: "<script") == 1)
        }
        #expect(html(contents(evil)[0]).contains("href=\"/?q=%22%3e%3cscript"))
    }

    @Test func `cuts a long name where it is shown and not where it leads`() {
        let long = String(repeating: "a", count: 200)
        let page = html(.calls(CallList(CallFilter(), [PageCall(trace(long), number: 1)], next: nil)))
        #expect(page.contains("href=\"/?q=\(long)\"") && !page.contains(">\(long)<"))
        #expect(page.contains(">\(long.prefix(128))<"))
    }

    @Test func `names a caller only where there is one`() {
        #expect(
            !html(.calls(CallList(CallFilter(), [PageCall(trace(from: ""), number: 1)], next: nil))).contains(" from "))
        #expect(!html(.findings(found("bob", trace(from: "")))).contains("From "))
    }

    @Test func `says which release writes it, where and when`() {
        let page = html(.overview(Overview()))
        #expect(page.contains("PushWake 0.1.0 on pbx1") && page.contains("2026-11-28 ") && page.contains(" CET</time>"))
    }

    @Test func `tells the time of day in the zone, with the day where it is another`() {
        let clock = PageClock(now: 100_000_000, wall: 1_795_824_000, offset: 3600, zone: "CET")
        #expect(clock.full(100_000_000) == "2026-11-28 01:00:00 CET")
        #expect(clock.time(100_000_000 - 59_000) == "00:59:01")
        #expect(clock.time(100_000_000 - 3_601_000) == "2026-11-27 23:59:59")
        #expect(clock.machine(100_000_000) == "2026-11-28T01:00:00+01:00")
        #expect(PageClock(now: 0, wall: 0, offset: -12_600, zone: "X").machine(0).hasSuffix("-03:30"))
    }

    @Test func `shows a number of phones only where somebody counts them, and load in words`() {
        var overview = Overview()
        #expect(!html(.overview(overview)).contains("can be woken</li>"))
        overview.bindings = 7
        overview.loadLevel = 3
        let page = html(.overview(overview))
        #expect(page.contains("<b>7</b> phones that can be woken") && page.contains("<b>very high</b> load"))
    }

    @Test func `says why a service is not ready, and nothing of its answers then`() {
        var overview = Overview()
        overview.services = [
            .init(
                name: "apns", state: "unreachable", reason: "Connection refused", connections: 0, waiting: 1, median: 1),
            .init(name: "fcm", state: "ready", reason: "", connections: 2, waiting: 0, median: 40),
        ]
        let page = html(.overview(overview))
        #expect(page.contains("unreachable: Connection refused; 1 push waits") && !page.contains("answers in 1 ms"))
        #expect(page.contains("ready, 2 connections, answers in 40 ms (median)"))
    }

    @Test func `draws the last hour where there is something in it`() {
        var overview = Overview()
        overview.hour.parts = [.init()]
        #expect(html(.overview(overview)).contains("No call and no push"))
        var part = HourReport.Part()
        (part.rang, part.early, part.lost, part.woken) = (5, 2, 1, 4)
        part.answers = .providerAnswer
        part.answers?.add(microseconds: 40_000)
        overview.hour.parts = Array(repeating: part, count: HourReport.parts)
        let page = html(.overview(overview))
        #expect(
            page.components(of: "<svg class=\"chart\"") == 4
                && page.contains("in the last hour: 150 rang, 60 hung up before, 30 lost"))
        #expect(page.contains("p50 ") && page.contains("none yet") && !page.contains("d=\"\""))
        #expect(html(.overview(overview)).utf8.count < 14_000)
    }

    @Test(arguments: [
        (CallTrace.Fate.rang, "rang"), (.early, "early"), (.late, "late"), (.lost, "lost"),
    ]) func `gives each end of a call its colour`(fate: CallTrace.Fate, style: String) {
        var trace = CallTrace(method: "INVITE", aor: "bob", callID: "c", cseq: 1, from: "", now: 0)
        trace.append(.pushed(device: 0, .call), now: 0)
        if fate == .rang {
            trace.append(.rung(device: 0, leg: 1, contact: "sip:b"), now: 1)
            trace.append(.progressed(device: 0, leg: 1, status: 180), now: 2)
        }
        trace.append(.ended(fate == .lost ? .timedOut : .cancelled), now: 900)
        if fate == .late { trace.append(.late(device: 0), now: 2000) }
        #expect(trace.fate == fate)
        let page = html(.calls(CallList(CallFilter(), [PageCall(trace, number: 1)], next: nil)))
        #expect(page.contains("<tr class=\"\(style)\">"))
        var failed = CallFilter()
        failed.isFailedOnly = true
        #expect(failed.admits(trace, now: 900) == [.late, .lost].contains(fate))
    }

    @Test func `filters calls by user, provider and time, and keeps that on older pages`() {
        let fields = ["failed": "1", "user": " BO ", "provider": "fcm", "minutes": "15", "before": "40"]
        let filter = CallFilter { fields[$0] }
        #expect(filter.query(before: 9) == "/calls?failed=1&user=BO&provider=fcm&minutes=15&before=9")
        #expect(filter.admits(silent(), now: 2000) && !filter.admits(silent("carol"), now: 2000))
        #expect(!filter.admits(trace(), now: 2000) && !filter.admits(silent(), now: 2000 + 16 * 60_000))
        #expect(CallFilter { ["provider": "none", "minutes": "-1", "before": "x"][$0] } == CallFilter())
    }

    @Test(arguments: [
        ("bob", "bob"), (" sip:bob@example.com;transport=tcp ", "bob@example.com"), ("SIPS:bob", "bob"),
        ("\"Bob\" <sip:bob@x:5060>;tag=1", "bob@x:5060"), ("tel:+49", "tel:+49"), ("<script>", "<script>"), ("", ""),
    ]) func `takes what people paste`(text: String, name: String) {
        #expect(PageQuery.name(text) == name)
    }

    @Test func `offers a trial where a user has phones`() {
        var findings = found("bob", trace())
        #expect(!html(.findings(findings)).contains("action=\"/try\""))
        findings.canTry = true
        #expect(html(.findings(findings)).contains("name=\"user\" value=\"bob\"><button>Try</button>"))
    }

    @Test func `says what to do where there is nothing to show`() {
        #expect(html(.overview(Overview())).contains("There was none since the engine started"))
        #expect(html(.findings(Findings("nobody"))).contains("Nothing found"))
        #expect(html(.phones(PhoneList(PhoneFilter(), [], next: nil))).contains("pushwake parse"))
        #expect(html(.calls(CallList(CallFilter(), [], next: nil))).contains("pushwake_lookup()"))
        #expect(html(.calls(CallList(CallFilter { _ in "1" }, [], next: nil))).contains("Take away a condition"))
    }

    @Test func `has nothing that the policy forbids`() {
        for content in contents("bob") {
            let page = html(content)
            for forbidden in [" style=", " onclick", " onload", "http://", "javascript:"] {
                #expect(!page.contains(forbidden), "\(forbidden)")
            }
        }
        #expect(!PageAssets.script.contains("innerHTML") && !PageAssets.script.contains("eval"))
        #expect(PageAssets.style.utf8.count + PageAssets.script.utf8.count < 14_000)
    }

    @Test func `has a trace of many lines within bounds`() {
        var long = trace()
        for number in 0..<200 { long.append(.progressed(device: number % 300, leg: number, status: 183), now: 5000) }
        #expect(html(.findings(found("bob", long, long, long, long, long))).utf8.count < 400_000)
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
