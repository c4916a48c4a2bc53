// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

private typealias Fixture = ExplainFixture

private let production = "https://api.push.apple.com/3/device/"
private let calls = "voip org.example.phone.voip \(production)\(Fixture.voip)"
private let alerts = "alert org.example.phone \(production)\(Fixture.remote)"
private let fcmURL = "https://fcm.googleapis.com/v1/projects/"

@Suite struct `What Flexisip's phones are pushed with` {
    @Test(
        arguments: [
            ("pn-prid={R}&{V};pn-param=T.org.example.phone", nil, nil),
            ("pn-prid={R}:remote;pn-param=T.org.example.phone.remote&voip", nil, nil),
            ("pn-prid={V}:voip&{R}:voip;pn-param=T.org.example.phone.voip&remote", nil, nil),
            ("pn-prid={R}:remote;pn-param=T.org.example.phone.remote&remote", alerts, alerts),
            ("pn-prid={R}:remote;pn-param=T.org.example.phone", alerts, alerts),
            ("pn-prid={R}%3Aremote%26{V}%3Avoip;pn-param=T.org.example.phone.remote%26voip", calls, alerts),
            ("pn-prid={R};pn-param=T.org.example.phone", alerts, alerts),
            ("pn-prid={R}:remote;pn-param=T.org.example.phone.remote", alerts, alerts),
            ("pn-prid={R}:remote&{V}:voip;pn-param=T.org.example.phone.remote&voip", calls, alerts),
            ("pn-prid={V}:voip&{R}:remote;pn-param=T.org.example.phone.voip&remote", calls, alerts),
            ("pn-prid={V};pn-param=T.org.example.phone.voip", calls, nil),
            // Apple's tokens have no fixed length.
            (
                "pn-prid=5ab8;pn-param=T.org.example.phone", "alert org.example.phone \(production)5ab8",
                "alert org.example.phone \(production)5ab8"
            ),
        ] as [(String, String?, String?)])
    func `chooses the token that fits`(parameters: String, call: String?, chat: String?) throws {
        let form = parameters.replacing("{R}", with: Fixture.remote).replacing("{V}", with: Fixture.voip)
        let contact = "pn-provider=apns;\(form)"
        let invite = try Fixture().explain(contact, Fixture.request("INVITE"))
        let message = try Fixture().explain(contact, Fixture.request("MESSAGE", headers: ["Content-Type: text/plain"]))
        #expect(invite.target == call)
        #expect(message.target == chat)
        if call == nil { #expect(!invite.problems.isEmpty) }
    }

    @Test func `goes to the sandbox for apns.dev`() throws {
        let contact = "pn-provider=apns.dev;pn-prid=\(Fixture.voip);pn-param=T.org.example.phone.voip"
        let call = try Fixture().explain(contact, Fixture.request("INVITE"))
        #expect(
            call.target == "voip org.example.phone.voip https://api.sandbox.push.apple.com/3/device/\(Fixture.voip)")
        let chat = try Fixture().explain(contact, Fixture.request("MESSAGE"))
        #expect(chat.reasons == ["a PushKit token may only get calls"])
    }

    @Test(arguments: [
        "pn-provider=fcm;pn-prid=x", "pn-provider=acme;pn-prid=x;pn-param=1",
        "pn-provider=apns.prod;pn-prid=\(Fixture.remote);pn-param=T.org.example.phone",
        "pn-provider=webpush;pn-prid=x;pn-param=1", "pn-tok=z", "pn-type=other;app-id=1;pn-tok=z",
    ])
    func `pushes nothing where it would be a guess, and says why`(contact: String) throws {
        for method in ["INVITE", "MESSAGE"] {
            let explained = try Fixture().explain(contact, Fixture.request(method))
            #expect(explained.requests.isEmpty)
            #expect(!explained.problems.isEmpty)
        }
    }

    @Test func `keeps a token of 255 bytes whole`() throws {
        let token = String(repeating: "k", count: 255)
        let explained = try Fixture().explain("pn-provider=fcm;pn-prid=\(token);pn-param=1", Fixture.request("INVITE"))
        #expect(explained["body.message.token"] == .string(token))
    }

