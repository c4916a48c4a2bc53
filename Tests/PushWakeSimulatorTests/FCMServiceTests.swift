// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeSimulator

@Suite struct `FCM service` {
    private let path = "/v1/projects/p/messages:send"

    private func answer(
        _ body: String, path: String? = nil, authorization: String? = nil, tokenAge: Int64 = 0
    ) -> ProviderAnswer {
        var service = FCMService(projects: ["p", "q"])
        var tokens = AccessTokens()
        let token = tokens.issue(until: ServiceFixture.seconds + 3_599, for: "p")
        let headers = [("authorization", authorization ?? "Bearer \(token)")]
        let request = ReceivedRequest("POST", path ?? self.path, headers: headers, body: Array(body.utf8))
        return service.answer(request, tokens: tokens, now: ServiceFixture.now + tokenAge * 1_000)
    }

    @Test func `accepts a call and names the message`() {
        let body = #"""
            {"message":{"token":"fYx:APA91b_-","data":{"a":"1"},"android":{"priority":"HIGH","ttl":"30s"}}}
            """#
        let answer = answer(body)
        #expect(answer.status == 200)
        #expect(answer.json?["name"]?.string?.hasPrefix("projects/p/messages/0:") == true)
        #expect(answer.push != nil)
    }

    @Test(arguments: [
        #""background_sync":{}"#,
        #""remote_notification":{"use_as_v1_data_message":true,"mutable_content":true,"notification":{"title":"t"}}"#,
    ])
    func `takes either kind of message with android_v2`(kind: String) {
        let body = #"{"message":{"token":"a","android_v2":{"ttl":"30s","bandwidth_constrained_ok":true,"#
        #expect(answer(body + kind + "}}}").status == 200)
    }

    @Test(arguments: [
        (#""apns-push-type":"voip""#, "DeviceTokenNotForTopic"),
        (#""apns-push-type":"voip","apns-topic":"com.example.phone.voip""#, "DeviceTokenNotForTopic"),
        (#""apns-topic":"com.example.phone.voip""#, "DeviceTokenNotForTopic"),
        (#""apns-push-type":"ring""#, "InvalidPushType"), (#""apns-priority":"7""#, "BadPriority"),
        (#""apns-push-type":"background","apns-priority":"10""#, "BadPriority"),
        (#""apns-expiration":"soon""#, "BadExpirationDate"), (#""apns-collapse-id":"""#, "BadCollapseId"),
    ])
    func `passes on what Apple refuses`(headers: String, reason: String) {
        let answer = answer(#"{"message":{"token":"a","apns":{"headers":{"# + headers + "}}}}")
        #expect(answer.status == 400 && answer.push == nil)
        let details = answer.json?["error"]?["details"]?.array ?? []
        #expect(details.contains { $0["reason"] == .string(reason) && $0["statusCode"] == .integer(400) })
    }

    @Test(arguments: [
        #""apns-push-type":"alert","apns-priority":"10","apns-expiration":"1700000045""#,
        #""apns-push-type":"background","apns-priority":"5""#, #""apns-topic":"com.example.phone""#, "",
    ])
    func `takes headers that Apple takes`(headers: String) {
        #expect(answer(#"{"message":{"token":"a","apns":{"headers":{"# + headers + "}}}}").status == 200)
    }

    @Test func `counts no push that is only validated`() {
        let answer = answer(#"{"message":{"token":"a"},"validate_only":true}"#)
        #expect(answer.json?["name"]?.string == "projects/p/messages/fake_message_id")
        #expect(answer.push == nil)
    }

    @Test(arguments: [
        (#"{"message":{"token":"a","data":{"n":12}}}"#, "message.data[0].value"),
        (#"{"message":{"token":"a","data":{"n":"1","m":null,"o":{}}}}"#, "message.data[1].value"),
        (#"{"message":{"token":"a","colour":"red"}}"#, "message"), (#"{"messages":{}}"#, ""),
        (#"{"message":{"token":7}}"#, "message.token"),
        (#"{"message":{"token":"a","android":{"priority":"LOW"}}}"#, "message.android.priority"),
        (#"{"message":{"token":"a","android":{"priority":5}}}"#, "message.android.priority"),
        (#"{"message":{"token":"a","android":{"ttl":30}}}"#, "message.android.ttl"),
        (#"{"message":{"token":"a","android":{"ttl":"30"}}}"#, "message.android.ttl"),
        (#"{"message":{"token":"a","android":{"ttl":"2419201s"}}}"#, "message.android.ttl"),
        (#"{"message":{"token":"a","android":{"ttl":"-1s"}}}"#, "message.android.ttl"),
        (#"{"message":{"token":"a","android":{"collapse_id":"x"}}}"#, "message.android"),
        (#"{"message":{"token":"a","data":{"from":"x"}}}"#, "message.data"),
        (#"{"message":{"token":"a","data":{"google.x":"x"}}}"#, "message.data"),
        (#"{"message":{"token":"a","apns":{"headers":{"apns-priority":5}}}}"#, "message.apns.headers[0].value"),
        (#"{"message":{"token":"a","topic":"b"}}"#, "message"), (#"{"message":{}}"#, "message"),
        (
            #"{"message":{"token":"a","android":{"bandwidth_constrained_ok":1}}}"#,
            "message.android.bandwidth_constrained_ok"
        ),
        (#"{"message":{"token":"a","android_v2":{}}}"#, "message.android_v2"),
        (#"{"message":{"token":"a","android_v2":{"priority":"HIGH","background_sync":{}}}}"#, "message.android_v2"),
        (#"{"message":{"token":"a","android_v2":{"background_sync":{"x":1}}}}"#, "message.android_v2.background_sync"),
        (
            #"{"message":{"token":"a","android_v2":{"background_sync":{},"remote_notification":{"notification":{}}}}}"#,
            "message.android_v2"
        ),
        (
            #"{"message":{"token":"a","android_v2":{"remote_notification":{"mutable_content":true}}}}"#,
            "message.android_v2.remote_notification"
        ),
        (#"{"message":{"token":"a","android_v2":{"background_sync":{},"ttl":"-1s"}}}"#, "message.android_v2.ttl"),
    ])
    func `names the field that is wrong`(body: String, field: String) {
        let answer = answer(body)
        let details = answer.json?["error"]?["details"]?.array ?? []
        let violations = details.compactMap { $0["fieldViolations"]?.array?.first?["field"]?.string }
        #expect(answer.status == 400)
        #expect(answer.json?["error"]?["status"]?.string == "INVALID_ARGUMENT")
        #expect(violations == [field])
    }

    @Test func `words a number among data as Google does`() {
        let answer = answer(#"{"message":{"token":"a","data":{"n":12}}}"#)
        #expect(
            answer.json?["error"]?["message"]?.string == "Invalid value at 'message.data[0].value' (TYPE_STRING), 12")
    }

    @Test(arguments: ["", "{", "[]", #"{"message":{"token":"a"}} x"#])
    func `refuses a body that is not a request`(body: String) {
        #expect(answer(body).status == 400)
    }

    @Test(arguments: [
        ("unregistered-1", 404, "UNREGISTERED"), ("mismatch-1", 403, "SENDER_ID_MISMATCH"),
        ("invalid-1", 400, "INVALID_ARGUMENT"), ("a b", 400, "INVALID_ARGUMENT"), ("", 400, "INVALID_ARGUMENT"),
    ])
    func `refuses a token`(token: String, status: Int, code: String) {
        let answer = answer(#"{"message":{"token":"\#(token)"}}"#)
        #expect(answer.status == status)
        #expect(answer.json?["error"]?["details"]?.array?.first?["errorCode"]?.string == code)
    }

    @Test func `refuses more than 4096 bytes without details`() {
        let text = String(repeating: "x", count: 4_096)
        let answer = answer(#"{"message":{"token":"a","data":{"k":"\#(text)"}}}"#)
        #expect(answer.status == 400)
        #expect(answer.json?["error"]?["message"]?.string == "Request contains an invalid argument.")
        #expect(answer.json?["error"]?["details"] == nil)
    }

    @Test(arguments: [("Bearer nonsense", Int64(0)), ("bearer", 0), ("Basic abc", 0)])
    func `refuses a bearer token that it does not know`(authorization: String, age: Int64) {
        let answer = answer(#"{"message":{"token":"a"}}"#, authorization: authorization, tokenAge: age)
        #expect(answer.status == 401)
        #expect(answer.json?["error"]?["status"]?.string == "UNAUTHENTICATED")
    }

    @Test func `refuses an expired bearer token`() {
        #expect(answer(#"{"message":{"token":"a"}}"#, tokenAge: 3_598).status == 200)
        #expect(answer(#"{"message":{"token":"a"}}"#, tokenAge: 3_599).status == 401)
    }

    @Test(arguments: [
        ("/v1/projects/q/messages:send", 403), ("/v1/projects/r/messages:send", 403), ("/v1/projects/p/messages", 404),
        ("/v1/x", 404),
    ])
    func `refuses another project or path`(path: String, status: Int) {
        #expect(answer(#"{"message":{"token":"a"}}"#, path: path).status == status)
    }
}

@Suite struct `OAuth service` {
    private let service = OAuthService(
        accounts: [
            .init(project: "q", email: "push@q.iam.gserviceaccount.com", keyID: "k2", verify: ServiceFixture.isGood),
            .init(project: "p", email: "push@p.iam.gserviceaccount.com", keyID: "k1", verify: ServiceFixture.isGood),
        ],
        audience: "https://127.0.0.1:8443/token")

    private func assertion(_ changes: [String: JSONValue] = [:], signature: String = "good") -> String {
        let claims: [JSONValue.Member] = [
            .init("iss", .string("push@p.iam.gserviceaccount.com")),
            .init("scope", .string("https://www.googleapis.com/auth/firebase.messaging")),
            .init("aud", .string("https://127.0.0.1:8443/token")), .init("iat", .integer(ServiceFixture.seconds)),
            .init("exp", .integer(ServiceFixture.seconds + 3_600)),
        ]
        return ServiceFixture.makeToken(
            header: [.init("alg", changes["alg"] ?? .string("RS256")), .init("kid", .string("k1"))],
            claims: claims.map { .init($0.name, changes[$0.name] ?? $0.value) }, signature: signature)
    }

    private func answer(_ form: String, tokens: inout AccessTokens) -> ProviderAnswer {
        let request = ReceivedRequest("POST", "/token", body: Array(form.utf8))
        return service.answer(request, tokens: &tokens, now: ServiceFixture.now)
    }

    private func answer(assertion: String) -> ProviderAnswer {
        var tokens = AccessTokens()
        return answer(
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)", tokens: &tokens)
    }

    @Test func `gives a token that FCM takes for an hour`() throws {
        var tokens = AccessTokens()
        let form = "grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion=\(assertion())"
        let answer = answer(form, tokens: &tokens)
        #expect(answer.status == 200)
        #expect(answer.json?["expires_in"]?.integer == 3_599)
        #expect(answer.json?["token_type"]?.string == "Bearer")
        let token = try #require(answer.json?["access_token"]?.string)
        #expect(tokens.project(of: Array(token.utf8)[...], now: ServiceFixture.seconds + 3_598) == "p")
        #expect(tokens.project(of: Array(token.utf8)[...], now: ServiceFixture.seconds + 3_599) == nil)
    }

    @Test(
        arguments: [
            ("alg", .string("ES256")), ("iss", .string("else@p")), ("aud", .string("https://example.com")),
            ("iat", .integer(ServiceFixture.seconds + 301)), ("exp", .integer(ServiceFixture.seconds)),
            ("exp", .integer(ServiceFixture.seconds + 3_601)),
        ] as [(String, JSONValue)])
    func `refuses a wrong assertion with invalid_grant`(name: String, value: JSONValue) {
        let answer = answer(assertion: assertion([name: value]))
        #expect(answer.status == 400)
        #expect(answer.json?["error"]?.string == "invalid_grant")
        #expect(answer.json?["error_description"]?.string?.isEmpty == false)
    }

    @Test func `refuses a wrong signature`() {
        #expect(
            answer(assertion: assertion(signature: "bad")).json?["error_description"]?.string
                == "Invalid JWT Signature.")
    }

    @Test func `refuses a scope that is not for messaging`() {
        #expect(answer(assertion: assertion(["scope": .string("email")])).json?["error"]?.string == "invalid_scope")
    }

    @Test(arguments: [("", "invalid_request"), ("grant_type=password", "unsupported_grant_type")])
    func `refuses other grants`(form: String, error: String) {
        var tokens = AccessTokens()
        #expect(answer(form, tokens: &tokens).json?["error"]?.string == error)
    }
}
