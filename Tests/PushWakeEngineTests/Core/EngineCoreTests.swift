// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import PushWakeSystem
import PushWakeTransport
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

private let fcm = "<sip:bob@10.0.0.1:5060;pn-provider=fcm;pn-param=project;pn-prid=abc:def>"

@Suite struct `Engine core` {
    @Test func `stores a binding before the reply promises pushes`() throws {
        let bench = try CoreBench()
        let reply = try bench.register(fcm)
        #expect(reply[.outcome] == 1)
        #expect(EngineClient.text(.featureCaps, in: reply) == "Feature-Caps: *;+sip.pns=\"fcm\"\r\n")
        let tokens = bench.currentTokens()
        #expect(tokens == ["abc:def"])
    }

    @Test(arguments: [Int64.max, Int64.min, -1])
    func `survives any grant that a client claims`(granted: Int64) throws {
        let bench = try CoreBench()
        _ = try bench.ask(
            .register,
            [.aor: "bob", .callID: "a@b", .granted: granted, .headerName: "Contact", .headerValue: fcm])
        let bindings = bench.store.bindings(of: "bob", now: SystemClock.wallSeconds())
        #expect(bindings.map(\.token) == ["abc:def"])
        #expect(bindings.allSatisfy { $0.expiresAt > $0.registeredAt && $0.forgetAt >= $0.expiresAt })
    }

    @Test func `promises nothing for what cannot be used, and names the parameter`() throws {
        let bench = try CoreBench()
        let reply = try bench.register("<sip:bob@10.0.0.1;pn-provider=fcm;pn-param=project;pn-prid=a%00b>")
        #expect(reply[.outcome] == 4)
        #expect(EngineClient.text(.featureCaps, in: reply).isEmpty)
        #expect(EngineClient.text(.problem, in: reply).hasPrefix("pn-prid: "))
        #expect(bench.currentTokens().isEmpty)
    }

    @Test func `stores no token of a provider that is not set up`() throws {
        let bench = try CoreBench(["fcm_key": ""])
        let reply = try bench.register(fcm)
        #expect(EngineClient.text(.problem, in: reply).contains("set fcm_key"))
        #expect(bench.currentTokens().isEmpty)
    }

    private func call(_ number: Int) -> WakeMessage {
        var message = WakeMessage()
        (message.aor, message.callID, message.seconds) = ("bob", "call-\(number)", 40)
        return message
    }

    @Test func `forgets requests that are over, oldest first, when there are too many`() throws {
        let bench = try CoreBench(mostRequests: 1000)
        try bench.register(fcm)
        for number in 0..<1500 {
            _ = try bench.core.requests.wake(call(number))
            bench.core.requests.endCall(aor: "bob", callID: "call-\(number)", .cancelled)
        }
        #expect(bench.core.requests.calls.count == 1000)
        #expect(bench.core.requests.calls.forgottenEarly == 500)
        #expect(bench.core.requests.calls.requests(for: "bob").first?.message.callID == "call-500")
    }

    @Test func `keeps nothing of a request that it has forgotten`() throws {
        let bench = try CoreBench()
        try bench.register(fcm)
        _ = try bench.core.requests.wake(call(1))
        weak let request = bench.core.requests.calls.requests(for: "bob").first
        #expect(request?.pushes.count == 1)
        // Its push ends: there is no key.
        bench.loop.turn(waitingUpTo: 0)
        bench.core.requests.endCall(aor: "bob", callID: "call-1", .cancelled)
        bench.loop.turn(waitingUpTo: 0)
        bench.core.tick(now: SystemClock.monotonicMilliseconds() + RequestRunner.retention)
        #expect(bench.core.requests.calls.count == 0)
        #expect(request == nil)
    }

    @Test func `holds as many requests as it may, and pushes no others`() throws {
        let bench = try CoreBench(mostRequests: 1000)
        try bench.register(fcm)
        let answers = try (0..<1200).map { try bench.core.requests.wake(call($0)) }
        #expect(answers.count { $0.bindings > 0 } == 1000)
        #expect(bench.core.context.statistics.wakesRefused == 200)
        bench.core.requests.endCall(aor: "bob", callID: "call-0", .cancelled)
        #expect(try bench.core.requests.wake(call(2000)).bindings == 1)
    }

