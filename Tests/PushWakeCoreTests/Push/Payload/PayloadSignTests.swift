// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

private let token = String(repeating: "a", count: 64)
private let other = String(repeating: "b", count: 64)
private let fcm = "pn-provider=fcm;pn-param=p;pn-prid=t:APA91b"
private let apns = "pn-provider=apns;pn-param=ABCDE12345.com.example.phone.voip;pn-prid=\(token)"

@Suite struct `The payload that a REGISTER asks for` {
    private func signs(_ registration: Registration) -> [PayloadSign] {
        registration.bindings.map { PayloadSign(of: $0) }
    }

    private func signs(ofContact contact: String) -> [PayloadSign] {
        signs(Fixture.registration(of: ("Contact", contact)))
    }

    @Test(arguments: [
        (fcm, PayloadSign.none), (apns, .none),
        ("\(fcm);pn-silent=1;pn-timeout=0", .attribute(.silent)), ("\(fcm);pn-timeout=5", .attribute(.timeout)),
        ("\(apns);pn-call-str=IC_MSG", .attribute(.callText)), ("\(apns);pn-msg-str=IM", .attribute(.messageText)),
        ("\(apns);pn-groupchat-str=GC", .attribute(.groupChatText)),
        ("\(apns);pn-call-snd=a.caf", .attribute(.callSound)), ("\(apns);pn-msg-snd=a.caf", .attribute(.messageSound)),
        ("pn-provider=apns.dev;pn-param=T1.com.example.phone.voip;pn-prid=\(token)", .flexisipTokens),
        ("pn-provider=apns;pn-param=T1.com.example.phone.voip;pn-prid=\(token):voip", .flexisipTokens),
        ("pn-provider=apns;pn-param=T1.com.example.phone.voip&;pn-prid=\(token):voip&", .flexisipTokens),
        ("app-id=com.example.phone.voip.prod;pn-type=apple;pn-tok=\(token)", .legacyLinphone),
        ("push-token-type=android;push-token-app=com.example;push-token-id=t", .pushToken),
        ("pn-provider=acrobits;pn-param=com.example;pn-prid=t;pn-selector=s", .none),
        ("pn-provider=harmonyos;pn-prid=t", .none),
        ("pn-provider=webpush;pn-prid=https%3A%2F%2Fpush.example.net%2Fp", .none),
    ])
    func `follows from what only some apps send`(parameters: String, sign: PayloadSign) {
        #expect(signs(ofContact: "<sip:a@h;\(parameters)>") == [sign])
        #expect(signs(ofContact: "<sip:a@h>;\(parameters)") == [sign])
    }

    @Test func `is one for both tokens of a phone`() {
        let both = "pn-provider=apns;pn-param=T1.com.example.phone.voip&remote;pn-prid=\(token):voip&\(other):remote"
        #expect(signs(ofContact: "<sip:a@h;\(both)>") == [.flexisipTokens, .flexisipTokens])
    }

    @Test(arguments: ["<sip:a@h>", "<sip:a@h;\(fcm)>", "<sip:a@h;\(fcm);pn-silent=1>"])
    func `is Mizutech's where X-MPUSH is, whatever stands beside it`(contact: String) {
        let (mpush, other) = (("X-MPUSH", "a:com.example:t"), ("Contact", contact))
        #expect(signs(Fixture.registration(of: mpush, other)) == [.mpush])
        #expect(signs(Fixture.registration(of: other, mpush)) == [.mpush])
    }

    @Test func `is not known of a token that was given by hand`() throws {
        let binding = Binding(provider: .fcm, app: "p", token: "t", dialect: .given)
        #expect(PayloadSign(of: binding) == .none)
        let reported = try TokenReport.binding(
            .fcm, .standard, app: "p", token: "t", service: nil, attributes: Binding.Attributes())
        #expect(PayloadSign(of: reported) == .none)
    }

    @Test(arguments: [
        (PayloadSign.none, BuiltInPayloads.Family.plain), (.mpush, .mizutech), (.pushToken, .mizutech),
        (.flexisipTokens, .flexisip), (.legacyLinphone, .flexisip), (.attribute(.silent), .flexisip),
    ])
    func `is the one that such an app understands`(sign: PayloadSign, family: BuiltInPayloads.Family) {
        #expect(sign.family == family)
    }
}

@Suite struct `The payload setting` {
    private func choice(_ setting: String, _ binding: Binding) throws -> PayloadLibrary.Choice {
        try PayloadLibrary(PayloadFamilies(setting: setting)).choice(
            for: binding, webhook: .none, flexiAPI: FlexiAPIApps(Settings()))
    }

    private var linphone: Binding {
        var binding = Samples.voip
        binding.dialect = .flexisip
        return binding
    }

    @Test(arguments: [
        ("auto", "flexisip", "its token is labelled, or of apns.dev"), ("plain", "plain", "payload says so"),
        ("auto, fcm=mizutech", "flexisip", "its token is labelled, or of apns.dev"),
        ("auto, apns.com.example.phone=plain", "plain", "payload says so"),
        ("mizutech, apns=auto", "flexisip", "its token is labelled, or of apns.dev"),
        ("fcm=plain", "flexisip", "its token is labelled, or of apns.dev"),
    ])
    func `says which, and why`(setting: String, payload: String, reason: String) throws {
        #expect(try choice(setting, linphone) == PayloadLibrary.Choice(payload: payload, reason: reason))
    }

    @Test func `is auto by default`() {
        #expect(Settings().text(.payload) == "auto")
    }

    @Test func `gives each phone its own payload side by side`() throws {
        let library = try PayloadLibrary(PayloadFamilies(setting: "auto"))
        func members(_ binding: Binding) throws -> [String] {
            var out: [UInt8] = []
            let template = library.apns(app: binding.app, .voip, for: PayloadSign(of: binding).family)
            try #require(template).render(
                PayloadValues(binding: binding, content: Samples.content(.call)), into: &out)
            return try #require(JSON.parse(out)).memberNames
        }
        #expect(try members(Samples.voip).contains("uuid"))
        #expect(try members(linphone) == ["aps", "from-uri", "display-name", "pn_ttl", "customPayload"])
        #expect(try members(Samples.untyped) == ["aps", "data"])
    }

    @Test func `counts no more where a file of the operator's own is`() throws {
        var library = try PayloadLibrary(PayloadFamilies(setting: "auto"))
        try library.load(Array(#"{"own":1}"#.utf8), for: .apns)
        for binding in [Samples.voip, linphone, Samples.untyped] {
            var out: [UInt8] = []
            try #require(library.apns(app: "", .voip, for: PayloadSign(of: binding).family)).render(
                PayloadValues(binding: binding, content: Samples.content(.call)), into: &out)
            #expect(String(decoding: out, as: UTF8.self) == #"{"own":1}"#)
        }
        let chosen = library.choice(for: linphone, webhook: .none, flexiAPI: FlexiAPIApps(Settings()))
        #expect(chosen.payload == "own")
    }
}
