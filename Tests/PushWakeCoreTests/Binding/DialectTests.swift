// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

private let remote = String(repeating: "R", count: 64)
private let voip = String(repeating: "V", count: 64)

/// A binding in short: provider, environment, team, app, service and token.
private func brief(_ registration: Registration) -> [String] {
    registration.bindings.map {
        "\($0.provider.name) \($0.environment.name) \($0.team)|\($0.app) \($0.service?.name ?? "-") \($0.token)"
    }
}

@Suite struct `A Contact that binds` {
    @Test func `names all providers in words`() {
        let names = Provider.names()
        #expect(names.hasPrefix("apns, ") && names == Provider.names(beforeLast: "or").replacing(" or ", with: ", "))
    }

    @Test(arguments: [
        // RFC 8599, 10: the last dot starts the service, when it is one.
        (
            "pn-provider=apns;pn-param=DEF123GHIJ.com.example.yourexampleapp.voip;pn-prid=00fc13adff78512",
            ["apns default DEF123GHIJ|com.example.yourexampleapp voip 00fc13adff78512"]
        ),
        ("pn-provider=apns;pn-param=T.single.voip;pn-prid=00", ["apns default T|single voip 00"]),
        ("pn-provider=apns;pn-param=T.com.example.app;pn-prid=00", ["apns default T|com.example.app remote 00"]),
        ("pn-provider=apns;pn-param=T.voip;pn-prid=00", ["apns default T|voip remote 00"]),
        ("pn-provider=apns;pn-param=T.com.example.Voip;pn-prid=00", ["apns default T|com.example.Voip remote 00"]),
        // Mizutech's phones leave the team out.
        ("pn-provider=apns;pn-param=com.example.phone;pn-prid=00", ["apns default |com.example.phone remote 00"]),
        ("pn-provider=apns;pn-param=com.example.phone.voip;pn-prid=00", ["apns default |com.example.phone voip 00"]),
        // Names in any case, values as they are, but for the digits of a token.
        ("PN-Provider=APNS;Pn-Param=T.Com.App;PN-PRID=aBc", ["apns default T|Com.App remote abc"]),
        (
            "transport=tls;ob;pn-provider=fcm;gr=urn:x;pn-param=p-1;lr;pn-prid=fGx:APA91b-_",
            ["fcm default |p-1 - fGx:APA91b-_"]
        ),
        // Web Push: escaped and half raw are one URL, `%253D` is decoded once.
        (
            "pn-provider=webpush;pn-prid=https%3A%2F%2Fpush.example.net%2Fp%2Fa%3Fb%3Dc",
            ["webpush default | - https://push.example.net/p/a?b=c"]
        ),
        (
            "pn-provider=webpush;pn-prid=https://push.example.net/p/a%3Fb%3Dc",
            ["webpush default | - https://push.example.net/p/a?b=c"]
        ),
        (
            "pn-provider=webpush;pn-prid=https://push.example.net/p%3Fx%253D1",
            ["webpush default | - https://push.example.net/p?x%3D1"]
        ),
        // Flexisip
        (
            "pn-provider=apns;pn-prid=\(remote):remote&\(voip):voip;pn-param=T.org.example.phone.remote&voip",
            ["apns default T|org.example.phone remote \(remote)", "apns default T|org.example.phone voip \(voip)"]
        ),
        (
            "pn-provider=apns;pn-prid=\(voip):voip&\(remote):remote;pn-param=T.org.example.phone.voip&remote",
            ["apns default T|org.example.phone voip \(voip)", "apns default T|org.example.phone remote \(remote)"]
        ),
        (
            "pn-provider=apns;pn-prid=\(remote)%3Aremote%26\(voip)%3Avoip;pn-param=T.org.example.phone.remote%26voip",
            ["apns default T|org.example.phone remote \(remote)", "apns default T|org.example.phone voip \(voip)"]
        ),
        (
            "pn-provider=apns;pn-prid=\(voip):voip&\(remote);pn-param=T.org.example.phone.voip&remote",
            ["apns default T|org.example.phone voip \(voip)", "apns default T|org.example.phone remote \(remote)"]
        ),
        (
            "pn-provider=apns;pn-prid=\(remote);pn-param=T.org.example.phone",
            ["apns default T|org.example.phone remote \(remote)"]
        ),
        (
            "pn-provider=apns;pn-prid=\(remote):remote;pn-param=T.org.example.phone",
            ["apns default T|org.example.phone remote \(remote)"]
        ),
        (
            "pn-provider=apns;pn-prid=\(remote):remote;pn-param=T.org.example.phone.remote",
            ["apns default T|org.example.phone remote \(remote)"]
        ),
        (
            "pn-provider=apns;pn-prid=\(remote):remote;pn-param=T.org.example.phone.remote&remote",
            ["apns default T|org.example.phone remote \(remote)"]
        ),
        (
            "pn-provider=apns;pn-prid=\(voip);pn-param=T.org.example.phone.voip",
            ["apns default T|org.example.phone voip \(voip)"]
        ),
        (
            "pn-provider=apns;pn-prid=\(voip):voip;pn-param=T.org.example.phone.voip",
            ["apns default T|org.example.phone voip \(voip)"]
        ),
        (
            "pn-provider=apns.dev;pn-prid=\(voip);pn-param=T.org.example.phone.voip",
            ["apns sandbox T|org.example.phone voip \(voip)"]
        ),
        // One of the two tokens is not there yet (linphone-iphone, issue 853).
        (
            "pn-provider=apns;pn-prid=\(voip):voip&;pn-param=T.org.example.phone.voip&",
            ["apns default T|org.example.phone voip \(voip)"]
        ),
        (
            "pn-provider=apns;pn-prid=&\(remote):remote;pn-param=T.org.example.phone.voip&remote",
            ["apns default T|org.example.phone remote \(remote)"]
        ),
        (
            "pn-provider=apns;pn-prid=\(voip)&;pn-param=T.org.example.phone.voip",
            ["apns default T|org.example.phone voip \(voip)"]
        ),
        // Wrong names that mean nothing else.
        ("pn-provider=firebase;pn-param=my-project;pn-prid=fTMB:APA91b", ["fcm default |my-project - fTMB:APA91b"]),
        ("pn-provider=Android;pn-param=my-project;pn-prid=fTMB:APA91b", ["fcm default |my-project - fTMB:APA91b"]),
        (
            "pn-provider=apns;pn-prid=short;pn-param=ABCD1234.org.example.phone",
            ["apns default ABCD1234|org.example.phone remote short"]
        ),
        (
            "pn-provider=apns;pn-prid=00;pn-param=T.org.example.phone.complication",
            ["apns default T|org.example.phone complication 00"]
        ),
        (
            "pn-provider=apns;pn-prid=00;pn-param=T.org.example.phone.fileprovider",
            ["apns default T|org.example.phone fileprovider 00"]
        ),
        (
            "pn-provider=apns;pn-prid=00;pn-param=T.org.example.phone.pushtotalk",
            ["apns default T|org.example.phone pushtotalk 00"]
        ),
        (
            "pn-provider=apns;pn-prid=00;pn-param=T.org.example.phone.Complication",
            ["apns default T|org.example.phone.Complication remote 00"]
        ),
        ("pn-provider=acrobits;pn-prid=x;pn-param=1", ["acrobits default |1 - x"]),
        // Older forms
        (
            "pn-type=apple;app-id=fr.bc-appId.test.dev;pn-tok=pnTok.tok",
            ["apns sandbox |fr.bc-appId.test remote pnTok.tok"]
        ),
        (
            "pn-type=apple;app-id=fr.bc-appId.test;pn-tok=pnTok.toktok",
            ["apns default |fr.bc-appId.test remote pnTok.toktok"]
        ),
        ("pn-type=apple;app-id=x.y.voip.prod;pn-tok=00", ["apns production |x.y voip 00"]),
        (
            "pn-type=firebase;app-id=fr.bc-appId.test;pn-tok=pnTok.toktok",
            ["fcm default |fr.bc-appId.test - pnTok.toktok"]
        ),
        ("pn-type=google;app-id=123456;pn-tok=t:t", ["fcm default |123456 - t:t"]),
        ("push-token-type=apple;push-token-app=com.x;push-token-id=00", ["apns default |com.x - 00"]),
        ("push-token-type=w;push-token-id=https://h/x", ["webpush default | - https://h/x"]),
        // RFC 8599 counts where two dialects meet.
        ("pn-type=apple;app-id=x.y;pn-tok=00;pn-provider=fcm;pn-param=p;pn-prid=t", ["fcm default |p - t"]),
    ])
    func `is understood`(parameters: String, expected: [String]) {
        let registration = Fixture.contact(parameters)
        #expect(brief(registration) == expected)
        #expect(registration.problems.isEmpty)
    }

