// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeStore
import PushWakeSystem
import PushWakeTransport
import Testing

@testable import PushWakeEngine

private typealias Fixture = ExplainFixture

@Suite struct `Explaining pushes` {
    @Test func `shows the binding as parse does`() throws {
        let register = Fixture.register(Fixture.android)
        let parsed = try JSONParser.parse(RegisterDocument.parse(register.span).json)["bindings"]?.array?.first
        let explained = try Fixture().explain(register: register, Fixture.request("INVITE"))
        #expect(parsed != nil)
        #expect(explained["binding"] == parsed)
    }

    @Test func `names every binding once`() throws {
        let explained = try Fixture().explain(Fixture.twoTokens, Fixture.request("INVITE"))
        #expect(explained.requests.count == 1)
        #expect(explained.reasons == ["the phone gets it on its other token"])
    }

    @Test func `pushes to no contact that is being removed`() throws {
        let register = Fixture.register(Fixture.android, expires: 0)
        let explained = try Fixture().explain(register: register, Fixture.request("INVITE"))
        #expect(explained.requests.isEmpty)
        #expect(explained.reasons == ["the REGISTER removes this contact"])
    }

    @Test func `takes the text of a message as long as Content-Length says`() throws {
        let fixture = Fixture(family: .plain)
        let request = Fixture.request(
            "MESSAGE", headers: ["Content-Type: text/plain;charset=utf-8", "Content-Length: 5"], body: "Hello world")
        #expect(try fixture.explain(Fixture.android, request)["body.message.data.text"] == .string("Hello"))
        let binary = Fixture.request("MESSAGE", headers: ["Content-Type: application/cpim"], body: "Hello")
        #expect(try fixture.explain(Fixture.android, binary)["body.message.data.text"]?.string ?? "" == "")
    }

    @Test(arguments: ExplainFixture.everyProvider)
    func `keeps the caller out of every payload when told`(contact: String) throws {
        var fixture = Fixture()
        try fixture.settings.set(.showCaller, to: "0")
        try fixture.settings.set(.webhookURL, to: "https://hooks.example.com/$from-name/$from-uri")
        for event in PushEvent.allCases {
            for family in BuiltInPayloads.Family.allCases {
                fixture.family = family
                let explained = try fixture.explain(contact, Fixture.request("INVITE"), event: event)
                let text = explained.text.lowercased()
                #expect(text.contains("alice") == false, "\(event) \(text)")
            }
        }
    }

    @Test func `takes sounds and badge from the settings, and sounds from the phone first`() throws {
        var fixture = Fixture(family: .mizutech)
        try fixture.settings.set(.soundCall, to: "ring.caf")
        try fixture.settings.set(.soundChat, to: "ding.caf")
        try fixture.settings.set(.soundOther, to: "dong.caf")
        func sound(_ event: PushEvent, _ attribute: String = "") throws -> JSONValue? {
            try fixture.explain(Fixture.remoteOnly + attribute, Fixture.request("INVITE"), event: event)[
                "body.aps.sound"]
        }
        #expect(try sound(.call) == .string("ring.caf"))
        #expect(try sound(.chat) == .string("ding.caf"))
        #expect(try sound(.missed) == .string("dong.caf"))
        #expect(try sound(.call, ";pn-call-snd=own.caf") == .string("own.caf"))
        fixture.family = .flexisip
        try fixture.settings.set(.badge, to: "0")
        let alert = try fixture.explain(Fixture.remoteOnly, Fixture.request("MESSAGE"))
        #expect(alert["body.aps.badge"] == .integer(0))
    }

