// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeClient

@Suite struct `Conditions of a listing` {
    private func conditions(_ pairs: (String, String)...) throws -> ListingConditions {
        var conditions = ListingConditions()
        for (name, value) in pairs { try conditions.add(name, value) }
        return conditions
    }

    @Test(arguments: [
        ([], ""), (["bob"], "aor=bob\n"), (["provider=apns"], "provider=apns\n"),
        (["bob", "provider=apns", "age=+1d"], "aor=bob\nprovider=apns\nage=+1d\n"),
        (["user=b*", "bob"], nil), (["bob", "alice"], nil), (["bob", "user=a\naor=alice"], nil), (["a\nb"], nil),
    ])
    func `in words are conditions of which the first may be a user`(_ words: [String], _ lines: String?) {
        #expect((try? EngineQuery.find.argument(words: words)) == lines)
        #expect((try? EngineQuery.removeFound.argument(words: words)) == lines)
    }

    @Test func `other questions take one word`() throws {
        #expect(try EngineQuery.trace.argument(words: []) == "")
        #expect(try EngineQuery.trace.argument(words: ["a=b c"]) == "a=b c")
        #expect(throws: ListingConditions.Mistake.self) { try EngineQuery.trace.argument(words: ["bob", "alice"]) }
    }

    @Test(arguments: [
        ("OB", "bob", true), ("b@EX", "Bob@example.com", true), ("*", "bob", false), ("bob@", "bob", false),
    ])
    func `a part of a user is meant in any case`(_ part: String, _ user: String, _ fits: Bool) throws {
        #expect(try conditions(("part", part)).admits(user: user) == fits)
    }

    @Test(arguments: [
        ("bob", "bob", true), ("bob", "bob@example.com", true), ("bob", "bobby", false),
        ("b*", "bob@example.com", true),
        ("*", "", true), ("?ob", "bob", true), ("?ob", "ob", false), ("*@example.com", "bob@example.com", true),
        ("*@example.com", "bob", false), ("*b*b*", "blob-bob", true), ("*com", "bob@example.com", false),
        ("", "bob", nil), ("a*a*a*a*a*a*b", String(repeating: "a", count: 200), false), ("B*", "bob", false),
    ])
    func `a pattern is of the user part unless it has a domain`(_ pattern: String, _ user: String, _ fits: Bool?) throws
    {
        guard let fits else {
            #expect(throws: ListingConditions.Mistake.self) { try conditions(("user", pattern)) }
            return
        }
        #expect(try conditions(("user", pattern)).admits(user: user) == fits)
    }

    @Test(
        arguments: [
            ("+2d", 172_801, true), ("+2d", 172_800, false), ("-1h", 3600, true), ("-1h", 3601, false),
            (">90", 91, true),
            ("<90s", 90, true), ("-1w", 604_800, true), ("+0", 0, false), ("-0", 0, true),
        ] as [(String, Int64, Bool)])
    func `an age is a bound`(_ text: String, _ age: Int64, _ fits: Bool) throws {
        #expect(try conditions(("age", text)).admits(.apns, age: age, verdict: "") == fits)
    }

