// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Payload library` {
    private func render(_ template: PayloadTemplate?, _ binding: Binding, _ content: PushContent) throws -> JSONValue {
        var out: [UInt8] = []
        try #require(template).render(
            PayloadValues(binding: binding, content: content, pushType: "voip", now: 1_700_000_000), into: &out)
        return try #require(JSON.parse(out), "\(String(decoding: out, as: UTF8.self))")
    }

    @Test func `has no payload from before a setting that changes it`() {
        let settings = PayloadSettings()
        let others = [
            PayloadSettings(callSound: "x"), PayloadSettings(messageSound: "x"), PayloadSettings(otherSound: "x"),
            PayloadSettings(badge: 0), PayloadSettings(showsCaller: false), PayloadSettings(usesSandbox: true),
            PayloadSettings(isVoicemailUrgent: true), PayloadSettings(navigate: "x"),
        ]
        #expect(settings == PayloadSettings() && others.allSatisfy { $0 != settings })
    }

    @Test(arguments: BuiltInPayloads.Family.allCases, PushEvent.allCases)
    func `has valid JSON for every event`(family: BuiltInPayloads.Family, event: PushEvent) throws {
        let library = try PayloadLibrary(family)
        for type in APNsPushType.allCases {
            _ = try render(library.apns(app: "", type), Samples.voip, Samples.content(event))
        }
        for platform in FCMPlatform.allCases {
            _ = try render(library.fcm(app: "", event, platform), Samples.android, Samples.content(event))
        }
        _ = try render(library.webPush(app: ""), Samples.voip, Samples.content(event))
    }

    @Test func `sends silent pushes with content-available and nothing to show`() throws {
        for family in [BuiltInPayloads.Family.plain, .mizutech] {
            let value = try render(
                PayloadLibrary(family).apns(app: "", .background), Samples.remote, Samples.content(.refresh))
            #expect(value.at("aps")?.memberNames == ["content-available"])
        }
    }

    @Test func `has what Mizutech's iPhone app expects`() throws {
        let value = try render(PayloadLibrary(.mizutech).apns(app: "", .voip), Samples.untyped, Samples.content(.call))
        #expect(value.memberNames == ["aps", "data"])
        #expect(value.at("aps.alert.title") == .string("Call from alice"))
        #expect(value.at("aps.alert.body") == .string("Incoming VoIP call from Alice"))
        #expect(value.at("aps.content-available") == .integer(1))
        #expect(value.at("aps.badge") == .integer(1))
        #expect(value.at("data.ntype") == .integer(0))
        #expect(value.at("data.nfromusername") == .string("alice"))
        #expect(value.at("data.nfrom") == .string("Alice"))
        #expect(value.at("data.ncallid") == .string("call-1@192.0.2.9"))
        #expect(value.at("data.ntouser") == .string("bob"))
    }

    @Test func `has what Mizutech's Android app expects and no notification for a call`() throws {
        let library = try PayloadLibrary(.mizutech)
        let call = try render(library.fcm(app: "", .call, .android), Samples.android, Samples.content(.call))
        #expect(call.memberNames == ["message"])
        #expect(call.at("message")?.memberNames == ["token", "data", "android"])
        #expect(call.at("message.android")?.memberNames == ["priority", "ttl"])
        #expect(call.at("message.android.ttl") == .string("40s"))
        #expect(call.at("message.data.ntype") == .string("0"))
        let chat = try render(
            library.fcm(app: "", .chat, .android), Samples.android, Samples.content(.chat, text: "hi"))
        #expect(chat.at("message.notification.body") == .string("hi"))
        #expect(chat.at("message.android.notification.notification_priority") == .string("PRIORITY_HIGH"))
    }

    @Test(arguments: [
        (PayloadLibrary.NotificationRule.keep, PushEvent.call, true), (.remove, .chat, false),
        (.automatic, .custom, true), (.automatic, .cancel, false), (.automatic, .voicemail, true),
        (.automatic, .refer, false),
    ])
    func `keeps the notification section as told`(
        rule: PayloadLibrary.NotificationRule, event: PushEvent, isKept: Bool
    ) throws {
        let library = try PayloadLibrary(.mizutech, notifications: rule)
        let value = try render(library.fcm(app: "", event, .android), Samples.android, Samples.content(event))
        #expect((value.at("message.notification") != nil) == isKept)
    }

    @Test func `keeps the Apple section for an iPhone behind FCM`() throws {
        let value = try render(
            PayloadLibrary(.mizutech).fcm(app: "", .chat, .ios), Samples.android, Samples.content(.chat))
        #expect(value.at("message.apns.headers.apns-priority") == .string("5"))
        // Apple wants a time; Google puts the app's own topic.
        let expiration = try #require(value.at("message.apns.headers.apns-expiration")?.string)
        #expect(.string(expiration) == value.at("message.data.expires-at"))
        #expect((Int64(expiration) ?? 0) > 1_000_000_000)
        #expect(value.at("message.apns.headers.apns-topic") == nil)
        #expect(value.at("message.android") == nil)
        #expect(value.at("message.webpush") == nil)
    }

    @Test func `keeps the Web Push section for a browser behind FCM`() throws {
        let value = try render(
            PayloadLibrary(.mizutech).fcm(app: "", .chat, .web), Samples.android, Samples.content(.chat))
        #expect(value.at("message.webpush.headers.ttl") == .string("40"))
        #expect(value.at("message.data.ncallid") != nil)
        #expect(value.at("message.android") == nil)
        #expect(value.at("message.apns") == nil)
    }

    @Test func `has every field of Flexisip's PushKit payload`() throws {
        var binding = Samples.voip
        binding.attributes["pn-call-str"] = "IC"
        let value = try render(PayloadLibrary(.flexisip).apns(app: "", .voip), binding, Samples.content(.call))
        let expected = JSON.parse(
            """
            {"aps":{"sound":"","loc-key":"IC","loc-args":["Alice"],"call-id":"call-1@192.0.2.9",
            "uuid":"<urn:uuid:1>","send-time":"2023-11-14 22:13:20"},"from-uri":"sip:alice@example.com",
            "display-name":"Alice","pn_ttl":40,"customPayload":{}}
            """)
        #expect(value == expected)
    }

    @Test(arguments: [
        (nil, "default", "", "empty"), ("ring.caf", "default", "ring.caf", "empty"),
        (nil, "bell.caf", "bell.caf", "bell.caf"), ("ring.caf", "bell.caf", "ring.caf", "bell.caf"),
    ])
    func `plays in Flexisip's payloads what the phone asked for, or the operator`(
        wish: String?, setting: String, call: String, message: String
    ) throws {
        var binding = Samples.voip
        binding.attributes["pn-call-snd"] = wish
        let settings = PayloadSettings(callSound: setting, messageSound: setting)
        func sound(_ type: APNsPushType, _ event: PushEvent) throws -> JSONValue? {
            var out: [UInt8] = []
            try #require(try PayloadLibrary(.flexisip).apns(app: "", type)).render(
                PayloadValues(binding: binding, content: Samples.content(event), settings: settings), into: &out)
            return JSON.parse(out)?.at("aps.sound")
        }
        #expect(try sound(.voip, .call) == .string(call))
        #expect(try sound(.alert, .chat) == .string(message))
    }

    @Test func `leaves the icon of Mizutech's app alone with badge 0`() throws {
        var out: [UInt8] = []
        try #require(try PayloadLibrary(.mizutech).apns(app: "", .voip)).render(
            PayloadValues(
                binding: Samples.untyped, content: Samples.content(.call), settings: PayloadSettings(badge: 0)),
            into: &out)
        #expect(JSON.parse(out)?.at("aps.badge") == .integer(0))
    }

    @Test func `has every field of Flexisip's remote payload`() throws {
        let value = try render(
            PayloadLibrary(.flexisip).apns(app: "", .alert), Samples.remote, Samples.content(.groupChat))
        let expected = JSON.parse(
            """
            {"aps":{"alert":{"loc-key":"GC_MSG","loc-args":["Alice"]},"sound":"empty","mutable-content":1,"badge":1},
            "from-uri":"sip:alice@example.com","display-name":"Alice","call-id":"call-1@192.0.2.9","pn_ttl":40,
            "uuid":"<urn:uuid:1>","send-time":"2023-11-14 22:13:20","chat-room-addr":"alice","customPayload":{}}
            """)
        #expect(value == expected)
    }

    @Test func `has every field of Flexisip's FCM payload, the misspelt one on request only`() throws {
        let content = Samples.content(.call)
        let plain = try render(PayloadLibrary(.flexisip).fcm(app: "", .call, .android), Samples.android, content)
        let names = [
            "uuid", "from-uri", "display-name", "call-id", "sip-from", "loc-key", "loc-args", "send-time",
            "custom-payload", "event",
        ]
        #expect(plain.at("message.android.data")?.memberNames == names)
        let compatible = try PayloadLibrary(.flexisip, flexisipCompatible: true)
        let both = try render(compatible.fcm(app: "", .call, .android), Samples.android, content)
        #expect(both.at("message.android.data.form-uri") == .string("sip:alice@example.com"))
        #expect(both.at("message.android.data.from-uri") == .string("sip:alice@example.com"))
    }

    @Test func `gives an iPhone behind FCM the fields of Flexisip where it sees them`() throws {
        let value = try render(
            PayloadLibrary(.flexisip).fcm(app: "", .call, .ios), Samples.android, Samples.content(.call))
        #expect(value.at("message.android") == nil)
        #expect(value.at("message.data.call-id") == .string("call-1@192.0.2.9"))
        #expect(value.at("message.apns.payload.aps.alert.loc-key") == .string("IC_MSG"))
    }

    @Test(arguments: BuiltInPayloads.Family.allCases)
    func `asks an iPhone behind FCM silently to register again`(family: BuiltInPayloads.Family) throws {
        let template = try PayloadLibrary(family).fcm(app: "", .refresh, .ios)
        let value = try render(template, Samples.android, Samples.content(.refresh))
        #expect(value.at("message.apns.payload.aps")?.memberNames == ["content-available"])
        #expect(value.at("message.apns.headers.apns-priority") == .string("5"))
    }

    @Test func `has another family for a provider and for an app`() throws {
        let library = try PayloadLibrary(
            PayloadFamilies(setting: "flexisip, fcm=plain , apns.com.example.other=mizutech"))
        let content = Samples.content(.call)
        func names(_ template: PayloadTemplate?) throws -> [String]? {
            try render(template, Samples.voip, content).memberNames
        }
        #expect(try names(library.apns(app: "com.example.phone", .voip))?.contains("pn_ttl") == true)
        #expect(try names(library.apns(app: "com.example.other", .voip)) == ["aps", "data"])
        #expect(try names(library.apns(app: "com.example.other.voip", .voip)) == ["aps", "data"])
        let android = try render(library.fcm(app: "x", .call, .android), Samples.android, content)
        #expect(android.at("message.data.event") == .string("call"))
    }

    @Test func `prefers a template of the operator's own, for one app or all`() throws {
        var library = try PayloadLibrary()
        try library.load(Array(#"{"all":1}"#.utf8), for: .apns)
        try library.load(Array(#"{"one":1}"#.utf8), for: .apns, app: "com.example.phone")
        let content = Samples.content(.call)
        let one = try render(library.apns(app: "com.example.phone", .voip), Samples.voip, content)
        let other = try render(library.apns(app: "com.example.other", .voip), Samples.voip, content)
        #expect(one.memberNames == ["one"])
        #expect(other.memberNames == ["all"])
    }

    @Test(arguments: [
        (#"{"message":{"token":"TOKEN","data":{"n":TYPE}}}"#, "quotes"),
        (#"{"message":{"token":"TOKEN"},"data":{"n":"TYPE"}}"#, "inside \"message\""),
        (#"{"message":{"data":{"n":"TYPE"}}}"#, "message.token"),
        (#"{"message":{"token":"TOKEN","data":{"from":"FROM"}}}"#, "reserved"),
        (#"{"message":{"token":"TOKEN","data":{"google.x":"1"}}}"#, "reserved"),
        (#"{"message":{"token":"TOKEN","apns":{"headers":{"apns-push-type":"voip"}}}}"#, "no VoIP push"),
    ])
    func `refuses an FCM template that Google would refuse`(source: String, word: String) throws {
        var library = try PayloadLibrary()
        do throws(PayloadTemplateError) {
            try library.load(Array(source.utf8), for: .fcm)
            Issue.record("was accepted")
        } catch {
            #expect(error.message.contains(word), "\(error.message)")
        }
    }
}