    @Test func `takes the push type that is set, where the token may have it`() throws {
        var fixture = Fixture()
        try fixture.settings.set(.apnsPushType, to: "alert")
        let untyped = "push-token-type=ios;push-token-app=com.example.phone;push-token-id=00fc13ad"
        let call = try fixture.explain(untyped, Fixture.request("INVITE"))
        #expect(call.target == "alert com.example.phone https://api.push.apple.com/3/device/00fc13ad")
        let voip = "pn-provider=apns;pn-prid=00fc13ad;pn-param=T.com.example.phone.voip"
        #expect(try fixture.explain(voip, Fixture.request("INVITE")).header("apns-push-type") == "voip")
        try fixture.settings.set(.apnsPushType, to: "background")
        let chat = try fixture.explain(Fixture.remoteOnly, Fixture.request("MESSAGE"))
        #expect(chat.header("apns-push-type") == "background")
        #expect(chat.header("apns-priority") == "5")
        try fixture.settings.set(.apnsPushType, to: "no")
        #expect(try fixture.explain(voip, Fixture.request("INVITE")).header("apns-push-type") == nil)
    }

    @Test func `builds what Acrobits takes`() throws {
        let explained = try Fixture().explain(
            "pn-provider=acrobits;pn-prid=8A2B;pn-param=cz.acrobits.softphone", Fixture.request("INVITE"))
        #expect(explained["body.verb"] == .string("NotifyIncomingCall"))
        #expect(explained["body.Id"] == .string("call-1"))
    }

    @Test func `shows an empty Web Push as null, and one with keys before it is encrypted`() throws {
        let endpoint = "https://fcm.googleapis.com/wp/1"
        let empty = try Fixture().explain("pn-provider=webpush;pn-prid=\(endpoint)", Fixture.request("INVITE"))
        #expect(empty["url"] == .string(endpoint))
        #expect(empty["body"] == .null)
        let key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
        let keys = ";pn-p256dh=\(key);pn-auth=BTBZMqHH6r4Tts7J_aSIgg"
        let full = try Fixture(family: .plain).explain(
            "pn-provider=webpush;pn-prid=\(endpoint)\(keys)", Fixture.request("INVITE"))
        #expect(full.header("content-encoding") == "aes128gcm")
        #expect(full["body.call-id"] == .string("call-1"))
    }

