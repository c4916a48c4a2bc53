// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `Feature-Caps` {
    @Test func `is written as in RFC 8599, figure 3`() {
        #expect(
            FeatureCaps(provider: "acme", refreshLead: 121).line
                == "Feature-Caps: *;+sip.pns=\"acme\";+sip.pnsreg=\"121\"\r\n")
    }

    @Test func `keeps the indicators of a service in its own field`() {
        let line = FeatureCaps(provider: "webpush", vapidKey: "BA1Hxzyi", purr: "pF-_0").line
        #expect(line == "Feature-Caps: *;+sip.pns=\"webpush\";+sip.vapid=\"BA1Hxzyi\";+sip.pnspurr=\"pF-_0\"\r\n")
    }

    @Test(arguments: ["", "a\"b", "a\r\nX: y", "a b", "ü", String(repeating: "a", count: 600)])
    func `is not written for a name that would break it`(name: String) {
        #expect(FeatureCaps(provider: name).line.isEmpty)
    }

    @Test(arguments: [
        (#"*;+sip.pns="apns""#, [FeatureCaps(provider: "apns")]),
        (#"+sip.pns="fcm""#, [FeatureCaps(provider: "fcm")]),
        (
            #"*;+sip.pns="apns";+sip.vapid="BA1", *;+g.x;+sip.pns="fcm";+sip.pnsreq="130""#,
            [FeatureCaps(provider: "apns", vapidKey: "BA1"), FeatureCaps(provider: "fcm", refreshLead: 130)]
        ),
        (#"*;+SIP.PNS="a,b;c";+sip.pnspurr="x""#, [FeatureCaps(provider: "a,b;c", purr: "x")]),
        ("*;\r\n +sip.pns=\"apns\"", [FeatureCaps(provider: "apns")]),
        (#"*;+g.3gpp.atcf"#, []), ("*", []), ("", []), (#"*;+sip.pns="open"#, []),
    ])
    func `is read as it comes in the field`(value: String, expected: [FeatureCaps]) {
        #expect(FeatureCaps.read(value.utf8.span) == expected)
    }
}

@Suite struct `A From value` {
    @Test(arguments: [
        (#""Alice \"A\" \\ <b>" <sip:alice@example.com>;tag=1"#, #"Alice "A" \ <b>"#, "sip:alice@example.com"),
        ("Alice Smith <sip:alice@example.com>", "Alice Smith", "sip:alice@example.com"),
        ("<sip:alice@example.com>", "", "sip:alice@example.com"),
        ("sip:alice@example.com;tag=1", "", "sip:alice@example.com"),
        ("\"\" <tel:+123>", "", "tel:+123"),
        ("\"A\"\r\n <sip:a@h>", "A", "sip:a@h"),
    ])
    func `gives name and URI`(value: String, name: String, uri: String) {
        let address = NameAddress(value.utf8.span)
        #expect(address?.displayName == name)
        #expect(address?.uri == uri)
    }

    @Test(arguments: ["", "  ", "*", "\"open <sip:a@h>", "<sip:a@h", "\"A\" sip:a@h"])
    func `without a URI gives nothing`(value: String) {
        #expect(NameAddress(value.utf8.span) == nil)
    }

    @Test(arguments: [
        ("\"A \\\" B\"", "A \" B"), ("A B", "A B"), (" \"A\" ", "A"), ("\"A", "\"A"), ("", ""),
        ("\"A\" B", "\"A\" B"), ("\"A\" \"B\"", "\"A\" \"B\""),
    ])
    func `has a display name with or without its quotes`(raw: String, name: String) {
        #expect(NameAddress.displayName(raw.utf8.span) == name)
    }

    @Test(arguments: [
        ("<sip:alice@example.com:5061;transport=tls>", "alice@example.com"), ("<sip:example.com>", "example.com"),
        ("<sips:a;b:secret@[2001:db8::1]:5061>", "a;b@[2001:db8::1]"),
        ("sip:1111@gw.mydomain.com", "1111@gw.mydomain.com"),
        ("<tel:+123456;phone-context=example.com>", "+123456"), ("TEL:112", "112"),
    ])
    func `names the user at the registrar`(value: String, aor: String) {
        #expect(NameAddress(value.utf8.span)?.addressOfRecord == aor)
    }
}

@Suite struct `A whole message` {
    private func headers(_ text: String) -> [String] {
        let bytes = Array(text.utf8)
        guard let message = SIPMessage(bytes.span) else { return ["no SIP"] }
        return message.headers.map { bytes.span.text($0.name) + "=" + bytes.span.text($0.value) }
    }

    @Test func `is split at line ends of both kinds, folds kept with their header`() {
        let start = "REGISTER sip:h SIP/2.0"
        #expect(headers("\(start)\r\nA: 1\r\n\tx\r\nB :2 \r\n\r\nC: 3\r\n") == ["A=1\r\n\tx", "B=2"])
        #expect(headers("\n\(start)\nA:1\n\nC: 3\n") == ["A=1"])
        #expect(headers("\(start)\nA: 1") == ["A=1"])
        #expect(headers("SIP/2.0 200 OK\nA:\n") == ["A="])
        #expect(headers("\(start)\nnonsense\n: x\nA: 1\n") == ["A=1"])
    }

    @Test(arguments: [
        "", "\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "REGISTER", "REGISTER sip:h", "hello world\n", "\u{0}\u{1}",
    ])
    func `that does not begin like SIP is none`(text: String) {
        #expect(headers(text) == ["no SIP"])
    }

    @Test func `has compact headers`() {
        let bytes = Array(
            "REGISTER sip:h SIP/2.0\nt: <sip:u@d>\ni: c\nM: <sip:a@h;pn-provider=fcm;pn-param=p;pn-prid=t>\n".utf8)
        let registration = Fixture.read(bytes)
        #expect(registration.aor == "u@d" && registration.callID == "c")
        #expect(registration.bindings.map(\.token) == ["t"])
    }

    @Test func `with more headers than anyone needs is cut`() {
        let bytes = Array(("REGISTER sip:h SIP/2.0\n" + String(repeating: "A: 1\n", count: 5000)).utf8)
        #expect(SIPMessage(bytes.span)?.headers.count == SIPLimits.mostHeaders)
    }
}
