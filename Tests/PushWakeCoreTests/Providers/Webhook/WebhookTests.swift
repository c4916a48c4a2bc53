// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Webhook request` {
    private var content: PushContent {
        var content = Samples.content(.call)
        content.fromDisplay = "A&B \"C\"\r\nx: y"
        return content
    }

    private func build(_ settings: WebhookSettings, _ binding: Binding = Samples.voip) throws -> HTTPRequest {
        try WebhookRequest(settings: settings).build(binding, content, now: 1_700_000_000)
    }

    @Test func `escapes values for where they stand`() throws {
        let json = try build(
            WebhookSettings(
                url: "https://gw.example.com/p/TOKEN?n=FROM", headers: [.init(name: "X-From", value: "by FROM")],
                body: .json(#"{"n":"FROM","t":TYPE}"#)))
        #expect(json[":path"] == "/p/0a1b2c3d4e5f?n=A%26B%20%22C%22%0D%0Ax%3A%20y")
        #expect(json["x-from"] == "by A&B \"C\"  x: y")
        #expect(json["content-type"] == "application/json")
        #expect(JSON.parse(json.body)?["n"] == .string("A&B \"C\"\r\nx: y"))
        let form = try build(WebhookSettings(url: "https://gw.example.com", body: .form("a=FROM&b=<event>")))
        #expect(form[":path"] == "/")
        #expect(String(decoding: form.body, as: UTF8.self) == "a=A%26B%20%22C%22%0D%0Ax%3A%20y&b=call")
        #expect(form["content-type"] == "application/x-www-form-urlencoded")
    }

    @Test func `has no field that begins or ends with a blank`() throws {
        var content = content
        content.fromDisplay = "\t x \r\n"
        let settings = WebhookSettings(
            url: "https://gw.example.com/",
            headers: [.init(name: "X-From", value: "FROM"), .init(name: "X-Word", value: " a b ")])
        let request = try WebhookRequest(settings: settings).build(Samples.voip, content, now: 1_700_000_000)
        #expect(request["x-from"] == "x" && request["x-word"] == "a b")
        content.fromDisplay = " "
        let empty = try WebhookRequest(settings: settings).build(Samples.voip, content, now: 1_700_000_000)
        #expect(empty["x-from"] == "")
    }

    @Test func `leaves no placeholder of Flexisip's, and knows what is none`() throws {
        let url =
            "https://h.example/$type/$event?t=$token&a=$app-id&n=$from-name&f=$from-uri&g=$from-tag&u=$to-uri&c=$call-id&s=$sound&m=$msgid&i=$uid&k=$api-key"
        var content = PushContent(event: .call)
        content.fromTag = "tag;1"
        let request = try WebhookRequest(settings: WebhookSettings(method: "GET", url: url)).build(
            Samples.voip, content, now: 0)
        let target = try #require(request[":path"])
        #expect(!target.contains("$") && target.contains("&g=tag%3B1&") && target.hasSuffix("&k="))
        #expect(PayloadKeywords.unknownDollarNames(in: url).isEmpty)
        #expect(PayloadKeywords.unknownDollarNames(in: "/$callid/$5/$callid/$Token/$") == ["$callid", "$Token"])
    }

    @Test func `reads Flexisip's placeholders, every occurrence of them`() throws {
        var binding = Samples.voip
        binding.attributes["pn-call-str"] = "IC"
        binding.attributes["pn-call-snd"] = "ring.caf"
        let request = try build(
            WebhookSettings(
                method: "GET",
                url:
                    "https://h.example/p/$type/$event?token=$token&app-id=$app-id&from-uri=$from-uri&to-uri=$to-uri&call-id=$call-id&sound=$sound&msgid=$msgid&uid=$uid&again=$token"
            ), binding)
        #expect(
            request[":path"]
                == "/p/apple/call?token=0a1b2c3d4e5f&app-id=com.example.phone.voip.prod&from-uri=sip%3Aalice%40example.com&to-uri=sip%3Abob%40example.com&call-id=call-1%40192.0.2.9&sound=ring.caf&msgid=IC&uid=%3Curn%3Auuid%3A1%3E&again=0a1b2c3d4e5f"
        )
        #expect(request.body.isEmpty)
    }

    @Test func `is signed over time and body`() throws {
        let hook = try WebhookRequest(settings: WebhookSettings(url: "https://h.example/", body: .text("CALLID")))
        var signed: [UInt8] = []
        let request = try hook.build(Samples.voip, content, now: 5) { body in
            signed = WebhookCredential.signingInput(body, now: 5)
            return WebhookCredential.headerValue(SHA256.hmac(key: Array("secret".utf8), signed), now: 5)
        }
        #expect(String(decoding: signed, as: UTF8.self) == "5.call-1@192.0.2.9")
        let code = Hex.encode(SHA256.hmac(key: Array("secret".utf8), signed))
        #expect(request["x-pushwake-signature"] == "t=5,v1=\(code)")
    }

    @Test(arguments: [
        ("http://h.example/", WebhookRequest.Problem.badURL), ("https://$token/", .badURL), ("https://TOKEN/", .badURL),
        ("https://h.example/a b", .badURL), ("", .badURL),
    ])
    func `is refused for a URL that is not a fixed https host`(url: String, problem: WebhookRequest.Problem) {
        #expect(throws: problem) { try WebhookRequest(settings: WebhookSettings(url: url)) }
    }

    @Test(arguments: ["Host", "Content-Length", "a b", "", "x\r\ny", "Transfer-Encoding"])
    func `is refused for a field that it cannot send`(name: String) {
        let settings = WebhookSettings(url: "https://h.example/", headers: [.init(name: name, value: "1")])
        #expect(throws: WebhookRequest.Problem.badHeader(name)) { try WebhookRequest(settings: settings) }
    }

    @Test func `is refused for a method or body that makes no sense`() {
        #expect(throws: WebhookRequest.Problem.badMethod) {
            try WebhookRequest(settings: WebhookSettings(method: "post\r\n", url: "https://h.example/"))
        }
        #expect(throws: WebhookRequest.Problem.self) {
            try WebhookRequest(settings: WebhookSettings(url: "https://h.example/", body: .json("{\"a\":FROM}")))
        }
    }
}

