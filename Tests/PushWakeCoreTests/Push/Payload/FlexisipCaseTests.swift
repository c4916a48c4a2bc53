// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// From the Contact of a REGISTER to the request on the wire, for the forms that Flexisip's users have.
@Suite struct `A Contact in Flexisip's forms` {
    private static let remote = String(repeating: "R", count: 64)
    private static let voip = String(repeating: "V", count: 64)

    /// What a push must look like; nil where there is none.
    struct Expected: Sendable {
        let type: String
        let token: String
        let topic: String

        static let voipCall = Expected(type: "voip", token: voip, topic: "org.example.phone.voip")
        static let alert = Expected(type: "alert", token: remote, topic: "org.example.phone")
    }

    private func bindings(_ parameters: String) -> [Binding] {
        var reader = RegistrationReader()
        let name = "Contact"
        let value = "<sip:bob@192.0.2.1:5060;\(parameters)>;+sip.instance=\"<urn:uuid:1>\""
        reader.header(name: name.utf8.span, value: value.utf8.span)
        return reader.finish(aor: "bob", callID: "r", cseq: 1).bindings
    }

    private func requests(_ event: PushEvent, _ bindings: [Binding]) throws -> [HTTPRequest] {
        let library = try PayloadLibrary(.flexisip)
        return try Plan(event, bindings, isAwake: bindings.map { _ in false }).pushes.map { push in
            let type = try #require(push.type)
            return try APNsRequest.build(
                bindings[push.index], Samples.content(event), type, payloads: library, settings: APNsSettings(),
                authorization: [], authority: "api.push.apple.com", id: Samples.id, now: 0)
        }
    }

    private func check(_ request: HTTPRequest?, _ expected: Expected?) {
        #expect(request?["apns-push-type"] == expected?.type)
        #expect(request?[":path"] == expected.map { "/3/device/\($0.token)" })
        #expect(request?["apns-topic"] == expected?.topic)
    }

    @Test(arguments: [
        ("\(remote)&\(voip);pn-param=T.org.example.phone", Expected?.none, Expected?.none),
        ("\(remote):remote;pn-param=T.org.example.phone.remote&voip", nil, nil),
        ("\(remote):remote;pn-param=T.org.example.phone.remote&remote", .alert, .alert),
        ("\(remote):remote;pn-param=T.org.example.phone", .alert, .alert),
        ("\(remote)%3Aremote%26\(voip)%3Avoip;pn-param=T.org.example.phone.remote%26voip", .voipCall, .alert),
        ("\(remote);pn-param=T.org.example.phone", .alert, .alert),
        ("\(remote):remote;pn-param=T.org.example.phone.remote", .alert, .alert),
        ("\(remote):remote&\(voip):voip;pn-param=T.org.example.phone.remote&voip", .voipCall, .alert),
        ("\(voip):voip&\(remote):remote;pn-param=T.org.example.phone.voip&remote", .voipCall, .alert),
        ("\(voip);pn-param=T.org.example.phone.voip", .voipCall, nil),
    ])
    func `is pushed with the token that fits the request`(form: String, call: Expected?, chat: Expected?) throws {
        let found = bindings("pn-provider=apns;pn-prid=\(form)")
        let calls = try requests(.call, found)
        let chats = try requests(.chat, found)
        #expect(calls.count <= 1)
        #expect(chats.count <= 1)
        check(calls.first, call)
        check(chats.first, chat)
    }

    @Test func `goes to the sandbox for apns.dev`() {
        let found = bindings("pn-provider=apns.dev;pn-prid=\(Self.voip);pn-param=T.org.example.phone.voip")
        #expect(found.map(\.environment) == [.sandbox])
        #expect(Plan(.chat, found, isAwake: [false]).skipped == [.init(index: 0, reason: .voipTokenOnly)])
    }

    @Test func `keeps the whole of a long token`() {
        let token = String(repeating: "k", count: 255)
        let found = bindings("pn-provider=fcm;pn-prid=\(token);pn-param=1")
        #expect(found.map(\.token) == [token])
        #expect(Plan(.call, found, isAwake: [false]).pushes.count == 1)
    }

    @Test(arguments: ["acme", "apns.prod"]) func `gets nothing under another provider`(provider: String) {
        #expect(bindings("pn-provider=\(provider);pn-prid=x;pn-param=T.org.example.phone").isEmpty)
    }

    @Test func `carries its own string and sound, with the priority that Apple asks for`() throws {
        let found = bindings(
            "pn-provider=apns;pn-prid=\(Self.remote):remote&\(Self.voip):voip;pn-param=T.org.example.phone.remote&voip;pn-call-str=IC;pn-msg-str=IM;pn-msg-snd=ding.caf"
        )
        let call = try #require(requests(.call, found).first)
        let chat = try #require(requests(.chat, found).first)
        #expect(call["apns-priority"] == "10")
        #expect(JSON.parse(call.body)?.at("aps.loc-key") == .string("IC"))
        #expect(JSON.parse(chat.body)?.at("aps.alert.loc-key") == .string("IM"))
        #expect(JSON.parse(chat.body)?.at("aps.sound") == .string("ding.caf"))
        #expect(try requests(.refresh, found).first?["apns-priority"] == "5")
    }
}
