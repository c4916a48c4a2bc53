// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `APNs response` {
    private func verdict(_ status: Int, _ reason: String, timestamp: Int64? = nil) -> Verdict {
        var members = [JSONValue.Member("reason", .string(reason))]
        if let timestamp { members.append(.init("timestamp", .integer(timestamp))) }
        return APNsResponse.verdict(HTTPResponse(status: status), .object(members))
    }

    @Test(arguments: [
        (400, "BadCollapseId"), (400, "BadExpirationDate"), (400, "BadMessageId"), (400, "BadPriority"),
        (400, "DuplicateHeaders"), (400, "InvalidPushType"), (400, "PayloadEmpty"), (404, "BadPath"),
        (405, "MethodNotAllowed"), (413, "PayloadTooLarge"),
    ])
    func `drops a push that was wrong`(status: Int, reason: String) {
        #expect(verdict(status, reason) == Verdict(.rejected, reason: reason))
    }

    @Test(arguments: [
        (403, "BadCertificate"), (403, "BadCertificateEnvironment"), (403, "Forbidden"), (403, "InvalidProviderToken"),
        (403, "MissingProviderToken"), (403, "BadEnvironmentKeyIdInToken"),
    ])
    func `calls the operator`(status: Int, reason: String) {
        #expect(verdict(status, reason) == Verdict(.misconfigured, reason: reason))
    }

    @Test(arguments: ["BadTopic", "MissingTopic", "TopicDisallowed"])
    func `calls the operator about one app`(reason: String) {
        var expected = Verdict(.misconfigured, reason: reason)
        expected.isOfApp = true
        #expect(verdict(400, reason) == expected)
    }

    @Test(arguments: ["BadDeviceToken", "DeviceTokenNotForTopic", "MissingDeviceToken"])
    func `gives a bad token up, unless environment or topic are wrong ones of ours`(reason: String) {
        #expect(verdict(400, reason) == Verdict(.tokenGone, reason: reason, mayBeSetting: true))
    }

    @Test func `takes a 410 without Apple's words for somebody else's`() {
        #expect(verdict(410, "Unregistered") == Verdict(.tokenGone, reason: "Unregistered"))
        #expect(verdict(410, "SomethingNew", timestamp: 1_700_000_000_123).mayBeSetting == false)
        #expect(verdict(410, "SomethingNew").mayBeSetting)
        #expect(APNsResponse.verdict(HTTPResponse(status: 410), nil).mayBeSetting)
    }

    @Test(arguments: ["Unregistered", "ExpiredToken"])
    func `says since when a token is gone`(reason: String) {
        let expected = Verdict(.tokenGone, reason: reason, goneSince: 1_700_000_000_123)
        #expect(verdict(410, reason, timestamp: 1_700_000_000_123) == expected)
    }

    /// Stand-ins and older servers of Apple's say it in seconds.
    @Test(
        arguments: [
            (1_700_000_000, 1_700_000_000_000), (99_999_999_999, 99_999_999_999_000),
            (100_000_000_000, 100_000_000_000),
            (Int64.max, .max), (0, nil), (-5, nil), (.min, nil),
        ] as [(Int64, Int64?)])
    func `takes a time that cannot be in milliseconds for seconds, and none for unknown`(
        timestamp: Int64, since: Int64?
    ) {
        let expected = Verdict(.tokenGone, reason: "Unregistered", goneSince: since)
        #expect(verdict(410, "Unregistered", timestamp: timestamp) == expected)
    }

    @Test func `renews an expired provider token on another connection`() {
        let expected = Verdict(
            .misconfigured, reason: "ExpiredProviderToken", next: .renewCredential, connection: .retire)
        #expect(verdict(403, "ExpiredProviderToken") == expected)
    }

    @Test func `keeps the provider token when it was renewed too often`() {
        let expected = Verdict(
            .unavailable, reason: "TooManyProviderTokenUpdates", next: .retry(after: 1000), connection: .retire)
        #expect(verdict(429, "TooManyProviderTokenUpdates") == expected)
    }

    @Test(arguments: [(403, "UnrelatedKeyIdInToken"), (400, "IdleTimeout"), (503, "Shutdown")])
    func `sends again at once on another connection`(status: Int, reason: String) {
        let expected = Verdict(.unavailable, reason: reason, next: .retry(after: 0), connection: .retire)
        #expect(verdict(status, reason) == expected)
    }

    @Test(arguments: [
        (429, "TooManyRequests", Outcome.throttled), (500, "InternalServerError", .unavailable),
        (503, "ServiceUnavailable", .unavailable),
    ])
    func `sends again later on the same connection`(status: Int, reason: String, outcome: Outcome) {
        let verdict = verdict(status, reason)
        #expect(verdict.outcome == outcome)
        #expect(verdict.connection == .keep)
        guard case .retry(let pause) = verdict.next else {
            Issue.record("no retry")
            return
        }
        #expect(pause >= 500)
    }

    @Test(arguments: [
        (400, Outcome.rejected), (401, .misconfigured), (403, .misconfigured), (404, .rejected), (410, .tokenGone),
        (418, .rejected), (429, .throttled), (500, .unavailable), (502, .unavailable), (503, .unavailable),
        (302, .unavailable), (408, .unavailable), (204, .accepted),
    ])
    func `decides by status when the reason is new`(status: Int, outcome: Outcome) {
        #expect(verdict(status, "SomethingNew").outcome == outcome)
        #expect(APNsResponse.verdict(HTTPResponse(status: status), nil).outcome == outcome)
    }

    @Test func `is accepted with 200 whatever the body`() {
        #expect(APNsResponse.verdict(HTTPResponse(status: 200), nil) == Verdict(.accepted))
        #expect(verdict(200, "BadDeviceToken") == Verdict(.accepted))
    }

    @Test(arguments: [JSONValue.null, .string("x"), .array([]), .object([.init("reason", .integer(4))])])
    func `survives a body of another shape`(body: JSONValue) {
        #expect(APNsResponse.verdict(HTTPResponse(status: 400), body) == Verdict(.rejected, reason: "HTTP 400"))
    }

    @Test func `spares a token whose kind the phone did not name`() {
        let alert = verdict(400, "DeviceTokenNotForTopic")
        #expect(APNsResponse.sparing(alert, Samples.untyped, .alert).outcome == .rejected)
        #expect(APNsResponse.sparing(alert, Samples.untyped, .voip).outcome == .tokenGone)
        #expect(APNsResponse.sparing(alert, Samples.remote, .alert).outcome == .tokenGone)
        let gone = verdict(410, "Unregistered")
        #expect(APNsResponse.sparing(gone, Samples.untyped, .alert).outcome == .tokenGone)
    }
}
