// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeSimulator

@Suite struct `Web Push service` {
    private static let point = [4] + Array(repeating: UInt8(7), count: 64)

    private static func vapid(_ changes: [String: JSONValue] = [:], signature: String = "good", key: [UInt8] = point)
        -> String
    {
        let claims: [JSONValue.Member] = [
            .init("aud", .string("https://127.0.0.1:8443")), .init("exp", .integer(ServiceFixture.seconds + 43_200)),
            .init("sub", .string("mailto:push@example.com")),
        ]
        let token = ServiceFixture.makeToken(
            header: [.init("typ", .string("JWT")), .init("alg", .string("ES256"))],
            claims: claims.map { .init($0.name, changes[$0.name] ?? $0.value) }, signature: signature)
        return "vapid t=\(token), k=\(Base64URL.encode(key))"
    }

    private func answer(
        _ changes: [(String, String?)] = [], path: String = "/push/abc", body: [UInt8] = [],
        rules: WebPushRules = .init(), opened: String? = nil
    ) -> ProviderAnswer {
        let open = { (_: [UInt8]) in opened.map { Array($0.utf8) } }
        var service = WebPushService(ownKey: Self.point, open: open) { _, signed, signature in
            ServiceFixture.isGood(signed, signature)
        }
        service.rules = rules
        var headers: [(String, String)] = [
            (":authority", "127.0.0.1:8443"), ("ttl", "0"), ("urgency", "high"), ("authorization", Self.vapid()),
        ]
        for (name, value) in changes {
            headers.removeAll { $0.0 == name }
            if let value { headers.append((name, value)) }
        }
        let request = ReceivedRequest("POST", path, headers: headers, body: body)
        return service.answer(request, now: ServiceFixture.now)
    }

    /// The smallest aes128gcm body: header of 86 bytes and one record.
    private static func encrypted(_ count: Int = 18) -> [UInt8] {
        Array(repeating: 1, count: 16) + [0, 0, 0x10, 0] + [65] + point + Array(repeating: 9, count: count)
    }

    @Test func `accepts an empty push`() {
        let answer = answer()
        #expect(answer.status == 201)
        #expect(answer["location"] == "https://127.0.0.1:8443/message/1")
    }

    private static let declared = [
        ("content-encoding", "aes128gcm"), ("content-type", "application/notification+json"),
    ]

    @Test(arguments: [
        #"{"web_push":8030,"notification":{"title":"t","navigate":"https://example.com/"}}"#,
        #"{"web_push":8030,"notification":{"title":"t","navigate":"https://a/","dir":"rtl","tag":"x"},"mutable":true}"#,
        nil,
    ])
    func `accepts a declarative message that a browser can show, or that it cannot read`(payload: String?) {
        #expect(answer(Self.declared, body: Self.encrypted(), opened: payload).status == 201)
    }

    @Test(arguments: [
        "text", "[]", #"{"web_push":"8030","notification":{"title":"t","navigate":"https://a/"}}"#,
        #"{"web_push":8030,"notification":"x"}"#, #"{"web_push":8030,"notification":{"navigate":"https://a/"}}"#,
        #"{"web_push":8030,"notification":{"title":"","navigate":"https://a/"}}"#,
        #"{"web_push":8030,"notification":{"title":"t"}}"#,
        #"{"web_push":8030,"notification":{"title":"t","navigate":"/calls"}}"#,
        #"{"web_push":8030,"notification":{"title":"t","navigate":"https://a/","body":1}}"#,
        #"{"web_push":8030,"notification":{"title":"t","navigate":"https://a/"},"mutable":1}"#,
    ])
    func `refuses a declarative message that a browser would drop`(payload: String) {
        #expect(answer(Self.declared, body: Self.encrypted(), opened: payload).status == 400)
    }

    @Test func `accepts one encrypted record`() {
        #expect(answer([("content-encoding", "aes128gcm"), ("topic", "call")], body: Self.encrypted()).status == 201)
    }

