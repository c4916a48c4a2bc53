// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `FCM request` {
    private func build(
        _ binding: Binding = Samples.android, _ content: PushContent = Samples.content(.call),
        project: String = "demo-1"
    ) throws -> HTTPRequest {
        try FCMRequest.build(
            binding, content, payloads: PayloadLibrary(), settings: FCMSettings(project: project),
            authorization: Array("Bearer at".utf8), authority: "fcm.googleapis.com", now: 1_700_000_000)
    }

    @Test func `posts to the project`() throws {
        let request = try build()
        #expect(
            request.headerList.map { "\($0.name): \($0.value)" } == [
                ":method: POST", ":scheme: https", ":authority: fcm.googleapis.com",
                ":path: /v1/projects/demo-1/messages:send", "authorization: Bearer at",
                "content-type: application/json",
            ])
    }

    @Test func `wakes the app with data and shows nothing itself`() throws {
        let message = try #require(JSON.parse(build().body)?["message"])
        #expect(message.memberNames == ["token", "data", "android"])
        #expect(message["token"] == .string("c-10-ap_Kt0:APA91bF"))
        #expect(message.at("android.priority") == .string("high"))
        #expect(message.at("android.ttl") == .string("40s"))
        #expect(message.at("data.event") == .string("call"))
        #expect(message.at("data.call-id") == .string("call-1@192.0.2.9"))
    }

    @Test(arguments: PushEvent.allCases)
    func `has strings only in its data`(event: PushEvent) throws {
        guard
            case .object(let members) = JSON.parse(try build(Samples.android, Samples.content(event)).body)?
                .at("message.data")
        else {
            Issue.record("no data")
            return
        }
        #expect(!members.isEmpty)
        #expect(members.allSatisfy { $0.value.string != nil })
    }

    @Test(arguments: [
        (UInt32(0), "0s"), (42, "42s"), (2_419_200, "2419200s"), (2_419_201, "2419200s"), (.max, "2419200s"),
    ])
    func `caps the time to live at four weeks`(seconds: UInt32, text: String) throws {
        var content = Samples.content(.call)
        content.timeToLive = seconds
        #expect(JSON.parse(try build(Samples.android, content).body)?.at("message.android.ttl") == .string(text))
    }

    @Test func `carries Apple's headers to an iPhone behind FCM`() throws {
        var binding = Samples.android
        binding.attributes["pn-platform"] = "iOS"
        let message = try #require(JSON.parse(build(binding).body)?["message"])
        #expect(message.memberNames == ["token", "data", "apns"])
        #expect(message.at("apns.headers.apns-priority") == .string("10"))
        #expect(message.at("apns.payload.aps.alert.body") == .string("Incoming VoIP call from Alice"))
    }

    /// Google has no VoIP push, and knows the topic of the app.
    @Test(arguments: BuiltInPayloads.Family.allCases, PushEvent.allCases)
    func `asks Apple for no VoIP push and no topic`(family: BuiltInPayloads.Family, event: PushEvent) throws {
        let headers = try #require(try apple(PayloadLibrary(family), event))
        #expect(headers["apns-push-type"] == .string(event == .refresh ? "background" : "alert"))
        #expect(headers["apns-topic"] == nil)
        #expect(headers["apns-priority"] != .string("10") || event != .refresh)
    }

    @Test func `asks for none whatever a template of the operator's own says`() throws {
        var library = try PayloadLibrary()
        let source = """
            {"message":{"token":"TOKEN","apns":{"headers":{"apns-push-type":"PUSHTYPE","apns-topic":"PACKAGE.voip"}}}}
            """
        try library.load(Array(source.utf8), for: .fcm)
        #expect(try apple(library, .call)?.memberNames == ["apns-push-type"])
        #expect(try apple(library, .call)?["apns-push-type"] == .string("alert"))
    }

    private func apple(_ library: PayloadLibrary, _ event: PushEvent) throws -> JSONValue? {
        var binding = Samples.android
        binding.attributes["pn-platform"] = "ios"
        let request = try FCMRequest.build(
            binding, Samples.content(event), payloads: library, settings: FCMSettings(project: "demo-1"),
            authorization: Array("Bearer at".utf8), authority: "fcm.googleapis.com", now: 1_700_000_000)
        return JSON.parse(request.body)?.at("message.apns.headers")
    }

    @Test func `refreshes with normal priority`() throws {
        let body = try build(Samples.android, Samples.content(.refresh)).body
        #expect(JSON.parse(body)?.at("message.android.priority") == .string("normal"))
    }

    @Test func `stays below 4096 bytes`() throws {
        var content = Samples.content(.chat, text: String(repeating: "x", count: 10_000))
        let request = try build(Samples.android, content)
        #expect(request.body.count <= 4096)
        #expect(JSON.parse(request.body)?.at("message.data.call-id") == .string("call-1@192.0.2.9"))
        content.callID = String(repeating: "c", count: 4096)
        #expect(throws: PushFailure.payloadTooLarge) { try build(Samples.android, content) }
    }

    @Test func `takes the longest token that a REGISTER may have`() throws {
        var binding = Samples.android
        binding.token = String(repeating: "k", count: SIPLimits.longestToken)
        let body = JSON.parse(try build(binding).body)
        #expect(body?.at("message.token") == .string(binding.token))
        #expect(body?.at("message.data.call-id") == .string("call-1@192.0.2.9"))
    }

    @Test(arguments: ["", "a/b", "a\r\nb"])
    func `is refused for a project that does not belong in a path`(project: String) {
        #expect(throws: PushFailure.unusableApp) { try build(project: project) }
    }

    @Test func `takes any bytes in a token, but not none`() throws {
        var binding = Samples.android
        binding.token = "a\"b\\c\n"
        #expect(JSON.parse(try build(binding).body)?.at("message.token") == .string("a\"b\\c\n"))
        binding.token = ""
        #expect(throws: PushFailure.unusableToken) { try build(binding) }
    }
}