    @Test func `two ages are a span, and the narrower of two bounds counts`() throws {
        let span = try conditions(("age", "+1h"), ("age", "-1d"), ("age", "+2h"), ("age", "-2d"))
        #expect(
            [3601, 7200, 7201, 86_400, 86_401].map { span.admits(.fcm, age: $0, verdict: "") } == [
                false, false, true, true, false,
            ])
    }

    @Test func `a verdict is a part of what the column says, in any letters`() throws {
        let asked = try conditions(("verdict", "Notifications OFF"))
        #expect(asked.admits(.apns, age: 0, verdict: "accepted 12, woke 0: notifications off?"))
        #expect(!asked.admits(.apns, age: 0, verdict: "wakes in 1.2 s"))
        #expect(
            try conditions(("verdict", "removed")).admits(
                .apns, age: 0, verdict: ListingConditions.verdict("not pushed", removed: "by hand")))
    }

    @Test func `a provider is as the column has it`() throws {
        let asked = try conditions(("provider", "fcm"))
        #expect(asked.admits(.fcm, age: 0, verdict: "") && !asked.admits(.apns, age: 0, verdict: ""))
    }

    @Test func `all that is said must hold, and comes over as text`() throws {
        let asked = try conditions(
            ("aor", "b=o b"), ("user", "b*"), ("provider", "apns"), ("verdict", "wakes in"), ("age", "-1d"))
        let heard = try ListingConditions(lines: asked.lines)
        #expect(heard == asked && heard.aor == "b=o b")
        #expect(heard.admits(.apns, age: 5, verdict: "wakes in 2 s"))
        #expect(!heard.admits(.apns, age: 5, verdict: "not pushed"))
    }

    @Test(arguments: [
        ("colour=red", "write aor, contact, user, provider"), ("provider=google", "write one of apns, fcm"),
        ("age=2d", "+2d"),
        ("age=+", "+2d"), ("age=+2y", "+2d"), ("age=-99999999999999999999", "+2d"),
        ("age=-9223372036854775807w", "+2d"),
        ("age=+é", "+2d"), ("nothing", "name=value"), ("aor=", "one short line"), ("age=--1", "+2d"),
        ("user=\u{1B}[31m" + String(repeating: "x", count: 300), "?[31m"),
    ])
    func `what does not fit is said with what does`(_ line: String, _ part: String) {
        do throws(ListingConditions.Mistake) {
            _ = try ListingConditions(lines: line)
            Issue.record("\(line) was taken")
        } catch {
            #expect(error.message.contains(part) && !error.message.contains("\u{1B}"), "\(error.message)")
        }
    }

    @Test(
        arguments: [
            (42, "42s"), (99, "99s"), (100, "1m"), (5999, "99m"), (6000, "1h"), (172_799, "47h"), (172_800, "2d"),
            (-5, "0s"),
        ] as [(Int64, String)])
    func `an age is written short`(_ seconds: Int64, _ text: String) {
        #expect(Age(seconds: seconds).text == text)
    }
}

@Suite struct `Tables of bindings` {
    private func row(
        _ aor: String, app: String = "com.example.phone", verdict: String = "not pushed since the engine started",
        removed: String = "", service: String = "voip", provider: String = "apns"
    ) -> [EngineField] {
        [
            ("aor", aor), ("provider", provider), ("environment", "sandbox"), ("app", app), ("service", service),
            ("token", "740f47…25d4"), ("removed", removed), ("verdict", verdict),
        ].map {
            EngineField(name: $0.0, text: $0.1, number: 0)
        } + [
            EngineField(name: "registered_ago", text: nil, number: 7300),
            EngineField(name: "wake_ms", text: nil, number: -1),
        ]
    }

    private func lines(_ rows: [[EngineField]]) -> [String] {
        var table = BindingTable()
        for row in rows { table.add(row) }
        return table.lines
    }

    @Test func `what fits is whole`() {
        #expect(
            lines([row("bob")]) == [
                "aor  provider       app                token        age  verdict",
                "bob  apns.dev voip  com.example.phone  740f47…25d4  2h   not pushed since the engine started",
            ])
    }

    @Test func `a removed binding says why it is gone`() {
        #expect(lines([row("bob", removed: "unregistered")])[1].hasSuffix("  removed: unregistered"))
    }

    @Test func `no line is longer than a hundred characters, whatever the texts are`() {
        let long = String(repeating: "é", count: 500)
        let all = lines([row(long, app: long, verdict: long, service: long, provider: long), row("bob")])
        #expect(all.allSatisfy { $0.count <= BindingTable.width })
        #expect(all[1].contains("…"))
    }

    @Test func `the front of an app's name gives way first`() {
        let all = lines([row("alice@example.com", verdict: "accepted 1, woke 0: notifications off?")])
        #expect(all[1].count == BindingTable.width && all[1].hasPrefix("alice@example.com  "))
        #expect(all[1].contains("  …e.phone  ") && all[1].hasSuffix("notifications off?"), "\(all[1])")
    }

    @Test func `controls do not reach the terminal`() {
        #expect(!lines([row("b\u{1B}[2Job\n")]).joined().contains("\u{1B}"))
    }

    @Test func `details are a line for each column, with units`() {
        let details = BindingTable.details(row("bob"))
        #expect(details.first == "aor             bob")
        #expect(details.contains("registered_ago  2h ago") && details.contains("wake_ms         -"))
    }
}
