// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeEngine
import Testing

@Suite struct `Feature-Caps of a reply` {
    private func caps(_ contact: String, _ stored: ProviderSet) throws -> [String] {
        var settings = Settings()
        try settings.set(.apnsKey, to: "/k.p8")
        try settings.set(.fcmKey, to: "/k.json")
        var reader = RegistrationReader()
        reader.header(name: "Contact".utf8.span, value: contact.utf8.span)
        return RegistrationPolicy(settings: settings).featureCaps(of: reader.finish(), stored: stored)
    }

    @Test func `are one line each, ended once`() throws {
        let contact = "<sip:a@h;pn-provider=apns;pn-param=T.com.app.voip;pn-prid=00>;+sip.pnsreg"
        #expect(try caps(contact, [.apns]) == ["Feature-Caps: *;+sip.pns=\"apns\";+sip.pnsreg=\"121\"\r\n"])
        #expect(
            try caps("<sip:a@h;pn-provider>", []) == [
                "Feature-Caps: *;+sip.pns=\"apns\"\r\n", "Feature-Caps: *;+sip.pns=\"fcm\"\r\n",
            ])
    }

    @Test func `promise nothing that is not stored or not known`() throws {
        #expect(try caps("<sip:a@h;pn-provider=apns;pn-param=T.com.app.voip;pn-prid=00>", []).isEmpty)
        #expect(try caps("<sip:a@h;pn-provider=acme>", []).isEmpty)
    }

    @Test func `promise nothing for an interval that the registrar made too short`() throws {
        var settings = Settings()
        #expect(!RegistrationPolicy(settings: settings).isTooShort(granted: 1))
        try settings.set(.minExpires, to: "300")
        let policy = RegistrationPolicy(settings: settings)
        #expect(policy.isTooShort(granted: 299))
        #expect(!policy.isTooShort(granted: 300))
        #expect(!policy.isTooShort(granted: -1))
    }

    @Test func `promise nothing for an interval that no push can refresh`() throws {
        var settings = Settings()
        try settings.set(.refreshBefore, to: "150")
        let policy = RegistrationPolicy(settings: settings)
        #expect(policy.isTooShort(granted: 299))
        #expect(!policy.isTooShort(granted: 300))
    }

    @Test func `ask a phone to refresh by itself that says it can, also where others are pushed`() throws {
        let contact = "<sip:a@h;pn-provider=fcm;pn-param=p;pn-prid=00>;+sip.pnsreg"
        var settings = Settings()
        try settings.set(.fcmKey, to: "/k.json")
        try settings.set(.refreshBefore, to: "150")
        #expect(caps(contact, settings, [.fcm]) == ["Feature-Caps: *;+sip.pns=\"fcm\";+sip.pnsreg=\"121\"\r\n"])
    }

    @Test func `promise nothing to a token that takes neither calls nor messages`() throws {
        var settings = Settings()
        try settings.set(.apnsKey, to: "/k.p8")
        let contact = "<sip:a@h;pn-provider=apns;pn-param=T.com.app.complication;pn-prid=00>"
        #expect(caps(contact, settings, [.apns]).isEmpty)
        var reader = RegistrationReader()
        reader.header(name: "Contact".utf8.span, value: contact.utf8.span)
        let problems = RegistrationPolicy(settings: settings).problems(of: reader.finish())
        #expect(
            problems == [
                "pn-param: a token for complication takes neither calls nor messages; send one for voip or remote"
            ])
    }

    private let webPush = "<sip:a@h;pn-provider=webpush;pn-prid=https://push.example.com/x>"
    private let acrobits = "<sip:a@h;pn-provider=acrobits;pn-param=com.app;pn-prid=00>"

    private func caps(_ contact: String, _ settings: Settings, _ stored: ProviderSet) -> [String] {
        var reader = RegistrationReader()
        reader.header(name: "Contact".utf8.span, value: contact.utf8.span)
        let policy = RegistrationPolicy(settings: settings, vapidKey: "BA1Hxzyi")
        return policy.featureCaps(of: reader.finish(), stored: stored)
    }

    @Test func `tell the VAPID key for Web Push and for nothing else`() throws {
        var settings = Settings()
        try settings.set(.vapidKey, to: "/k.pem")
        try settings.set(.webPushHosts, to: "push.example.com")
        try settings.set(.acrobits, to: "1")
        let line = "Feature-Caps: *;+sip.pns=\"webpush\";+sip.vapid=\"BA1Hxzyi\"\r\n"
        #expect(caps(webPush, settings, [.webpush]) == [line])
        #expect(caps(acrobits, settings, [.acrobits]) == ["Feature-Caps: *;+sip.pns=\"acrobits\"\r\n"])
        #expect(caps("<sip:a@h;pn-provider>", settings, []) == [line, "Feature-Caps: *;+sip.pns=\"acrobits\"\r\n"])
    }

    @Test(arguments: [
        ("https://push.example.com/x", "push.example.com", true), ("https://push.example.com/x", "*", true),
        ("https://push.example.com/x", "push.example.org", false), ("http://push.example.com/x", "*", false),
        ("https://127.0.0.1/x", "*", false), ("https://[::1]/x", "*", false),
    ])
    func `promise nothing to a subscription that no push may go to`(url: String, hosts: String, isAllowed: Bool) throws
    {
        var settings = Settings()
        try settings.set(.vapidKey, to: "/k.pem")
        try settings.set(.webPushHosts, to: hosts)
        let policy = RegistrationPolicy(settings: settings)
        var reader = RegistrationReader()
        reader.header(name: "Contact".utf8.span, value: "<sip:a@h;pn-provider=webpush;pn-prid=\(url)>".utf8.span)
        let registration = reader.finish()
        let contact = try #require(registration.contacts.first)
        #expect(!policy.usable(contact, of: registration).isEmpty == isAllowed)
        #expect(policy.problems(of: registration).isEmpty == isAllowed)
    }

    @Test func `do not name Web Push and Acrobits unless they are set up`() {
        #expect(caps(webPush, Settings(), [.webpush]) == [])
        #expect(caps(acrobits, Settings(), [.acrobits]) == [])
    }
}