    @Test func `carries a token of any length a phone may have`() {
        for count in [15, 64, 254, 255, 256, 2000, 4096] {
            let token = String(repeating: "k", count: count)
            #expect(
                brief(Fixture.contact("pn-provider=fcm;pn-param=1;pn-prid=\(token)")) == ["fcm default |1 - \(token)"])
        }
    }

    @Test(arguments: [511, 512, 513, 2000])
    func `may be longer than Kamailio's contact limit`(length: Int) {
        let tail = ";pn-provider=fcm;pn-param=p;pn-prid=t"
        let uri = "sip:alice@10.0.0.5;x=" + String(repeating: "y", count: length - 21 - tail.utf8.count) + tail
        #expect(uri.utf8.count == length)
        let registration = Fixture.registration(of: ("Contact", "<\(uri)>"))
        #expect(registration.bindings.map(\.contact) == [uri])
    }

    @Test func `may say it in header parameters, the URI's word first`() {
        let header = Fixture.registration(
            of: ("Contact", "<sip:a@h>;pn-provider=fcm;pn-param=p;pn-prid=\"t:1\";expires=9"))
        #expect(brief(header) == ["fcm default |p - t:1"])
        #expect(header.contacts.first?.expires == 9)
        let bare = Fixture.registration(of: ("Contact", "sip:a@h;pn-provider=fcm;pn-param=p;pn-prid=t"))
        #expect(brief(bare) == ["fcm default |p - t"])
        let both = Fixture.registration(
            of: ("Contact", "<sip:a@h;pn-provider=fcm;pn-param=p;pn-prid=uri>;pn-prid=header"))
        #expect(brief(both) == ["fcm default |p - uri"])
        let quoted = Fixture.registration(of: ("Contact", "\";pn-prid=x, <sip:b@h>\" <sip:a@h>"))
        #expect(quoted.contacts.map(\.uri) == ["sip:a@h"] && quoted.contacts.first?.push == PushRequest.none)
    }

    @Test func `keeps attributes and leaves out senseless ones`() {
        let registration = Fixture.contact(
            "pn-provider=fcm;pn-param=p;pn-prid=t;pn-timeout=5abc;PN-CALL-STR=Anruf%20f%C3%BCr%20dich;pn-msg-snd=;pn-new=1"
        )
        #expect(
            registration.bindings.first?.attributes.entries == [.init(name: "pn-call-str", value: "Anruf für dich")])
        #expect(registration.problems.map(\.code) == [.badNumber])
        #expect(registration.problems.map(\.parameter) == ["pn-timeout"])
    }

    @Test(arguments: [
        ("pn-auth=BTBZMqHH6r4Tts7J_aSIgg", ["pn-p256dh"]),
        ("pn-p256dh=\(RFC8291.phonePublicText)", ["pn-auth"]),
        ("pn-p256dh=\(RFC8291.phonePublicText);pn-auth=BTBZMqHH6r4T", ["pn-auth"]),
        ("pn-p256dh=BTBZMqHH6r4Tts7J_aSIgg;pn-auth=x", ["pn-p256dh", "pn-auth"]),
        ("pn-p256dh=%21;pn-auth=BTBZMqHH6r4Tts7J_aSIgg", ["pn-p256dh"]),
    ])
    func `of Web Push goes without keys that cannot be used`(keys: String, parameters: [String]) {
        let registration = Fixture.contact("pn-provider=webpush;pn-prid=https://h/x;\(keys)")
        #expect(brief(registration) == ["webpush default | - https://h/x"])
        #expect(registration.bindings.first?.attributes.isEmpty == true)
        #expect(registration.problems.map(\.parameter) == parameters)
        #expect(registration.problems.allSatisfy { $0.isWarning })
    }

    @Test func `of Web Push ignores pn-param with a warning`() {
        let registration = Fixture.contact("pn-provider=webpush;pn-prid=https://h/x;pn-param=1")
        #expect(brief(registration) == ["webpush default | - https://h/x"])
        #expect(registration.problems.map(\.code) == [.unusedParameter])
    }
}

