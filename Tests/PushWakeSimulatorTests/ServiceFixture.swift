// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport

@testable import PushWakeSimulator

/// Tokens, requests and services for the tests of the pure part. A signature is good when it reads "good".
enum ServiceFixture {
    /// Milliseconds since the epoch that all tests take for the present.
    static let now: Int64 = 1_800_000_000_000
    static let seconds = now / 1_000
    static let id = "0f8fad5b-d9cb-469f-a165-70867728950e"

    static func isGood(_ signed: [UInt8], _ signature: [UInt8]) -> Bool { signature == Array("good".utf8) }

    static func makeToken(
        header: [JSONValue.Member], claims: [JSONValue.Member], signature: String = "good"
    ) -> String {
        let parts = [JSONText.bytes(.object(header)), JSONText.bytes(.object(claims)), Array(signature.utf8)]
        return parts.map { Base64URL.encode($0) }.joined(separator: ".")
    }

    static func makeProviderToken(
        key: String = "KEY1234567", team: String = "DEF123GHIJ", issued: Int64 = seconds, algorithm: String = "ES256",
        signature: String = "good"
    ) -> String {
        makeToken(
            header: [.init("alg", .string(algorithm)), .init("kid", .string(key))],
            claims: [.init("iss", .string(team)), .init("iat", .integer(issued))], signature: signature)
    }

    static func makeAPNs() -> APNsService {
        APNsService(keys: [
            .init(id: "KEY1234567", team: "DEF123GHIJ", verify: isGood),
            .init(id: "OTHER67890", team: "DEF123GHIJ", verify: isGood),
        ])
    }

    /// A push that APNs takes; `changes` replace a header, or remove it where the value is nil.
    static func makePush(
        path: String = "/3/device/00fc13adff78512e", method: String = "POST", _ changes: [String: String?] = [:],
        extra: [(String, String)] = [], body: String = #"{"aps":{}}"#
    ) -> ReceivedRequest {
        let usual: [(String, String)] = [
            ("authorization", "bearer \(makeProviderToken())"), ("apns-topic", "com.example.phone.voip"),
            ("apns-push-type", "voip"), ("apns-priority", "10"), ("apns-expiration", "0"), ("apns-id", id),
        ]
        var headers = usual.compactMap { name, value -> (String, String)? in
            guard let change = changes[name] else { return (name, value) }
            return change.map { (name, $0) }
        }
        headers += changes.filter { change in !usual.contains { $0.0 == change.key } }.compactMap { name, value in
            value.map { (name, $0) }
        }
        return ReceivedRequest(method, path, headers: headers + extra, body: Array(body.utf8))
    }

    /// Stands for an HMAC.
    static func makeCode(_ bytes: [UInt8]) -> [UInt8] { bytes.reversed().prefix(32).map { $0 ^ 0x5A } }

    static func makeRouter() -> ProviderRouter {
        ProviderRouter(
            apns: makeAPNs(),
            oauth: OAuthService(
                accounts: [
                    .init(project: "p", email: "push@p.iam.gserviceaccount.com", keyID: "k1", verify: isGood)
                ],
                audience: "https://127.0.0.1:8443/token"),
            fcm: FCMService(projects: ["p"]),
            webPush: WebPushService(ownKey: [4] + Array(repeating: 7, count: 64)) { _, signed, signature in
                isGood(signed, signature)
            },
            others: [
                .acrobits: AcrobitsService(), .webhook: WebhookService { makeCode($0) },
                .flexiapi: FlexiAPIService(key: Array("key".utf8)),
                .harmonyos: HarmonyOSService(
                    account: .init(project: "p", keyID: "k", subAccount: "s", verify: isGood)),
            ])
    }
}

extension ProviderAnswer {
    /// The body as JSON.
    var json: JSONValue? { try? JSONParser.parse(body) }
}
