// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `The subject of a VAPID token` {
    @Test(arguments: [
        ("mailto:ops@example.com", "mailto:ops@example.com"), ("MAILTO:ops@example.com", "mailto:ops@example.com"),
        ("Mailto:Ops@Example.com?subject=push", "mailto:Ops@Example.com?subject=push"),
        ("https://example.com", "https://example.com"),
        ("HTTPS://example.com:8443/contact", "https://example.com:8443/contact"),
    ])
    func `is taken with a domain, its scheme in any case`(setting: String, text: String) {
        #expect(VAPIDSubject(setting)?.text == text)
    }

    @Test(arguments: [
        "", "mailto:", "mailto:ops", "mailto:@example.com", "mailto:ops@", "mailto:ops@localhost", "mailto:ops@example",
        "mailto:ops@192.0.2.1", "mailto:ops@[192.0.2.1]", "mailto:ops@[2001:db8::1]", "mailto:ops@.com",
        "mailto:ops@a..com",
        "mailto:ops@example.com:25", "mailto:a@b@example.com", "mailto: ops@example.com", "mailto:<ops@example.com>",
        "https:", "https://", "https:example.com", "https://localhost", "https://localhost/", "https://pbx.localhost",
        "https://192.0.2.1/", "https://[2001:db8::1]/", "https://[::ffff:192.0.2.1]/", "http://example.com",
        "ops@example.com",
        "tel:+4930123456",
    ])
    func `is refused as Apple refuses it`(setting: String) {
        #expect(VAPIDSubject(setting) == nil)
    }
}
