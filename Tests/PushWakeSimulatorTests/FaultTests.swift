// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeSimulator

@Suite struct `Fault script` {
    private func play(_ script: String) throws -> ProviderRouter {
        var router = ServiceFixture.makeRouter()
        router.play(try FaultScript(json: Array(script.utf8)))
        return router
    }

    private func reactions(_ script: String, count: Int, path: String = "/3/device/ab") throws -> [Reaction] {
        var router = try play(script)
        var memory = ConnectionMemory(number: 1)
        return (0..<count).map { _ in
            router.react(to: ServiceFixture.makePush(path: path), memory: &memory, now: ServiceFixture.now)
        }
    }

    @Test func `answers with the vendor's status for a reason`() throws {
        let reactions = try reactions(#"{"rules":[{"provider":"apns","reason":"ExpiredProviderToken"}]}"#, count: 1)
        #expect(reactions[0].answer?.status == 403)
        #expect(reactions[0].answer?.json?["reason"]?.string == "ExpiredProviderToken")
        #expect(reactions[0].answer?["apns-id"] == ServiceFixture.id)
    }

    @Test func `tells when a token died`() throws {
        let script = #"{"rules":[{"status":410,"reason":"Unregistered","timestamp":1700000000000}]}"#
        #expect(try reactions(script, count: 1)[0].answer?.json?["timestamp"]?.integer == 1_700_000_000_000)
    }

    @Test(arguments: [
        (#""after":2"#, [false, false, true, true, true, true]),
        (#""every":3"#, [false, false, true, false, false, true]),
        (#""count":2"#, [true, true, false, false, false, false]),
        (#""after":1,"every":2,"count":1"#, [false, false, true, false, false, false]),
        (#""probability":0"#, [false, false, false, false, false, false]),
        (#""above_per_second":2"#, [false, false, true, true, true, true]),
        (#""above_per_second":2,"every":2"#, [false, false, false, true, false, true]),
        (#""token":"a*""#, [true, true, true, true, true, true]),
        (#""token":"b*""#, [false, false, false, false, false, false]),
        (#""provider":"fcm""#, [false, false, false, false, false, false]),
        (#""connection":2"#, [false, false, false, false, false, false]),
    ])
    func `fits as often as it says`(fields: String, fits: [Bool]) throws {
        let reactions = try reactions(#"{"rules":[{\#(fields),"status":503}]}"#, count: 6)
        #expect(reactions.map { $0.answer?.status == 503 } == fits)
    }

    @Test func `answers so many a second, in turn`() throws {
        var router = try play(#"{"rules":[{"answers_per_second":100,"delay_ms":5}]}"#)
        var memory = ConnectionMemory(number: 1)
        let delays = [0, 0, 0, 1000].map { later in
            router.react(to: ServiceFixture.makePush(), memory: &memory, now: ServiceFixture.now + later).delay
        }
        #expect(delays == [15, 25, 35, 15])
    }

    @Test func `takes so many in each second`() throws {
        var router = try play(#"{"rules":[{"above_per_second":2,"status":503}]}"#)
        var memory = ConnectionMemory(number: 1)
        let second = ServiceFixture.now / 1000 * 1000
        let statuses = [0, 400, 999, 1000, 1001, 1002].map { later in
            router.react(to: ServiceFixture.makePush(), memory: &memory, now: second + later).answer?.status
        }
        #expect(statuses == [200, 200, 503, 200, 200, 503])
    }

    @Test func `counts on each connection by itself when asked`() throws {
        var router = try play(#"{"rules":[{"every":2,"per_connection":true,"status":503}]}"#)
        var memories = [ConnectionMemory(number: 1), ConnectionMemory(number: 2)]
        let statuses = [0, 1, 0, 1].map { index in
            router.react(to: ServiceFixture.makePush(), memory: &memories[index], now: ServiceFixture.now).answer?
                .status
        }
        #expect(statuses == [200, 200, 503, 503])
    }

    @Test func `lets the first rule that fits speak`() throws {
        let script = #"{"rules":[{"count":1,"status":500},{"status":503}]}"#
        #expect(try reactions(script, count: 2).map { $0.answer?.status } == [500, 503])
    }

    @Test(
        arguments: [
            (#""no_answer":true"#, []), (#""refuse":true"#, [.reset(code: 7)]),
            (#""reset":"CANCEL""#, [.reset(code: 8)]),
            (#""close":"fin""#, [.close(isAbrupt: false)]), (#""close":"rst""#, [.close(isAbrupt: true)]),
            (#""goaway":{"last_stream":"none"}"#, [.goAway(code: 0, debug: "", last: .none)]),
        ] as [(String, [FaultRule.Effect])])
    func `leaves a push without an answer`(field: String, effects: [FaultRule.Effect]) throws {
        let reaction = try reactions(#"{"rules":[{\#(field)}]}"#, count: 1)[0]
        #expect(reaction.answer == nil)
        #expect(reaction.effects == effects)
    }

    @Test func `answers a push that causes a GOAWAY`() throws {
        let reaction = try reactions(#"{"rules":[{"goaway":{"reason":"Shutdown"}}]}"#, count: 1)[0]
        #expect(reaction.answer?.status == 200)
        #expect(reaction.effects == [.goAway(code: 0, debug: #"{"reason":"Shutdown"}"#, last: .processed)])
    }

    @Test func `lowers the streams together with a refusal`() throws {
        let script = #"{"rules":[{"reason":"BadDeviceToken","delay_ms":5,"settings":{"max_concurrent_streams":1}}]}"#
        let reaction = try reactions(script, count: 1)[0]
        #expect(reaction.answer?.status == 400)
        #expect(reaction.delay == 5)
        #expect(reaction.effects == [.settings([.init(id: 3, value: 1)])])
    }

    @Test func `opens the streams after the first accepted push`() throws {
        var router = try play(#"{"streams":{"one_until_first_push":true,"max_concurrent":500}}"#)
        var memory = ConnectionMemory(number: 1)
        let bad = ServiceFixture.makePush(path: "/3/device/invalid")
        #expect(router.react(to: bad, memory: &memory, now: ServiceFixture.now).effects.isEmpty)
        let first = router.react(to: ServiceFixture.makePush(), memory: &memory, now: ServiceFixture.now)
        #expect(first.effects == [.settings([.init(id: 3, value: 500)])])
        #expect(router.react(to: ServiceFixture.makePush(), memory: &memory, now: ServiceFixture.now).effects.isEmpty)
    }

    @Test func `shortens token lives`() throws {
        let router = try play(#"{"apns":{"token_age_s":60},"oauth":{"expires_in_s":10}}"#)
        #expect(router.apns.rules.tokenAge == 60)
        #expect(router.oauth.lifetime == 10)
    }

    @Test func `fails handshakes as often as it says`() throws {
        var router = try play(#"{"rules":[{"tls":"fail","count":1},{"tls":"stall","connection":3}]}"#)
        #expect((1...4).map { router.handshake(connection: $0) } == [.fail, nil, .stall, nil])
    }

    @Test func `answers FCM in Google's form`() throws {
        var router = try play(#"{"rules":[{"status":429,"headers":{"Retry-After":"30"}}]}"#)
        var memory = ConnectionMemory(number: 1)
        let request = ReceivedRequest("POST", "/v1/projects/p/messages:send")
        let answer = router.react(to: request, memory: &memory, now: ServiceFixture.now).answer
        #expect(answer?.status == 429)
        #expect(answer?["retry-after"] == "30")
        #expect(answer?.json?["error"]?["details"]?.array?.first?["errorCode"]?.string == "QUOTA_EXCEEDED")
    }

    @Test(arguments: [
        "/3/device/ab", "/v1/projects/p/messages:send", "/push/ab", "/pnm2/send", "/webhook/ab",
    ])
    func `counts a success that it was told to give`(path: String) throws {
        var router = try play(#"{"rules":[{"status":200}]}"#)
        var memory = ConnectionMemory(number: 1)
        for _ in 0..<2 {
            let reaction = router.react(
                to: ServiceFixture.makePush(path: path), memory: &memory, now: ServiceFixture.now)
            let answer = try #require(reaction.answer)
            #expect(answer.status == 200)
            #expect(answer.json?["error"] == nil)
            router.answered(reaction.provider, answer)
        }
        #expect(router.counters.json["distinct"]?.integer == 1)
        #expect(router.counters.json["duplicates"]?.integer == 1)
    }

    @Test(arguments: [
        ("apns", 429, "TooManyRequests"), ("apns", 410, "Unregistered"), ("apns", 400, "BadDeviceToken"),
        ("fcm", 504, "DEADLINE_EXCEEDED"), ("fcm", 413, "INVALID_ARGUMENT"), ("fcm", 599, "UNAVAILABLE"),
        ("oauth", 503, "internal_failure"), ("oauth", 400, "invalid_grant"),
    ])
    func `finds the word that belongs to a status`(provider: String, status: Int, word: String) throws {
        let paths = ["apns": "/3/device/ab", "fcm": "/v1/projects/p/messages:send", "oauth": "/token"]
        let script = #"{"rules":[{"provider":"\#(provider)","status":\#(status)}]}"#
        let answer = try #require(try reactions(script, count: 1, path: paths[provider] ?? "")[0].answer)
        #expect(answer.status == status)
        #expect(answer.reason == word)
        #expect(!String(decoding: answer.body, as: UTF8.self).contains("registration token"))
    }

    @Test(arguments: [("UNSPECIFIED_ERROR", 500), ("A_NEW_ERROR", 400)])
    func `sends FCM's error code as it stands`(code: String, status: Int) throws {
        let script = #"{"rules":[{"provider":"fcm","reason":"\#(code)"}]}"#
        let answer = try reactions(script, count: 1, path: "/v1/projects/p/messages:send")[0].answer
        #expect(answer?.status == status)
        #expect(answer?.json?["error"]?["details"]?.array?.first?["errorCode"]?.string == code)
    }

    @Test func `refuses an Acrobits push whose rule gives a reason alone`() throws {
        let script = #"{"rules":[{"provider":"acrobits","reason":"Invalid AppId"}]}"#
        #expect(try reactions(script, count: 1, path: "/pnm2/send")[0].answer?.json?["code"]?.integer == 400)
    }

    @Test func `puts its body in place of the vendor's and leaves the status alone`() throws {
        let answer = try reactions(#"{"rules":[{"body":"<html>"}]}"#, count: 1)[0].answer
        #expect(answer?.status == 200)
        #expect(answer?.body == Array("<html>".utf8))
    }

    @Test func `counts afresh on open connections when another script begins`() throws {
        let script = #"{"rules":[{"every":2,"per_connection":true,"status":503}]}"#
        var router = try play(script)
        var memory = ConnectionMemory(number: 1)
        func status() -> Int? {
            router.react(to: ServiceFixture.makePush(), memory: &memory, now: ServiceFixture.now).answer?.status
        }
        #expect(status() == 200)
        router.play(try FaultScript(json: Array(script.utf8)))
        #expect([status(), status()] == [200, 503])
    }

    @Test func `lowers the streams of a connection that fetched its token first`() throws {
        var router = try play("{}")
        var memory = ConnectionMemory(number: 1)
        _ = router.react(to: ReceivedRequest("POST", "/token"), memory: &memory, now: ServiceFixture.now)
        let request = ReceivedRequest("POST", "/v1/projects/p/messages:send")
        let effects = router.react(to: request, memory: &memory, now: ServiceFixture.now).effects
        #expect(effects == [.settings([.init(id: 3, value: 100)])])
        #expect(memory.provider == .fcm)
    }

    @Test(arguments: [
        ("POST", "counters", 405), ("GET", "script", 405), ("DELETE", "reset", 405), ("GET", "counter", 404),
        ("GET", "counters?x=1", 200),
    ])
    func `tells who asks the control endpoint wrongly`(method: String, path: String, status: Int) throws {
        var router = try play("{}")
        var memory = ConnectionMemory(number: 1)
        let request = ReceivedRequest(method, "/_simulator/\(path)")
        let answer = router.react(to: request, memory: &memory, now: ServiceFixture.now).answer
        #expect(answer?.status == status)
        #expect((answer?.json?["error"]?.string ?? "").isEmpty == (status == 200))
    }

    @Test(arguments: [
        ("[]", "line 1: script is not an object"),
        (
            #"{"rule":[]}"#,
            "line 1: script.rule is not known; it may have streams, apns, webpush, oauth, rules"
        ),
        (
            #"{"rules":[{"provider":"gcm"}]}"#,
            #"line 1: rules[0].provider must be one of apns, fcm, oauth, webpush, acrobits, webhook, flexiapi, harmonyos; "gcm" is none"#
        ),
        (
            #"{"rules":[{"provider":"apns","tls":"fail"}]}"#,
            "line 1: rules[0].tls goes with connection, after, every, count and probability only"
        ),
        (
            #"{"rules":[{"tls":"fail","status":500}]}"#,
            "line 1: rules[0].tls goes with connection, after, every, count and probability only"
        ),
        (#"{"rules":[{"headers":{"x":"1\r\ny: 2"}}]}"#, "line 1: rules[0].headers.x must be a string of one line"),
        (
            #"{"rules":[{"headers":{"X Y":"1"}}]}"#,
            #"line 1: rules[0].headers must be of names without spaces and colons; "X Y" is none"#
        ),
        (
            #"{"rules":[{"settings":{"max_frame_size":1}}]}"#,
            "line 1: rules[0].settings.max_frame_size must be 16384 to 16777215 (RFC 9113, 6.5.2)"
        ),
        (#"{"rules":[{},{"every":-1}]}"#, "line 1: rules[1].every must be a whole number, 0 or more"),
        (#"{"rules":[{"status":99}]}"#, "line 1: rules[0]: a status lies between 200 and 599"),
        (#"{"rules":[{"close":"now"}]}"#, "line 1: rules[0].close must be fin or rst"),
        (#"{"rules":[{"goaway":{"code":"BYE"}}]}"#, "line 1: rules[0].goaway.code must be an HTTP/2 error code"),
        (#"{"rules":[{"every":0}]}"#, "line 1: rules[0].every must be 1 or more"),
        ("{", "line 1, column 1: this is not JSON: string or '}' expected near end of file"),
        (
            "{\"streams\": {},\n \"rules\": [{\"status\": 500},\n  {\"provider\": \"apns\",\n   \"goaway\": {\"code\": \"BYE\"}}]}",
            "line 4: rules[1].goaway.code must be an HTTP/2 error code"
        ),
        (
            "{\n \"rules\": [\n  {\"status\": 503,}\n ]\n}",
            "line 3, column 18: this is not JSON: string or '}' expected near '}'"
        ),
        (#"{"rules":[],"rules":[]}"#, #"line 1, column 19: this is not JSON: duplicate object key near '"rules"'"#),
        (#"{"apns":{"topics":["a",5]}}"#, "line 1: apns.topics must be a list of bundle ids"),
        (
            #"{"rules":[{"no_answer":true,"status":503}]}"#,
            "line 1: rules[0]: no_answer goes without status, reason, body or headers; take one or the other away"
        ),
        (
            #"{"rules":[{"refuse":true,"reason":"Shutdown"}]}"#,
            "line 1: rules[0]: refuse or reset goes without status, reason, body or headers; take one or the other away"
        ),
    ])
    func `names its author's mistake`(script: String, text: String) {
        #expect(throws: FaultScript.Mistake(text)) { try FaultScript(json: Array(script.utf8)) }
    }

    @Test(arguments: [
        ("abc", "abc", true), ("a*", "abc", true), ("*c", "abc", true), ("a*c*e", "abcde", true), ("a?c", "abc", true),
        ("*", "", true), ("", "", true), ("a", "", false), ("a*d", "abc", false), ("?", "", false),
    ])
    func `matches tokens by glob`(pattern: String, text: String, fits: Bool) {
        #expect(Glob(pattern).matches(Array(text.utf8)[...]) == fits)
    }
}

@Suite struct `Simulator counters` {
    private func push(_ id: String?, body: String = #"{"aps":{}}"#) -> ReceivedRequest {
        ServiceFixture.makePush(["apns-id": id], body: body)
    }

    private func counted(_ requests: [ReceivedRequest]) -> JSONValue {
        var router = ServiceFixture.makeRouter()
        var memory = ConnectionMemory(number: 1)
        for request in requests {
            let reaction = router.react(to: request, memory: &memory, now: ServiceFixture.now)
            if let answer = reaction.answer { router.answered(reaction.provider, answer) }
        }
        return router.counters.json
    }

    @Test func `tell a push that came twice`() {
        let other = "0f8fad5b-d9cb-469f-a165-708677289500"
        let json = counted([push(ServiceFixture.id), push(ServiceFixture.id), push(other, body: #"{"a":1}"#)])
        #expect(json["accepted"]?.integer == 3)
        #expect(json["distinct"]?.integer == 2)
        #expect(json["duplicates"]?.integer == 1)
        #expect(json["repeats"]?.integer == 0)
    }

    @Test func `do not call a push doubled whose sender could not know`() {
        var ledger = PushLedger()
        let push = PushIdentity(token: [1], body: [2], id: [3])
        for (isAnswered, isNew) in [(false, true), (true, true), (true, false)] {
            #expect(ledger.enter(push, isAnswered: isAnswered) == isNew)
        }
        #expect(ledger.distinct == 1)
        #expect(ledger.resends == 1)
        #expect(ledger.duplicates == 1)
        #expect(ledger.copies == 2 && ledger.unheard == 1)
        // The same again with other words: its time to live is shorter by then.
        let later = PushIdentity(token: [1], body: [4])
        #expect(ledger.enter(later, isAnswered: true) && ledger.distinct == 2 && ledger.copies == 3)
    }

    @Test func `tell the same content under another id`() {
        let other = "0f8fad5b-d9cb-469f-a165-708677289500"
        let json = counted([push(ServiceFixture.id), push(other)])
        #expect(json["duplicates"]?.integer == 0)
        #expect(json["repeats"]?.integer == 1)
    }

    @Test func `group rejections by reason`() {
        let json = counted([push(ServiceFixture.id, body: ""), push("1"), push("2")])
        #expect(json["rejected"]?.integer == 3)
        #expect(json["providers"]?["apns"]?["reasons"]?["BadMessageId"]?.integer == 2)
    }

    @Test func `start afresh after a reset`() {
        var router = ServiceFixture.makeRouter()
        var memory = ConnectionMemory(number: 1)
        _ = router.react(to: push(nil), memory: &memory, now: ServiceFixture.now)
        let reset = ReceivedRequest("POST", "/_simulator/reset")
        #expect(router.react(to: reset, memory: &memory, now: ServiceFixture.now).answer?.status == 204)
        let counters = ReceivedRequest("GET", "/_simulator/counters")
        let answer = router.react(to: counters, memory: &memory, now: ServiceFixture.now).answer
        #expect(answer?.json?["requests"]?.integer == 0)
    }
}