@Suite struct `A Contact that cannot be used` {
    @Test(arguments: [
        ("pn-provider=acme;pn-param=1;pn-prid=x", Problem.Code.unknownProvider, "pn-provider"),
        ("pn-provider=apns.prod;pn-param=T.org.example.phone;pn-prid=\(remote)", .unknownProvider, "pn-provider"),
        ("pn-type=anyOtherSource;app-id=fr.test;pn-tok=x", .unknownProvider, "pn-type"),
        ("push-token-type=palm;push-token-app=x;push-token-id=x", .unknownProvider, "push-token-type"),
        ("pn-provider=apns;pn-prid=00", .missingParameter, "pn-param"),
        ("pn-provider=apns;pn-param=;pn-prid=00", .missingParameter, "pn-param"),
        ("pn-provider=apns;pn-param=T;pn-prid=00", .missingParameter, "pn-param"),
        ("pn-provider=apns;pn-param=T.;pn-prid=00", .missingParameter, "pn-param"),
        ("pn-provider=apns;pn-param=.com.app;pn-prid=00", .missingParameter, "pn-param"),
        ("pn-provider=fcm;pn-prid=x", .missingParameter, "pn-param"),
        ("pn-provider=acrobits;pn-prid=x", .missingParameter, "pn-param"),
        ("pn-param=p;pn-prid=x", .missingParameter, "pn-provider"),
        ("pn-provider=;pn-param=p;pn-prid=x", .missingParameter, "pn-provider"),
        ("pn-type=apple;pn-tok=x", .missingParameter, "app-id"),
        ("pn-tok=x;app-id=x", .missingParameter, "pn-type"),
        ("push-token-type=ios;push-token-id=x", .missingParameter, "push-token-app"),
        ("pn-provider=fcm;pn-param=p;pn-prid=a%G1", .badEscape, "pn-prid"),
        ("pn-provider=fcm;pn-param=p;pn-prid=a%0", .badEscape, "pn-prid"),
        ("pn-provider=fcm;pn-param=p;pn-prid=a%00b", .controlByte, "pn-prid"),
        ("pn-provider=fcm;pn-param=p;pn-prid=a%0d%0aX-Evil:%20b", .controlByte, "pn-prid"),
        ("pn-provider=fcm;pn-param=p;pn-prid=a\u{0}b", .controlByte, "pn-prid"),
        ("pn-provider=fcm;pn-param=p;pn-prid=a;pn-call-str=%01", .controlByte, "pn-call-str"),
        ("pn-provider=fcm;pn-param=p;pn-prid=a;pn-call-str=%E9", .badEncoding, "pn-call-str"),
        ("pn-provider=fcm;pn-param=p;pn-prid=undefined", .badToken, "pn-prid"),
        ("pn-provider=fcm;pn-param=p;pn-prid=(NULL)", .badToken, "pn-prid"),
        ("pn-provider=fcm;pn-param=p;pn-prid=%7B%7D", .badToken, "pn-prid"),
        ("pn-provider=fcm;pn-param=p;pn-prid=%5Bobject%20Object%5D", .badToken, "pn-prid"),
        ("pn-provider=fcm;pn-param=p;pn-prid=a%20b", .badToken, "pn-prid"),
        ("pn-provider=fcm;pn-param=p;pn-prid=a%22b", .badToken, "pn-prid"),
        ("pn-provider=fcm;pn-param=a/b;pn-prid=x", .badApp, "pn-param"),
        ("pn-provider=apns;pn-param=T.a%3Fb;pn-prid=00", .badApp, "pn-param"),
        ("pn-provider=apns;pn-param=aProjectID.aBundleID_remote&voip;pn-prid=00", .badApp, "pn-param"),
        ("pn-provider=apns;pn-param=T.com.app;pn-prid=../x", .badToken, "pn-prid"),
        ("pn-provider=apns;pn-param=T.com.app;pn-prid=a%2Fb", .badToken, "pn-prid"),
        ("pn-provider=apns;pn-param=T.com.app;pn-prid=a%3Fb", .badToken, "pn-prid"),
        ("pn-provider=apns;pn-param=T.com.app;pn-prid=a%23b", .badToken, "pn-prid"),
        ("pn-provider=apns;pn-param=T.com.app;pn-prid=a%25b", .badToken, "pn-prid"),
        ("pn-provider=apns;pn-param=T.com.app;pn-prid=x%20y", .badToken, "pn-prid"),
        ("pn-provider=apns;pn-param=T.com.app;pn-prid=%C3%A9", .badToken, "pn-prid"),
        ("pn-provider=webpush;pn-prid=http://h/x", .badURL, "pn-prid"),
        ("pn-provider=webpush;pn-prid=https://", .badURL, "pn-prid"),
        ("pn-provider=webpush;pn-prid=https:///x", .badURL, "pn-prid"),
        ("pn-provider=webpush;pn-prid=https://a%40b/x", .badURL, "pn-prid"),
        ("pn-provider=webpush;pn-prid=https://h/a%20b", .badURL, "pn-prid"),
        ("pn-provider=webpush;pn-prid=https://h/x?a=b", .unescapedCharacter, "pn-prid"),
        ("pn-provider=fcm;pn-param=p;pn-prid=a;pn-prid=b", .duplicateParameter, "pn-prid"),
        ("pn-provider=fcm;pn-param=p;pn-prid=a;PN-PRID=a", .duplicateParameter, "pn-prid"),
        ("pn-provider=apns;pn-prid=\(remote)&\(voip);pn-param=T.org.example.phone", .serviceMismatch, "pn-prid"),
        ("pn-provider=apns;pn-prid=\(remote)&\(voip);pn-param=T.o.voip&remote", .serviceMismatch, "pn-prid"),
        (
            "pn-provider=apns;pn-prid=\(remote):remote;pn-param=T.org.example.phone.remote&voip", .serviceMismatch,
            "pn-prid"
        ),
        (
            "pn-provider=apns;pn-prid=\(voip):voip&\(remote):voip;pn-param=T.o.p.voip&remote", .serviceMismatch,
            "pn-prid"
        ),
        ("pn-provider=apns;pn-prid=\(voip):voip;pn-param=T.org.example.phone", .serviceMismatch, "pn-prid"),
        ("pn-provider=apns;pn-prid=R:remote-V:voip;pn-param=T.o.p.remote&voip", .serviceMismatch, "pn-prid"),
        ("pn-provider=apns;pn-prid=&blablabla;pn-param=T.o.p.remote&voip", .serviceMismatch, "pn-prid"),
        ("pn-provider=apns;pn-prid=&;pn-param=T.o.p.remote&voip", .serviceMismatch, "pn-prid"),
        ("pn-provider=apns;pn-prid=x:voip;pn-param=T.o.p.&", .badApp, "pn-param"),
    ])
    func `is one problem with a code, the parameter and a remedy`(
        parameters: String, code: Problem.Code, parameter: String
    ) {
        let registration = Fixture.contact(parameters)
        #expect(registration.bindings.isEmpty)
        #expect(registration.contacts.map(\.push) == [.unusable])
        #expect(registration.problems.map(\.code) == [code])
        #expect(registration.problems.map(\.parameter) == [parameter])
        #expect(registration.problems.allSatisfy { $0.message.contains(";") || $0.message.contains(":") })
    }

