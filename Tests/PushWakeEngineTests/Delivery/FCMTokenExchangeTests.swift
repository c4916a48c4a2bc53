// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport
import Testing

@testable import PushWakeEngine

@Suite struct `A request for an access token` {
    private static let file = """
        {"type":"service_account","project_id":"demo-1","private_key_id":"kid1","private_key":"-----BEGIN",
        "client_email":"a@demo-1.iam.gserviceaccount.com","token_uri":"https://oauth2.googleapis.com/token"}
        """

    private func issuedAt(_ exchange: FCMTokenExchange) throws -> Int64? {
        var request = HTTPRequest(reservingBytes: 0, fields: 0)
        try exchange.write(into: &request)
        let assertion = String(decoding: request.body, as: UTF8.self).split(separator: "assertion=").last ?? ""
        let claims = try #require(Base64URL.decode(String(assertion.split(separator: ".")[1])))
        return try JSONParser.parse(claims)["iat"]?.integer
    }

    @Test func `carries the time at which a connection takes it`() throws {
        var now: Int64 = 60
        let exchange = try FCMTokenExchange(
            ServiceAccount(JSONParser.parse(Array(Self.file.utf8))), deadline: .max, now: { now }, sign: { _ in [1] },
            completion: { _ in })
        #expect(try issuedAt(exchange) == 60)
        now = 1_700_000_000
        #expect(try issuedAt(exchange) == 1_700_000_000)
    }

    @Test func `is not sent when the key cannot sign`() throws {
        let exchange = try FCMTokenExchange(
            ServiceAccount(JSONParser.parse(Array(Self.file.utf8))), deadline: .max, now: { 0 }, sign: { _ in nil },
            completion: { _ in })
        var request = HTTPRequest(reservingBytes: 0, fields: 0)
        #expect(throws: PushFailure.signingFailed) { try exchange.write(into: &request) }
    }
}
