// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

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
