// SPDX-License-Identifier: MIT

import Glibc
import PushWakeClient
import PushWakeCore
import PushWakeSystem
import PushWakeTransport
import Testing

@testable import PushWakeEngine
@testable import PushWakeSimulator

@Suite struct `Several service accounts` {
    private let call = PushContent(event: .call, callID: "call-1@host", fromURI: "sip:a@example.com", timeToLive: 30)

    private func binding(_ app: String, _ token: String = "phone") -> Binding {
        Binding(provider: .fcm, app: app, token: token, dialect: .mpush)
    }

    private func projects(_ fixture: DeliveryFixture) throws -> [String] {
        try fixture.requests().filter { $0["provider"]?.string == "fcm" }.compactMap { request in
            request["path"]?.string.map { String($0.split(separator: "/")[2]) }
        }
    }

    @Test func `push each to their own project, with tokens of their own`() throws {
        let fixture = try DeliveryFixture(.fcm, values: ["fcm_app1": "com.example.one"])
        try fixture.set("fcm_key1", fixture.secondAccount)
        for app in ["com.example.one", "pushwake-simulator-2", "com.example.other", "pushwake-simulator"] {
            #expect(try fixture.push(binding(app), call).verdict.outcome == .accepted)
        }
        let (first, second) = ("pushwake-simulator", "pushwake-simulator-2")
        #expect(try projects(fixture) == [second, second, first, first])
    }

    @Test func `are read again when their files have changed, and then alone`() throws {
        let fixture = try DeliveryFixture(.fcm)
        let copy = fixture.directory + "/copy.json"
        try fixture.write(copy, FileContent.read(fixture.directory + "/files/fcmkey.json"))
        try fixture.set("fcm_app1", "com.example.copy")
        try fixture.set("fcm_key1", copy)
        #expect(FCMKeys.count(fixture.settings) == 2)
        let first = FCMKeys(fixture.settings)
        let signer = try #require(first.keys[0]?.signer)
        let second = try #require(first.keys[1]?.signer)
        let unchanged = FCMKeys(fixture.settings, keeping: first)
        #expect(unchanged.keys[0]?.signer === signer && unchanged.keys[1]?.signer === second)
        try fixture.write(copy, FileContent.read(fixture.secondAccount))
        let changed = FCMKeys(fixture.settings, keeping: unchanged)
        #expect(changed.keys[0]?.signer === signer && changed.keys[1]?.account.project == "pushwake-simulator-2")
        try fixture.write(copy, Array("{".utf8))
        let broken = FCMKeys(fixture.settings, keeping: changed)
        #expect(broken.keys[1]?.signer === changed.keys[1]?.signer && broken.problems.count == 1)
    }

    @Test func `fetch one access token each, and push at once`() throws {
        let fixture = try DeliveryFixture(.fcm)
        try fixture.set("fcm_key_dir", fixture.directory + "/files/fcm")
        let apps = (0..<40).map { $0 % 2 == 0 ? "com.example.second" : "com.example.phone" }
        let ends = try fixture.push(apps.enumerated().map { (binding($1, "t\($0)"), call) })
        #expect(ends.allSatisfy { $0.verdict.outcome == .accepted })
        let requests = try fixture.requests()
        #expect(requests.count { $0["provider"]?.string == "oauth" } == 2)
        #expect(try projects(fixture).count { $0 == "pushwake-simulator-2" } == 20)
    }

    @Test func `leave a broken file to its own app`() throws {
        let fixture = try DeliveryFixture(
            .fcm, values: ["fcm_app7": "com.example.broken", "fcm_key7": "/nonexistent/key.json"])
        let ends = try fixture.push(
            [(binding("com.example.broken"), call), (binding("com.example.phone"), call)],
            problems: ["fcm_key7: cannot read /nonexistent/key.json"])
        #expect(ends[0].verdict.outcome == .misconfigured)
        #expect(ends[0].verdict.reason == "NoServiceAccount (/nonexistent/key.json of fcm_key7 cannot be used)")
        #expect(ends[0].attempts == 0)
        #expect(ends[1].verdict.outcome == .accepted)
    }

    @Test func `refuse an app of nobody's with what to set`() throws {
        let fixture = try DeliveryFixture(.fcm, values: ["fcm_key": "", "fcm_app1": "com.example.one"])
        try fixture.set("fcm_key1", fixture.secondAccount)
        let end = try fixture.push(binding("com.example.other"), call)
        #expect(end.verdict.outcome == .misconfigured)
        #expect(end.verdict.reason.contains("set fcm_key, or fcm_appN and fcm_keyN"))
        #expect(try fixture.requests().count { $0["provider"]?.string == "fcm" } == 0)
    }