    @Test func `says nothing of the token`() {
        let registration = Fixture.contact("pn-provider=secretprovider%20x;pn-param=p;pn-prid=tok3n")
        #expect(registration.problems.allSatisfy { !$0.message.contains("tok3n") && !$0.message.contains("secret") })
    }

    @Test(arguments: [
        ("\"open <sip:a@h>", Problem.Code.malformedContact), ("<sip:a@h", .malformedContact),
        ("\"A\" sip:a@h", .malformedContact), ("<>", .malformedContact), ("<sip:a@h>;x=\"open", .malformedContact),
        ("<sip:a@h>, *", .malformedContact), ("<sip:a\u{0}@h>", .controlByte), ("<sip:a@h\r\nX: y>", .controlByte),
        ("<sip:a@h>;+sip.instance=\"\u{1}\"", .controlByte),
        ("<sip:a@h;x=" + String(repeating: "y", count: 10_000) + ">", .tooLong),
    ])
    func `may be broken as SIP already`(value: String, code: Problem.Code) {
        let registration = Fixture.registration(of: ("Contact", value), ("Expires", "0"))
        #expect(registration.problems.map(\.code) == [code])
        #expect(registration.bindings.isEmpty && !registration.isWildcard)
    }

    @Test func `does not harm the one before it`() {
        let registration = Fixture.registration(
            of: (
                "Contact", "<sip:a@h;pn-provider=fcm;pn-param=p;pn-prid=t>, <sip:b@h;pn-provider=fcm;pn-prid=x>, <sip:c"
            ))
        #expect(registration.bindings.map(\.token) == ["t"])
        #expect(registration.problems.map(\.code) == [.missingParameter, .malformedContact])
    }

