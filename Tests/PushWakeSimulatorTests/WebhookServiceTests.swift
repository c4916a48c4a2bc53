// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeSimulator

@Suite struct `Webhook service` {
    private func answer(
        _ path: String = "/webhook/phone", method: String = "POST", body: String = #"{"event":"call"}"#, age: Int64 = 0,
        signature: String? = nil, id: String = "1"
    ) -> ProviderAnswer {
        let time = ServiceFixture.seconds - age
        let signed = Array("\(time).\(body.isEmpty ? path : body)".utf8)
        let hex = ServiceFixture.makeCode(signed).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let headers = [("x-pushwake-signature", signature ?? "t=\(time),v1=\(hex)"), ("x-pushwake-id", id)]
        let request = ReceivedRequest(method, path, headers: headers, body: Array(body.utf8))
        return WebhookService { ServiceFixture.makeCode($0) }.answer(request, now: ServiceFixture.now)
    }

    @Test func `takes what is signed, with a body or without`() {
        #expect(answer().status == 200)
        #expect(answer("/webhook/phone?event=call", method: "GET", body: "").status == 200)
        #expect(answer("/webhook", body: #"{"token":"phone"}"#).status == 200)
        #expect(answer(age: 300).status == 200)
    }

    @Test func `tells a push sent twice by its id`() {
        #expect(answer().push == answer().push)
        #expect(answer().push?.id != answer(id: "2").push?.id)
    }

    @Test(arguments: [
        ("", "BadSignature"), ("t=1,v1=00", "StaleSignature"), ("v1=00,t=1", "BadSignature"),
        ("t=-9223372036854775808,v1=00", "StaleSignature"),
        ("t=\(Int64.min + ServiceFixture.seconds),v1=00", "StaleSignature"),
        ("t=\(ServiceFixture.seconds),v1=", "BadSignature"),
        ("t=\(ServiceFixture.seconds),v1=00,v1=00", "BadSignature"),
    ])
    func `refuses another signature`(signature: String, reason: String) {
        let refused = answer(signature: signature)
        #expect(refused.status == 401)
        #expect(refused.reason == reason)
        #expect(refused.push == nil)
    }

    @Test func `refuses an old one, and none`() {
        #expect(answer(age: 301).reason == "StaleSignature")
        #expect(answer(age: -301).reason == "StaleSignature")
        let request = ReceivedRequest("POST", "/webhook/phone")
        let service = WebhookService { ServiceFixture.makeCode($0) }
        #expect(service.answer(request, now: ServiceFixture.now).reason == "MissingSignature")
    }

    @Test(arguments: [
        ("/webhook/unregistered-1", 410), ("/webhook/expired-1", 404), ("/webhook/invalid-1", 400),
        ("/webhook/mismatch-1", 403), ("/webhook/", 400), ("/webhook", 400),
    ])
    func `answers some tokens with an error`(path: String, status: Int) { #expect(answer(path).status == status) }
}
