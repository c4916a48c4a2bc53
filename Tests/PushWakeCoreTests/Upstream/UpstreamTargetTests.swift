// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct UpstreamTargetTests {
    private func target(
        uri: String = "sip:gw.example.com", to: String = "sip:101@gw.example.com", server: String = "",
        domain: String = "", proxy: String = "", route: String = "", allow: String
    ) throws(UpstreamTarget.Rejection) -> UpstreamTarget {
        var account = UpstreamAccount()
        (account.server, account.domain, account.proxy) = (server, domain, proxy)
        return try UpstreamTarget(
            requestURI: uri, to: to, account: account, route: route, servers: UpstreamServers(allow))
    }

    @Test(arguments: [
        ("pbx.example.com", "pbx.example.com", true), ("PBX.example.com", "pbx.Example.com", true),
        ("pbx.example.com", "pbx.example.com:5060", true), ("pbx.example.com", "pbx.example.com:5080", false),
        ("pbx.example.com:5080", "pbx.example.com:5080", true), ("pbx.example.com:5080", "pbx.example.com", false),
        ("*.example.com", "a.b.example.com", true), (".example.com", "a.example.com", true),
        ("*.example.com", "example.com", false), ("*.example.com", "badexample.com", false),
        ("*.example.com", ".example.com", false), ("", "pbx.example.com", false),
        ("a.example.com, 192.0.2.1:5080", "192.0.2.1:5080", true), ("[2001:db8::1]:5070", "[2001:DB8::1]:5070", true),
        ("pbx.example.com", "pbx.example.com.evil.net", false),
    ])
    func `only listed servers are allowed`(list: String, place: String, isAllowed: Bool) throws {
        #expect(UpstreamServers(list).allow(try #require(HostPort(place))) == isAllowed)
    }

    @Test(arguments: ["", ":5060", "pbx:0", "pbx:65536", "pbx:x", "[::1", "a b", "a;b", "a@b", "a:1:2"])
    func `what is no host is none`(text: String) { #expect(HostPort(text) == nil) }

    @Test func `the Request-URI names the server and stays to the letter`() throws {
        let target = try target(uri: "sip:PBX.example.com;transport=udp", allow: "pbx.example.com")
        #expect(target.requestURI == "sip:PBX.example.com;transport=udp")
        #expect(target.serverAOR == "sip:101@pbx.example.com")
        #expect(target.localURI == "sip:101@pbx.example.com")
        #expect(target.nextHop.isEmpty)
    }

    @Test func `Mizutech's headers name server, domain and proxy`() throws {
        let target = try target(
            server: "192.0.2.1:5080", domain: "example.com", proxy: "192.0.2.9", allow: "192.0.2.1:5080,192.0.2.9")
        #expect(target.requestURI == "sip:example.com")
        #expect(target.serverAOR == "sip:101@example.com")
        #expect(target.nextHop == "sip:192.0.2.9")
        #expect(target.server == "192.0.2.1-5080.via.192.0.2.9")
    }

    @Test func `who claims a server and is sent to another is another user`() throws {
        let allow = "a.example.com,b.example.com"
        let own = try target(uri: "sip:b.example.com", to: "sip:101@b.example.com", allow: allow)
        let named = try target(to: "sip:101@b.example.com", server: "b.example.com", allow: allow)
        #expect(own.name == named.name)
        for server in ["", "b.example.com"] {
            let claimed = try target(
                uri: "sip:b.example.com", to: "sip:101@b.example.com", server: server, proxy: "a.example.com",
                allow: allow)
            #expect(claimed.nextHop == "sip:a.example.com")
            #expect(claimed.name != own.name && claimed.localURI != own.localURI)
        }
        let same = try target(server: "b.example.com", proxy: "b.example.com", allow: allow)
        #expect(same.name == own.name)
    }

    @Test func `a phone that names its server is not sent along the script's route`() throws {
        let target = try target(
            server: "b.example.com", route: "sip:a.example.com", allow: "a.example.com,b.example.com")
        #expect(target.nextHop.isEmpty)
        #expect(target.requestURI == "sip:b.example.com")
    }

    @Test func `who claims a domain at another server is another user`() throws {
        let own = try target(uri: "sip:example.com", allow: "example.com,other.net")
        let claimed = try target(server: "other.net", domain: "example.com", allow: "example.com,other.net")
        #expect(own.name != claimed.name)
        #expect(own.localURI != claimed.localURI)
    }

    @Test(arguments: [
        ("sip:evil.net", "", "", "", ""), ("sip:pbx", "evil.net", "", "", "pbx"),
        ("sip:pbx", "", "", "evil.net", "pbx"),
        ("sip:pbx", "pbx", "", "evil.net", "pbx"),
    ])
    func `nobody is sent to a server that is not listed`(
        uri: String, server: String, domain: String, proxy: String, allow: String
    ) {
        #expect {
            try target(uri: uri, server: server, domain: domain, proxy: proxy, allow: allow)
        } throws: { error in
            if case .forbidden = error as? UpstreamTarget.Rejection { true } else { false }
        }
    }

    @Test(arguments: [
        ("[2001:db8::1]", "2001-db8--1"), ("[::1]:5080", "0--1-5080"),
        ("[::ffff:192.0.2.1]", "0--ffff-192.0.2.1"),
    ])
    func `an IPv6 address makes a name that may stand in a URI`(server: String, name: String) throws {
        let made = try target(uri: "sip:\(server)", to: "sip:101@\(server)", allow: server)
        #expect(made.server == name)
    }

    @Test func `the script's route needs no list`() throws {
        let target = try target(route: "sip:10.0.0.5:5070", allow: "")
        #expect(target.nextHop == "sip:10.0.0.5:5070")
    }

    @Test(arguments: [
        "sip:gw.example.com", "sip:a b@gw", "sip:\"x\"@gw", "sip:<x>@gw", "", "sip:a%00b@gw", "sip:a%zz@gw",
    ])
    func `a To without a usable user is refused`(to: String) {
        #expect(throws: UpstreamTarget.Rejection.self) { try target(uri: "sip:pbx", to: to, allow: "pbx") }
    }

    @Test(arguments: [("101", "pbx.example.com"), ("a_b+c%40d", "192.0.2.1-5080"), ("é".utf8.map { "\($0)" }[0], "h")])
    func `the Contact's user says whom it stands for`(user: String, server: String) {
        let name = UpstreamName.encode(user: user, server: server)
        #expect(name.utf8.allSatisfy { $0 > 0x2C && $0 < 0x7B && $0 != 0x40 && $0 != 0x3A })
        #expect(UpstreamName.localURI(of: name.utf8.span) == "sip:\(user)@\(server)")
    }

    @Test(arguments: ["", "gw-", "101", "gw-101", "gw-101_4", "gw-101_zz", "gw-1_0d_40x", "gw-1 _40x", "gw-101@x"])
    func `other names stand for nobody`(name: String) { #expect(UpstreamName.localURI(of: name.utf8.span) == nil) }
}
