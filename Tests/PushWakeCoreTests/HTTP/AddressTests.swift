// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `HTTP origin` {
    @Test(arguments: [
        ("https://api.push.apple.com", "api.push.apple.com", 443, "api.push.apple.com"),
        ("https://127.0.0.1:8443/", "127.0.0.1", 8443, "127.0.0.1:8443"),
        ("HTTPS://Example.COM:2197", "example.com", 2197, "example.com:2197"),
        ("https://[::1]:8443", "::1", 8443, "[::1]:8443"),
        ("https://[2001:db8::1]", "2001:db8::1", 443, "[2001:db8::1]"),
    ])
    func `is read from a URL`(url: String, host: String, port: Int, authority: String) {
        let origin = HTTPOrigin(url)
        #expect(origin?.host == host)
        #expect(origin?.port == UInt16(port))
        #expect(origin?.authority == authority)
    }

    @Test(arguments: [
        "", "https://", "http://a", "https://a/b", "https://a:0", "https://a:65536", "https://a:", "https://a b",
        "https://user@a", "https://[::1", "https://[a]", "ftp://a", "https://a:1x", "https:///a",
    ])
    func `is refused when it is something else`(url: String) {
        #expect(HTTPOrigin(url) == nil)
    }

    @Test func `keeps path and query apart and drops the fragment`() throws {
        let (origin, path) = try #require(HTTPOrigin.split("https://push.example.net/p/a?b=c#d"))
        #expect(origin == HTTPOrigin(host: "push.example.net"))
        #expect(path == "/p/a?b=c")
    }
}

@Suite struct `A list of networks` {
    @Test(arguments: [
        ("127.0.0.0/8,::1/128", "127.255.0.1", true), ("127.0.0.0/8,::1/128", "128.0.0.1", false),
        ("127.0.0.0/8,::1/128", "::1", true), ("127.0.0.0/8,::1/128", "::2", false),
        ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7", "192.0.2.6", false),
        ("192.0.2.128/25", "192.0.2.128", true), ("192.0.2.128/25", "192.0.2.127", false),
        ("2001:db8::/33", "2001:db8:7fff::1", true), ("2001:db8::/33", "2001:db8:8000::1", false),
        ("0.0.0.0/0", "203.0.113.1", true), ("0.0.0.0/0", "2001:db8::1", false),
        ("::/0", "2001:db8::1", true), (" 10.0.0.0/8 , 192.0.2.1 ", "192.0.2.1", true),
        ("", "127.0.0.1", false), ("127.0.0.0/8", "localhost", false), ("127.0.0.0/8", "", false),
    ])
    func `has what lies in one of them`(_ list: String, _ address: String, _ expected: Bool) throws {
        #expect(try #require(NetworkList(list)).contains(address) == expected)
    }

    @Test(arguments: [
        "localhost", "127.0.0.0/33", "127.0.0.0/-1", "127.0.0.0/8/8", "127.0.0.0/", "/8", "::1/129", "1.2.3",
        "10.0.0.0/8;::1", "127.0.0.0/99999999999999999999",
    ])
    func `is refused when an entry is not a network`(_ list: String) { #expect(NetworkList(list) == nil) }
}

@Suite struct `Proxy address` {
    @Test(arguments: [
        ("proxy.example.com:3128", "proxy.example.com", UInt16(3128), String?.none),
        ("http://10.0.0.1:8080/", "10.0.0.1", 8080, nil), ("HTTP://[2001:db8::1]:80", "2001:db8::1", 80, nil),
        ("http://alice:s3cret@proxy:3128", "proxy", 3128, "alice:s3cret"),
        ("alice:p%40ss%3Aw@rd@proxy:3128", "proxy", 3128, "alice:p@ss:w@rd"), ("alice:@proxy:1", "proxy", 1, "alice:"),
    ])
    func `is read`(text: String, host: String, port: UInt16, credentials: String?) throws {
        let address = try #require(ProxyAddress(text))
        #expect(address.origin == HTTPOrigin(host: host, port: port))
        #expect(address.credentials == credentials)
    }

    @Test(arguments: [
        "", "proxy", "http://proxy", "https://proxy:3128", "socks5://proxy:1080", "proxy:0", "proxy:65536", "proxy:x",
        "alice@proxy:3128", ":secret@proxy:3128", "a%zz:b@proxy:1", "a%0ab:c@proxy:1", "a%3Ab:c@proxy:1", "[::1]",
        "proxy:3128/path", "user:pass@", "a b:3128", "proxy:3128?x", "://", "http://",
    ])
    func `is refused when it cannot be meant`(text: String) { #expect(ProxyAddress(text) == nil) }

    @Test func `never appears in an error`() {
        for value in ["http://alice:s3cret@proxy", "alice:s3cret@" + String(repeating: "p", count: 5000)] {
            var settings = Settings()
            let error = #expect(throws: SettingError.self) { try settings.set(.httpProxy, to: value) }
            #expect(error?.message.contains("s3cret") == false)
        }
    }

    @Test(arguments: [
        ("Aladdin:open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), ("a:", "Basic YTo="), ("u:p", "Basic dTpw"),
        ("test:123£", "Basic dGVzdDoxMjPCow=="), ("a:\u{3fb}\u{3ff}", "Basic YTrPu8+/"),
    ])
    func `makes the credentials of RFC 7617`(text: String, value: String) {
        #expect(ProxyAddress.authorization(text) == value)
    }
}

@Suite struct `Exceptions from the proxy` {
    @Test(arguments: [
        ("push.example.com", true), ("Push.Example.COM", true), ("other.example.com", false),
        ("a.intern.example", true), ("intern.example", false), ("b.lan.example", true), ("10.1.2.3", true),
        ("11.1.2.3", false), ("::1", true),
        ("127.0.0.1", true), ("xintern.example", false),
    ])
    func `cover names, all below a name, addresses and networks`(host: String, isExcepted: Bool) {
        let list = ProxyExceptions("push.example.com, .intern.example,*.lan.example,10.0.0.0/8,::1, 127.0.0.1,")
        #expect(list.problem == nil)
        #expect(list.contains(host) == isExcepted)
    }

    @Test func `can be everything or nothing`() {
        #expect(ProxyExceptions("*").contains("push.example.com"))
        #expect(!ProxyExceptions("").contains("push.example.com"))
    }

    @Test(arguments: ["https://a.example", "a.example:443", "10.0.0.0/33", "a b", "a/b", ".", "*."])
    func `name what is not a host`(entry: String) {
        let list = ProxyExceptions("ok.example,\(entry)")
        #expect(list.problem == entry)
        #expect(list.contains("ok.example"))
    }
}

@Suite struct `An IPv4 address` {
    @Test(arguments: [
        ("0.0.0.0", UInt32(0)), ("192.0.2.7", 0xC000_0207), ("255.255.255.255", .max), ("10.100.0.1", 0x0A64_0001),
    ])
    func `is four numbers`(_ text: String, _ address: UInt32) { #expect(IPAddressText.v4(text) == address) }

    @Test(arguments: [
        "", ".", "1", "1.2.3", "1.2.3.", ".1.2.3", "1..2.3", "1.2.3.4.", "1.2.3.4.5", "01.2.3.4", "1.2.3.00",
        "256.1.1.1", "1.2.3.1000", "1.2.3.99999999999999999999", "1.2.3.4 ", "1.2.3.-4", "1.2.3.4a", "1.2.3.\u{0664}",
    ])
    func `is nothing else`(_ text: String) { #expect(IPAddressText.v4(text) == nil) }
}