    @Test(
        arguments: [
            ("ttl", nil, 400), ("ttl", "soon", 400), ("urgency", "urgent", 400), ("topic", "a b", 400),
            ("topic", String(repeating: "x", count: 33), 400), ("authorization", nil, 401),
            ("authorization", "bearer x", 401),
            ("authorization", vapid(signature: "bad"), 401), ("authorization", vapid(key: [1, 2]), 401),
            ("authorization", vapid(["aud": .string("https://example.com")]), 401),
            ("authorization", vapid(["exp": .integer(ServiceFixture.seconds)]), 401),
            ("authorization", vapid(["exp": .integer(ServiceFixture.seconds + 86_401)]), 401),
            ("authorization", vapid(["sub": .string("push@example.com")]), 401),
        ] as [(String, String?, Int)])
    func `refuses a bad header`(name: String, value: String?, status: Int) {
        let answer = answer([(name, value)])
        #expect(answer.status == status)
        #expect(answer.json?["errno"]?.integer != nil)
        #expect(answer.push == nil)
    }

    @Test(arguments: [
        ("aes128gcm", 16, 65, 400), ("aesgcm", 18, 65, 400), ("aes128gcm", 18, 1, 400), ("aes128gcm", 4_011, 65, 413),
    ])
    func `refuses a bad body`(encoding: String, count: Int, keyLength: UInt8, status: Int) {
        var body = Self.encrypted(count)
        body[20] = keyLength
        #expect(answer([("content-encoding", encoding)], body: body).status == status)
    }

    @Test(arguments: [("/push/unregistered", 410), ("/push/expired", 404), ("/push/", 404), ("/push/mismatch", 403)])
    func `refuses a subscription`(path: String, status: Int) { #expect(answer(path: path).status == status) }

    @Test func `refuses another key when subscriptions are bound to its own`() {
        var rules = WebPushRules()
        rules.requiresOwnKey = true
        #expect(answer(rules: rules).status == 201)
        let other = [4] + Array(repeating: UInt8(8), count: 64)
        #expect(answer([("authorization", Self.vapid(key: other))], rules: rules).status == 403)
    }
}

@Suite struct `Acrobits service` {
    private func answer(_ body: String, path: String = "/pnm2/send") -> ProviderAnswer {
        AcrobitsService().answer(ReceivedRequest("POST", path, body: Array(body.utf8)))
    }

    @Test func `accepts a call with 200 in the body`() {
        let answer = answer(
            #"{"verb":"NotifyIncomingCall","AppId":"com.acrobits.softphone","DeviceToken":"t","Selector":"s","Id":"c1"}"#
        )
        #expect(answer.status == 200)
        #expect(answer.json?["code"]?.integer == 200)
        #expect(answer.push != nil)
    }

    @Test func `wants no selector for a generic text`() {
        let answer = answer(#"{"verb":"NotifyGenericTextMessage","AppId":"a","DeviceToken":"t"}"#)
        #expect(answer.json?["code"]?.integer == 200)
    }

    @Test(arguments: [
        (#"{"verb":"NotifyIncomingCall","AppId":"a","DeviceToken":"t"}"#, 200, 400),
        (#"{"verb":"Ring","AppId":"a","DeviceToken":"t","Selector":"s"}"#, 200, 400),
        (#"{"verb":"NotifyIncomingCall","AppId":"","DeviceToken":"t","Selector":"s"}"#, 200, 400),
        (#"{"verb":"NotifyIncomingCall","AppId":"a","DeviceToken":7,"Selector":"s"}"#, 200, 400),
        (#"{"verb":"NotifyIncomingCall","AppId":"a","DeviceToken":"unregistered","Selector":"s"}"#, 200, 404),
        ("verb=NotifyIncomingCall", 400, 400),
    ])
    func `tells the fault in the body`(body: String, status: Int, code: Int64) {
        let answer = answer(body)
        #expect(answer.status == status)
        #expect(answer.json?["code"]?.integer == code)
        #expect(answer.push == nil)
    }

    @Test func `takes the older form and refuses one without a token`() {
        #expect(
            answer("verb=NotifyIncomingCall&AppId=a&DeviceToken=t&Selector=s", path: "/pnm2").json?["code"]?.integer
                == 200)
        #expect(answer("verb=NotifyIncomingCall&AppId=a", path: "/pnm2").status == 400)
    }
}