    @Test func `by number is cut off`() {
        let one = "<sip:a@h;pn-provider=acme;pn-prid=t>"
        let registration = Fixture.registration(
            of: ("Contact", Array(repeating: one, count: 100).joined(separator: ",")))
        #expect(registration.contacts.count == SIPLimits.mostContacts)
        #expect(registration.problems.count == SIPLimits.mostProblems)
    }

    @Test func `with too long a token or attribute is refused`() {
        for (parameters, longest) in [
            ("fcm;pn-param=1", 4096), ("harmonyos;pn-param=1", 1024), ("acrobits;pn-param=1", 4096),
        ] {
            let token = String(repeating: "k", count: longest)
            #expect(Fixture.contact("pn-provider=\(parameters);pn-prid=\(token)").problems == [])
            let longer = Fixture.contact("pn-provider=\(parameters);pn-prid=\(token)k")
            #expect(longer.problems.map(\.code) == [.tooLong])
        }
        let attribute = String(repeating: "k", count: 513)
        let long = Fixture.contact("pn-provider=fcm;pn-param=1;pn-prid=t;pn-call-str=\(attribute)")
        #expect(long.problems.map(\.parameter) == ["pn-call-str"])
    }
}

@Suite struct `X-MPUSH` {
    private func read(_ value: String) -> Registration {
        Fixture.registration(of: ("X-MPUSH", value), ("Contact", "<sip:1111@192.168.1.101:14501>"))
    }

