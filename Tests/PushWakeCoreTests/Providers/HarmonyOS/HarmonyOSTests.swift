// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `HarmonyOS` {
    private static let phone = Binding(
        provider: .harmonyos, app: "com.example.phone", token: "MAMzLg", dialect: .rfc8599)

    private func build(_ event: PushEvent, _ change: (inout PushContent) -> Void = { _ in }) throws -> HTTPRequest {
        var content = Samples.content(event)
        change(&content)
        let builder = HarmonyOSRequest(
            origin: HTTPOrigin(host: "push-api.cloud.huawei.com"), project: "3884", settings: PayloadSettings())
        return try #require(builder).build(
            Self.phone, content, authorization: Array("Bearer t".utf8), now: 1_700_000_000)
    }

    private func body(_ event: PushEvent, _ change: (inout PushContent) -> Void = { _ in }) throws -> JSONValue {
        let request = try build(event, change)
        return try #require(JSON.parse(request.body), "\(String(decoding: request.body, as: UTF8.self))")
    }

    private func extra(_ body: JSONValue) throws -> JSONValue {
        let text = try #require(body.at("payload.extraData")?.string)
        return try #require(JSON.parse(Array(text.utf8)), "\(text)")
    }

    @Test func `wakes its app for a call with a VoIP message`() throws {
        let request = try build(.call)
        #expect(
            request.headerList.map { "\($0.name): \($0.value)" } == [
                ":method: POST", ":scheme: https", ":authority: push-api.cloud.huawei.com",
                ":path: /v3/3884/messages:send", "authorization: Bearer t", "content-type: application/json",
                "push-type: 10",
            ])
        let body = try body(.call)
        #expect(body.memberNames == ["payload", "target", "pushOptions"])
        #expect(body.at("target.token") == .array([.string("MAMzLg")]))
        #expect(body.at("pushOptions.ttl") == .integer(40))
        let extra = try extra(body)
        #expect(extra["scene"] == .string("voice"))
        #expect(extra["call-id"] == .string("call-1@192.0.2.9"))
        #expect(extra["expires-at"] == .integer(1_700_000_040))
    }

    @Test(arguments: [(PushEvent.missed, "MISS_CALL"), (.chat, "IM"), (.voicemail, "IM")])
    func `shows what is to be read`(event: PushEvent, category: String) throws {
        #expect(try build(event)["push-type"] == "0")
        let body = try body(event) { $0.text = "hello" }
        #expect(body.at("payload.notification.category") == .string(category))
        #expect(body.at("payload.notification.clickAction.actionType") == .integer(0))
        #expect(body.at("payload.notification.clickAction.data.event") == .string(event.name))
        #expect(body.at("payload.extraData") == nil)
    }

    @Test(arguments: [PushEvent.cancel, .answeredElsewhere, .refresh, .refer])
    func `never uses a VoIP message for anything but a call`(event: PushEvent) throws {
        #expect(try build(event)["push-type"] == "6")
        #expect(try extra(body(event))["event"] == .string(event.name))
    }

    @Test(arguments: [#"","x":"1"#, "\\", "\u{0}\u{1F}", "Zoë 🦊", #"\"}]"#])
    func `lets no caller name break out of the text within the text`(name: String) throws {
        let body = try body(.call) { $0.fromDisplay = name }
        #expect(try extra(body)["display-name"] == .string(name))
    }

    @Test func `keeps a body within 4096 bytes whatever the caller is called`() throws {
        for name in [String(repeating: "\"", count: 5000), String(repeating: "x", count: 9000)] {
            #expect(try build(.call) { $0.fromDisplay = name }.body.count <= 4096)
        }
    }

    @Test(arguments: [(UInt32(0), Int64(1)), (604_800, 604_800), (2_419_200, 1_296_000)])
    func `is kept no longer than Huawei does`(wanted: UInt32, sent: Int64) throws {
        #expect(try body(.chat) { $0.timeToLive = wanted }.at("pushOptions.ttl") == .integer(sent))
    }

    // MARK: The token

    private static let file = #"""
        {"project_id":"3884","key_id":"k1","private_key":"PEM","sub_account":"100001","type":"x"}
        """#

    @Test func `hands its key over once, and is still told from an account with another key`() throws {
        var account = try HarmonyOSAccount(try #require(JSON.parse(Array(Self.file.utf8))))
        var other = try HarmonyOSAccount(try #require(JSON.parse(Self.file.replacing("PEM", with: "OTHER"))))
        #expect(account.takePrivateKey() == "PEM" && account.privateKey.isEmpty)
        _ = other.takePrivateKey()
        #expect(account != other)
    }

    @Test func `signs its tokens for an hour and renews them before`() throws {
        let account = try HarmonyOSAccount(try #require(JSON.parse(Array(Self.file.utf8))))
        var credential = HarmonyOSCredential(account)
        guard case .sign(let input) = credential.authorization(now: 1000) else {
            Issue.record("there was a token already")
            return
        }
        let parts = input.split(separator: UInt8(ascii: "."))
        let header = JSON.parse(try #require(Base64URL.decode(String(decoding: parts[0], as: UTF8.self))))
        let claims = JSON.parse(try #require(Base64URL.decode(String(decoding: parts[1], as: UTF8.self))))
        #expect(header?["alg"] == .string("PS256") && header?["kid"] == .string("k1"))
        #expect(claims?["iss"] == .string("100001"))
        #expect(claims?["aud"] == .string("https://oauth-login.cloud.huawei.com/oauth2/v3/token"))
        #expect(claims?["iat"] == .integer(1000) && claims?["exp"] == .integer(4600))
        let made = credential.signed(input, signature: [1, 2])
        expectEqual(credential.authorization(now: 3999), made)
        guard case .sign = credential.authorization(now: 4000) else {
            Issue.record("the token was not renewed")
            return
        }
        guard case .sign = credential.authorization(now: 900) else {
            Issue.record("the clock was set back")
            return
        }
    }

    @Test func `makes another token once when one is refused`() throws {
        var credential = HarmonyOSCredential(
            try HarmonyOSAccount(try #require(JSON.parse(Array(Self.file.utf8)))))
        _ = credential.authorization(now: 1000)
        _ = credential.signed([1], signature: [1])
        expectEqual(credential.refused(generation: 1, now: 1001), true)
        guard case .sign(let input) = credential.authorization(now: 1001) else {
            Issue.record("the refused token is still used")
            return
        }
        _ = credential.signed(input, signature: [2])
        expectEqual(credential.refused(generation: 2, now: 1002), false)
    }

    @Test(arguments: ["project_id", "key_id", "private_key", "sub_account"])
    func `names what is missing in its file`(member: String) throws {
        let text = Self.file.replacing("\"\(member)\"", with: "\"x\(member)\"")
        let file = try #require(JSON.parse(Array(text.utf8)))
        #expect { try HarmonyOSAccount(file) } throws: { ($0 as? HarmonyOSAccount.Problem)?.member == member }
    }

    // MARK: Answers

    @Test(arguments: [
        (200, "80000000", Outcome.accepted), (200, "80300007", .tokenGone), (200, "80100000", .tokenGone),
        (401, "80200001", .misconfigured), (401, "80200003", .misconfigured), (400, "80300002", .misconfigured),
        (400, "80100003", .rejected), (400, "80300008", .rejected), (500, "81000001", .unavailable),
        (503, "", .unavailable), (429, "", .throttled), (403, "", .misconfigured), (200, "", .unavailable),
        (400, "", .rejected), (429, "99999999", .throttled),
    ])
    func `is read by the code in the body, a text or a number`(status: Int, code: String, outcome: Outcome) {
        for written in ["\"\(code)\"", code] {
            let body = code.isEmpty ? nil : JSON.parse(Array(#"{"code":\#(written),"msg":"why"}"#.utf8))
            let verdict = HarmonyOSResponse.verdict(HTTPResponse(status: status), body)
            #expect(verdict.outcome == outcome)
            #expect((verdict.next == .renewCredential) == code.hasPrefix("80200"))
        }
    }

    /// A proxy that answered for Huawei may have handed the push on: a message that comes twice is shown twice.
    @Test func `is asked again after a success without a code where a second copy does no harm`() {
        let silent = HTTPResponse(status: 200)
        #expect(HarmonyOSResponse.verdict(silent, nil, isRepeatable: true).next == .retry(after: 2000))
        let once = HarmonyOSResponse.verdict(silent, nil, isRepeatable: false)
        #expect(once == Verdict(.unavailable, reason: "HTTP 200"))
        let busy = HTTPResponse(status: 503)
        #expect(HarmonyOSResponse.verdict(busy, nil, isRepeatable: false).next == .retry(after: 2000))
    }

    // MARK: A phone says so

    @Test(arguments: [
        "pn-provider=harmonyos;pn-prid=MAMzLg", "pn-provider=HarmonyOS;pn-prid=MAMzLg;pn-param=com.example.x",
    ])
    func `is a binding with or without the name of its app`(parameters: String) {
        var reader = RegistrationReader()
        reader.header(name: "Contact".utf8.span, value: "<sip:a@192.0.2.1;\(parameters)>".utf8.span)
        let bindings = reader.finish().bindings
        #expect(bindings.map(\.provider) == [.harmonyos] && bindings.map(\.token) == ["MAMzLg"])
    }
}
