// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `FCM response` {
    private func verdict(_ status: Int, _ body: String, retryAfter: String? = nil) -> Verdict {
        let headers = retryAfter.map { [HTTPResponse.Header(name: "retry-after", value: $0)] } ?? []
        return FCMResponse.verdict(
            HTTPResponse(status: status, headers: headers), JSON.parse(body), now: 784_111_770)
    }

    private func error(_ code: String?, _ status: String, violations: [String] = []) -> String {
        var details: [String] = []
        if let code {
            details.append(#"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#)
        }
        if !violations.isEmpty {
            let fields = violations.map { #"{"field":"\#($0)","description":"x"}"# }.joined(separator: ",")
            details.append(#"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[\#(fields)]}"#)
        }
        return
            #"{"error":{"code":1,"message":"m","status":"\#(status)","details":[\#(details.joined(separator: ","))]}}"#
    }

    @Test func `is accepted with 200`() {
        #expect(verdict(200, #"{"name":"projects/p/messages/0:1"}"#) == Verdict(.accepted))
    }

    @Test(arguments: [
        (404, "UNREGISTERED", "NOT_FOUND", false), (403, "SENDER_ID_MISMATCH", "PERMISSION_DENIED", true),
    ])
    func `gives up a token that is gone, or of another project`(
        status: Int, code: String, word: String, isDoubtful: Bool
    ) {
        #expect(verdict(status, error(code, word)) == Verdict(.tokenGone, reason: code, mayBeSetting: isDoubtful))
    }

    @Test(arguments: [
        (
            #"{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND"}}"#,
            Outcome.tokenGone
        ),
        (#"{"error":{"code":404,"message":"Project not found.","status":"NOT_FOUND"}}"#, .misconfigured),
    ])
    func `tells a token that is not found from a project`(body: String, outcome: Outcome) {
        #expect(verdict(404, body) == Verdict(outcome, reason: "NOT_FOUND"))
    }

    @Test func `knows a bad token by the violated field`() {
        let body = error("INVALID_ARGUMENT", "INVALID_ARGUMENT", violations: ["message.token"])
        #expect(verdict(400, body).outcome == .tokenGone)
    }

    @Test func `knows a bad token by the text`() {
        let body =
            #"{"error":{"code":400,"message":"The registration token is not a valid FCM registration token","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"INVALID_ARGUMENT"}]}}"#
        #expect(verdict(400, body) == Verdict(.tokenGone, reason: "INVALID_ARGUMENT", mayBeSetting: true))
    }

    @Test func `does not blame the token for a payload of ours`() {
        let data = error(nil, "INVALID_ARGUMENT", violations: ["message.data[0].value"])
        #expect(verdict(400, data) == Verdict(.rejected, reason: "INVALID_ARGUMENT message.data[0].value"))
        let both = error("INVALID_ARGUMENT", "INVALID_ARGUMENT", violations: ["message.token", "message.android.ttl"])
        #expect(verdict(400, both).outcome == .rejected)
        let tooLarge =
            #"{"error":{"code":400,"message":"Request contains an invalid argument.","status":"INVALID_ARGUMENT"}}"#
        #expect(verdict(400, tooLarge) == Verdict(.rejected, reason: "INVALID_ARGUMENT"))
    }

    @Test(arguments: [
        (503, "UNAVAILABLE", "UNAVAILABLE", Outcome.unavailable, Int64(10_000)),
        (500, "INTERNAL", "INTERNAL", .unavailable, 10_000),
    ])
    func `tries again later`(status: Int, code: String, word: String, outcome: Outcome, pause: Int64) {
        #expect(verdict(status, error(code, word)) == Verdict(outcome, reason: code, next: .retry(after: pause)))
        let told = verdict(status, error(code, word), retryAfter: "3")
        #expect(told.next == .retry(after: 3000))
    }

    @Test func `slows the project down when its quota is used up, and not for one phone or topic`() {
        let quota = verdict(429, error("QUOTA_EXCEEDED", "RESOURCE_EXHAUSTED"))
        #expect(quota == Verdict(.throttled, reason: "QUOTA_EXCEEDED", next: .slow(after: 2000)))
        #expect(verdict(429, error("QUOTA_EXCEEDED", "RESOURCE_EXHAUSTED"), retryAfter: "90").next == .hold(90_000))
        #expect(verdict(429, "<html>").next == .slow(after: 2000))
        let project =
            #"{"error":{"code":429,"message":"Quota exceeded for quota metric 'Send requests' and limit 'Send requests per minute' of service 'fcm.googleapis.com'","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED"}]}}"#
        #expect(verdict(429, project).next == .slow(after: 2000))
        for violation in ["device:fGx", "topic:news"] {
            let narrow =
                #"{"error":{"code":429,"message":"Rate exceeded","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":"\#(violation)"}]}]}}"#
            #expect(verdict(429, narrow).next == .retry(after: 60_000))
        }
    }

    @Test(arguments: [
        ("120", Int64?.some(120_000)), ("Sun, 06 Nov 1994 08:49:37 GMT", 7000), ("Sun, 06 Nov 1994 08:49:00 GMT", 0),
        ("soon", nil), ("-1", nil), ("99999999999999999999", nil), ("4000000000", 86_400_000),
        ("Sun, 06 Foo 1994 08:49:37 GMT", nil), ("Sun, 99 Nov 1994 08:49:37 GMT", nil), ("", nil),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 7000), ("Sun Nov  6 08:49:37 1994", 7000),
        ("Sun Nov 16 08:49:37 1994", 86_400_000), ("Sunday, 06-Nov-44 08:49:37 GMT", 86_400_000),
        ("Monday, 06-Nov-45 08:49:37 GMT", 0), ("Sunday, 6-Nov-1994 08:49:37 GMT", nil),
        ("Sun Nov 6 08:49 1994", nil), ("Sunday, 06-Nov- 08:49:37 GMT", nil), ("a b c d e", nil), (", - GMT GMT", nil),
    ])
    func `reads Retry-After as seconds or as a date`(text: String, milliseconds: Int64?) {
        let response = HTTPResponse(status: 503, headers: [.init(name: "retry-after", value: text)])
        #expect(RetryAfter.milliseconds(response, now: 784_111_770) == milliseconds)
    }

    @Test func `renews its own access token, but not for the project's Apple key`() {
        let ours = verdict(401, error(nil, "UNAUTHENTICATED"))
        #expect(ours == Verdict(.misconfigured, reason: "UNAUTHENTICATED", next: .renewCredential))
        let theirs = verdict(401, error("THIRD_PARTY_AUTH_ERROR", "UNAUTHENTICATED"))
        #expect(theirs.outcome == .misconfigured && theirs.next == .finish && theirs.isOfApp)
        #expect(theirs.reason.hasPrefix("THIRD_PARTY_AUTH_ERROR (in the Firebase console"))
    }

    @Test(arguments: [
        ("", "PERMISSION_DENIED (in the Google Cloud console"),
        (
            "The caller does not have permission",
            "PERMISSION_DENIED: The caller does not have permission (in the Google"
        ),
        ("Enable it by visiting https://example.com", "PERMISSION_DENIED: Enable it by visiting https://example.com"),
        (String(repeating: "x", count: 5000), "PERMISSION_DENIED: xxx"),
    ])
    func `calls the operator for missing permission, in Google's own words`(text: String, told: String) {
        let said = text.isEmpty ? "" : #""message":"\#(text)","#
        let found = verdict(403, #"{"error":{"code":403,\#(said)"status":"PERMISSION_DENIED"}}"#)
        #expect(found.outcome == .misconfigured && !found.isOfApp && found.next == .finish)
        #expect(found.reason.hasPrefix(told) && found.reason.utf8.count < 500)
    }

    @Test(arguments: [
        (502, Outcome.unavailable), (503, .unavailable), (500, .unavailable), (429, .throttled), (404, .misconfigured),
        (403, .misconfigured), (401, .misconfigured), (400, .rejected), (413, .rejected), (302, .unavailable),
        (408, .unavailable), (425, .unavailable), (201, .accepted),
    ])
    func `decides by status when the body is HTML`(status: Int, outcome: Outcome) {
        #expect(verdict(status, "<html>502</html>").outcome == outcome)
    }

    @Test func `goes by the status when the error code says nothing`() {
        #expect(verdict(503, error("UNSPECIFIED_ERROR", "UNAVAILABLE")).outcome == .unavailable)
        #expect(verdict(429, error(nil, "RESOURCE_EXHAUSTED")).outcome == .throttled)
    }

    @Test(arguments: [
        "[]", "{}", #"{"error":[]}"#, #"{"error":{"details":{}}}"#, #"{"error":{"details":[1,{"@type":2}]}}"#,
    ])
    func `survives a body of another shape`(body: String) {
        #expect(verdict(503, body).outcome == .unavailable)
    }
}
