// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `FlexiAPI` {
    private static let key = Array("secret-key".utf8)
    private static let linphone = Binding(
        provider: .apns, app: "org.linphone.phone", team: "ABCD1234", service: .voip, token: "0a1b2c", dialect: .rfc8599
    )

    private func build(
        _ binding: Binding = linphone, _ content: PushContent = Samples.content(.call),
        url: String = "https://sip.example.org/flexiapi/"
    ) throws -> HTTPRequest {
        try #require(FlexiAPIRequest(url: url)).build(binding, content, key: Self.key)
    }

    private func body(_ binding: Binding, _ content: PushContent) throws -> JSONValue {
        try #require(JSON.parse(try build(binding, content).body))
    }

    @Test func `gets the phone's parameters of one service and the API key`() throws {
        let request = try build()
        #expect(
            request.headerList.map { "\($0.name): \($0.value)" } == [
                ":method: POST", ":scheme: https", ":authority: sip.example.org",
                ":path: /flexiapi/api/push_notification", "accept: application/json",
                "content-type: application/json", "x-api-key: secret-key",
            ])
        let body = try #require(JSON.parse(request.body))
        #expect(body["pn_provider"] == .string("apns"))
        #expect(body["pn_param"] == .string("ABCD1234.org.linphone.phone.voip"))
        #expect(body["pn_prid"] == .string("0a1b2c"))
        #expect(body["type"] == .string("call"))
        #expect(body["call_id"] == .string("call-1@192.0.2.9"))
        #expect(body.memberNames.count == 5)
    }

    @Test func `gets the sandbox and Google under their own names`() throws {
        var binding = Self.linphone
        (binding.environment, binding.service) = (.sandbox, .remote)
        let apple = try body(binding, Samples.content(.chat))
        #expect(apple["pn_provider"] == .string("apns.dev"))
        #expect(apple["pn_param"] == .string("ABCD1234.org.linphone.phone.remote"))
        let android = Binding(provider: .fcm, app: "linphone_android", token: "c-1:APA91b_", dialect: .rfc8599)
        let google = try body(android, Samples.content(.call))
        #expect(google["pn_provider"] == .string("fcm"))
        #expect(google["pn_param"] == .string("linphone_android"))
    }

    @Test(arguments: PushEvent.allCases)
    func `gets one of its three types`(event: PushEvent) throws {
        let type =
            switch event {
            case .call: "call"
            case .chat, .groupChat, .custom: "message"
            default: "background"
            }
        var binding = Self.linphone
        binding.service = .remote
        #expect(try body(binding, Samples.content(event))["type"] == .string(type))
    }

    @Test func `gets no Call-ID that its pattern refuses`() throws {
        var content = Samples.content(.call)
        content.callID = "a(b)@c"
        #expect(try body(Self.linphone, content)["call_id"] == nil)
    }

    @Test func `gets nothing that its patterns refuse`() {
        var binding = Self.linphone
        binding.token = "a b"
        #expect(throws: PushFailure.unusableToken) { try build(binding) }
        binding = Self.linphone
        binding.app = "org.linphone-x"
        #expect(throws: PushFailure.unusableApp) { try build(binding) }
        binding = Self.linphone
        binding.team = ""
        #expect(throws: PushFailure.unusableApp) { try build(binding) }
    }

    @Test(arguments: ["http://sip.example.org", "sip.example.org", "https://h/a b", "https://h/x?y=1", ""])
    func `has no other URL than https`(url: String) { #expect(FlexiAPIRequest(url: url) == nil) }

    @Test(arguments: [
        ("apns", true, true, false), ("apns.org.linphone.phone", true, false, false),
        ("fcm, apns.org.linphone.phone", true, false, true), ("fcm.linphone_android", false, false, true),
        ("", false, false, false),
    ])
    func `serves the apps that the setting names`(list: String, linphone: Bool, other: Bool, android: Bool) throws {
        let apps = try FlexiAPIApps(setting: list)
        #expect(apps.serves(Self.linphone) == linphone)
        #expect(apps.serves(Samples.voip) == other)
        let google = Binding(provider: .fcm, app: "linphone_android", token: "t", dialect: .rfc8599)
        #expect(apps.serves(google) == android)
    }

    @Test(arguments: ["webpush", "apns.", "org.linphone.phone", "apns fcm"])
    func `refuses a list that names no app`(list: String) {
        #expect(throws: FlexiAPIApps.Mistake.self) { try FlexiAPIApps(setting: list) }
    }

    @Test(arguments: [
        (200, Outcome.accepted, false), (401, .misconfigured, false), (403, .misconfigured, false),
        (404, .misconfigured, false), (422, .rejected, false), (429, .throttled, true), (503, .unavailable, true),
    ])
    func `is read by its status`(status: Int, outcome: Outcome, isRepeated: Bool) {
        let body = JSON.parse(Array(#"{"message":"Why"}"#.utf8))
        let verdict = FlexiAPIResponse.verdict(HTTPResponse(status: status), body)
        #expect(verdict.outcome == outcome)
        #expect((verdict.next != .finish) == isRepeated)
        #expect(outcome == .accepted || verdict.reason == "HTTP \(status) Why")
    }
}
