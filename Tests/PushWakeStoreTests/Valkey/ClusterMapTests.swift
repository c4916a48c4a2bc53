// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeStore

@Suite struct `The map of a cluster` {
    private typealias Host = ValkeyAddress.Host
    private let asked = Host(name: "192.0.2.9", port: 7000)

    /// As a server answers CLUSTER SLOTS.
    private func range(_ first: Int64, _ last: Int64, _ hosts: [(String?, Int64)]) -> ValkeyReply {
        let nodes = hosts.map { name, port -> ValkeyReply in
            .array([name.map { .bytes(Array($0.utf8)) } ?? .null, .integer(port), .bytes([0x61]), .array([])])
        }
        return .array([.integer(first), .integer(last)] + nodes)
    }

    /// 12739 is the check value of CRC-16/XMODEM, the others are from the servers' documents and from a server.
    @Test(arguments: [
        ("123456789", 12739), ("", 0), ("foo", 12182), ("{foo}", 12182), ("a{foo}b{bar}", 12182), ("{}foo", 9500),
        ("pw:{:alice@example.com}", 1874), ("pw:{:alice@example.com}h", 1874),
    ])
    func `finds the slot of a key`(key: String, slot: Int) { #expect(ClusterMap.slot(of: Array(key.utf8)) == slot) }

    @Test(arguments: ["alice@example.com", "", "}", "{", "a}b", "{}", "user with spaces"])
    func `has all keys of a user in one slot`(aor: String) {
        let keys = ValkeyKeys(prefix: "pw")
        let slots = Set([keys.image(aor), keys.holders(aor), keys.claim(aor, "x")].map(ClusterMap.slot))
        #expect(slots.count == 1)
    }

    @Test func `says who has a slot`() throws {
        let reply = ValkeyReply.array([
            range(0, 99, [("192.0.2.1", 7001), ("192.0.2.4", 7004)]), range(100, 16_383, [("", 7002)]),
        ])
        var map = try #require(ClusterMap(reply, asked: asked))
        #expect(map.master(of: 99) == Host(name: "192.0.2.1", port: 7001))
        #expect(map.master(of: 100) == Host(name: "192.0.2.9", port: 7002))
        #expect(map.isWhole && map.masters.count == 2 && map.nodes.count == 3)
        map.move(99, to: Host(name: "192.0.2.4", port: 7004))
        #expect(map.master(of: 99) == Host(name: "192.0.2.4", port: 7004))
        #expect(map.master(of: 98) == Host(name: "192.0.2.1", port: 7001))
        #expect(map.master(of: -1) == nil && map.master(of: 16_384) == nil)
    }

    @Test func `has no more ranges than slots`() {
        let ranges = Array(repeating: range(0, 16_383, [("192.0.2.1", 7001)]), count: ClusterMap.slotCount + 1)
        #expect(ClusterMap(.array(ranges), asked: asked) == nil)
    }

    @Test func `knows nobody where nobody is named`() throws {
        #expect(ClusterMap(.array([]), asked: asked) == nil)
        #expect(ClusterMap(.error("ERR This instance has cluster support disabled"), asked: asked) == nil)
        #expect(ClusterMap(.array([range(0, 1, [("?", 7001)])]), asked: asked) == nil)
        let part = try #require(ClusterMap(.array([range(0, 99, [("192.0.2.1", 7001)])]), asked: asked))
        #expect(!part.isWhole && part.master(of: 100) == nil)
    }

    @Test(
        arguments: [
            [.array([])], [.integer(1)], [.array([.integer(5), .integer(1), .array([])])],
            [.array([.integer(0), .integer(16_384), .array([])])], [.array([.integer(-1), .integer(0), .array([])])],
            [.array([.integer(0), .integer(1), .array([.null, .integer(70_000)])])],
        ] as [[ValkeyReply]])
    func `takes no answer of another kind`(ranges: [ValkeyReply]) {
        #expect(ClusterMap(.array(ranges), asked: asked) == nil)
    }

    @Test(
        arguments: [
            (
                "MOVED 3999 192.0.2.1:6381",
                ClusterRedirection.moved(slot: 3999, to: .init(name: "192.0.2.1", port: 6381))
            ),
            ("MOVED 3999 :6381", .moved(slot: 3999, to: .init(name: "192.0.2.9", port: 6381))),
            ("ASK 1 2001:db8::1:6381", .ask(.init(name: "2001:db8::1", port: 6381))),
            ("TRYAGAIN Multiple keys request during rehashing of slot", .tryAgain),
            ("CLUSTERDOWN Hash slot not served", .down), ("MOVED 3999", nil), ("MOVED x 192.0.2.1:1", nil),
            ("MOVED 1 192.0.2.1:0", nil), ("ASK 1 ?:6381", nil), ("ERR something", nil), ("", nil),
        ] as [(String, ClusterRedirection?)])
    func `understands who sends on`(text: String, expected: ClusterRedirection?) {
        #expect(ClusterRedirection(text, asked: asked) == expected)
    }

    @Test(arguments: ["", "0", "17", "17 192.0.2.1:7001"])
    func `keeps its place in a walk as one cursor`(text: String) {
        #expect(ServerPlace(text).text == (text.isEmpty ? "0" : text))
    }

    @Test(arguments: ["alice", "-1", " 17"]) func `begins anew at a place of somebody else's`(text: String) {
        #expect(ServerPlace(text) == ServerPlace())
    }
}
