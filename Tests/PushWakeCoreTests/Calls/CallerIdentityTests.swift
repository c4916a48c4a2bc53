// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `Who a dialplan says calls` {
    private func caller(_ number: String, from: String) -> String {
        CallerIdentity(number: number, name: "Ann", from: from.utf8.span, host: "pbx").uri
    }

    @Test(arguments: [
        ("<sip:100@example.org>", "sip:42@example.org"), ("sip:100@example.org:5061;tag=7", "sip:42@example.org"),
        (#""Boss <sip:boss@corp>" <sips:100@example.org;transport=tls>"#, "sip:42@example.org"),
        ("<sip:100@[2001:db8::7]:5060>", "sip:42@[2001:db8::7]"), ("<sip:example.org>", "sip:42@example.org"),
        ("<tel:+4912345>", "sip:42@pbx"), ("", "sip:42@pbx"), ("<sip:100@exam", "sip:42@pbx"),
        (#""Anonymous" <sip:anonymous@anonymous.invalid>"#, "sip:42@pbx"),
        (#"\"x@bank.example;a=b\" <sip:100@example.org>"#, "sip:42@example.org"),
        (#"\"<sip:x@bank.example>\" <sip:100@example.org>"#, "sip:42@example.org"),
        (#""<sip:x@bank.example> <sip:100@exam"#, "sip:42@pbx"), (#""Boss, cut"#, "sip:42@pbx"),
        ("\u{0}\u{1}", "sip:42@pbx"),
    ])
    func `is at the domain of the caller's own URI`(from: String, expected: String) {
        #expect(caller("42", from: from) == expected)
    }

    @Test func `keeps an address that the dialplan gives in place of a number`() {
        #expect(caller("bob@example.net", from: "<sip:100@example.org>") == "sip:bob@example.net")
        #expect(caller("SIP:bob@example.net", from: "") == "SIP:bob@example.net")
        #expect(caller("", from: "<sip:100@example.org>") == "sip:anonymous@example.org")
        #expect(caller("ann", from: "<sip:ann@anonymous.invalid>") == CallerIdentity.anonymous.uri)
        #expect(caller(String(repeating: "9", count: 4000), from: "").utf8.count < 140)
    }

    private func name(_ name: String, from: [UInt8]) -> String {
        CallerIdentity(number: "42", name: name, from: from.span, host: "pbx").displayName
    }

    @Test(arguments: [
        ("Ann", "Ann"), (#"Joe \"the boss\" Smith"#, #"Joe "the boss" Smith"#), (#"CORP\\bob"#, #"CORP\bob"#),
        (#"CORP\bob"#, #"CORP\bob"#), (#"\"#, #"\"#), ("", ""),
    ])
    func `has a name without the escapes of SIP`(given: String, expected: String) {
        #expect(name(given, from: []) == expected)
    }

    @Test func `has the letters that a host could not read`() {
        let latin1: [UInt8] = Array(#"\"J"#.utf8) + [0xFC] + Array(#"rg \\\"J\\\"\" <sip:100@example.org>"#.utf8)
        #expect(name("J\u{FFFD}rg \\\"J\\\"", from: latin1) == "J\u{FC}rg \"J\"")
        #expect(name("J\u{FFFD}rg", from: Array("<sip:100@example.org>".utf8)) == "J\u{FFFD}rg")
        #expect(name("J\u{FFFD}rg", from: []) == "J\u{FFFD}rg")
        // The dialplan has put another name there.
        #expect(name("Desk \u{FFFD}", from: latin1) == "Desk \u{FFFD}")
    }

    @Test(arguments: [
        ("Ann", "Ann"), (#""Ann""#, "Ann"), (#""Boss" Ann"#, #""Boss" Ann"#), (#"a\b"#, #"a\b"#), ("", ""),
    ])
    func `has the name that the dialplan gives`(given: String, shown: String) {
        let caller = CallerIdentity(number: "42", name: given, from: "".utf8.span, host: "localhost")
        #expect(caller.displayName == shown)
    }

    @Test(arguments: [
        (#""Ann \"A\" Lee" <sip:ann@example.org>;tag=1"#, "sip:ann@example.org", #"Ann "A" Lee"#),
        ("sip:ann@example.org", "sip:ann@example.org", ""),
        (#""Ann <sip:boss@corp>" <sip:ann@example.org>"#, "sip:ann@example.org", "Ann <sip:boss@corp>"),
        (#""Ann <sip:boss@corp>"#, CallerIdentity.anonymous.uri, ""), ("", CallerIdentity.anonymous.uri, ""),
        ("<>", CallerIdentity.anonymous.uri, ""),
        (#""Ann" <sip:anonymous@anonymous.invalid>"#, CallerIdentity.anonymous.uri, ""),
    ])
    func `is whom a From header names`(from: String, uri: String, name: String) {
        let sender = CallerIdentity(from: from.utf8.span)
        #expect(sender.uri == uri && sender.displayName == name)
    }

    @Test(arguments: [
        ("sip:42:secret@example.org;user=phone", "42"), ("tel:+4912345;phone-context=x", "+4912345"), ("42", "42"),
        ("", ""),
    ])
    func `has a number to show`(uri: String, expected: String) {
        #expect(CallerIdentity.user(of: uri) == expected)
    }
}