    @Test(arguments: [
        ("pn-provider=fcm;pn-prid=x;pn-param=1;pn-type=apple;app-id=a.prod;pn-tok=z", "\(fcmURL)1/messages:send", "x"),
        ("pn-type=google;app-id=fr.bc-app.test;pn-tok=pnTok.tok", "\(fcmURL)fr.bc-app.test/messages:send", "pnTok.tok"),
        ("pn-type=firebase;app-id=fr.bc-app.x;pn-tok=pnTok.tok", "\(fcmURL)fr.bc-app.x/messages:send", "pnTok.tok"),
    ])
    func `reads the older names where the newer are missing`(contact: String, url: String, token: String) throws {
        let explained = try Fixture().explain(contact, Fixture.request("INVITE"))
        #expect(explained["url"] == .string(url))
        #expect(explained["body.message.token"] == .string(token))
    }
}

@Suite struct `Which push service a phone of Flexisip's is woken through` {
    @Test(arguments: [
        ("fr.bc-appId.test", "https://api.push.apple.com/3/device/pnTok.tok"),
        ("fr.bc-appId.test.prod", "https://api.push.apple.com/3/device/pnTok.tok"),
        ("fr.bc-appId.test.dev", "https://api.sandbox.push.apple.com/3/device/pnTok.tok"),
    ])
    func `is Apple's for pn-type apple`(appID: String, url: String) throws {
        let contact = "pn-type=apple;app-id=\(appID);pn-tok=pnTok.tok"
        for method in ["INVITE", "MESSAGE"] {
            let explained = try Fixture().explain(contact, Fixture.request(method))
            #expect(explained.target == "alert fr.bc-appId.test \(url)")
        }
    }

    @Test func `is the webhook, and only it, for a type of another's`() throws {
        let contact = "pn-type=anyOtherSource;app-id=fr.bc-appId.test;pn-tok=pnTok.toktok"
        let alone = try Fixture().explain(contact, Fixture.request("INVITE"))
        #expect(alone.requests.isEmpty)
        #expect(alone.problems.contains { $0.contains("'anyOtherSource' is not a known push service") })
        var fixture = Fixture()
        try fixture.settings.set(.webhookURL, to: "https://hooks.example.com/$type?app=$app-id&token=$token")
        let url = try fixture.explain(contact, Fixture.request("INVITE"))["url"]
        let expected = "https://hooks.example.com/anyothersource?app=fr.bc-appId.test&token=pnTok.toktok"
        #expect(url == .string(expected))
    }

    @Test(
        arguments: [
            ("pn-provider=apns;pn-prid=\(Fixture.voip);pn-param=T.org.example.phone.voip", "voip", nil, nil),
            (Fixture.remoteOnly, "alert", "alert", "background"),
            (Fixture.twoTokens, "voip", "alert", "background"),
            (Fixture.android, "call", "chat", "refresh"),
        ] as [(String, String?, String?, String?)])
    func `takes the kinds of push that its token is for`(
        contact: String, call: String?, chat: String?, refresh: String?
    ) throws {
        for (event, kind) in [(PushEvent.call, call), (.chat, chat), (.refresh, refresh)] {
            let explained = try Fixture().explain(contact, Fixture.request("INVITE"), event: event)
            let said = explained.header("apns-push-type") ?? explained["body.message.android.data.event"]?.string
            #expect(said == kind)
            #expect(explained.requests.count == (kind == nil ? 0 : 1))
            if kind == nil { #expect(explained.reasons == ["a PushKit token may only get calls"]) }
        }
    }
}

@Suite struct `Flexisip's external push, to a URL with its placeholders` {
    private func fixture() throws -> Fixture {
        var fixture = Fixture()
        let query =
            "token=$token&app-id=$app-id&from-name=$from-name&from-uri=$from-uri&to-uri=$to-uri&call-id=$call-id"
            + "&sound=$sound&msgid=$msgid&uid=$uid&from-tag=$from-tag&again=$token"
        try fixture.settings.set(.webhookURL, to: "https://hooks.example.com/p/$type/$event?\(query)")
        try fixture.settings.set(.webhookProviders, to: "apns, fcm")
        try fixture.settings.set(.webhookBodyType, to: "text")
        return fixture
    }

    private func path(_ event: String, _ token: String, app: String, sound: String, text: String) -> JSONValue {
        .string(
            "https://hooks.example.com/p/apple/\(event)?token=\(token)&app-id=\(app)&from-name=Alice"
                + "&from-uri=sip%3Aalice%40sip.example.org&to-uri=sip%3Abob%40sip.example.org&call-id=call-1"
                + "&sound=\(sound)&msgid=\(text)"
                + "&uid=%3Curn%3Auuid%3A00000000-0000-0000-0000-000000000001%3E&from-tag=a&again=\(token)")
    }

