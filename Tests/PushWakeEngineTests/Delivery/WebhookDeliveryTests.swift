// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeSystem
import PushWakeTransport
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine
@testable import PushWakeSimulator

@Suite struct `A webhook` {
    private let call = PushContent(
        event: .call, callID: "call-1@host", fromURI: "sip:alice@example.com", fromDisplay: "A \"B\"\r\nx: y",
        timeToLive: 30)

    private func binding(_ token: String, _ service: String = "huawei") -> Binding {
        Binding(otherService: service, app: "com.example.phone", token: token, dialect: .rfc8599)
    }

    @Test func `gets signed JSON with all that is known`() throws {
        let fixture = try DeliveryFixture(.webhook)
        let end = try fixture.push(binding("tok/1?&"), call)
        #expect(end.verdict.outcome == .accepted)
        #expect(end.status == 200)
        let request = try #require(try fixture.requests().first)
        #expect(request["path"]?.string == "/webhook/tok%2F1%3F%26")
        #expect(request["method"]?.string == "POST")
        let body = try #require(request["body"])
        #expect(body["event"]?.string == "call")
        #expect(body["provider"]?.string == "huawei")
        #expect(body["token"]?.string == "tok/1?&")
        #expect(body["from-name"]?.string == "A \"B\"\r\nx: y")
        #expect(body["ttl"]?.integer == 30)
        #expect(request["headers"]?["x-pushwake-id"]?.string?.count == 36)
    }

    @Test(arguments: [
        ("phone", 200, Outcome.accepted), ("unregistered", 410, .tokenGone), ("expired", 404, .rejected),
        ("invalid", 400, .rejected), ("mismatch", 403, .misconfigured),
    ])
    func `says by status what became of a push`(token: String, status: Int, outcome: Outcome) throws {
        let fixture = try DeliveryFixture(.webhook)
        let end = try fixture.push(binding(token), call)
        #expect(end.verdict.outcome == outcome)
        #expect(end.status == status)
        #expect(end.attempts == 1)
    }