    /// Phones name their apps, and any user may have some that no account is named for.
    @Test func `open no circuit for an account that was a guess`() throws {
        let fixture = try DeliveryFixture(.fcm, values: ["fcm_app1": "com.example.one"])
        try fixture.set("fcm_key1", fixture.secondAccount)
        try fixture.set("max_fail", "2")
        let delivery = fixture.opened()
        for number in 0..<4 {
            let guessed = try fixture.call(binding("com.example.other\(number)", "mismatch"), delivery)
            #expect(guessed.outcome == .misconfigured)
        }
        #expect(try fixture.call(binding("pushwake-simulator"), delivery).outcome == .accepted)
    }

    @Test func `blame no token for an account that was a guess`() throws {
        let fixture = try DeliveryFixture(.fcm)
        let alone = try fixture.push(binding("com.example.other", "mismatch"), call)
        #expect(alone.verdict.outcome == .tokenGone)
        try fixture.set("fcm_key1", fixture.secondAccount)
        let guessed = try fixture.push(binding("com.example.other", "mismatch"), call)
        #expect(guessed.verdict.outcome == .misconfigured)
        let known = try fixture.push(binding("pushwake-simulator", "mismatch"), call)
        #expect(known.verdict.outcome == .tokenGone)
    }

    @Test func `are taken while the engine runs, and kept when their file breaks`() throws {
        let fixture = try DeliveryFixture(.fcm)
        let directory = fixture.directory + "/keys"
        mkdir(directory, 0o755)
        try fixture.set("fcm_key_dir", directory)
        let file = directory + "/fcmkey.com.example.new.json"
        let delivery = fixture.delivery()
        #expect(delivery.open() == ["fcm_key_dir: \(directory) holds no fcmkey.json and no fcmkey.PACKAGE.json"])
        delivery.watchKeys()
        let phone = binding("com.example.new")
        #expect(try fixture.call(phone, delivery).outcome == .accepted)
        try fixture.write(file, try FileContent.read(fixture.secondAccount))
        fixture.turn(seconds: 4) { fixture.lines.contains { $0.contains("keys for fcm have changed") } }
        #expect(try fixture.call(phone, delivery).outcome == .accepted)
        try fixture.write(file, Array("{".utf8))
        fixture.turn(seconds: 4) { fixture.lines.contains { $0.contains("the key read before is still used") } }
        #expect(try fixture.call(phone, delivery).outcome == .accepted)
        let (first, second) = ("pushwake-simulator", "pushwake-simulator-2")
        #expect(try projects(fixture) == [first, second, second])
        // The first account's file never changed: it went on with its token.
        #expect(try fixture.call(binding("com.example.phone"), delivery).outcome == .accepted)
        let tokens = try fixture.requests().compactMap { $0["body"]?.string }.filter { $0.contains("assertion=") }
        #expect(tokens.count == 2)
    }

    @Test func `are checked by pushwake check, each under its setting`() throws {
        let fixture = try DeliveryFixture(.fcm, values: ["fcm_app1": "com.example.one"])
        try fixture.set("fcm_key1", fixture.directory + "/files/ca.pem")
        try fixture.set("fcm_app2", "com.example.two")
        try fixture.set("fcm_app3", "com.example.one")
        try fixture.set("fcm_key3", fixture.secondAccount)
        let findings = SettingsInspection.inspect(fixture.settings)
        #expect(Set(findings.map(\.setting)) == ["fcm_key1", "fcm_key2", "fcm_key3"])
        #expect(findings.allSatisfy { $0.level == .warning })
        let text = findings.map(\.message).joined(separator: "\n")
        #expect(text.contains("ca.pem is not JSON"))
        #expect(text.contains("fcmkey.com.example.two.json"))
        #expect(text.contains("com.example.one has"))
    }

    @Test func `are shown by explain with their project`() throws {
        let fixture = try DeliveryFixture(.fcm, values: ["fcm_app1": "com.example.one"])
        try fixture.set("fcm_key1", fixture.secondAccount)
        try fixture.set("fcm_app2", "com.example.broken")
        try fixture.set("fcm_key2", "/nonexistent")
        for (app, project) in [("com.example.one", "pushwake-simulator-2"), ("com.example.x", "pushwake-simulator")] {
            let explained = try PushExplanation.explain(
                register: ExplainFixture.register("pn-provider=fcm;pn-prid=t;pn-param=\(app)"),
                request: ExplainFixture.request("INVITE"), settings: fixture.settings)
            let document = try JSONParser.parse(explained.json)
            #expect(
                document["requests"]?.array?.first?["url"]?.string
                    == "\(fixture.origin)/v1/projects/\(project)/messages:send")
            #expect(explained.problems.count == 1)
        }
        let broken = try PushExplanation.explain(
            register: ExplainFixture.register("pn-provider=fcm;pn-prid=t;pn-param=com.example.broken"),
            request: ExplainFixture.request("INVITE"), settings: fixture.settings)
        let reason = try JSONParser.parse(broken.json)["skipped"]?.array?.first?["reason"]?.string
        #expect(reason?.contains("set fcm_key, or fcm_appN and fcm_keyN") == true)
    }
}