    @Test(arguments: [
        ("<sip:bob@10.0.0.1:5060>", true), (fcm, true), ("*", true),
        ("<sip:bob@10.0.0.9:5060>;+sip.instance=\"<1>\"", false),
    ])
    func `knows that a phone which it keeps has unregistered`(contact: String, isOver: Bool) throws {
        let bench = try CoreBench()
        try bench.register(fcm + ";+sip.instance=\"<1>\"")
        try bench.register(contact, cseq: 2, expires: "0")
        let now = SystemClock.wallSeconds()
        let bindings = bench.store.bindings(of: "bob", now: now)
        #expect(bindings.map { $0.expiresAt <= now } == [isOver])
    }

    @Test func `keeps the binding of a phone that unregisters, unless told otherwise`() throws {
        let keeping = try CoreBench()
        try keeping.register(fcm)
        try keeping.register("<sip:bob@10.0.0.1:5060>", cseq: 2, expires: "0")
        #expect(keeping.currentTokens() == ["abc:def"])

        let removing = try CoreBench(["unregister_policy": "remove"])
        try removing.register(fcm)
        let reply = try removing.register("<sip:bob@10.0.0.1:5060>", cseq: 2, expires: "0")
        #expect(reply[.outcome] == 2)
        #expect(removing.currentTokens().isEmpty)
    }

    @Test(arguments: [
        ("<sip:bob@10.0.0.1:5060;pn-provider=fcm;pn-param=project;pn-prid=null>", [(String, String)]()),
        ("<sip:bob@10.9.9.9:7777>", [("X-MPUSH", "null")]),
    ])
    func `unbinds on a null token, from wherever the phone sends it`(contact: String, headers: [(String, String)])
        throws
    {
        let bench = try CoreBench()
        try bench.register(fcm)
        try bench.register(contact, headers: headers, callID: "other@call", cseq: 5)
        #expect(bench.currentTokens().isEmpty)
        #expect(bench.store.removed(of: "bob").map(\.reason) == ["unbound by the phone"])
    }

    @Test(
        arguments: [
            (["client_max_offline": "10"], "600", 864_000),
            (["client_max_offline": "10", "persist": "3"], "600", 259_200),
            (["client_max_offline": "0", "persist": "90"], "600", 7_776_000), (["persist": "90"], "600", 2_592_000),
            (["persist": "0"], "600", 600), (["client_max_offline": "1"], "172800", 172_800),
        ] as [([String: String], String, Int64)])
    func `forgets a phone that stays away, as persist and client_max_offline say`(
        settings: [String: String], expires: String, seconds: Int64
    ) throws {
        let bench = try CoreBench(settings)
        try bench.register(fcm, expires: expires)
        let now = SystemClock.wallSeconds()
        let binding = try #require(bench.store.bindings(of: "bob", now: now).first)
        #expect((seconds - 5...seconds).contains(binding.forgetAt - now))
        #expect(bench.store.bindings(of: "bob", now: binding.forgetAt + 1).isEmpty)
    }

    @Test func `leaves push to a proxy nearer to the phone`() throws {
        let bench = try CoreBench()
        let reply = try bench.register(fcm, headers: [("Feature-Caps", "*;+sip.pns=\"fcm\"")])
        #expect(EngineClient.text(.featureCaps, in: reply).isEmpty)
        #expect(bench.currentTokens().isEmpty)
    }

    @Test func `says nothing about a user without bindings and pushes once for copies of a request`() throws {
        let bench = try CoreBench()
        func wake() throws -> MessageReader {
            try bench.ask(
                .wake,
                [
                    .event: Int64(0), .aor: "bob", .callID: "call@1",
                    .contactURI: "sip:bob@10.0.0.1:5060;pn-provider=fcm;pn-param=project;pn-prid=abc:def",
                    .contactInstance: "", .contactAge: Int64(100), .contactReachable: Int64(0),
                ])
        }
        #expect(EngineClient.number(.bindings, in: try wake()) == 0)
        try bench.register(fcm)
        let first = try wake()
        #expect(first[.bindings] == 1)
        #expect(first[.pushed] == 1)
        // There is no key, so nobody may rely on the push: the contact is rung.
        #expect(first.verdicts == [0])
        #expect(EngineClient.number(.pushed, in: try wake()) == 1)
        #expect(bench.core.context.statistics.pushed == 1)
    }