    @Test func `is asked again after 429 and 503, and after 500 where a second copy does no harm`() throws {
        let fixture = try DeliveryFixture(
            .webhook,
            script: #"""
                {"rules":[
                  {"provider":"webhook","token":"busy","count":1,"status":429,"headers":{"retry-after":"0"}},
                  {"provider":"webhook","token":"away","count":1,"status":503,"headers":{"retry-after":"0"}},
                  {"provider":"webhook","token":"ill","count":1,"status":500,"headers":{"retry-after":"0"}},
                  {"provider":"webhook","token":"sick","status":500,"headers":{"retry-after":"0"}},
                  {"provider":"webhook","token":"moved","status":307,"headers":{"location":"/webhook/phone"}}
                ]}
                """#)
        let chat = PushContent(event: .chat, callID: "c", fromURI: "sip:a@example.com", text: "hi")
        for (token, content, outcome, attempts) in [
            ("busy", chat, Outcome.accepted, 2), ("away", chat, .accepted, 2), ("ill", call, .accepted, 2),
            ("sick", chat, .unavailable, 1), ("moved", call, .rejected, 1),
        ] {
            let end = try fixture.push(binding(token), content)
            #expect(end.verdict.outcome == outcome, "\(token)")
            #expect(end.attempts == attempts, "\(token)")
        }
        let ids = try fixture.requests().filter { $0["path"]?.string == "/webhook/busy" }
            .map { $0["headers"]?["x-pushwake-id"]?.string }
        #expect(ids.count == 2 && ids[0] == ids[1] && ids[0] != nil)
    }

    @Test func `means by its answers what the operator says`() throws {
        let fixture = try DeliveryFixture(.webhook, values: ["webhook_answers": "410=rejected 2xx=token-gone"])
        #expect(try fixture.push(binding("unregistered"), call).verdict.outcome == .rejected)
        #expect(try fixture.push(binding("phone"), call).verdict.outcome == .tokenGone)
    }

    @Test func `signs path and query where there is no body`() throws {
        let fixture = try DeliveryFixture(.webhook, values: ["webhook_method": "GET"])
        try fixture.set("webhook_url", fixture.origin + "/webhook/$token?type=$type&event=$event&from=$from-uri")
        #expect(try fixture.push(binding("phone"), call).verdict.outcome == .accepted)
        let request = try #require(try fixture.requests().first)
        #expect(request["path"]?.string == "/webhook/phone?type=huawei&event=call&from=sip%3Aalice%40example.com")
        #expect(request["method"]?.string == "GET")
    }

    @Test func `is refused by a server with another secret, and keeps its own out of the log`() throws {
        let fixture = try DeliveryFixture(.webhook)
        let secret = "another-secret-of-enough-bytes"
        let headers = "X-Key: TOKEN-key-4711\n"
        try fixture.write(fixture.directory + "/secret", Array("\(secret)\n".utf8))
        try fixture.write(fixture.directory + "/headers", Array(headers.utf8))
        try fixture.set("webhook_secret_file", fixture.directory + "/secret")
        try fixture.set("webhook_headers", "X-From: FROM | @\(fixture.directory)/headers | X-Event: <event>")
        let end = try fixture.push(binding("phone"), call)
        #expect(end.verdict == Verdict(.misconfigured, reason: "HTTP 401"))
        let request = try #require(try fixture.requests().first)
        // A key in a file may look like a keyword.
        #expect(request["headers"]?["x-key"]?.string == "TOKEN-key-4711")
        #expect(request["headers"]?["x-from"]?.string == "A \"B\"  x: y")
        #expect(request["headers"]?["x-event"]?.string == "call")
        #expect(!fixture.lines.joined().contains(secret) && !fixture.lines.joined().contains("4711"))
        let explained = try PushExplanation.explain(
            register: ExplainFixture.register("pn-provider=huawei;pn-prid=t"),
            request: ExplainFixture.request("INVITE"), settings: fixture.settings)
        let shown = String(decoding: explained.json, as: UTF8.self)
        #expect(!shown.contains("4711") && !shown.contains(secret))
        let first = try JSONParser.parse(explained.json)["requests"]?.array?.first
        #expect(first?["url"]?.string == fixture.origin + "/webhook/t")
        #expect(first?["headers"]?["x-key"]?.string == "<secret>")
        #expect(first?["headers"]?["x-pushwake-signature"]?.string == "t=<seconds>,v1=<signature>")
        #expect(first?["body"]?["provider"]?.string == "huawei")
    }

    @Test func `takes a new secret while the engine runs`() throws {
        let fixture = try DeliveryFixture(.webhook)
        let file = fixture.directory + "/secret"
        try fixture.write(file, Array("not-the-secret-of-the-server".utf8))
        try fixture.set("webhook_secret_file", file)
        let delivery = fixture.opened()
        #expect(try fixture.call(binding("phone"), delivery).outcome == .misconfigured)
        try fixture.write(file, try FileContent.read(fixture.directory + "/files/webhook.secret"))
        fixture.turn(seconds: 4) { fixture.lines.contains { $0.contains("keys for webhook have changed") } }
        #expect(try fixture.call(binding("phone"), delivery).outcome == .accepted)
    }

    @Test func `takes over a provider that it is told to, and no other`() throws {
        let fixture = try DeliveryFixture(.webhook, .fcm, values: ["webhook_providers": "apns, pigeon"])
        let apple = Binding(provider: .apns, app: "com.example.phone", token: "00ff", dialect: .rfc8599)
        let google = Binding(provider: .fcm, app: "com.example.phone", token: "goog", dialect: .rfc8599)
        let ends = try fixture.push([
            (apple, call), (google, call), (binding("p", "pigeon"), call), (binding("h"), call),
        ])
        #expect(ends.map(\.verdict.outcome) == [.accepted, .accepted, .accepted, .misconfigured])
        let paths = try fixture.requests().filter { $0["provider"]?.string == "webhook" }.compactMap {
            $0["path"]?.string
        }
        #expect(Set(paths) == ["/webhook/00ff", "/webhook/p"])
    }

    @Test func `is never led to another path by a token`() throws {
        let fixture = try DeliveryFixture(.webhook)
        let end = try fixture.push(binding(".."), call)
        #expect(end.verdict == Verdict(.rejected, reason: "UnusableToken"))
        #expect(try fixture.requests().isEmpty)
    }

    @Test(arguments: [
        ("webhook_url", "http://example.com/", LogLevel.error), ("webhook_url", "https://$token/", .error),
        ("webhook_answers", "404=maybe", .error), ("webhook_providers", "a b", .error),
        ("webhook_headers", "X-From FROM", .error), ("webhook_headers", "Host: x", .error),
        ("webhook_body", "{\"a\":FROM}", .error), ("webhook_secret_file", "/nonexistent", .warning),
        ("webhook_headers", "X-From: FROM | @/nonexistent", .warning), ("webhook_body", "@/nonexistent", .warning),
    ])
    func `is checked by pushwake check`(name: String, value: String, level: LogLevel) throws {
        var settings = Settings()
        try settings.set(.webhookURL, to: "https://push.example.com/$token")
        try settings.set(name, to: value)
        let findings = SettingsInspection.inspect(settings).filter { $0.setting.hasPrefix("webhook") }
        #expect(findings.map(\.setting) == [name])
        #expect(findings.map(\.level) == [level])
    }

    @Test func `has all that is wrong with it named at once`() throws {
        var settings = Settings()
        try settings.set(.webhookBody, to: "{}")
        #expect(SettingsInspection.inspect(settings).map(\.setting) == ["webhook_url"])
        try settings.set(.webhookURL, to: "http://push.example.com/")
        try settings.set(.webhookBody, to: "{\"a\":FROM}")
        try settings.set(.webhookAnswers, to: "x")
        try settings.set(.webhookSecretFile, to: "/nonexistent")
        #expect(
            Set(SettingsInspection.inspect(settings).map(\.setting))
                == ["webhook_url", "webhook_body", "webhook_answers", "webhook_secret_file"])
    }

    @Test func `with a short secret is told so, without it`() throws {
        let fixture = try DeliveryFixture(.webhook)
        try fixture.write(fixture.directory + "/short", Array("hunter2\n".utf8))
        try fixture.set("webhook_secret_file", fixture.directory + "/short")
        let message = SettingsInspection.inspect(fixture.settings).map(\.message).joined()
        #expect(message.contains("16 bytes") && !message.contains("hunter2"))
    }
}

@Suite struct `A REGISTER for a service of the webhook's` {
    private let rules = RefusalRules(sends555: true, minExpires: 0)

    private func registration(_ parameters: String, _ policy: RegistrationPolicy) -> Registration {
        RegisterDocument.read(ExplainFixture.register(parameters).span, others: policy.others).registration
    }

    private func policy(_ providers: String = "*") throws -> RegistrationPolicy {
        var settings = Settings()
        try settings.set(.webhookURL, to: "https://push.example.com/$token")
        try settings.set(.webhookProviders, to: providers)
        return RegistrationPolicy(settings: settings)
    }

    @Test func `is stored under the name it gave, and told so`() throws {
        let policy = try policy()
        let registration = registration("pn-provider=Huawei;pn-prid=abc;pn-param=com.example.phone", policy)
        #expect(registration.problems.isEmpty)
        let binding = try #require(registration.bindings.first)
        #expect(binding.provider == .webhook && binding.providerName == "huawei" && binding.token == "abc")
        #expect(policy.usable(registration.contacts[0], of: registration) == [binding])
        #expect(policy.featureCaps(of: registration, stored: [.webhook]) == ["Feature-Caps: *;+sip.pns=\"Huawei\"\r\n"])
        #expect(policy.refusal(of: registration, by: rules) == nil)
    }

    @Test func `needs no pn-param, and may be in the older form`() throws {
        let policy = try policy()
        #expect(registration("pn-provider=huawei;pn-prid=abc", policy).bindings.count == 1)
        let old = registration("pn-type=wp;app-id=com.example.phone;pn-tok=abc", policy)
        #expect(old.bindings.first?.providerName == "wp")
    }

    @Test func `is refused where the webhook serves other services`() throws {
        let policy = try policy("pigeon")
        let registration = registration("pn-provider=huawei;pn-prid=abc", policy)
        #expect(registration.bindings.isEmpty)
        #expect(registration.problems.map(\.code) == [.unknownProvider])
        #expect(policy.refusal(of: registration, by: rules)?.code == 555)
        #expect(self.registration("pn-provider=pigeon;pn-prid=abc", policy).bindings.count == 1)
    }

    @Test func `hears what is offered`() throws {
        let named = try policy("pigeon, fcm")
        #expect(named.featureCaps(of: registration("pn-provider", named), stored: []).count == 2)
        let any = try policy()
        #expect(
            any.featureCaps(of: registration("pn-provider=huawei", any), stored: [])
                == ["Feature-Caps: *;+sip.pns=\"huawei\"\r\n"])
        #expect(any.featureCaps(of: registration("pn-provider=\"a", any), stored: []).isEmpty)
    }

    @Test(arguments: ["a b", "a,b c", "über"])
    func `has a name that can stand in Feature-Caps`(list: String) {
        #expect(throws: WebhookProviders.Mistake.self) { try WebhookProviders(setting: list) }
    }
}
