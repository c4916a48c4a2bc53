// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `A SIP address` {
    @Test(arguments: [
        ("sip:bob@h;key=a;call=b", "call", "b"), ("sip:bob@h;CALL=b", "call", "b"), ("sip:bob@h;call=%41", "call", "A"),
        ("sip:bob@h;key=a", "call", ""), ("sip:bob@h;call", "call", ""), ("sip:bob@h", "call", ""),
    ])
    func `has its parameters by name`(uri: String, name: String, value: String) {
        #expect(SIPTarget(uri).parameter(name) == value)
    }

    @Test(arguments: [
        ("alice", "bob@example.com", "sip:alice@example.com"), ("alice@h", "bob@example.com", "sip:alice@h"),
        ("sip:alice@h", "bob@example.com", "sip:alice@h"), ("1111", "bob", "tel:1111"),
        ("alice", "bob", "sip:alice@unknown.invalid"), ("a name", "bob", ""), ("", "bob", ""),
    ])
    func `is made of what somebody typed`(text: String, aor: String, uri: String) {
        #expect(SIPAddressParts.uri(typed: text, for: aor) == uri)
    }
}
