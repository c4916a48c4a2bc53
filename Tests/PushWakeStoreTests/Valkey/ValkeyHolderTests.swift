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
        _ = try a.ask { (store) throws(StoreError) in try store.register([makeBinding()], now: start) }
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
