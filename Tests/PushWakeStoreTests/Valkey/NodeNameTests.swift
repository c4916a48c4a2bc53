// SPDX-License-Identifier: MIT

import PushWakeSystem
import Testing

@testable import PushWakeStore

@Suite struct `Names of nodes` {
    /// Who spoke last under the name when this node spoke: itself, another, or nobody.
    enum Before { case itself, another, nobody }

    @Test(
        arguments: [
            ([.another, .another, .another], true),
            // Itself, before it was started anew.
            ([.another, .itself, .itself], false),
            // An engine that is being replaced overlaps with the next one.
            ([.another, .another, .itself], false),
            ([.nobody, .another, .nobody, .another], false),
            ([.nobody, .another, .another, .itself], false),
            ([.nobody, .itself, .another, .another], true),
        ] as [([Before], Bool)])
    func `are another's, too, when somebody speaks in between again and again`(_ before: [Before], _ isShared: Bool) {
        var name = NameWatch(name: "a")
        for each in before { _ = name.spoke(afterItself: each == .nobody ? nil : each == .itself) }
        #expect(name.isShared == isShared)
    }

    @Test func `are news when somebody comes and when he goes`() {
        var name = NameWatch(name: "a")
        let news = [false, false, false, true, true].map { name.spoke(afterItself: $0) }
        #expect(news == [false, false, true, true, false])
    }

    @Test func `are read with the engine that says them`() {
        let presence = Presence("17 abc 0.1.0")
        #expect(presence.identity == "abc" && presence.version == "0.1.0" && presence.startedAt == 17)
        let own = Presence(startedAt: 3)
        #expect(Presence(own.text) == own)
        #expect(own.identity != Presence(startedAt: 3).identity)
    }

    @Test(arguments: [
        ("twin", "sip:192.0.2.1", "sip:192.0.2.2", "twin"), ("", "sip:192.0.2.1", "sip:192.0.2.1", "sip:192.0.2.1"),
    ])
    func `that two nodes have are said by both, until one has gone`(
        _ node: String, _ first: String, _ second: String, _ shared: String
    ) throws {
        let server = ValkeyServer.shared
        let prefix = NameSource().next()
        func make(_ name: String, at uri: String) throws -> ValkeyNode {
            try ValkeyNode(server, name: name, prefix: prefix) {
                $0.nodeURI = uri
                $0.presence = 1
            }
        }
        let a = try make(node.isEmpty ? "a" : node, at: first)
        var b: ValkeyNode? = try make(node.isEmpty ? "b" : node, at: second)
        let both = { (condition: (ValkeyNode) -> Bool) in
            a.wait {
                b?.loop.turn(waitingUpTo: 0)
                return condition(a) && b.map(condition) != false
            }
        }
        #expect(both { $0.store.sharedNames == [shared] })
        #expect(a.lines.contains { $0.contains("another node is \(shared) as well") })
        b?.store.end()
        b = nil
        #expect(a.wait { a.store.sharedNames.isEmpty })
        #expect(a.lines.contains { $0.contains("no other node is \(shared) any more") })
    }
}
