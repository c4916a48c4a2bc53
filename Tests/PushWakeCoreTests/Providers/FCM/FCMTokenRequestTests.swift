// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `FCM token request` {
    private static let file = """
        {"type":"service_account","project_id":"demo-1","private_key_id":"kid1","private_key":"-----BEGIN",
        "client_email":"a@demo-1.iam.gserviceaccount.com","token_uri":"https://oauth2.googleapis.com/token"}
        """

    private func account() throws -> ServiceAccount { try ServiceAccount(#require(JSON.parse(Self.file))) }

    @Test func `asserts who asks for what`() throws {
        let input = FCMTokenRequest.signingInput(try account(), now: 1_700_000_000)
        let parts = input.split(separator: UInt8(ascii: "."))
        let header = JSON.parse(try #require(Base64URL.decode(String(decoding: parts[0], as: UTF8.self))))
        let claims = JSON.parse(try #require(Base64URL.decode(String(decoding: parts[1], as: UTF8.self))))
        #expect(header == JSON.parse(#"{"alg":"RS256","typ":"JWT","kid":"kid1"}"#))
        #expect(
            claims
                == JSON.parse(
                    """
                    {"iss":"a@demo-1.iam.gserviceaccount.com","scope":"https://www.googleapis.com/auth/firebase.messaging",
                    "aud":"https://oauth2.googleapis.com/token","iat":1700000000,"exp":1700003600}
                    """))
    }

    @Test func `posts the assertion to the account's token URI`() throws {
        let (origin, request) = try FCMTokenRequest.build(
            account(), signingInput: Array("a.b".utf8), signature: [0, 1])
        #expect(origin == HTTPOrigin(host: "oauth2.googleapis.com"))
        #expect(request[":path"] == "/token")
        #expect(request["content-type"] == "application/x-www-form-urlencoded")
        #expect(
            String(decoding: request.body, as: UTF8.self)
                == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b.AAE")
    }

    @Test(arguments: [
        (200, #"{"access_token":"t","expires_in":3599}"#, FCMTokenRequest.Answer.token([0x74], lifetime: 3599)),
        (200, #"{"access_token":"t"}"#, .token([0x74], lifetime: 3600)),
        (200, #"{"access_token":"t\r\nx: y"}"#, .unavailable(reason: "no access token in the answer", after: nil)),
        (200, "{}", .unavailable(reason: "no access token in the answer", after: nil)),
        (400, #"{"error":"invalid_grant"}"#, .refused(reason: "invalid_grant")),
        (
            400, #"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#,
            .refused(reason: "invalid_grant: Invalid JWT Signature.")
        ),
        (401, "", .refused(reason: "HTTP 401")), (503, "<html>", .unavailable(reason: "HTTP 503", after: nil)),
        (429, #"{"error":"slow_down"}"#, .unavailable(reason: "slow_down", after: nil)),
    ])
    func `reads the answer`(status: Int, body: String, answer: FCMTokenRequest.Answer) {
        #expect(FCMTokenRequest.answer(HTTPResponse(status: status), JSON.parse(body), now: 0) == answer)
    }

    @Test(arguments: ["project_id", "client_email", "private_key_id", "private_key", "token_uri"])
    func `names what a key file lacks`(member: String) throws {
        guard case .object(let members) = try #require(JSON.parse(Self.file)) else { return }
        let file = JSONValue.object(members.filter { $0.name != member })
        #expect(throws: ServiceAccount.Problem.missing(member)) { try ServiceAccount(file) }
    }

    @Test func `hands its key over once, and is still told from an account with another key`() throws {
        var account = try account()
        var other = try ServiceAccount(#require(JSON.parse(Self.file.replacing("-----BEGIN", with: "-----begin"))))
        #expect(account.takePrivateKey() == "-----BEGIN")
        #expect(account.privateKey.isEmpty && account.takePrivateKey().isEmpty)
        var same = try self.account()
        _ = (other.takePrivateKey(), same.takePrivateKey())
        #expect(account == same && account != other)
    }

    @Test(arguments: [
        ("authorized_user", ServiceAccount.OtherFile.personalLogin), ("external_account", .federation),
        ("service-account", .other),
    ])
    func `knows the other files of Google's by their type`(type: String, file: ServiceAccount.OtherFile) {
        let other = JSON.parse(Self.file.replacing("service_account", with: type)) ?? .null
        #expect(throws: ServiceAccount.Problem.notAServiceAccount(file)) { try ServiceAccount(other) }
        let app = JSON.parse(#"{"project_info": {"project_id": "p"}, "client": []}"#) ?? .null
        #expect(throws: ServiceAccount.Problem.notAServiceAccount(.appConfiguration)) { try ServiceAccount(app) }
    }

    @Test(arguments: ["project_id", "client_email", "private_key_id"])
    func `refuses what a request cannot carry`(member: String) throws {
        guard case .object(let members) = try #require(JSON.parse(Self.file)) else { return }
        for value in [" one", "one\n", "a b", "ü"] {
            let file = JSONValue.object(members.map { $0.name == member ? .init($0.name, .string(value)) : $0 })
            #expect(throws: ServiceAccount.Problem.unusable(member)) { try ServiceAccount(file) }
        }
    }

    @Test func `refuses a token URI that is not https`() {
        let plain = JSON.parse(Self.file.replacing("https:", with: "http:")) ?? .null
        #expect(throws: ServiceAccount.Problem.badTokenURI) { try ServiceAccount(plain) }
    }
}