    @Test(arguments: [
        ("i:com.voip.phone:abcdef", "apns default |com.voip.phone - abcdef"),
        ("a:com.voip.phone:9C2F:93A6:x", "fcm default |com.voip.phone - 9C2F:93A6:x"),
        ("s:i:app:tok", "apns sandbox |app - tok"), ("p:i:app:tok", "apns production |app - tok"),
        ("d:a:app:t:k", "fcm default |app - t:k"), ("S:I:App:Tok", "apns sandbox |App - Tok"),
        (" a : app : tok ", "fcm default |app - tok"), ("j:app:tok", "fcm default |app - tok"),
        ("w:app:https://h:8443/x?y=z", "webpush default |app - https://h:8443/x?y=z"),
        ("w::https://h/x", "webpush default | - https://h/x"),
        ("w:https://h:8443/x?y=z", "webpush default | - https://h:8443/x?y=z"),
        ("s:w: HTTPS://h/x", "webpush sandbox | - https://h/x"),
        ("w:my-project:c9Xy:APA91b", "fcm default |my-project - c9Xy:APA91b"),
        // What an Apple token is for, where the phone says it as in pn-param.
        ("i:com.voip.phone.voip:tok", "apns default |com.voip.phone.voip voip tok"),
        ("s:i:com.voip.phone.remote:tok", "apns sandbox |com.voip.phone remote tok"),
        ("i:com.example.Voip:tok", "apns default |com.example.Voip - tok"),
        ("a:com.example.voip:tok", "fcm default |com.example.voip - tok"),
    ])
    func `binds with everything after the second colon as token`(value: String, expected: String) {
        let registration = read(value)
        #expect(brief(registration) == [expected])
        #expect(registration.problems.isEmpty)
        let platform = value.hasPrefix("j") ? "ios" : value.hasPrefix("w:my-project") ? "web" : nil
        #expect(registration.bindings.first?.attributes["pn-platform"] == platform)
    }