    @Test func `has every value of a call, and none is left out where it stands twice`() throws {
        let contact = "\(Fixture.twoTokens);pn-call-str=IC;pn-call-snd=ring.caf"
        let call = try fixture().explain(contact, Fixture.request("INVITE"))
        #expect(call["method"] == .string("POST"))
        let app = "org.example.phone.voip.prod"
        #expect(call["url"] == path("call", Fixture.voip, app: app, sound: "ring.caf", text: "IC"))
        #expect(call["body"]?.string ?? "" == "")
    }

    @Test(arguments: [
        ("pn-provider=apns.dev;pn-prid=00ff;pn-param=T.org.example.phone", "production", "org.example.phone.dev"),
        ("pn-provider=apns;pn-prid=00ff;pn-param=T.org.example.phone", "sandbox", "org.example.phone.dev"),
        ("pn-provider=fcm;pn-prid=00ff;pn-param=my-project", "sandbox", "my-project"),
    ])
    func `names the app as Flexisip names its certificate`(contact: String, world: String, app: String) throws {
        var fixture = try fixture()
        try fixture.settings.set(.apnsEnvironment, to: world)
        let url = try fixture.explain(contact, Fixture.request("INVITE"))["url"]?.string ?? ""
        #expect(url.contains("&app-id=\(app)&"))
    }

    @Test func `has the text of a message as its body`() throws {
        let contact = "\(Fixture.twoTokens);pn-msg-str=IM;pn-msg-snd=ding.caf"
        let request = Fixture.request("MESSAGE", headers: ["Content-Type: text/plain"], body: "hello world")
        let message = try fixture().explain(contact, request)
        let app = "org.example.phone.prod"
        #expect(message["url"] == path("message", Fixture.remote, app: app, sound: "ding.caf", text: "IM"))
        #expect(message.header("content-type")?.hasPrefix("text/plain") == true)
        #expect(message["body"] == .string("hello world"))
    }
}

@Suite struct `Which requests wake a phone` {
    @Test(
        arguments: [
            ("INVITE", [], ""), ("INVITE", ["X-fs-message-type: another-type"], ""),
            ("INVITE", ["Content-Type: application/sdp"], ""), ("MESSAGE", ["Content-Type: another/type"], ""),
            ("MESSAGE", ["Content-Type: text/plain"], ""),
            (
                "REFER", ["Content-Type: application/im-iscomposing+xml", "Replaces: 1@192.0.2.3;to-tag=2;from-tag=2"],
                ""
            ),
        ] as [(String, [String], String)])
    func `pushes`(method: String, headers: [String], to: String) throws {
        let explained = try Fixture().explain(Fixture.remoteOnly, Fixture.request(method, headers: headers, to: to))
        #expect(explained.target == alerts)
        #expect(explained.skipped.isEmpty)
    }

    @Test(
        arguments: [
            ("NOTIFY", ["Event: dialog"], "", "a NOTIFY wakes a phone only for message-summary"),
            ("NOTIFY", [], "", "a NOTIFY wakes a phone only for message-summary"),
            ("ACK", [], "", "ACK wakes no phone"),
            ("OPTIONS", [], "", "OPTIONS wakes no phone: wake_requests does not name it"),
            ("SUBSCRIBE", [], "", "SUBSCRIBE wakes no phone: wake_requests does not name it"),
            ("INVITE", [], ";tag=1928301774", "the request is inside a dialog and carries no pn-purr"),
            (
                "INVITE", ["X-fs-message-type: chat-service"], "",
                "the request is for the chat service, not for its user"
            ),
            ("INVITE", ["Priority: non-urgent"], "", "the request is non-urgent"),
            (
                "INVITE", ["Replaces: 1@h;to-tag=2;from-tag=3"], "",
                "the INVITE replaces a call that is answered already"
            ),
            (
                "MESSAGE", ["c: application/im-iscomposing+xml ;charset=utf-8"], "",
                "the MESSAGE only says that somebody is typing"
            ),
            ("MESSAGE", ["Content-Type: Message/IMDN+xml"], "", "the MESSAGE only says that another one arrived"),
        ] as [(String, [String], String, String)])
    func `does not push`(method: String, headers: [String], to: String, reason: String) throws {
        let explained = try Fixture().explain(Fixture.twoTokens, Fixture.request(method, headers: headers, to: to))
        #expect(explained.requests.isEmpty)
        #expect(explained.reasons == [reason, reason])
    }