    /// Two calls within the window; then the window passes.
    private func callTwice(event: PushEvent = .call, meanwhile: (CoreBench) throws -> Void) throws -> Statistics {
        let bench = try CoreBench(["ignore_same": "200"])
        try bench.register(fcm)
        for call in ["call@1", "call@2"] {
            let reply = try bench.ask(.wake, [.event: Int64(event.rawValue), .aor: "bob", .callID: call])
            #expect(reply[.pushed] == 1)
        }
        #expect(bench.core.context.statistics.pushed == 1)
        #expect(bench.core.context.statistics.suppressed == 1)
        try meanwhile(bench)
        let end = SystemClock.monotonicMilliseconds() + 500
        while SystemClock.monotonicMilliseconds() < end { bench.loop.turn(waitingUpTo: 10) }
        return bench.core.context.statistics
    }

    @Test(arguments: [
        (PushEvent.call, PushOccasion.usual, 0, 40), (.call, .usual, 12, 12), (.groupChat, .usual, 0, 3600),
        (.chat, .usual, 0, 3600), (.voicemail, .usual, 0, 3600), (.refer, .usual, 0, 20),
        (.refresh, .requestWaiting, 0, 20),
    ])
    func `keeps the push for a request at a provider while it is worth anything`(
        event: PushEvent, occasion: PushOccasion, seconds: Int64, life: UInt32
    ) throws {
        let bench = try CoreBench(["message_ttl": "3600"])
        var message = WakeMessage()
        (message.event, message.occasion, message.seconds) = (event, occasion, seconds)
        #expect(bench.core.requests.makeRequest(message, [], 0).content.timeToLive == life)
    }

    @Test func `puts the push of a second call off until the window is over`() throws {
        #expect(try callTwice { _ in }.pushed == 2)
        let firstIsOver = try callTwice { $0.core.requests.endCall(aor: "bob", callID: "call@1", .cancelled) }
        #expect(firstIsOver.pushed == 2)
    }

    @Test func `drops the push that was put off when the phone has come or the call is over`() throws {
        #expect(try callTwice { try $0.register(fcm, cseq: 2) }.pushed == 1)
        let isOver = try callTwice { $0.core.requests.endCall(aor: "bob", callID: "call@2", .cancelled) }
        #expect(isOver.pushed == 1)
    }

    @Test func `sends the push of a message that nobody holds any more, unless it was delivered`() throws {
        let isOver = try callTwice(event: .chat) { $0.core.requests.endCall(aor: "bob", callID: "call@2", .cancelled) }
        #expect(isOver.pushed == 2)
        let isDelivered = try callTwice(event: .chat) {
            $0.core.requests.endCall(aor: "bob", callID: "call@2", .answered)
        }
        #expect(isDelivered.pushed == 1)
    }

    @Test func `counts a phone with an open connection as awake`() throws {
        let bench = try CoreBench()
        try bench.register(fcm)
        let reply = try bench.ask(
            .wake,
            [
                .event: Int64(0), .aor: "bob", .callID: "call@2",
                .contactURI: "sip:bob@10.0.0.1:5060;pn-provider=fcm;pn-param=project;pn-prid=abc:def",
                .contactInstance: "", .contactAge: Int64(100), .contactReachable: Int64(1),
            ])
        #expect(reply[.awake] == 1)
        #expect(reply[.pushed] == 0)
    }

    /// Its phone has this contact, or none.
    @Test(arguments: [
        (WakeMessage.Scope.user, true, Int64(1)), (.contacts, true, 1), (.others, true, 0),
        (.user, false, 1), (.contacts, false, 0), (.others, false, 1),
    ])
    func `wakes those of a user's phones that the request is for`(
        scope: WakeMessage.Scope, hasContact: Bool, pushes: Int64
    ) throws {
        let bench = try CoreBench()
        try bench.register(fcm)
        let reply = try bench.ask(
            .wake,
            [
                .event: Int64(0), .aor: "bob", .callID: "call@3", .scope: Int64(scope.rawValue),
                .contactURI: hasContact ? "sip:bob@10.0.0.1:5060" : "sip:bob@10.0.0.9:5060",
                .contactReachable: Int64(0),
            ])
        #expect(reply[.pushed] == pushes)
    }