    @Test(arguments: ["null", "NULL", " null ", "i:app:null"])
    func `unbinds with null`(value: String) {
        #expect(read(value).unbinds)
        #expect(read(value).problems.isEmpty)
    }

    @Test(arguments: [
        ("", Problem.Code.malformedHeader), ("i", .malformedHeader), ("i:app", .malformedHeader),
        ("s:i:app", .malformedHeader), ("i:app:", .badToken), ("i::tok", .badApp), ("x:app:tok", .unknownProvider),
        ("s:s:i:app", .unknownProvider),
        ("i:.remote:tok", .badApp), ("i:a..remote:tok", .badApp), ("i:.voip:tok", .badApp),
        ("i:app:a/b", .badToken), ("i:app:a%41", .badToken), ("i:a/b:t", .badApp),
        ("w:app:http://h/x", .badURL), ("a:app:t\u{0}k", .controlByte), ("a:app:t k", .badToken),
        ("a:app:" + String(repeating: "x", count: 10_000), .tooLong),
    ])
    func `that makes no sense binds nothing`(value: String, code: Problem.Code) {
        let registration = read(value)
        #expect(registration.bindings.isEmpty && !registration.unbinds)
        #expect(registration.problems.map(\.code) == [code])
        #expect(registration.problems.map(\.parameter) == ["X-MPUSH"])
    }

    @Test func `twice binds nothing`() {
        let registration = Fixture.registration(
            of: ("X-MPUSH", "a:app:one"), ("X-MPUSH", "a:app:two"), ("Contact", "<sip:a@h>"))
        #expect(registration.bindings.isEmpty)
        #expect(registration.problems.map(\.code) == [.duplicateParameter])
    }

