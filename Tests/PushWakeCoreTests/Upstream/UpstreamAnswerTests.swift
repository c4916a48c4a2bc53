// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `A server that grants the gateway a time` {
    /// Seconds that the gateway, whose Contact is `sip:gw-101@…`, reads from the headers of a 200.
    private func granted(_ headers: (String, String)...) -> UInt32? {
        var reader = UpstreamAnswerReader(status: 200, reason: "OK", contactName: "gw-101")
        for (name, value) in headers { reader.header(name: name.utf8.span, value: value.utf8.span) }
        return reader.finish().expires
    }

    @Test func `says it of its own Contact, beside those of others`() {
        #expect(granted(("Contact", "<sip:other@h>;expires=10, <sip:gw-101@h;x=y>;q=1;expires=300")) == 300)
        #expect(granted(("m", "<sip:other@h>;expires=10"), ("m", "<sip:gw-101@h>;Expires=\"300\"")) == 300)
        #expect(granted(("Contact", "<sip:gw-101@h>;expires=300"), ("Expires", "60")) == 300)
    }

    @Test func `says it in a header for all`() {
        #expect(granted(("Contact", "<sip:gw-101@h>, <sip:other@h>;expires=10"), ("Expires", "60")) == 60)
        #expect(granted(("Expires", "60")) == 60)
        #expect(granted() == nil)
    }

    @Test func `says it of a Contact that it writes otherwise`() {
        #expect(granted(("Contact", "<sip:101-behind-sbc@h>;expires=120")) == 120)
        #expect(granted(("Contact", "<sip:101-behind-sbc@h>;expires=120"), ("Expires", "3600")) == 120)
    }

    @Test func `grants no more than the least of those that it may be`() {
        #expect(granted(("Contact", "<sip:a@h>;expires=120, <sip:b@h>;expires=0, <sip:c@h>;expires=90")) == 90)
        #expect(granted(("Contact", "<sip:a@h>;expires=0")) == nil)
    }
}

@Suite struct `A server that refuses the gateway` {
    private func passed(_ status: Int, _ headers: (String, String)...) -> [String] {
        var reader = UpstreamAnswerReader(status: status, reason: "", contactName: "gw-101")
        for (name, value) in headers { reader.header(name: name.utf8.span, value: value.utf8.span) }
        return reader.finish().passedHeaders
    }

    /// RFC 3261, 21.3: where the phone is to register instead stands there and nowhere else.
    @Test func `tells the phone where to go instead`() {
        #expect(
            passed(302, ("Contact", "<sip:pbx2.example.com>"), ("m", "<sip:pbx3.example.com>;q=0.5"))
                == ["Contact: <sip:pbx2.example.com>", "Contact: <sip:pbx3.example.com>;q=0.5"])
        #expect(passed(200, ("Contact", "<sip:gw-101@h>;expires=300")) == [])
        #expect(passed(404, ("Contact", "<sip:gw-101@h>;expires=300")) == [])
    }
}
