// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

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
