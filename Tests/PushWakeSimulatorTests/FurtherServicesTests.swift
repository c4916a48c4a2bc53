// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeSimulator

@Suite struct `FlexiAPI service` {
    private func answer(
        _ body: String, key: String? = "key", path: String = "/flexiapi/api/push_notification", method: String = "POST"
    ) -> ProviderAnswer {
        let headers = key.map { [("x-api-key", $0)] } ?? []
        return FlexiAPIService(key: Array("key".utf8)).answer(
            ReceivedRequest(method, path, headers: headers, body: Array(body.utf8)))
    }

    private static let good =
        #"{"pn_provider":"apns","pn_param":"T.a.voip","pn_prid":"0a:voip","type":"call","call_id":null}"#

    @Test func `takes a push of a phone's own parameters`() {
        #expect(answer(Self.good).status == 200)
        #expect(answer(Self.good).push != nil)
    }

    @Test(arguments: [
        (#"{"pn_provider":"webpush","pn_prid":"a","type":"call"}"#, "pn_provider"),
        (#"{"pn_provider":"fcm","pn_prid":"a"}"#, "type"),
        (#"{"pn_provider":"fcm","pn_prid":"a","type":"missed"}"#, "type"),
        (#"{"pn_provider":"fcm","pn_prid":"a b","type":"call"}"#, "pn_prid"),
        (#"{"pn_provider":"fcm","pn_param":"a-b","pn_prid":"a","type":"call"}"#, "pn_param"),
        (#"{"pn_provider":"fcm","pn_prid":"a","type":"call","call_id":"a/b"}"#, "call_id"),
        ("[]", "pn_provider"),
    ])
    func `names the field that it refuses`(body: String, field: String) {
        let answer = answer(body)
        #expect(answer.status == 422)
        #expect(answer.json?["errors"]?[field] != nil)
    }

    @Test func `wants its key, its path and POST`() {
        #expect(answer(Self.good, key: nil).status == 401)
        #expect(answer(Self.good, key: "other").status == 401)
        #expect(answer(Self.good, path: "/flexiapi/api/x").status == 404)
        #expect(answer(Self.good, method: "PUT").status == 405)
    }

    @Test func `says of a dead token only that the push was not sent`() {
        #expect(answer(#"{"pn_provider":"fcm","pn_prid":"unregistered-1","type":"call"}"#).status == 503)
    }
}

@Suite struct `HarmonyOS service` {
    private static func token(_ changes: [String: JSONValue] = [:], signature: String = "good") -> String {
        func members(_ usual: [JSONValue.Member]) -> [JSONValue.Member] {
            usual.map { .init($0.name, changes[$0.name] ?? $0.value) }
        }
        let now = ServiceFixture.seconds
        return ServiceFixture.makeToken(
            header: members([.init("alg", .string("PS256")), .init("kid", .string("k"))]),
            claims: members([
                .init("iss", .string("s")), .init("aud", .string(HarmonyOSService.audience)),
                .init("iat", .integer(now)),
                .init("exp", .integer(now + 3600)),
            ]), signature: signature)
    }

    private func code(
        _ body: String, type: String? = "10", token: String = token(), path: String = "/v3/p/messages:send"
    ) -> String? {
        var service = HarmonyOSService(
            account: .init(project: "p", keyID: "k", subAccount: "s", verify: ServiceFixture.isGood))
        var headers = [("authorization", "Bearer \(token)")]
        if let type { headers.append(("push-type", type)) }
        let request = ReceivedRequest("POST", path, headers: headers, body: Array(body.utf8))
        return service.answer(request, now: ServiceFixture.now).json?["code"]?.string
    }

    private static let call = #"{"payload":{"extraData":"{}"},"target":{"token":["t"]},"pushOptions":{"ttl":30}}"#
    private static let shown =
        #"{"payload":{"notification":{"category":"IM","title":"t","body":"b","clickAction":{"actionType":0}}},"target":{"token":["t"]}}"#

    @Test func `takes a call and a notification`() {
        #expect(code(Self.call) == "80000000")
        #expect(code(Self.shown, type: "0") == "80000000")
    }

    @Test(arguments: [
        ["alg": JSONValue.string("RS256")], ["kid": .string("x")], ["iss": .string("x")], ["aud": .string("x")],
        ["exp": .integer(ServiceFixture.seconds + 3601)], ["iat": .integer(ServiceFixture.seconds + 600)],
    ])
    func `refuses a token of another kind`(changes: [String: JSONValue]) {
        #expect(code(Self.call, token: Self.token(changes)) == "80200001")
    }

    @Test func `refuses a bad signature and a token that has expired`() {
        #expect(code(Self.call, token: Self.token(signature: "bad")) == "80200001")
        let old: [String: JSONValue] = [
            "iat": .integer(ServiceFixture.seconds - 3600), "exp": .integer(ServiceFixture.seconds),
        ]
        #expect(code(Self.call, token: Self.token(old)) == "80200003")
    }

    @Test(arguments: [
        ("x", "10", "80100003"), (shown, "10", "80100003"), (call, "0", "80100003"), (call, "5", "80100003"),
        (#"{"payload":{"extraData":{}},"target":{"token":["t"]}}"#, "10", "80100003"),
        (#"{"payload":{"extraData":"x"},"target":{"token":[]}}"#, "10", "80100001"),
        (#"{"payload":{"extraData":"x"},"target":{"token":["t"]},"pushOptions":{"ttl":0}}"#, "10", "80100003"),
        (#"{"payload":{"extraData":"x"},"target":{"token":["unregistered-1"]}}"#, "10", "80300007"),
        (#"{"payload":{"extraData":"x"},"target":{"token":["mismatch-1"]}}"#, "10", "80300002"),
    ])
    func `has a code for what is wrong`(body: String, type: String, expected: String) {
        #expect(code(body, type: type) == expected)
    }

    @Test func `knows its own project only`() {
        #expect(code(Self.call, path: "/v3/q/messages:send") == "80300002")
    }
}
