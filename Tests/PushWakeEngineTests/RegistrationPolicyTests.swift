// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeEngine
import Testing

@Suite struct `Feature-Caps of a reply` {
    private func caps(_ contact: String, _ stored: Set<Provider>) throws -> [String] {
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
}
