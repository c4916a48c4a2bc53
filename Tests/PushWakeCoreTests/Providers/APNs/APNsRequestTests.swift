// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `APNs request` {
    private let now: Int64 = 1_700_000_000

    private func build(
        _ binding: Binding = Samples.voip, _ content: PushContent = Samples.content(.call),
        _ type: APNsPushType = .voip, settings: APNsSettings = APNsSettings(), authorization: String = "bearer jwt"
    ) throws -> HTTPRequest {
        try APNsRequest.build(
            binding, content, type, payloads: PayloadLibrary(), settings: settings,
            authorization: Array(authorization.utf8), authority: "api.push.apple.com", id: Samples.id, now: now)
    }

    @Test func `knows the types by name`() {
        for type in APNsPushType.allCases { #expect(APNsPushType(name: type.name) == type) }
        #expect(APNsPushType(name: "loud") == nil)
    }

    @Test func `carries Apple's headers in HTTP's order`() throws {
        let request = try build()
        #expect(
            request.headerList.map { "\($0.name): \($0.value)" } == [
                ":method: POST", ":scheme: https", ":authority: api.push.apple.com",
                ":path: /3/device/0a1b2c3d4e5f", "authorization: bearer jwt",
                "apns-topic: com.example.phone.voip", "apns-push-type: voip", "apns-priority: 10",
                "apns-expiration: 1700000040", "apns-id: 01234567-89ab-4def-8123-456789abcdef",
            ])
        #expect(JSON.parse(request.body)?["call-id"] == .string("call-1@192.0.2.9"))
    }

    @Test func `keeps what is unique to one push out of the HPACK table`() throws {
        let request = try build(Samples.remote, Samples.content(.call), .alert)
        let unindexed = request.headerList.filter(\.isNeverIndexed).map(\.name)
        #expect(unindexed == [":path", "apns-id", "apns-collapse-id"])
    }

    @Test(arguments: [
        (PushEvent.call, TokenUse.voip, APNsPushType?.some(.voip)), (.call, .remote, .alert),
        (.chat, .voip, nil), (.chat, .remote, .alert), (.missed, .voip, nil), (.missed, .remote, .alert),
        (.cancel, .voip, nil), (.cancel, .remote, .alert), (.refresh, .voip, nil), (.refresh, .remote, .background),
        (.custom, .voip, nil), (.custom, .remote, .alert), (.answeredElsewhere, .voip, nil),
        (.answeredElsewhere, .remote, .alert), (.groupChat, .voip, nil), (.groupChat, .remote, .alert),
        (.voicemail, .voip, nil), (.voicemail, .remote, .alert), (.refer, .voip, nil), (.refer, .remote, .alert),
    ])
    func `is voip for a call only`(event: PushEvent, service: TokenUse, type: APNsPushType?) {
        #expect(APNsRequest.pushType(of: event, for: service) == type)
    }

    @Test(arguments: [(PushEvent.call, APNsPushType.voip), (.chat, .alert), (.refresh, .background)])
    func `takes a token of unknown kind as Mizutech does`(event: PushEvent, type: APNsPushType) {
        #expect(APNsRequest.pushType(of: event, for: nil) == type)
    }

    @Test(arguments: [(APNsPushType.voip, "10"), (.alert, "10"), (.background, "5")])
    func `has the priority that Apple asks for`(type: APNsPushType, priority: String) throws {
        #expect(try build(type: type)["apns-priority"] == priority)
    }

    @Test func `lets news of a mailbox wait, unless they are urgent`() throws {
        var builder = APNsRequestBuilder(
            payloads: try PayloadLibrary(.plain), settings: APNsSettings(), authority: "api.push.apple.com")
        func priority(_ event: PushEvent) throws -> String? {
            try builder.build(Samples.remote, Samples.content(event), .alert, id: Samples.id, now: 0)["apns-priority"]
        }
        expectEqual(try priority(.voicemail), "5")
        expectEqual(try priority(.chat), "10")
        expectEqual(try priority(.voicemail), "5")
        let urgent = APNsSettings(payload: PayloadSettings(isVoicemailUrgent: true))
        builder = APNsRequestBuilder(
            payloads: try PayloadLibrary(.plain), settings: urgent, authority: "api.push.apple.com")
        expectEqual(try priority(.voicemail), "10")
    }

    @Test func `lets news of one mailbox replace each other, and of no other`() throws {
        var content = Samples.content(.voicemail)
        let id = try #require(build(Samples.remote, content, .alert)["apns-collapse-id"])
        content.callID = "another"
        #expect(try build(Samples.remote, content, .alert)["apns-collapse-id"] == id)
        content.toURI = "sip:carol@example.com"
        #expect(try build(Samples.remote, content, .alert)["apns-collapse-id"] != id)
        #expect(id.utf8.count <= 64)
    }

    private func build(type: APNsPushType) throws -> HTTPRequest {
        try build(Samples.remote, Samples.content(.refresh), type)
    }

    @Test func `expires at once when the time to live is 0`() throws {
        var content = Samples.content(.call)
        content.timeToLive = 0
        #expect(try build(Samples.voip, content)["apns-expiration"] == "0")
    }

    @Test(arguments: [
        ("", APNsPushType.voip, String?.some("com.example.phone.voip")), ("set", .alert, "com.example.phone"),
        ("null", .voip, nil), ("packagename", .voip, "com.example.phone"), ("my.topic", .alert, "my.topic"),
    ])
    func `follows the topic rule`(setting: String, type: APNsPushType, topic: String?) throws {
        let request = try build(
            Samples.remote, Samples.content(.call), type, settings: APNsSettings(topic: APNsTopic(setting: setting)))
        #expect(request["apns-topic"] == topic)
    }

    @Test func `needs an app where the topic is made of it`() throws {
        var binding = Samples.voip
        binding.app = ""
        #expect(throws: PushFailure.unusableApp) { try build(binding) }
        let fixed = APNsSettings(topic: .fixed("my.topic"))
        #expect(try build(binding, Samples.content(.call), .voip, settings: fixed)["apns-topic"] == "my.topic")
    }

    @Test func `does not put a second suffix behind a voip topic`() throws {
        var binding = Samples.voip
        binding.app = "com.example.phone.voip"
        #expect(try build(binding)["apns-topic"] == "com.example.phone.voip")
        binding.service = .remote
        #expect(try build(binding, Samples.content(.chat), .alert)["apns-topic"] == "com.example.phone")
    }

    @Test(arguments: [("auto", String?.some("voip")), ("no", nil), ("alert", "voip")])
    func `leaves the push type out as told`(setting: String, type: String?) throws {
        let settings = APNsSettings(pushType: APNsPushTypeRule(setting: setting))
        #expect(try build(settings: settings)["apns-push-type"] == type)
    }

    @Test(
        arguments: [
            ("auto", APNsPushType.voip, nil, APNsPushType.voip), ("voip", .alert, .remote, .alert),
            ("alert", .voip, nil, .alert), ("alert", .background, .remote, .background), ("alert", .voip, .voip, .voip),
            ("background", .alert, .remote, .background), ("no", .alert, .remote, .alert),
        ] as [(String, APNsPushType, TokenUse?, APNsPushType)])
    func `takes another type for tokens that are not PushKit's`(
        setting: String, usual: APNsPushType, service: TokenUse?, type: APNsPushType
    ) {
        #expect(APNsPushTypeRule(setting: setting).type(insteadOf: usual, for: service) == type)
    }

    @Test func `shows the ringing of a phone without PushKit now or never`() throws {
        #expect(try build(Samples.remote, Samples.content(.call), .alert)["apns-expiration"] == "0")
        #expect(try build(Samples.remote, Samples.content(.missed), .alert)["apns-expiration"] == "1700000040")
    }

    @Test func `tells a phone without PushKit how long a call is of use all the same`() throws {
        let request = try APNsRequest.build(
            Samples.remote, Samples.content(.call), .alert, payloads: PayloadLibrary(.flexisip),
            settings: APNsSettings(), authorization: [], authority: "h", id: Samples.id, now: now)
        #expect(request["apns-expiration"] == "0")
        #expect(JSON.parse(request.body)?["pn_ttl"] == .integer(40))
    }

    @Test func `keeps the payloads of one app's phones apart`() throws {
        let library = try PayloadLibrary(PayloadFamilies(setting: "auto"))
        var builder = APNsRequestBuilder(payloads: library, settings: APNsSettings(), authority: "h")
        var linphone = Samples.voip
        linphone.attributes["pn-silent"] = "1"
        for _ in 0..<2 {
            let plain = try builder.build(Samples.voip, Samples.content(.call), .voip, id: Samples.id, now: now)
            #expect(JSON.parse(plain.body)?["event"] == .string("call"))
            let other = try builder.build(linphone, Samples.content(.call), .voip, id: Samples.id, now: now)
            #expect(JSON.parse(other.body)?.at("aps.call-id") == .string("call-1@192.0.2.9"))
        }
    }

    @Test func `has no authorization with a client certificate`() throws {
        #expect(try build(authorization: "")["authorization"] == nil)
    }

    /// `Samples.id` as its header field has it: a message is replaced by its own second copy alone.
    private static let ownID = "01234567-89ab-4def-8123-456789abcdef"

    @Test(arguments: [
        (PushEvent.call, APNsPushType.voip, String?.none), (.call, .alert, "call-1@192.0.2.9"),
        (.missed, .alert, "call-1@192.0.2.9"), (.cancel, .background, "call-1@192.0.2.9"),
        (.refer, .alert, "call-1@192.0.2.9"), (.refresh, .background, "refresh"), (.chat, .alert, Self.ownID),
        (.custom, .alert, Self.ownID), (.groupChat, .alert, Self.ownID), (.custom, .voip, nil),
    ])
    func `lets notices of one call replace each other`(event: PushEvent, type: APNsPushType, id: String?) throws {
        #expect(try build(Samples.remote, Samples.content(event), type)["apns-collapse-id"] == id)
    }

    @Test(arguments: [String(repeating: "x", count: 65), "a\r\nb", "späť", String(repeating: "y", count: 9000)])
    func `shortens a Call-ID that is not a collapse id`(callID: String) throws {
        var content = Samples.content(.missed)
        content.callID = callID
        if callID.utf8.count > 4096 {
            #expect(throws: PushFailure.payloadTooLarge) { try build(Samples.remote, content, .alert) }
            return
        }
        let id = try #require(build(Samples.remote, content, .alert)["apns-collapse-id"])
        #expect(id.utf8.count == 16)
        #expect(id.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
    }

    @Test(arguments: [
        "", "a/b", "a b", "a%2f", "a?b", "a#b", "a\nb", "a\u{0}b", "ä", "..", String(repeating: "a", count: 1025),
    ])
    func `is refused for a token that does not belong in a path`(token: String) {
        var binding = Samples.voip
        binding.token = token
        #expect(throws: PushFailure.unusableToken) { try build(binding) }
    }

    @Test(arguments: [
        "c-10-ap_Kt0:G7SThkASJx2K4Rm", "AbC+/=".replacing("/", with: "-"), String(repeating: "0", count: 200),
    ])
    func `does not assume a form or length of tokens`(token: String) throws {
        var binding = Samples.voip
        binding.token = token
        #expect(try build(binding)[":path"] == "/3/device/\(token)")
    }

    @Test(arguments: ["", "com.example\r\nx: y", "com example"])
    func `is refused for an app that does not belong in a header`(app: String) throws {
        var binding = Samples.remote
        binding.app = app
        #expect(throws: PushFailure.unusableApp) { try build(binding, Samples.content(.chat), .alert) }
    }

    @Test(arguments: [(APNsPushType.voip, 5120), (.alert, 4096)])
    func `fills the payload limit of its type and no more`(type: APNsPushType, limit: Int) throws {
        var content = Samples.content(.call)
        let empty = try build(Samples.remote, content, type).body.count
        content.callID = String(repeating: "c", count: limit - empty + content.callID.utf8.count)
        #expect(try build(Samples.remote, content, type).body.count == limit)
        content.callID += "c"
        let shorter = try build(Samples.remote, content, type)
        #expect(shorter.body.count <= limit)
        #expect(JSON.parse(shorter.body)?["call-id"] == .string(content.callID))
    }
}
