// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeStore

@Suite struct `The order of questions` {
    private let alice = Array("alice".utf8)
    private let bob = Array("bob".utf8)

    @Test func `lets questions about different users go at the same time`() {
        var order = RequestOrder(most: 10)
        #expect(order.add(1, about: alice, deadline: 10) == .go)
        #expect(order.add(2, about: bob, deadline: 10) == .go)
        let next = [order.ended(2), order.ended(1)]
        #expect(next == [nil, nil])
        let count = order.count
        #expect(count == 0)
    }

    @Test func `lets those about one user go one after the other`() {
        var order = RequestOrder(most: 10)
        for id in 1...3 as ClosedRange<UInt64> {
            let admission = order.add(id, about: alice, deadline: 10)
            #expect(admission == (id == 1 ? .go : .wait))
        }
        let next = [order.ended(1), order.ended(2), order.ended(3), order.ended(3)]
        #expect(next == [2, 3, nil, nil])
    }

    @Test func `goes on with the next when one that waits is given up`() {
        var order = RequestOrder(most: 10)
        for id in 1...3 as ClosedRange<UInt64> { _ = order.add(id, about: alice, deadline: 10) }
        let given = order.ended(2)
        #expect(given == nil)
        let next = order.ended(1)
        #expect(next == 3)
    }

    @Test func `refuses what is too many, until others have ended`() {
        var order = RequestOrder(most: 2)
        _ = order.add(1, about: alice, deadline: 10)
        _ = order.add(2, about: bob, deadline: 10)
        let refused = order.add(3, about: bob, deadline: 10)
        #expect(refused == .refuse)
        _ = order.ended(1)
        let admitted = order.add(3, about: bob, deadline: 10)
        #expect(admitted == .wait)
    }

    @Test func `tells whose time is over, the oldest first`() {
        var order = RequestOrder(most: 1000)
        for id in 1...500 as ClosedRange<UInt64> {
            _ = order.add(id, about: id % 2 == 0 ? alice : bob, deadline: Int64(id))
        }
        _ = order.ended(1)
        let deadline = order.nextDeadline()
        #expect(deadline == 2)
        let over = order.expired(now: 400)
        #expect(over == Array(2...400))
        for id in over { _ = order.ended(id) }
        let next = order.nextDeadline()
        #expect(next == 401)
        let rest = order.expired(now: 1000)
        #expect(rest == Array(401...500))
        let none = order.nextDeadline()
        #expect(none == nil)
    }
}

@Suite struct `A user as bytes` {
    @Test func `comes back as it was`() throws {
        let store = MemoryStore()
        for index in 0..<5 {
            var phone = makeBinding(
                token: "token \(index)", instance: "<\(index)>", callID: "c\(index)", at: start - Int64(index))
            phone.route = index == 2 ? "<sip:192.0.2.7;lr;received=sip:198.51.100.1:4711>" : ""
            phone.attributes["pn-timeout"] = "0"
            _ = store.register([phone], now: start)
            _ = store.purr(of: phone, now: start) { PURR(high: UInt64(index), low: 7) }
        }
        _ = store.remove(
            .device(instance: "<3>", contact: "", callID: ""), of: "alice@example.com", reason: "x", now: start)
        let user = try #require(store.users[Array("alice@example.com".utf8)])
        let version: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
        let bytes = UserImage.encode(user, of: "alice@example.com", version: version)
        let read = try #require(UserImage.decode(bytes, of: "alice@example.com"))
        #expect(read.version == version)
        #expect(read.user.live.map(\.binding) == user.live.map(\.binding))
        #expect(read.user.tombstones == user.tombstones)
        #expect(read.user.purrs.map(\.purr) == user.purrs.map(\.purr))
        #expect(
            read.user.purrs.map { told in read.user.live.first { $0.id == told.row }?.binding.token }
                == user.purrs.map { told in user.live.first { $0.id == told.row }?.binding.token })
    }

    @Test func `is read as damaged wherever it is cut`() {
        let store = MemoryStore()
        _ = store.register([makeBinding()], now: start)
        let user = store.users[Array("alice@example.com".utf8)] ?? .init()
        let bytes = UserImage.encode(user, of: "alice@example.com", version: Array(repeating: 0, count: 8))
        for count in 0..<bytes.count {
            #expect(UserImage.decode(Array(bytes[..<count]), of: "alice@example.com") == nil)
        }
        #expect(UserImage.decode(bytes, of: "alice@example.com") != nil)
    }

    @Test(arguments: [0, 1, -1, 63, 64, -64, .max, .min] as [Int64])
    func `holds any number`(number: Int64) {
        var bytes: [UInt8] = []
        bytes.append(number: number)
        var reader = ByteReader(bytes.span)
        let (found, rest) = (reader.nextNumber(), reader.count)
        #expect(found == number)
        #expect(rest == 0)
    }
}

