// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `Order of a server's addresses` {
    @Test func `is the system's while nothing has failed`() {
        var order = AddressOrder()
        let choice = order.choice(of: ["a", "b"], now: 0)
        #expect(choice.first == ["a", "b"] && choice.later == [])
        #expect(order.choice(of: [String](), now: 0).first == [])
    }

    @Test func `puts addresses that failed last, the latest failure at the end`() {
        var order = AddressOrder()
        order.failed("a", now: 1)
        order.failed("c", now: 2)
        var choice = order.choice(of: ["c", "a", "b"], now: 3)
        #expect(choice.first == ["b"] && choice.later == ["a", "c"])
        order.failed("a", now: 4)
        choice = order.choice(of: ["c", "a", "b"], now: 5)
        #expect(choice.first == ["b"] && choice.later == ["c", "a"])
    }

    @Test func `goes round when all have failed`() {
        var order = AddressOrder()
        var tried: [String] = []
        for time in 0..<6 {
            let choice = order.choice(of: ["a", "b", "c"], now: Int64(time))
            tried.append(choice.first[0])
            order.failed(choice.first[0], now: Int64(time))
        }
        #expect(tried == ["a", "b", "c", "a", "b", "c"])
        let choice = order.choice(of: ["a", "b", "c"], now: 7)
        #expect(choice.first == ["a"] && choice.later == ["b", "c"])
    }

    @Test func `forgets a failure when the address serves, and after ten minutes`() {
        var order = AddressOrder()
        order.failed("a", now: 0)
        order.failed("b", now: 100)
        order.served("b")
        #expect(order.choice(of: ["a", "b"], now: 599_999).first == ["b"])
        #expect(order.choice(of: ["a", "b"], now: 600_000).first == ["a", "b"])
    }

    @Test func `remembers a bounded number of them`() {
        var order = AddressOrder()
        for number in 0..<1000 { order.failed("\(number)", now: 0) }
        let choice = order.choice(of: (0..<1000).map(String.init), now: 1)
        #expect(choice.later.count == AddressOrder.mostRemembered)
    }
}
