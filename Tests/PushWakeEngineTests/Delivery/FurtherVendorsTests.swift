// SPDX-License-Identifier: MIT

import PushWakeClient
import PushWakeCore
import Testing

@testable import PushWakeEngine
@testable import PushWakeSimulator

@Suite struct `Linphone of the app stores` {
    private let linphone = Binding(
        provider: .apns, app: "org.linphone.phone", team: "ABCD1234", service: .voip, token: "0a1b2c", dialect: .rfc8599
    )
    private let call = PushContent(event: .call, callID: "c1@host", fromURI: "sip:bob@example.com", timeToLive: 40)

    @Test func `is woken through FlexiAPI, and other apps are not`() throws {
        let fixture = try DeliveryFixture(.flexiAPI)
        let end = try fixture.push(linphone, call)
        #expect(end.verdict.outcome == .accepted)
        let sent = try #require(fixture.requests().first)
        #expect(sent["provider"]?.string == "flexiapi")
        #expect(sent["body"]?["pn_param"]?.string == "ABCD1234.org.linphone.phone.voip")
        var other = linphone
        other.app = "com.example.phone"
        #expect(try fixture.push(other, call).verdict.reason == "NoCredential")
    }

    @Test func `is not woken with a key that FlexiAPI does not know`() throws {
        let fixture = try DeliveryFixture(.flexiAPI)
        let path = fixture.directory + "/other.key"
        try fixture.write(path, Array("another\n".utf8))
        try fixture.set(.flexiAPIKeyFile, to: path)
        let end = try fixture.push(linphone, call)
        #expect(end.verdict.outcome == .misconfigured && end.status == 401)
    }

    @Test func `is told that its pushes are served, and phones of other apps are not`() throws {
        var settings = Settings()
        try settings.set(.flexiAPIURL, to: "https://sip.example.org/flexiapi")
        try settings.set(.flexiAPIApps, to: "apns.org.linphone.phone")
        let policy = RegistrationPolicy(settings: settings)
        #expect(policy.supports(linphone))
        var other = linphone
        other.app = "com.example.phone"
        #expect(!policy.supports(other))
    }

    @Test func `is explained without the API key`() throws {
        var fixture = ExplainFixture()
        try fixture.settings.set(.flexiAPIURL, to: "https://sip.example.org/flexiapi")
        try fixture.settings.set(.flexiAPIApps, to: "apns")
        let shown = try fixture.explain(ExplainFixture.twoTokens, ExplainFixture.request("INVITE"))
        #expect(shown["url"]?.string == "https://sip.example.org/flexiapi/api/push_notification")
        #expect(shown.header("x-api-key") == "<api key>")
    }

    @Test(arguments: [
        ([("flexiapi_apps", "apns")], "flexiapi_url"), ([("flexiapi_url", "http://h")], "flexiapi_url"),
        ([("flexiapi_url", "https://h")], "flexiapi_apps"),
        ([("flexiapi_url", "https://h"), ("flexiapi_apps", "linphone")], "flexiapi_apps"),
        ([("flexiapi_url", "https://h"), ("flexiapi_apps", "apns, fcm.linphone-android")], "flexiapi_apps"),
        ([("flexiapi_url", "https://h"), ("flexiapi_apps", "apns")], "flexiapi_key_file"),
        (
            [("flexiapi_url", "https://h/flexiapi/api/push_notification"), ("flexiapi_apps", "apns")], "flexiapi_url"
        ),
        ([("harmonyos_key", "/nonexistent")], "harmonyos_key"),
        ([("harmonyos_url", "https://h")], "harmonyos_key"),
        ([("webpush_navigate", "https://h/")], "vapid_key"),
        ([("vapid_key", "/nonexistent"), ("webpush_navigate", "phone.example.com")], "webpush_navigate"),
    ])
    func `needs settings that belong together`(values: [(String, String)], setting: String) throws {
        var settings = Settings()
        for (name, value) in values { try settings.set(name, to: value) }
        #expect(SettingsInspection.inspect(settings).contains { $0.setting == setting })
    }
}

@Suite struct `A phone with HarmonyOS` {
    private func phone(_ token: String) -> Binding {
        Binding(provider: .harmonyos, app: "com.example.phone", token: token, dialect: .rfc8599)
    }

    @Test(arguments: [(PushEvent.call, "10"), (.missed, "0"), (.cancel, "6")])
    func `is pushed with a token that the service account signed`(event: PushEvent, type: String) throws {
        let fixture = try DeliveryFixture(.harmonyOS)
        let content = PushContent(event: event, callID: "c", fromURI: "sip:b@example.com", timeToLive: 40)
        #expect(try fixture.push(phone("MAMzLg"), content).verdict.outcome == .accepted)
        let sent = try #require(fixture.requests().first)
        #expect(sent["provider"]?.string == "harmonyos")
        #expect(sent["headers"]?["push-type"]?.string == type)
    }

    @Test(arguments: [("unregistered-1", Outcome.tokenGone), ("mismatch-1", .misconfigured)])
    func `is forgotten when Huawei says so, and no other`(token: String, outcome: Outcome) throws {
        let fixture = try DeliveryFixture(.harmonyOS)
        let end = try fixture.push(phone(token), PushContent(event: .call, callID: "c", timeToLive: 40))
        #expect(end.verdict.outcome == outcome)
    }

    @Test func `is pushed again with another token when one is refused`() throws {
        let fixture = try DeliveryFixture(
            .harmonyOS, script: #"{"rules":[{"provider":"harmonyos","status":401,"reason":"80200003","count":1}]}"#)
        let end = try fixture.push(phone("MAMzLg"), PushContent(event: .call, callID: "c", timeToLive: 40))
        #expect(end.verdict.outcome == .accepted && end.attempts == 2)
    }

    @Test func `is explained without the token`() throws {
        let shown = try ExplainFixture().explain(
            "pn-provider=harmonyos;pn-prid=MAMzLg", ExplainFixture.request("INVITE"))
        #expect(shown["url"]?.string == "https://push-api.cloud.huawei.com/v3/PROJECT/messages:send")
        #expect(shown.header("authorization") == "Bearer <signed token>")
    }

    @Test func `is not pushed without a service account`() throws {
        let fixture = try DeliveryFixture()
        let end = try fixture.push(phone("MAMzLg"), PushContent(event: .call, callID: "c"))
        #expect(end.verdict.detail == "set harmonyos_key to a service-account file")
    }
}