@Suite struct `Addresses of servers` {
    @Test(arguments: [
        (
            "redis://valkey.example.net", ValkeyAddress.Place.tcp(host: "valkey.example.net", port: 6379, isTLS: false),
            0
        ),
        ("rediss://192.0.2.1:6380/3", .tcp(host: "192.0.2.1", port: 6380, isTLS: true), 3),
        ("valkey://[2001:db8::1]:7000/", .tcp(host: "2001:db8::1", port: 7000, isTLS: false), 0),
        ("valkeys://[::1]", .tcp(host: "::1", port: 6379, isTLS: true), 0),
        ("unix:///run/valkey/valkey.sock", .unix(path: "/run/valkey/valkey.sock"), 0),
        (
            "redis+sentinel://a.example.net,[::1]:7000/push/2",
            .sentinel(
                hosts: [.init(name: "a.example.net", port: 26_379), .init(name: "::1", port: 7000)], name: "push",
                isTLS: false), 2
        ),
        (
            "valkeys+sentinel://a/push",
            .sentinel(hosts: [.init(name: "a", port: 26_379)], name: "push", isTLS: true), 0
        ),
        (
            "redis+cluster://a.example.net,[::1]:7000",
            .cluster(hosts: [.init(name: "a.example.net", port: 6379), .init(name: "::1", port: 7000)], isTLS: false), 0
        ),
        ("valkeys+cluster://a/", .cluster(hosts: [.init(name: "a", port: 6379)], isTLS: true), 0),
    ])
    func `are read`(text: String, place: ValkeyAddress.Place, database: Int) throws {
        let address = try ValkeyAddress(text)
        #expect(address.place == place && address.database == database && address.description == text)
    }

    @Test(arguments: [
        ("redis://push@h", "push", ValkeyAddress.Place.tcp(host: "h", port: 6379, isTLS: false)),
        ("redis://a%40b@h", "a@b", .tcp(host: "h", port: 6379, isTLS: false)),
        ("unix://push@/run/valkey.sock", "push", .unix(path: "/run/valkey.sock")),
        (
            "rediss+sentinel://push@a,b/name", "push",
            .sentinel(
                hosts: [.init(name: "a", port: 26_379), .init(name: "b", port: 26_379)], name: "name", isTLS: true)
        ),
        ("redis+cluster://push@a", "push", .cluster(hosts: [.init(name: "a", port: 6379)], isTLS: false)),
    ])
    func `name a user before the host`(text: String, user: String, place: ValkeyAddress.Place) throws {
        let address = try ValkeyAddress(text)
        #expect(address.user == user && address.place == place && address.database == 0)
    }

    @Test(arguments: [
        "", "redis", "http://x", "redis://", "redis://:7000", "redis://h:0", "redis://h:70000", "redis://h/x",
        "unix://x",
        "redis://user:secret@host", "redis://:secret@host", "redis://@host", "redis://a/b@host", "redis://a%zz@host",
        "redis://a b", "rediss://[::1", "redis+sentinel://a", "redis+sentinel://a/",
        "redis+sentinel://a,/push",
        "redis+cluster://", "redis+cluster://a,", "redis+cluster://a/1", "redis+cluster://u:p@a",
        "redis+sentinel://a/push/x", "redis+sentinel:///push", "redis+sentinel://a/push/1/2",
    ])
    func `are refused with a remedy`(text: String) {
        #expect(throws: StoreChoice.Mistake.self) { try ValkeyAddress(text) }
    }
}
