// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `A REGISTER` {
    @Test(arguments: ["rfc8599-figure2", "rfc8599-figure2-folded", "rfc8599-figure3"])
    func `of RFC 8599's figures is understood, folded or not`(name: String) {
        let registration = Fixture.registration(name)
        #expect(registration.aor == "alice@example.com")
        #expect(registration.callID == "843817637684230@998sdasdh09")
        #expect(registration.cseq == 1826)
        #expect(registration.expires == 7200)
        #expect(
            registration.contacts.map(\.uri) == [
                "sip:alice@alicemobile.example.com;pn-provider=acme;pn-param=acme-param;pn-prid=ZTY4ZDJlMzODE1NmUgKi0K"
            ])
        #expect(registration.contacts.map(\.providerName) == ["acme"])
        #expect(registration.contacts.map(\.refreshesItself) == [name == "rfc8599-figure3"])
        #expect(registration.problems.map(\.code) == [.unknownProvider])
        #expect(registration.lacksSupport)
        #expect(registration.bindings.isEmpty)
    }

    @Test(arguments: Fixture.names)
    func `that says nothing about push is known without being read`(name: String) {
        #expect(Fixture.mayConcernPush(Fixture.bytes(name)) == (name != "plain"))
    }

    @Test func `has a name about push in each header that is looked at, and in no other`() {
        let others: [HeaderName] = [.expires, .to, .from, .callID, .cseq, .userAgent]
        for header in HeaderName.allCases {
            for name in [header.text, header.text.uppercased()] {
                let mayNamePush = RegistrationReader.mayNamePush(name.utf8.span)
                #expect(mayNamePush == !others.contains(header), "\(name)")
            }
        }
        for (name, expected) in [("m", true), ("M", true), ("i", false), ("t", false), ("f", false), ("", false)] {
            let mayNamePush = RegistrationReader.mayNamePush(name.utf8.span)
            #expect(mayNamePush == expected, "\(name)")
        }
    }

    @Test func `with Apple's parameters binds team, bundle, service and device`() {
        let registration = Fixture.registration("rfc8599-apns")
        #expect(
            registration.bindings == [
                Binding(
                    aor: "alice@example.com", provider: .apns, app: "com.example.yourexampleapp", team: "DEF123GHIJ",
                    service: .voip, token: "00fc13adff78512", dialect: .rfc8599,
                    instance: "<urn:uuid:00000000-0000-1000-8000-AABBCCDDEEFF>",
                    contact: "sip:alice@10.0.0.5:5060;transport=tcp;pn-provider=apns;"
                        + "pn-param=DEF123GHIJ.com.example.yourexampleapp.voip;pn-prid=00fc13adff78512",
                    callID: "843817637684230@998sdasdh09", cseq: 1826, flowNumber: 1)
            ])
        #expect(registration.contacts.first?.expires == 3600)
        #expect(registration.problems.isEmpty)
    }

    @Test func `keeps the colons of an FCM token, whatever the display name says`() {
        let registration = Fixture.registration("rfc8599-fcm")
        #expect(registration.bindings.map(\.token) == ["fGx_9:APA91bH-k_3:z"])
        #expect(registration.bindings.map(\.app) == ["my-project-1"])
        #expect(registration.bindings.map(\.service) == [nil])
        #expect(registration.contacts.first?.expires == 600)
    }

    @Test func `resolves the escapes of a Web Push URL once`() {
        let registration = Fixture.registration("rfc8599-webpush")
        #expect(registration.bindings.map(\.token) == ["https://push.example.net/p/a?b=c"])
        #expect(registration.bindings.first?.attributes["pn-auth"] == "BTBZMqHH6r4Tts7J_aSIgg")
    }

    @Test func `with two Contacts gives each its own binding`() {
        let registration = Fixture.registration("rfc8599-two-contacts")
        #expect(registration.contacts.map { $0.bindings.map(\.provider) } == [[.fcm], [.apns]])
        #expect(registration.contacts.map { registration.requestedExpires(of: $0) } == [7200, 60])
    }

    @Test func `that only names a provider is a query`() {
        let registration = Fixture.registration("rfc8599-query")
        #expect(registration.queries == [""])
        #expect(registration.bindings.isEmpty)
        #expect(Fixture.contact("pn-provider=apns").queries == ["apns"])
        #expect(Fixture.contact("pn-provider=apns;pn-prid=").queries == ["apns"])
    }

    @Test(arguments: [("", 0), (";reg-id=2", 2), (";Reg-ID=4294967295", .max), (";reg-id=-1", 0), (";reg-id", 0)])
    func `says which flow it is`(parameter: String, number: UInt32) {
        let registration = Fixture.registration(
            of: ("Contact", "<sip:a@192.0.2.1;reg-id=7>;+sip.instance=\"<1>\"\(parameter)"))
        #expect(registration.contacts.map(\.flowNumber) == [number])
    }

    @Test func `that a nearer proxy handles says so`() {
        #expect(Fixture.registration("rfc8599-upstream").isPushedUpstream)
        let other = Fixture.registration(of: ("Feature-Caps", "*;+g.3gpp.atcf"))
        #expect(!other.isPushedUpstream)
    }

    @Test func `of Flexisip's phones gives a voip and a remote target with their attributes`() {
        let registration = Fixture.registration("flexisip-two-tokens")
        #expect(registration.bindings.map(\.service) == [.remote, .voip])
        #expect(registration.bindings.map { $0.token.first } == ["R", "V"])
        #expect(registration.bindings.allSatisfy { $0.environment == .sandbox && $0.dialect == .flexisip })
        #expect(registration.bindings.allSatisfy { $0.app == "org.example.phone" && $0.team == "ABCD1234" })
        #expect(
            registration.bindings.allSatisfy { $0.instance == "<urn:uuid:3b6f>" && $0.attributes["pn-timeout"] == "0" })
        #expect(registration.bindings.first?.attributes.entries.count == 6)
        #expect(registration.contacts.first?.providerName == "apns.dev")
    }

    @Test(arguments: [
        ("mpush-fcm", Provider.fcm, "c-10-ap_Kt0:G7SThkASJx2K4Rm1033iR0mlgzl1cLg5xxpST4cjrj_cqQquRLkHMi3eY4g"),
        ("mpush-apns", .apns, "c-10-ap_Kt0:G7SThkASJx2K4Rm1033iR0mIgzI1cLg5xxpST4cjrd_cqQquRLkHMi3eY4g"),
        ("mpush-sandbox", .apns, "abcdef"),
    ])
    func `with X-MPUSH binds its Contact`(name: String, provider: Provider, token: String) {
        let registration = Fixture.registration(name)
        #expect(registration.aor == "1111@gw.mydomain.com")
        #expect(registration.bindings.map(\.provider) == [provider])
        #expect(registration.bindings.map(\.token) == [token])
        #expect(registration.bindings.map(\.app) == ["com.mycompany.myapp"])
        #expect(registration.bindings.map(\.contact) == ["sip:1111@192.168.1.101:14501"])
        #expect(registration.bindings.map(\.service) == [nil])
        #expect(registration.bindings.map(\.environment) == [name == "mpush-sandbox" ? .sandbox : .standard])
        #expect(registration.upstream.credential?.revealed == "14d4f932e3897a39d6a17c13b526db01")
        #expect(registration.upstream.server == "sip.mydomain.com")
        #expect(registration.userAgent == "MyCoolApp")
        #expect(registration.problems.isEmpty)
    }

    @Test func `reads parameters after a bare URI, the stray bracket of a known guide included`() {
        let registration = Fixture.registration("mpush-stray-bracket")
        #expect(registration.bindings.map(\.token) == ["ZTY4ZDJIMzODE1NmUgKi0K"])
        #expect(registration.bindings.map(\.contact) == ["sip:1111@192.168.1.101:14501"])
    }

    @Test func `with a null token unbinds the device`() {
        let mpush = Fixture.registration("mpush-null")
        #expect(
            mpush.unbindings == [
                .init(instance: "", contact: "sip:1111@192.168.1.101:14501", callID: "enutmuwaynqib")
            ])
        let prid = Fixture.registration("unbind-null-prid")
        #expect(prid.unbinds && prid.bindings.isEmpty && prid.queries.isEmpty && prid.problems.isEmpty)
        #expect(Fixture.contact("pn-prid=NULL").unbinds)
        #expect(Fixture.contact("pn-type=apple;pn-tok=null").unbinds)
        #expect(Fixture.contact("push-token-id=null").unbinds)
    }

    @Test func `that unregisters is told from a query`() {
        let one = Fixture.registration("unregister")
        #expect(one.isRemoval && one.queries.isEmpty && !one.unbinds)
        let all = Fixture.registration("unregister-all")
        #expect(all.isWildcard && all.isRemoval && all.contacts.isEmpty)
        #expect(!Fixture.registration(of: ("Expires", "0")).isRemoval)
        #expect(!Fixture.registration("plain").isRemoval)
    }

    @Test func `in older dialects is understood`() {
        let linphone = Fixture.registration("linphone-legacy").bindings.first
        #expect(linphone?.app == "org.example.phone" && linphone?.service == .voip)
        #expect(linphone?.environment == .sandbox && linphone?.dialect == .legacyLinphone)
        let token = Fixture.registration("push-token").bindings.first
        #expect(token?.provider == .fcm && token?.token == "abc:def" && token?.dialect == .pushToken)
        let tuple = Fixture.registration("acrobits-tuple").bindings.first
        #expect(tuple?.provider == .acrobits && tuple?.app == "cz.acrobits.softphone" && tuple?.token == "8A2B1C")
        #expect(tuple?.attributes["pn-selector"] == "com.acrobits.voip" && tuple?.dialect == .acrobitsTuple)
    }

    @Test func `lets RFC 8599 win over X-MPUSH, but not a query`() {
        let mpush = ("X-MPUSH", "a:app:token")
        let both = Fixture.registration(
            of: mpush, ("Contact", "<sip:a@h;pn-provider=fcm;pn-param=p;pn-prid=x>"))
        #expect(both.bindings.map(\.token) == ["x"])
        let query = Fixture.registration(of: mpush, ("Contact", "<sip:a@h;pn-provider>"))
        #expect(query.bindings.map(\.token) == ["token"])
        let alone = Fixture.registration(of: mpush)
        #expect(alone.bindings.isEmpty && alone.problems.map(\.code) == [.missingContact])
    }
}

