// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Web Push request` {
    private func build(
        _ url: String = "https://updates.push.services.mozilla.com/wpush/v2/gAAA?x=1", event: PushEvent = .call,
        attributes: [String: String] = [:], settings: WebPushSettings = WebPushSettings(),
        authorization: String = "vapid t=a, k=b", isDeclarative: Bool = false, title: String = ""
    ) throws -> (origin: HTTPOrigin, request: HTTPRequest) {
        var binding = Binding(provider: .webpush, token: url, dialect: .rfc8599)
        for (name, value) in attributes { binding.attributes[name] = value }
        var content = Samples.content(event)
        content.title = title
        return try WebPushRequest.build(
            binding, content, payloads: PayloadLibrary(isDeclarative: isDeclarative), settings: settings,
            authorization: Array(authorization.utf8), crypto: RFC8291Crypto(), now: 1_700_000_000)
    }

    @Test func `is empty without keys of the phone`() throws {
        let (origin, request) = try build()
        #expect(origin == HTTPOrigin(host: "updates.push.services.mozilla.com"))
        #expect(request.body.isEmpty)
        #expect(
            request.headerList.prefix(7).map { "\($0.name): \($0.value)" } == [
                ":method: POST", ":scheme: https", ":authority: updates.push.services.mozilla.com",
                ":path: /wpush/v2/gAAA?x=1", "authorization: vapid t=a, k=b", "ttl: 40", "urgency: high",
            ])
        #expect(request["content-encoding"] == nil)
    }

    @Test func `carries the payload encrypted when there are keys`() throws {
        let request = try build(attributes: ["pn-p256dh": RFC8291.phonePublicText, "pn-auth": RFC8291.authText]).request
        #expect(request["content-encoding"] == "aes128gcm")
        #expect(request["content-type"] == "application/octet-stream")
        // The cipher of the tests leaves the text readable.
        let payload = JSON.parse(Array(request.body[86..<(request.body.count - 17)]))
        #expect(payload?["event"] == .string("call"))
        #expect(payload?["call-id"] == .string("call-1@192.0.2.9"))
    }

    private static let keys = ["pn-p256dh": RFC8291.phonePublicText, "pn-auth": RFC8291.authText]

    private func declarative(_ event: PushEvent, title: String = "") throws -> (type: String?, payload: JSONValue?) {
        let request = try build(
            event: event, attributes: Self.keys,
            settings: WebPushSettings(payload: PayloadSettings(navigate: "https://phone.example.com/")),
            isDeclarative: true, title: title
        ).request
        #expect(request["content-encoding"] == "aes128gcm")
        return (request["content-type"], JSON.parse(Array(request.body[86..<(request.body.count - 17)])))
    }

    @Test(arguments: [(PushEvent.chat, "Message from Alice"), (.missed, "Missed call from Alice")])
    func `tells the browser what to show of a message or a missed call`(event: PushEvent, title: String) throws {
        let (type, payload) = try declarative(event)
        #expect(type == "application/notification+json")
        #expect(payload?["web_push"] == .integer(8030))
        #expect(payload?.at("notification.title") == .string(title))
        #expect(payload?.at("notification.navigate") == .string("https://phone.example.com/"))
        #expect(payload?.at("notification.data.call-id") == .string("call-1@192.0.2.9"))
        #expect(payload?["event"] == .string(event.name))
    }

    @Test(arguments: [PushEvent.call, .cancel, .refresh, .refer])
    func `leaves what rings or shows nothing to the service worker`(event: PushEvent) throws {
        let (type, payload) = try declarative(event)
        #expect(type == "application/octet-stream")
        #expect(payload?["web_push"] == nil)
    }

    @Test func `is not declarative without a title, which browsers want`() throws {
        #expect(try declarative(.chat, title: "null").type == "application/octet-stream")
    }

    @Test func `takes keys in plain base64 with padding`() throws {
        let plain = { (text: String) in
            let digits = text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
            return String(digits) + String(repeating: "=", count: (4 - digits.count % 4) % 4)
        }
        let attributes = ["pn-p256dh": plain(RFC8291.phonePublicText), "pn-auth": plain(RFC8291.authText)]
        #expect(attributes["pn-auth"]?.hasSuffix("==") == true && attributes["pn-p256dh"]?.contains("+") == true)
        #expect(try build(attributes: attributes).request["content-encoding"] == "aes128gcm")
    }

    @Test(arguments: [("", "x"), ("AAAA", "AAAA"), ("!", "!")]) func `is refused with unusable keys`(
        key: String, auth: String
    ) {
        #expect(throws: PushFailure.unusableKeys) { try build(attributes: ["pn-p256dh": key, "pn-auth": auth]) }
    }

    @Test(arguments: [
        (PushEvent.call, "high"), (.refresh, "normal"), (.chat, "high"), (.missed, "normal"), (.refer, "high"),
        (.voicemail, "normal"),
    ])
    func `is as urgent as its event`(event: PushEvent, urgency: String) throws {
        #expect(try build(event: event).request["urgency"] == urgency)
    }

    @Test func `has a topic of at most 32 base64url characters where events replace each other`() throws {
        let call = try #require(build(event: .call).request["topic"])
        #expect(call.utf8.count == 16)
        #expect(try build(event: .cancel).request["topic"] == call)
        #expect(try build(event: .refresh).request["topic"] == "refresh")
        #expect(try build(event: .chat).request["topic"] == nil)
        #expect(try build(event: .voicemail).request["topic"]?.utf8.count == 16)
        #expect(try build(event: .voicemail).request["topic"] != call)
    }

    @Test(arguments: [
        "http://updates.push.services.mozilla.com/x", "https://evil.example/x", "https://127.0.0.1/x",
        "https://localhost/x",
        "https://[::1]/x", "https://10.0.0.1/x", "https://push.services.mozilla.com.evil.example/x", "", "nonsense",
        "https://user@fcm.googleapis.com/x", "https://xfcm.googleapis.com/x", "https://fcm.googleapis.com/a b",
        "https://fcm.googleapis.com/a\r\nb", "https://fcm.googleapis.com@127.0.0.1/",
    ])
    func `is refused for a URL that leads elsewhere`(url: String) {
        #expect(throws: PushFailure.forbiddenURL) { try build(url) }
    }

    @Test(arguments: [
        "https://fcm.googleapis.com/fcm/send/x", "https://web.push.apple.com/Q",
        "https://db5p.notify.windows.com/w/?t=x",
    ])
    func `knows the services of the browsers`(url: String) throws {
        #expect("https://\(try build(url).origin.host)\(try build(url).request[":path"] ?? "")" == url)
    }

    @Test func `takes any public host, or a private one that is written out, when told to`() throws {
        let any = WebPushSettings(hosts: ["*", "*.local"])
        #expect(try build("https://ntfy.sh/up1", settings: any).origin.host == "ntfy.sh")
        for host in ["192.168.1.5", "push.local"] {
            #expect(throws: PushFailure.forbiddenURL) { try build("https://\(host)/up1", settings: any) }
            let own = WebPushSettings(hosts: ["*", host])
            #expect(try build("https://\(host)/up1", settings: own).request[":path"] == "/up1")
        }
    }
}

@Suite struct `Private address` {
    @Test(arguments: [
        "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "10.1.2.3", "172.16.0.1",
        "172.31.255.255", "192.168.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255",
        "198.18.0.1", "192.0.2.1", "203.0.113.9", "::", "::1", "fe80::1", "fc00::1", "fd12:3456::1", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:7f00:1", "64:ff9b::10.0.0.1", "2002:7f00:1::", "2001:db8::1", "2001::1",
        "fe80::1%eth0",
        "localhost", "db", "x.localhost", "printer.local", "metadata.google.internal", "::1::2", "1:2:3", "",
    ])
    func `is not public`(host: String) { #expect(PrivateAddress.isPrivate(host: host)) }

    @Test(arguments: [
        "8.8.8.8", "172.15.0.1", "172.32.0.1", "192.167.1.1", "100.128.0.1", "2606:4700::1111", "2001:4860:4860::8888",
        "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "ntfy.sh", "fcm.googleapis.com", "2a00:1450:4001:812::200a",
        "a1.example1",
    ])
    func `is public`(host: String) { #expect(!PrivateAddress.isPrivate(host: host)) }
}
