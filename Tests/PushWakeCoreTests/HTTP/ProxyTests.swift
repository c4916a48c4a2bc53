// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

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
