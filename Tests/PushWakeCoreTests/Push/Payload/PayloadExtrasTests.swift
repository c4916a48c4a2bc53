// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// What settings add to the built-in payloads.
@Suite struct `A built-in payload with extras` {
    private func render(
        _ template: PayloadTemplate?, _ binding: Binding, _ content: PushContent, _ extras: PayloadExtras
    ) throws -> JSONValue {
        var out: [UInt8] = []
        let settings = PayloadSettings(mutableContent: extras.mutableContent)
        try #require(template).render(
            PayloadValues(binding: binding, content: content, settings: settings, now: 1_700_000_005), into: &out)
        return try #require(JSON.parse(out), "\(String(decoding: out, as: UTF8.self))")
    }

    private func android(
        _ family: BuiltInPayloads.Family, _ event: PushEvent, _ extras: PayloadExtras, isUrgent: Bool = true
    ) throws -> JSONValue {
        let template = try PayloadLibrary(family, extras: extras).fcm(app: "", event, .android, isUrgent: isUrgent)
        return try render(template, Samples.android, Samples.content(event), extras)
    }

    private func alert(
        _ family: BuiltInPayloads.Family, _ event: PushEvent, _ rule: PayloadExtras.MutableContent
    ) throws -> JSONValue? {
        let extras = PayloadExtras(mutableContent: rule)
        let template = try PayloadLibrary(family, extras: extras).apns(app: "", .alert)
        return try render(template, Samples.remote, Samples.content(event), extras).at("aps.mutable-content")
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
        #expect(try render(template, Samples.voip, Samples.content(.call), PayloadExtras()).at(path) == value)
    }

    @Test func `of Mizutech's apps says it too`() throws {
        let apple = try PayloadLibrary(.mizutech).apns(app: "", .voip)
        let call = Samples.content(.call)
        #expect(
            try render(apple, Samples.voip, call, PayloadExtras()).at("data.expires-at") == .integer(1_700_000_045))
        #expect(try android(.mizutech, .call, PayloadExtras()).at("message.data.expires-at") == .string("1700000045"))
    }

    @Test func `ends when nobody waits any more, however late it is repeated`() throws {
        var content = Samples.content(.call)
        content.endsAt = 1_700_000_040
        let template = try PayloadLibrary(.plain).apns(app: "", .voip)
        #expect(
            try render(template, Samples.voip, content, PayloadExtras()).at("expires-at") == .integer(1_700_000_040))
    }

    @Test func `has a minute to arrive when it is for now or never`() throws {
        var content = Samples.content(.chat)
        content.timeToLive = 0
        let template = try PayloadLibrary(.plain).apns(app: "", .alert)
        let value = try render(template, Samples.remote, content, PayloadExtras())
        #expect(value.at("expires-at") == .integer(1_700_000_065))
    }

    // MARK: Apple

    @Test(arguments: BuiltInPayloads.Family.allCases)
    func `lets the app put its own name into messages and missed calls`(family: BuiltInPayloads.Family) throws {
        for event in [PushEvent.chat, .groupChat, .missed] {
            #expect(try alert(family, event, .messages) == .integer(1))
            #expect(try alert(family, event, .never) != .integer(1))
        }
        for event in [PushEvent.call, .cancel, .voicemail] {
            #expect(try alert(family, event, .messages) == .integer(0))
        }
    }

    /// An extension such as Linphone's suppresses what it finds no message for, all but Flexisip's notice of a mailbox.
    @Test(arguments: PushEvent.allCases)
    func `may be changed by the app in messages alone`(event: PushEvent) throws {
        let isMessage = event == .chat || event == .groupChat
        #expect(try alert(.plain, event, .automatic) == .integer(isMessage ? 1 : 0))
        #expect(try alert(.flexisip, event, .automatic) == .integer(isMessage || event == .voicemail ? 1 : 0))
        #expect(try alert(.mizutech, event, .automatic) == nil)
    }

    @Test func `is no notice that Linphone knows when the phone asked for other words`() throws {
        var binding = Samples.remote
        binding.attributes["pn-mwi-str"] = "Neue Nachricht"
        let template = try PayloadLibrary(.flexisip).apns(app: "", .alert)
        let value = try render(template, binding, Samples.content(.voicemail), PayloadExtras())
        #expect(value.at("aps.mutable-content") == .integer(0))
    }

    @Test(arguments: BuiltInPayloads.Family.allCases)
    func `has no mutable-content where nothing is shown`(family: BuiltInPayloads.Family) throws {
        let extras = PayloadExtras(mutableContent: .messages)
        let template = try PayloadLibrary(family, extras: extras).apns(app: "", .background)
        let value = try render(template, Samples.remote, Samples.content(.refresh), extras)
        #expect(value.at("aps.mutable-content") == nil)
    }

    // MARK: Google

    @Test(arguments: BuiltInPayloads.Family.allCases)
    func `has no android_v2 and no new member without the settings`(family: BuiltInPayloads.Family) throws {
        let value = try android(family, .call, PayloadExtras())
        #expect(value.at("message.android_v2") == nil)
        #expect(value.at("message.android.bandwidth_constrained_ok") == nil)
    }

    @Test(arguments: BuiltInPayloads.Family.allCases)
    func `goes over thin networks on request`(family: BuiltInPayloads.Family) throws {
        let first = try android(family, .call, PayloadExtras(bandwidthConstrained: true))
        #expect(first.at("message.android.bandwidth_constrained_ok") == .bool(true))
        let second = try android(family, .call, PayloadExtras(androidV2: true, bandwidthConstrained: true))
        #expect(second.at("message.android_v2.bandwidth_constrained_ok") == .bool(true))
    }

    @Test(arguments: BuiltInPayloads.Family.allCases)
    func `wakes the app for a call with android_v2, past whatever saves battery`(
        family: BuiltInPayloads.Family
    ) throws {
        let value = try android(family, .call, PayloadExtras(androidV2: true))
        #expect(value.at("message.android") == nil)
        #expect(value.at("message.android_v2.ttl") == .string("40s"))
        #expect(value.at("message.android_v2.background_sync") == nil)
        let shown = value.at("message.android_v2.remote_notification")
        #expect(shown?.at("use_as_v1_data_message") == .bool(true))
        #expect(shown?.at("mutable_content") == .bool(true))
        #expect(shown?.at("notification.title") == .string("Call from alice"))
    }

    @Test(arguments: BuiltInPayloads.Family.allCases)
    func `may come late with android_v2 when it is in no hurry`(family: BuiltInPayloads.Family) throws {
        let value = try android(family, .refresh, PayloadExtras(androidV2: true), isUrgent: false)
        #expect(value.at("message.android_v2.background_sync")?.memberNames == [])
        #expect(value.at("message.android_v2.remote_notification") == nil)
        #expect(value.at("message.notification") == nil)
    }

    @Test func `shows a message by itself where it did before`() throws {
        let mizutech = try android(.mizutech, .chat, PayloadExtras(androidV2: true))
        #expect(mizutech.at("message.android_v2.remote_notification")?.memberNames == ["notification"])
        let plain = try android(.plain, .chat, PayloadExtras(androidV2: true))
        #expect(plain.at("message.android_v2.remote_notification.use_as_v1_data_message") == .bool(true))
    }

    @Test func `keeps Flexisip's fields within android_v2`() throws {
        let value = try android(.flexisip, .call, PayloadExtras(androidV2: true))
        #expect(value.at("message.android_v2.data.call-id") == .string("call-1@192.0.2.9"))
        #expect(value.at("message.android_v2.data.form-uri") == nil)
    }

    @Test func `says nothing of Android to an iPhone behind FCM`() throws {
        let extras = PayloadExtras(androidV2: true, bandwidthConstrained: true)
        for event in PushEvent.allCases {
            let template = try PayloadLibrary(.plain, extras: extras).fcm(app: "", event, .ios, isUrgent: false)
            let value = try render(template, Samples.android, Samples.content(event), extras)
            #expect(value.at("message.android_v2") == nil)
        }
    }
}
