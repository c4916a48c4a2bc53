// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

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
}
