// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct NodeRouteTests {
    private let here = NodeRoute(nodeURI: "sip:10.0.0.2:5060")

    @Test func `names node, user and connection`() {
        let text = here.text(aor: "bob", path: "", flow: "sip:192.0.2.7:4711;transport=tcp")
        #expect(text == "<sip:10.0.0.2:5060;lr;aor=bob;received=sip:192.0.2.7:4711%3Btransport%3Dtcp>")
        #expect(here.text(aor: "bob", path: "", flow: "") == "<sip:10.0.0.2:5060;lr;aor=bob>")
        #expect(NodeRoute.node(of: text) == "sip:10.0.0.2:5060")
    }

    @Test func `leaves the Path of a phone's own proxy alone`() {
        let path = "<sip:edge.example.com;lr;received=sip:192.0.2.7>,<sip:10.0.0.9;lr>"
        #expect(here.text(aor: "bob", path: path, flow: "sip:192.0.2.8") == path)
        #expect(NodeRoute.node(of: path) == "")
    }

    @Test func `makes none without node_uri`() {
        let none = NodeRoute(nodeURI: "")
        #expect(none.text(aor: "bob", path: "", flow: "sip:192.0.2.7") == "")
        #expect(!none.isOwn(here.text(aor: "bob", path: "", flow: "")))
        #expect(none.user(inRoute: "<sip:10.0.0.2:5060;lr;aor=bob>".utf8Span.span) == nil)
    }

    @Test(arguments: [
        "sip:10.0.0.1", "sip:10.0.0.1:5060", "sips:node-a.example.com:5061", "sip:[2001:db8::1]", "sip:[::1]:5060",
        "sip:10.0.0.1:5060;transport=TCP", "sip:a;lr;transport=wss", "sip:a_b;x=y",
    ])
    func `is made of a URI that leads somewhere`(uri: String) throws {
        var settings = Settings()
        for name in ["node_uri", "upper_path_header"] { try settings.set(name, to: uri) }
    }

    @Test(arguments: [
        "10.0.0.1", "sip:", "sips:", "sip:;lr", "sip:10.0.0.1:5060:1", "sip:10.0.0.1:", "sip:10.0.0.1:0", "sip:a:+5",
        "sip:10.0.0.1:65536", "sip:10.0.0.1:x", "sip:10.0.0.1:5060;transport=tpc", "sip:a;transport", "sip:a;;lr",
        "sip:a;",
        "sip:bob@a", "sip:a b", "sip:a?x=y", "sip:a,sip:b", "sip:[::1", "sip:[1]", "sip:[::1]x", "sip:a/b", "tel:1",
    ])
    func `is not made of anything else`(uri: String) {
        var settings = Settings()
        for name in ["node_uri", "upper_path_header"] {
            #expect(throws: SettingError.self) { try settings.set(name, to: uri) }
        }
    }

    @Test(arguments: ["bob", "bob@example.com", "a;b=c>,<\"%?", "Zoë", " x "])
    func `reads any user back`(aor: String) {
        let text = here.text(aor: aor, path: "", flow: "sip:192.0.2.7:4711;transport=tcp")
        #expect(here.user(inRoute: text.utf8Span.span) == aor)
        #expect(here.isOwn(text))
    }

    @Test(arguments: [
        "", "<", "<>", "sip:10.0.0.2:5060", "<sip:10.0.0.2:5060;lr>", "<sip:10.0.0.2:5060;lr;aor>",
        "<sip:10.0.0.2:5060;lr;aor=>", "<sip:10.0.0.2:50600;lr;aor=bob>", "<sip:10.0.0.3:5060;lr;aor=bob>",
        "<sip:10.0.0.2:5060;lr;aor=%zz>", "<sip:10.0.0.2:5060;lr;aor=b%00b>", "<sip:10.0.0.2:5060;lr;aor=%ff>",
        "<sip:10.0.0.9;lr>, <sip:10.0.0.2:5060;lr;aor=bob>",
    ])
    func `finds nobody in what is no route through this node`(value: String) {
        #expect(here.user(inRoute: value.utf8Span.span) == nil)
    }
}
