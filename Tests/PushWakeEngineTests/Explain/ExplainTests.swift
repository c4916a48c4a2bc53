// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeStore
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

    @Test func `refuses what is no request`() throws {
        let register = Fixture.register(Fixture.android)
        for text in ["", "\r\n\r\n", "hello", "SIP/2.0 200 OK\r\n\r\n"] {
            #expect(throws: PushExplanation.Failure.self) {
                try Fixture().explain(register: register, Array(text.utf8))
            }
        }
        #expect(throws: PushExplanation.Failure.self) {
            try Fixture().explain(register: [0, 255], Fixture.request("INVITE"))
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