    @Test func `reads the bindings of a user from the store`() throws {
        let path = "/tmp/pushwake-explain-\(SystemClock.processID())-\(SystemClock.monotonicMicroseconds()).db"
        defer { for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) } }
        let now = SystemClock.wallSeconds()
        let binding = Binding(
            aor: "2222", provider: .apns, app: "com.example.phone", service: .voip, token: "00fc13ad",
            dialect: .rfc8599, registeredAt: now, expiresAt: now + 600, forgetAt: now + 86_400)
        _ = try SQLiteStore(path: path).register([binding], now: now)
        var settings = Settings()
        try settings.set(.storePath, to: path)
        let found = try PushExplanation.explain(aor: "2222", request: Fixture.request("INVITE"), settings: settings)
        #expect(found.problems.isEmpty)
        let document = try JSONParser.parse(found.json)
        #expect(document["requests"]?.array?.first?["url"] == .string("https://api.push.apple.com/3/device/00fc13ad"))
        let other = try PushExplanation.explain(aor: "3333", request: Fixture.request("INVITE"), settings: settings)
        #expect(other.problems == ["3333 has no push binding"])
    }

    @Test(arguments: [
        ("<sip:bob@192.0.2.1>", "", "the Contact has no push parameters"),
        (
            "<sip:bob@192.0.2.1;pn-provider=acme;pn-prid=1>", "",
            "pn-provider: 'acme' is not a known push service; use apns, apns.dev, fcm, webpush, acrobits or harmonyos, or set webhook_url for a service of your own"
        ),
        (
            "<sip:bob@192.0.2.1;pn-provider=fcm;pn-prid=null>", "",
            "the Contact wants no more pushes: its token is null"
        ),
        (
            "<sip:bob@192.0.2.1;pn-provider=fcm>", "",
            "the Contact only asks which push services there are: it has no pn-prid"
        ),
        (
            "<sip:bob@192.0.2.1>", "X-MPUSH: q:com.example.phone:1\r\n",
            "X-MPUSH: 'q' is not a known push service; use a, i, j or w"
        ),
    ])
    func `says of every Contact that binds nothing why`(contact: String, header: String, reason: String) throws {
        let register = Array(
            "REGISTER sip:example.org SIP/2.0\r\nTo: <sip:bob@example.org>\r\nContact: \(contact)\r\n\(header)\r\n".utf8
        )
        let explained = try Fixture().explain(register: register, Fixture.request("INVITE"))
        #expect(explained.requests.isEmpty)
        #expect(explained.reasons == [reason])
        #expect(explained.skipped.first?["binding"]?["contact"]?.string?.hasPrefix("sip:bob@192.0.2.1") == true)
    }

    @Test func `says that a REGISTER without Contact binds nothing`() throws {
        for contact in ["", "Contact: *\r\nExpires: 0\r\n"] {
            let register = "REGISTER sip:example.org SIP/2.0\r\nTo: <sip:bob@example.org>\r\n\(contact)\r\n"
            let explained = try Fixture().explain(register: Array(register.utf8), Fixture.request("INVITE"))
            #expect(explained.problems == ["the REGISTER has no Contact to push to"])
        }
    }

    @Test func `names a header field once, however often it is sent`() throws {
        var fixture = Fixture()
        try fixture.settings.set(.webhookURL, to: "https://hooks.example.com/")
        try fixture.settings.set(.webhookHeaders, to: "X-A: <event> | X-A: two")
        let explained = try fixture.explain("pn-provider=huawei;pn-prid=1", Fixture.request("INVITE"))
        #expect(explained.header("x-a") == "call, two")
        guard case .object(let headers)? = explained["headers"] else { return #expect(Bool(false)) }
        #expect(headers.count { $0.name == "x-a" } == 1)
    }

    @Test func `pushes no news of a mailbox that was emptied`() throws {
        let headers = ["Event: message-summary", "Content-Type: application/simple-message-summary"]
        let none = Fixture.request("NOTIFY", headers: headers, body: "Messages-Waiting: no\r\nVoice-Message: 0/2\r\n")
        #expect(
            try Fixture().explain(Fixture.remoteOnly, none).reasons == ["the NOTIFY says that no message waits"])
        let some = Fixture.request("NOTIFY", headers: headers, body: "Messages-Waiting: yes\r\nVoice-Message: 1/2\r\n")
        #expect(try Fixture().explain(Fixture.remoteOnly, some).requests.count == 1)
    }

    @Test func `refuses what is not a request`() throws {
        let register = Fixture.register(Fixture.android)
        for text in ["", "\r\n\r\n", "hello", "SIP/2.0 200 OK\r\n\r\n"] {
            #expect(throws: PushExplanation.Failure.self) {
                try Fixture().explain(register: register, Array(text.utf8))
            }
        }
        for register in [[0, 255], Fixture.request("INVITE"), Array("SIP/2.0 200 OK\r\n\r\n".utf8)] {
            #expect(throws: PushExplanation.Failure.self) {
                try Fixture().explain(register: register, Fixture.request("INVITE"))
            }
        }
    }

    @Test func `gives whole JSON for every broken file`() throws {
        let register = Fixture.register(Fixture.twoTokens)
        let request = Fixture.request(
            "MESSAGE", headers: ["Content-Type: text/plain", "Content-Length: 99999999999999999999"], body: "hi")
        var explained = 0
        for place in request.indices {
            for broken in [Array(request[..<place]), request[..<place] + [0xFF, 0x22] + request[place...]] {
                if (try? Fixture().explain(register: register, broken)) != nil { explained += 1 }
            }
        }
        #expect(explained > request.count)
        for place in register.indices {
            _ = try? Fixture().explain(register: Array(register[..<place]), request)
        }
    }
}
