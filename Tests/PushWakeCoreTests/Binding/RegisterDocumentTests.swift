// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `A raw REGISTER as JSON` {
    private func parse(_ bytes: [UInt8]) -> (String, Bool) {
        let (json, isSIP) = RegisterDocument.parse(bytes.span)
        return (String(decoding: json, as: UTF8.self), isSIP)
    }

    @Test func `names every part of a binding`() {
        let (json, isSIP) = parse(Fixture.bytes("rfc8599-apns"))
        #expect(isSIP)
        #expect(
            json == """
                {"aor":"alice@example.com","call_id":"843817637684230@998sdasdh09","expires":3600,"bindings":[\
                {"provider":"apns","environment":"default","app":"com.example.yourexampleapp","team":"DEF123GHIJ",\
                "service":"voip","token":"00fc13adff78512","dialect":"rfc8599",\
                "instance":"<urn:uuid:00000000-0000-1000-8000-AABBCCDDEEFF>","attributes":{}}],\
                "unbind":false,"query":false,"problems":[]}
                """)
    }

    @Test func `has null where nothing is known, and the attributes`() {
        let (json, _) = parse(Fixture.bytes("acrobits-tuple"))
        #expect(json.contains(#""team":null,"service":null,"token":"8A2B1C","dialect":"acrobits","instance":null"#))
        #expect(json.contains(#""attributes":{"pn-selector":"com.acrobits.voip"}"#))
    }

    @Test func `names the provider of a query`() {
        #expect(parse(Fixture.bytes("rfc8599-query")).0.contains(#""query":true,"query_provider":"""#))
        #expect(parse(Fixture.bytes("mpush-null")).0.contains(#""unbind":true,"query":false,"problems""#))
    }

    @Test func `names problems`() {
        let (json, isSIP) = parse(Fixture.bytes("rfc8599-figure2"))
        #expect(isSIP)
        #expect(json.contains(#""bindings":[],"unbind":false,"query":false,"problems":[{"code":"unknown-provider","#))
        #expect(json.contains(#""parameter":"pn-provider","message":"'acme' is not a known push service"#))
    }

    @Test func `is one even when it is no SIP, or no REGISTER`() {
        let (json, isSIP) = parse(Array("hello\n".utf8))
        #expect(!isSIP)
        #expect(json.hasPrefix(#"{"aor":null,"call_id":null,"expires":null,"bindings":[],"#))
        #expect(json.contains(#"[{"code":"not-sip""#))
        let (other, isOtherSIP) = parse(Array("INVITE sip:a@h SIP/2.0\r\nTo: <sip:a@h>\r\n\r\n".utf8))
        #expect(isOtherSIP && other.contains(#""code":"not-register""#) && other.contains(#""aor":"a@h""#))
    }

    @Test func `says which line is not a header`() {
        let (json, isSIP) = parse(Array("REGISTER sip:h SIP/2.0\r\nnonsense\r\nTo: <sip:a@h>\r\n\r\n".utf8))
        #expect(isSIP && json.contains(#""code":"malformed-header""#))
    }
}