    @Test func `wakes the phone of a dialog by its PURR`() throws {
        let request = Fixture.request("INVITE", to: ";tag=1", uri: "sip:bob@192.0.2.1;pn-purr=00fa")
        #expect(try Fixture().explain(Fixture.twoTokens, request).target == calls)
    }

    @Test func `wakes it by the PURR of a Route, and for what rings nobody in silence`() throws {
        let route = ["Route: <sip:p.example.org;lr>, <sip:bob@192.0.2.1;pn-purr=00fa>"]
        let update = Fixture.request("UPDATE", headers: route, to: ";tag=1")
        let explained = try Fixture(family: .plain).explain(Fixture.twoTokens, update)
        #expect(explained.header("apns-push-type") == "background")
        #expect(explained["body.event"] == .string("refresh"))
        #expect(explained.header("apns-expiration") == "\(Fixture.now + 20)")
        let android = try Fixture(family: .plain).explain(Fixture.android, update)
        #expect(android["body.message.android.priority"] == .string("high"))
        let voip = "pn-provider=apns;pn-prid=\(Fixture.voip);pn-param=T.com.example.phone.voip"
        #expect(try Fixture().explain(voip, update).reasons == ["a PushKit token may only get calls"])
    }

    @Test func `has an event for the news of a mailbox, and for a REFER`() throws {
        var fixture = Fixture(family: .plain)
        let news = Fixture.request(
            "NOTIFY", headers: ["Event: message-summary"],
            body: "Messages-Waiting: yes\r\nVoice-Message: 2/8 (0/2)\r\n")
        let voicemail = try fixture.explain(Fixture.remoteOnly, news)
        #expect(voicemail["body.event"] == .string("voicemail"))
        #expect(voicemail.header("apns-push-type") == "alert")
        #expect(voicemail.header("apns-priority") == "5")
        #expect(try fixture.explain(Fixture.android, news)["body.message.data.text"] == .string("2/8 (0/2)"))
        try fixture.settings.set(.voicemailUrgent, to: "1")
        #expect(try fixture.explain(Fixture.remoteOnly, news).header("apns-priority") == "10")
        let refer = try fixture.explain(Fixture.remoteOnly, Fixture.request("REFER"))
        #expect(refer["body.event"] == .string("refer"))
        #expect(refer.header("apns-priority") == "10")
        let voip = "pn-provider=apns;pn-prid=\(Fixture.voip);pn-param=T.com.example.phone.voip"
        for request in [news, Fixture.request("REFER")] {
            #expect(try fixture.explain(voip, request).reasons == ["a PushKit token may only get calls"])
        }
    }

    @Test func `takes the event that it is told instead`() throws {
        let request = Fixture.request("OPTIONS")
        #expect(try Fixture().explain(Fixture.twoTokens, request, event: .call).target == calls)
    }
}

@Suite struct `What Flexisip's payloads say` {
    @Test func `has every field of a voip push`() throws {
        var fixture = Fixture()
        try fixture.settings.set(.wakeTimeout, to: "20")
        let explained = try fixture.explain(
            "\(Fixture.twoTokens);pn-call-str=IC;pn-call-snd=ring.caf", Fixture.request("INVITE"))
        #expect(explained.target == calls)
        #expect(explained["method"] == .string("POST"))
        #expect(explained.header("apns-priority") == "10")
        #expect(explained.header("apns-expiration") == String(Fixture.now + 20))
        #expect(explained.header("authorization") == "bearer <provider token>")
        #expect(explained["headers.:path"] == nil)
        let body = try #require(explained["body"])
        #expect(
            body
                == .object([
                    .init(
                        "aps",
                        .object([
                            .init("sound", .string("ring.caf")), .init("loc-key", .string("IC")),
                            .init("loc-args", .array([.string("Alice")])), .init("call-id", .string("call-1")),
                            .init("uuid", .string(Fixture.instance)),
                            .init("send-time", .string("2023-11-14 22:13:20")),
                        ])), .init("from-uri", .string("sip:alice@sip.example.org")),
                    .init("display-name", .string("Alice")), .init("pn_ttl", .integer(20)),
                    .init("customPayload", .object([])),
                ]))
    }