@Suite struct `Webhook answers` {
    @Test(arguments: [
        (200, Outcome.accepted), (204, .accepted), (404, .rejected), (410, .tokenGone), (401, .misconfigured),
        (403, .misconfigured), (400, .rejected), (408, .unavailable), (302, .rejected), (429, .throttled),
        (500, .unavailable),
        (0, .unavailable),
    ])
    func `have a usual meaning`(status: Int, outcome: Outcome) {
        #expect(WebhookAnswers().outcome(of: status) == outcome)
    }

    @Test func `mean what the operator says`() throws {
        let answers = try #require(WebhookAnswers(setting: "404=token-gone 2xx=unavailable 409=token-gone"))
        #expect(
            [404, 201, 409, 410].map { answers.outcome(of: $0) } == [.tokenGone, .unavailable, .tokenGone, .tokenGone])
        #expect(WebhookResponse.verdict(HTTPResponse(status: 201), answers).next == .retry(after: 2000))
        let told = HTTPResponse(status: 429, headers: [.init(name: "retry-after", value: "9")])
        #expect(WebhookResponse.verdict(told, WebhookAnswers()).next == .hold(9000))
        #expect(WebhookResponse.verdict(HTTPResponse(status: 409), answers) == Verdict(.tokenGone, reason: "HTTP 409"))
    }

    @Test(arguments: [
        "404", "404=", "9xx=rejected", "xx=rejected", "99=rejected", "404=nonsense", "=", "404=rejected,",
    ])
    func `are refused when they make no sense`(setting: String) { #expect(WebhookAnswers(setting: setting) == nil) }
}