    @Test(arguments: [
        ("application/im-iscomposing+xml", 0), ("message/imdn+xml;charset=utf-8", 0), ("text/plain", 1), ("", 1),
        ("message/cpim", 1),
    ])
    func `wakes nobody to say that somebody is typing`(type: String, pushes: Int64) throws {
        let bench = try CoreBench()
        try bench.register(fcm)
        let reply = try bench.ask(
            .wake,
            [.event: Int64(1), .aor: "bob", .callID: "message@1", .contentType: type, .text: "<isComposing/>"])
        #expect(reply[.bindings] == 1)
        #expect(reply[.pushed] == pushes)
        #expect(bench.core.context.statistics.pushed == Int(pushes))
    }

    @Test func `counts a phone as awake when one of its flows is open`() throws {
        let bench = try CoreBench()
        try bench.register("\(fcm);+sip.instance=\"<urn:uuid:1>\";reg-id=2")
        let reply = try bench.ask(.wake) { writer in
            writer.put(.event, Int64(0))
            writer.put(.aor, "bob")
            writer.put(.callID, "call@3")
            for isReachable in [0, 1] as [Int64] {
                writer.put(.contactURI, "sip:bob@10.0.0.\(isReachable):5060")
                writer.put(.contactInstance, "<urn:uuid:1>")
                writer.put(.contactAge, Int64(100))
                writer.put(.contactReachable, isReachable)
            }
        }
        #expect(reply[.awake] == 1)
        #expect(reply[.pushed] == 0)
    }

    @Test func `tells a user without bindings from a request that cannot be meant`() throws {
        let bench = try CoreBench()
        let missing = try bench.ask(.send, [.aor: "bob"])
        #expect(ClientError(missing) == .notFound("bob has no push binding"))
        let both = try bench.ask(.send, [.aor: "bob", .token: "00fc"])
        #expect(ClientError(both) == .refused("a user and a token are both given; give one of them"))
    }

    @Test func `explains what it would push to a user, with its own store`() throws {
        let bench = try CoreBench()
        try bench.register("<sip:bob@192.0.2.1;pn-provider=fcm;pn-prid=abc;pn-param=my-project>")
        let request = ExplainFixture.request("INVITE")
        let reply = try bench.ask(.query, [.query: EngineQuery.explain.rawValue, .argument: "bob", .text: request])
        #expect(reply.kind == .reply)
        let document = try JSONParser.parse(Array(EngineClient.text(.text, in: reply).utf8))
        let url = document["requests"]?.array?.first?["url"]?.string
        #expect(url == "https://fcm.googleapis.com/v1/projects/my-project/messages:send")
        #expect(EngineClient.text(.problem, in: reply).hasPrefix("fcm_key: cannot read"))
        let refused = try bench.ask(.query, [.query: EngineQuery.explain.rawValue, .argument: "bob", .text: "no SIP"])
        #expect(refused.kind == .failure)
    }

    @Test(
        arguments: [
            ("pigeon", [], "there is no provider \"pigeon\""),
            ("apns", [(.service, "voip")], "a PushKit token may only get calls"),
            ("apns", [(.service, "call")], "there is no service \"call\""),
            ("apns", [(.environment, "prod")], "there is no environment \"prod\""),
            ("apns", [(.pushType, "loud")], "there is no push type \"loud\""),
            ("apns", [(.pushType, "voip")], "this token takes no push of the type asked for"),
            ("apns", [(.service, "voip"), (.pushType, "alert")], "this token takes no push of the type asked for"),
            (
                "webpush", [(.attributeName, "pn-auth"), (.attributeValue, "x")],
                "a subscription has both p256dh and auth"
            ),
            ("apns", [(.aor, "bob")], "a user and a token are both given"),
        ] as [(String, [(EngineProtocol.Tag, String)], String)])
    func `refuses a push by hand that cannot be meant`(
        provider: String, fields: [(EngineProtocol.Tag, String)], text: String
    ) throws {
        let reply = try CoreBench().ask(.send) { writer in
            writer.put(.event, Int64(PushEvent.chat.rawValue))
            writer.put(.provider, provider)
            writer.put(.token, "00ff")
            for (tag, value) in fields { writer.put(tag, value) }
        }
        #expect(reply.kind == .failure)
        #expect(EngineClient.text(.message, in: reply).hasPrefix(text))
    }
}

extension MessageReader {
    /// The verdicts of a `wake`'s reply.
    fileprivate var verdicts: [UInt8] {
        var reader = self
        while let field = reader.next() {
            if field.tag == .verdicts { return Array(reader.bytes[field.range]) }
        }
        return []
    }
}
