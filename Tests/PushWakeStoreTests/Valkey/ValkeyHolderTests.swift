// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import PushWakeSystem
import Testing

private let aor = "alice@example.com"

/// Nodes that hold requests for a user, as the server knows them.
@Suite struct `Nodes that hold requests` {
    private func hold(_ node: ValkeyNode, seconds: Int64) {
        var isHeld = false
        node.store.hold(for: aor, claim: "call", seconds: seconds, now: start) { (store) throws(StoreError) in
            true
        } then: { _, _ in
            isHeld = true
        }
        #expect(node.wait { isHeld })
    }

    @Test func `are known for as long as the longest request, whatever comes after it`() throws {
        let prefix = NameSource().next()
        let a = try ValkeyNode(.shared, name: "a", prefix: prefix)
        let b = try ValkeyNode(.shared, name: "b", prefix: prefix)
        #expect(a.connect() && b.connect())
        try a.register(makeBinding())
        func rest() throws -> Int? {
            Int(try ValkeyServer.shared.output("ttl '\(prefix):{:\(aor)}h'").filter(\.isNumber))
        }
        hold(a, seconds: 200)
        #expect((190...200).contains(try rest() ?? 0))
        hold(a, seconds: 86_400)
        #expect((86_390...86_400).contains(try rest() ?? 0))
        hold(b, seconds: 100)
        #expect((86_390...86_400).contains(try rest() ?? 0))
    }

    @Test func `are known once more when the server has forgotten them, and all it knew of the user`() throws {
        let prefix = NameSource().next()
        let a = try ValkeyNode(.shared, name: "a", prefix: prefix)
        let b = try ValkeyNode(.shared, name: "b", prefix: prefix)
        #expect(a.connect() && b.connect())
        var known: Bool?
        var count: Int?
        a.store.holdAgain(for: aor, seconds: 100, now: start) { (store) throws(StoreError) in
            try store.bindings(of: aor, now: start).count
        } then: {
            (count, known) = (try? $0.get(), $1)
        }
        #expect(a.wait { known == true && count == 0 })
        let word = Array("registered".utf8)
        try b.register(makeBinding(), announcing: word)
        #expect(a.wait(5000) { a.heard == [word] })
    }

    @Test func `are not known to a server that takes no writes`() throws {
        let server = ValkeyServer()
        let node = try ValkeyNode(server, name: "a", prefix: "p")
        #expect(node.connect())
        try node.register(makeBinding())
        try server.run("config set min-replicas-to-write 1")
        var state: HoldState?
        node.store.hold(for: aor, claim: "call", seconds: 100, now: start) { (store) throws(StoreError) in
            true
        } then: {
            state = $1
        }
        #expect(node.wait { state == HoldState(isKnown: false) })
        var known: Bool?
        node.store.holdAgain(for: aor, seconds: 100, now: start) { (store) throws(StoreError) in
            true
        } then: {
            known = $1
        }
        #expect(node.wait { known == false })
    }

    /// As of calls that an engine is told of in its first moments.
    @Test func `may ask before the first connection stands`() throws {
        let node = try ValkeyNode(.shared, name: "a", prefix: NameSource().next())
        let binding = makeBinding()
        try node.register(binding)
        #expect(try node.bindings() == [binding])
    }

    /// A list of three that begins with this word looks like what a subscription brings.
    @Test(arguments: ["message", "smessage"])
    func `may have any name`(name: String) throws {
        let prefix = NameSource().next()
        let nodes = try [name, "b", "c", "d"].map { try ValkeyNode(.shared, name: $0, prefix: prefix) }
        for node in nodes { #expect(node.connect()) }
        let phone = makeBinding()
        _ = try nodes[3].ask { (store) throws(StoreError) in try store.register([phone], now: start) }
        for node in nodes[..<3] { hold(node, seconds: 100) }
        // It changes nothing: who holds requests is asked for alone.
        let word = Array("registered".utf8)
        #expect(try nodes[3].ask(announcing: word) { (store) throws(StoreError) in true })
        for node in nodes[..<3] { #expect(node.wait(5000) { node.heard == [word] }) }
        // Each reply still belongs to its question.
        #expect(try nodes[3].ask { (store) throws(StoreError) in try store.bindings(of: aor, now: start) } == [phone])
    }
}