    @Test func `asks for priority 5 in the background`() throws {
        var fixture = Fixture()
        try fixture.settings.set(.messageTimeToLive, to: "42")
        let request = Fixture.request("INVITE", from: "\"Kijou\" <sip:kijou@sip.example.org>", callID: "CallId")
        let explained = try fixture.explain(Fixture.remoteOnly, request, event: .refresh)
        #expect(explained.target == "background org.example.phone \(production)\(Fixture.remote)")
        #expect(explained.header("apns-priority") == "5")
        #expect(explained.header("apns-expiration") == String(Fixture.now + 42))
        let body = try #require(explained["body"])
        #expect(
            body
                == .object([
                    .init(
                        "aps",
                        .object([
                            .init("badge", .integer(0)), .init("content-available", .integer(1)),
                            .init("loc-key", .string("")), .init("loc-args", .array([.string("Kijou")])),
                            .init("call-id", .string("CallId")), .init("uuid", .string(Fixture.instance)),
                            .init("send-time", .string("2023-11-14 22:13:20")),
                        ])), .init("from-uri", .string("sip:kijou@sip.example.org")),
                    .init("display-name", .string("Kijou")), .init("pn_ttl", .integer(42)),
                    .init("customPayload", .object([])),
                ]))
    }

    @Test func `is of the type that somebody asks for, where the token may have it`() throws {
        let contact = "\(Fixture.remoteOnly);pn-call-str=msgId"
        let background = try Fixture().explain(contact, Fixture.request("INVITE"), wanted: .background)
        #expect(background.target == "background org.example.phone \(production)\(Fixture.remote)")
        #expect(background.header("apns-priority") == "5")
        #expect(background.header("apns-expiration") == String(Fixture.now + 40))
        #expect(background["body.aps.content-available"] == .integer(1))
        #expect(background["body.aps.badge"] == .integer(0))
        #expect(background["body.aps.loc-key"] == .string("msgId"))
        let voip = try Fixture().explain(contact, Fixture.request("INVITE"), wanted: .voip)
        #expect(voip.reasons == ["this token takes no push of the type asked for"])
        var fixture = Fixture()
        try fixture.settings.set(.apnsPushType, to: "background")
        let alert = try fixture.explain(contact, Fixture.request("INVITE"), wanted: .alert)
        #expect(alert.header("apns-push-type") == "alert")
    }

    @Test(
        arguments: [
            ("INVITE", [], "", nil, "IC_MSG"),
            ("INVITE", ["Content-Type: application/resource-lists+xml"], "", nil, "GC_MSG"),
            ("INVITE", ["Content-Type: application/resource-lists+xml"], ";pn-groupchat-str=G", nil, "G"),
            ("MESSAGE", ["Content-Type: text/plain"], "", nil, "IM_MSG"),
            ("MESSAGE", ["Content-Type: text/plain"], ";pn-msg-str=M", nil, "M"),
            ("INVITE", [], "", .missed, "Missing call"),
            ("INVITE", [], ";pn-missing-call-str=MISSED", .missed, "MISSED"),
            ("INVITE", [], "", .answeredElsewhere, "Accepted elsewhere"),
            ("INVITE", [], ";pn-call-accepted-elsewhere-str=TAKEN", .answeredElsewhere, "TAKEN"),
            ("INVITE", ["Reason: SIP;cause=600;text=\"Busy\""], "", .answeredElsewhere, "Declined elsewhere"),
            ("CANCEL", ["Reason: SIP;cause=200;text=\"Call completed elsewhere\""], "", nil, "Accepted elsewhere"),
            ("CANCEL", ["Reason: SIP ;cause=600"], "", nil, "Declined elsewhere"),
            ("CANCEL", ["reason: Q.850;cause=16, SIP;cause=600"], "", nil, "Declined elsewhere"),
            ("CANCEL", ["Reason: SIP;cause=600"], ";pn-call-declined-elsewhere-str=NO", nil, "NO"),
            ("CANCEL", ["Reason: SIP;text=\"no, SIP;cause=600 \\\"\";cause=200"], "", nil, "Accepted elsewhere"),
            ("CANCEL", ["Reason: SIP;cause=487"], "", nil, "Missing call"), ("CANCEL", [], "", nil, "Missing call"),
            ("CANCEL", ["Reason: Q.850;cause=200"], "", nil, "Missing call"),
            ("NOTIFY", ["Event: message-summary"], "", nil, "MWI_NOTIFY_STR"),
            ("NOTIFY", ["o: Message-Summary;id=1"], ";pn-mwi-str=MWI", nil, "MWI"),
            ("REFER", [], "", nil, "IC_SIL"),
            ("REFER", [], ";pn-msg-str=M", nil, "IC_SIL"),
        ] as [(String, [String], String, PushEvent?, String)])
    func `has the string for the request`(
        method: String, headers: [String], attribute: String, event: PushEvent?, key: String
    ) throws {
        let explained = try Fixture().explain(
            Fixture.remoteOnly + attribute, Fixture.request(method, headers: headers), event: event)
        #expect(explained["body.aps.alert.loc-key"] == .string(key))
        #expect(explained["body.aps.sound"] == .string("empty"))
    }

    @Test func `says in a plain payload what it is about`() throws {
        let fixture = Fixture(family: .plain)
        for (request, title) in [
            (Fixture.request("NOTIFY", headers: ["Event: message-summary"]), "New voice message"),
            (Fixture.request("REFER"), "Request from Alice"),
            (Fixture.request("CANCEL", headers: ["Reason: SIP;cause=600"]), "Call from Alice declined elsewhere"),
        ] {
            #expect(try fixture.explain(Fixture.remoteOnly, request)["body.aps.alert.title"] == .string(title))
        }
    }

    @Test func `wakes an Android phone for a waiting message with data alone`() throws {
        let request = Fixture.request("NOTIFY", headers: ["Event: message-summary"])
        let explained = try Fixture().explain(Fixture.android, request)
        #expect(explained["body.message.data"] != nil || explained["body.message.android.data"] != nil)
        #expect(explained["body.message.notification"] == nil)
    }

    @Test func `tells an Android app a call from a message`() throws {
        let call = try Fixture().explain(Fixture.android, Fixture.request("INVITE"))["body.message.android.data"]
        #expect(call?["event"] == .string("call"))
        #expect(call?["loc-key"] == .string(""))
        #expect(call?["uuid"] == .string(Fixture.instance))
    }

    @Test func `lives no longer than Google allows`() throws {
        var fixture = Fixture()
        #expect(throws: SettingError.self) { try fixture.settings.set(.messageTimeToLive, to: "2419201") }
    }

    @Test func `replaces the alerts of one call, and shows none when it is over`() throws {
        let explained = try Fixture().explain(Fixture.remoteOnly, Fixture.request("INVITE"))
        #expect(explained.header("apns-expiration") == "0")
        #expect(explained["body.pn_ttl"] == .integer(40))
        #expect(explained.header("apns-collapse-id") == "call-1")
    }

    @Test func `resolves quoted pairs, and reads what is no UTF-8 as Latin-1`() throws {
        let escaped = Fixture.request("INVITE", from: #""A\zB" <sip:a@b>"#)
        #expect(try Fixture().explain(Fixture.twoTokens, escaped)["body.display-name"] == .string("AzB"))
        let marked = Fixture.request("INVITE", from: "\"@@\" <sip:a@b>")
        // The "@" that follow the quote become bytes that no UTF-8 text has.
        let broken = zip(marked.indices, marked).map { index, byte in
            byte == 0x40 && marked[..<index].suffix(2).contains(0x22) ? 0xFF : byte
        }
        let name = try Fixture().explain(Fixture.twoTokens, broken)["body.display-name"]?.string
        #expect(name == "\u{FF}\u{FF}")
    }

    @Test func `keeps a Call-ID of 2500 bytes whole, or pushes nothing`() throws {
        let callID = String(repeating: "c", count: 2500)
        let voip = try Fixture().explain(Fixture.twoTokens, Fixture.request("INVITE", callID: callID))
        #expect(voip["body.aps.call-id"] == .string(callID))
        let longer = String(repeating: "c", count: 5000)
        let refused = try Fixture().explain(Fixture.remoteOnly, Fixture.request("INVITE", callID: longer))
        #expect(refused.reasons == ["even without its texts the payload is longer than the provider takes"])
    }

    @Test func `has the data of an Android push`() throws {
        var fixture = Fixture()
        fixture.project = "sample-project"
        try fixture.settings.set(.messageTimeToLive, to: "2419200")
        let request = Fixture.request("MESSAGE", from: "<sip:kijou@sip.linphone.org>", callID: "CallID", body: "hi")
        let explained = try fixture.explain("pn-provider=fcm;pn-prid=device_id;pn-param=other", request)
        #expect(explained["url"] == .string("\(fcmURL)sample-project/messages:send"))
        #expect(explained.header("authorization") == "Bearer <access token>")
        #expect(explained["body.message.android.ttl"] == .string("2419200s"))
        let data = try #require(explained["body.message.android.data"])
        let expected = [
            "uuid": Fixture.instance, "call-id": "CallID", "loc-key": "", "loc-args": "sip:kijou@sip.linphone.org",
            "custom-payload": "{}", "event": "chat",
        ]
        for (name, value) in expected { #expect(data[name] == .string(value), "\(name)") }
    }
}
