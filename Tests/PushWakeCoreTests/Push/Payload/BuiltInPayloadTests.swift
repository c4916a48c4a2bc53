// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `A built-in payload` {
    private func render(_ template: PayloadTemplate?, _ binding: Binding, _ content: PushContent) throws -> JSONValue {
        var out: [UInt8] = []
        try #require(template).render(PayloadValues(binding: binding, content: content, now: 1_700_000_005), into: &out)
        return try #require(JSON.parse(out), "\(String(decoding: out, as: UTF8.self))")
    }

    private func alert(_ family: BuiltInPayloads.Family, _ event: PushEvent) throws -> JSONValue? {
        let template = try PayloadLibrary(family).apns(app: "", .alert)
        return try render(template, Samples.remote, Samples.content(event)).at("aps.mutable-content")
    }

    // MARK: When a push is stale

    @Test(arguments: [
        ("apns", "sent-at", JSONValue.integer(1_700_000_000)), ("apns", "expires-at", .integer(1_700_000_045)),
        ("fcm", "message.data.sent-at", .string("1700000000")),
        ("fcm", "message.data.expires-at", .string("1700000045")),
        ("webpush", "sent-at", .integer(1_700_000_000)), ("webpush", "expires-at", .integer(1_700_000_045)),
    ])
    func `says when it was sent and when it may be dropped`(provider: String, path: String, value: JSONValue) throws {
        let library = try PayloadLibrary(.plain)
        let templates = [
            "apns": library.apns(app: "", .voip), "fcm": library.fcm(app: "", .call, .android),
            "webpush": library.webPush(app: ""),
        ]
        let template = try #require(templates[provider])
        #expect(try render(template, Samples.voip, Samples.content(.call)).at(path) == value)
    }

    @Test func `of Mizutech's apps says it too`() throws {
        let apple = try PayloadLibrary(.mizutech).apns(app: "", .voip)
        let call = Samples.content(.call)
        #expect(
            try render(apple, Samples.voip, call).at("data.expires-at") == .integer(1_700_000_045))
        #expect(
            try render(PayloadLibrary(.mizutech).fcm(app: "", .call, .android), Samples.android, call).at(
                "message.data.expires-at") == .string("1700000045"))
    }

    @Test func `ends when nobody waits any more, however late it is repeated`() throws {
        var content = Samples.content(.call)
        content.endsAt = 1_700_000_040
        let template = try PayloadLibrary(.plain).apns(app: "", .voip)
        #expect(
            try render(template, Samples.voip, content).at("expires-at") == .integer(1_700_000_040))
    }

    @Test func `has a minute to arrive when it is for now or never`() throws {
        var content = Samples.content(.chat)
        content.timeToLive = 0
        let template = try PayloadLibrary(.plain).apns(app: "", .alert)
        let value = try render(template, Samples.remote, content)
        #expect(value.at("expires-at") == .integer(1_700_000_065))
    }

    // MARK: What the app may change

    /// An extension such as Linphone's suppresses what it finds no message for, all but Flexisip's notice of a mailbox.
    @Test(arguments: PushEvent.allCases)
    func `may be changed by the app in messages alone`(event: PushEvent) throws {
        let isMessage = event == .chat || event == .groupChat
        #expect(try alert(.plain, event) == .integer(isMessage ? 1 : 0))
        #expect(try alert(.flexisip, event) == .integer(isMessage || event == .voicemail ? 1 : 0))
        #expect(try alert(.mizutech, event) == nil)
    }

    @Test func `is no notice that Linphone knows when the phone asked for other words`() throws {
        var binding = Samples.remote
        binding.attributes["pn-mwi-str"] = "Neue Nachricht"
        let template = try PayloadLibrary(.flexisip).apns(app: "", .alert)
        let value = try render(template, binding, Samples.content(.voicemail))
        #expect(value.at("aps.mutable-content") == .integer(0))
    }

    @Test(arguments: BuiltInPayloads.Family.allCases)
    func `has no mutable-content where nothing is shown`(family: BuiltInPayloads.Family) throws {
        let template = try PayloadLibrary(family).apns(app: "", .background)
        #expect(try render(template, Samples.remote, Samples.content(.refresh)).at("aps.mutable-content") == nil)
    }
}