    @Test func `brings servers and a secret that printing does not show`() {
        let registration = Fixture.registration(
            of: ("X-PIID", "14d4f932e3897a39d6a17c13b526db01"), ("x-sy.uppersrv", "10.0.0.1:5070"),
            ("X-Sy.Uppersrvd", "sip.mydomain.com"), ("X-Sy.Upperproxy", "[2001:db8::1]"))
        #expect(registration.upstream.server == "10.0.0.1:5070" && registration.upstream.domain == "sip.mydomain.com")
        #expect(registration.upstream.proxy == "[2001:db8::1]")
        #expect(!"\(registration)".contains("14d4f932"))
        #expect(!String(reflecting: registration).contains("14d4f932"))
        let bad = Fixture.registration(of: ("X-PIID", "pass word"), ("X-Sy.Uppersrv", "a b"))
        #expect(bad.upstream.isEmpty && bad.problems.map(\.code) == [.badCredential, .badServer])
    }

    /// The second is what Mizutech's guide prints.
    @Test(arguments: [
        "0", "14d4f932e3897a39d6a17c13b526db", String(repeating: "a", count: 33), String(repeating: "a", count: 128),
    ])
    func `reports a secret that is no digest`(secret: String) {
        let registration = Fixture.registration(of: ("X-PIID", secret), ("Contact", "<sip:a@h>"))
        #expect(registration.upstream.credential == nil)
        #expect(registration.problems.map(\.code) == [.badCredential])
        #expect(!registration.problems.contains { $0.message.contains(secret.prefix(8)) && secret.count > 1 })
    }

    @Test(arguments: [32, 64]) func `takes a digest of MD5 and of SHA-256`(digits: Int) {
        let registration = Fixture.registration(of: ("X-PIID", String(repeating: "a", count: digits)))
        #expect(registration.upstream.credential != nil && registration.problems.isEmpty)
    }
}

@Suite struct `A token in a form that nobody here knows` {
    @Test(arguments: [
        ([("Contact", "<sip:a@h>;app-id=com.example;pn-voip-tok=aa;pn-im-tok=bb")], "pn-voip-tok"),
        ([("Contact", "<sip:a@h;pn-token=aa>")], "pn-token"),
        ([("Contact", "<sip:a@h>"), ("X-Token", "aa")], "X-Token"),
        ([("X-Token", "aa"), ("Contact", "<sip:a@h>")], "X-Token"),
    ])
    func `is named, with the remedy for the app's developer`(headers: [(String, String)], parameter: String) {
        var reader = RegistrationReader()
        for (name, value) in headers { reader.header(name: name.utf8.span, value: value.utf8.span) }
        let registration = reader.finish()
        #expect(registration.bindings.isEmpty)
        #expect(registration.problems.map(\.code) == [.foreignParameter])
        #expect(registration.problems.map(\.parameter) == [parameter])
        #expect(registration.problems.first?.message.contains("pn-provider") == true)
        #expect(registration.contacts.map(\.problem) == registration.problems.map { $0 })
        #expect(!registration.lacksSupport)
        for (name, value) in headers where value != "<sip:a@h>" {
            let concernsPush = RegistrationReader.mayConcernPush(name: name.utf8.span, value: value.utf8.span)
            #expect(concernsPush)
        }
    }

    @Test(arguments: [
        [("Contact", "<sip:a@h;pn-provider=fcm;pn-param=p;pn-prid=t;pn-voip-tok=aa>")],
        [("Contact", "<sip:a@h;pn-provider=fcm;pn-param=p;pn-prid=t>"), ("X-Token", "t")],
        [("X-MPUSH", "a:com.example:t"), ("X-Token", "t"), ("Contact", "<sip:a@h>")],
        [("Contact", "<sip:a@h;pn-purr=x;pn-voip-tok>")], [("Contact", "<sip:a@h;xpn-tok=a;token=b>")],
    ])
    func `is no problem where it is not the only one, or none`(headers: [(String, String)]) {
        var reader = RegistrationReader()
        for (name, value) in headers { reader.header(name: name.utf8.span, value: value.utf8.span) }
        #expect(reader.finish().problems.isEmpty)
    }
}