@Suite struct `A contact without its push parameters` {
    @Test(arguments: [
        (
            "sip:alice@10.0.0.1:5060;transport=tcp;pn-provider=apns;pn-prid=00fc",
            "sip:alice@10.0.0.1:5060;transport=tcp"
        ),
        ("sip:alice@10.0.0.1;pn-prid=00fc;ob", "sip:alice@10.0.0.1;ob"),
        ("sip:al;pn-x@10.0.0.1;PN-TOK=1;app-id=a;push-token-id=b;app-ids=c", "sip:al;pn-x@10.0.0.1;app-ids=c"),
        ("sip:alice@[::1]:5060;pn-prid=a?X=b;pn-prid=c", "sip:alice@[::1]:5060?X=b;pn-prid=c"),
        ("sip:alice@10.0.0.1", "sip:alice@10.0.0.1"),
        ("sip:alice@10.0.0.1;;pn-;", "sip:alice@10.0.0.1;;"),
        ("", ""),
    ])
    func `keeps everything else as it came`(contact: String, expected: String) {
        let binding = Binding(provider: .apns, token: "00fc", dialect: .rfc8599, contact: contact)
        #expect(binding.contactWithoutPushParameters == expected)
    }

    @Test(arguments: [
        ("sip:a@h", "sip:a@h", true),
        ("sip:a@h;pn-prid=1", "sip:a@h", true),
        ("sip:a@h;pn-prid=1;ob", "sip:a@h;ob;pn-prid=2", true),
        ("sip:a@h:5060;pn-prid=1", "sip:a@h:5061;pn-prid=1", false),
        ("sip:a@h;pn-prid=1", "sip:a@host;pn-prid=1", false),
        ("sip:a;pn-x@h", "sip:a@h", false),
        ("sip:a@h;transport=tls;pn-prid=1", "sip:a@h;transport=tcp;pn-prid=1", false),
        ("", "sip:a@h", false), ("", ";pn-prid=1", true),
    ])
    func `two contacts are compared without push parameters`(a: String, b: String, areSame: Bool) {
        #expect(Binding.isSame(a, as: b) == areSame)
        #expect(Binding.isSame(b, as: a) == areSame)
        #expect((Binding.withoutPushParameters(a) == Binding.withoutPushParameters(b)) == areSame)
    }
}
