// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeStore
import PushWakeSystem
import Testing

/// Users who have slots of all masters: CRC-16 puts names that differ in one digit beside each other.
private enum ClusterUser {
    static func name(_ index: Int) -> String { "user\(index)@host\(index).example.com" }
}

/// What only a cluster does: slots that move, and masters that are replaced while others go on.
@Suite(.serialized) struct `A store on a cluster` {
    private func makeNode(
        _ cluster: ValkeyCluster, name: String = "a", prefix: String, timeout: Int64 = 2000
    ) throws -> ValkeyNode {
        let node = try ValkeyNode(cluster.servers[0], name: name, prefix: prefix, access: cluster.access()) {
            $0.timeout = timeout
        }
        #expect(node.wait { node.lines.contains { $0.contains("connected") } })
        return node
    }

    private func register(
        _ node: ValkeyNode, _ aor: String, cseq: UInt32 = 1, keepsTrying: Bool = false
    ) throws -> Binding {
        let phone = makeBinding(aor: aor, token: "of \(aor) \(cseq)", cseq: cseq)
        _ = try node.ask(aor, keepsTrying: keepsTrying) { (store) throws(StoreError) in
            try store.register([phone], now: start)
        }
        return phone
    }

    private func read(_ node: ValkeyNode, _ aor: String) throws -> [Binding] {
        try node.ask(aor) { (store) throws(StoreError) in try store.bindings(of: aor, now: start) }
    }

    @Test func `lists users and nodes of all masters`() throws {
        let prefix = NameSource().next()
        let a = try makeNode(.shared, prefix: prefix)
        let b = try makeNode(.shared, name: "b", prefix: prefix)
        let users = (0..<60).map { ClusterUser.name($0) }
        for user in users { _ = try register(a, user) }
        var seen: [String] = []
        var isDone = false
        b.store.forEachUser(now: start) { (aor, store) throws(StoreError) in
            if try store.bindings(of: aor, now: start).count == 1 { seen.append(aor) }
        } then: { failure in
            #expect(failure == nil)
            isDone = true
        }
        #expect(b.wait { isDone })
        #expect(seen.sorted() == users.sorted())
        var nodes: [String]?
        b.store.nodes { nodes = (try? $0.get())?.map(\.name) ?? [] }
        #expect(b.wait { nodes != nil })
        #expect(nodes == ["a", "b"])
        #expect(Set(try users.map { try ValkeyCluster.shared.master(of: "\(prefix):{:\($0)}").port }).count == 3)
    }

    @Test func `tells a node that holds a request of a phone at another, whoever has the user`() throws {
        let prefix = NameSource().next()
        let a = try makeNode(.shared, prefix: prefix)
        let b = try makeNode(.shared, name: "b", prefix: prefix)
        let users = (0..<12).map { ClusterUser.name($0) }
        for user in users {
            _ = try register(b, user)
            var isClaimed: Bool?
            a.store.hold(for: user, claim: "call", seconds: 100, now: start) { (store) throws(StoreError) in
                try store.bindings(of: user, now: start)
            } then: { result, state in
                #expect((try? result.get())?.count == 1)
                isClaimed = state.isClaimed
            }
            #expect(a.wait { isClaimed != nil })
            #expect(isClaimed == false)
        }
        for user in users {
            _ = try b.ask(user, announcing: Array(user.utf8)) { (store) throws(StoreError) in
                try store.register([makeBinding(aor: user, cseq: 2)], now: start)
            }
        }
        #expect(a.wait { a.heard.count == users.count })
        #expect(Set(a.heard) == Set(users.map { Array($0.utf8) }))
    }

    @Test func `finds a user by a PURR, wherever both are`() throws {
        let node = try makeNode(.shared, prefix: NameSource().next())
        for index in 0..<12 {
            let aor = ClusterUser.name(index)
            let phone = makeBinding(aor: aor)
            let purr = PURR(high: .random(in: 1 ... .max), low: UInt64(index))
            let told = try node.ask(aor) { (store) throws(StoreError) in
                _ = try store.register([phone], now: start)
                return try store.purr(of: phone, now: start) { purr }
            }
            #expect(told == purr)
            var found: [Binding]?
            node.store.ask(aboutPURR: purr, now: start) { (store) throws(StoreError) in
                try store.bindings(ofPURR: purr, now: start)
            } then: {
                found = (try? $0.get()) ?? []
            }
            #expect(node.wait { found != nil })
            #expect(found == [phone])
        }
    }

    @Test func `obeys ASK and MOVED while a slot goes to another master`() throws {
        let cluster = ValkeyCluster(withReplicas: false)
        let prefix = NameSource().next()
        let node = try makeNode(cluster, prefix: prefix, timeout: 500)
        let aor = "alice@example.com"
        let phone = try register(node, aor)
        let key = "\(prefix):{:\(aor)}"
        let source = try cluster.master(of: key)
        let target = try #require(cluster.servers.first { $0 !== source })
        let slot = try source.output("cluster keyslot '\(key)'").filter(\.isNumber)
        try target.run("cluster setslot \(slot) importing \(source.clusterID)")
        try source.run("cluster setslot \(slot) migrating \(target.clusterID)")
        #expect(try read(node, aor) == [phone])
        try source.run("migrate 127.0.0.1 \(target.port) '\(key)' 0 2000")
        // ASK.
        #expect(try read(node, aor) == [phone])
        // Some keys of the script are here, others nowhere: that goes when the slot has moved.
        let again = makeBinding(aor: aor, token: "again", cseq: 2)
        #expect(throws: StoreError.self) {
            try node.ask(aor, keepsTrying: true) { (store) throws(StoreError) in
                try store.register([again], now: start)
            }
        }
        for server in cluster.servers { try server.run("cluster setslot \(slot) node \(target.clusterID)") }
        // MOVED.
        #expect(node.wait { node.store.backlog == 0 })
        #expect(try read(node, aor) == [again])
        #expect(node.lines.filter { $0.contains("MOVED") || $0.contains("ASK ") } == [])
    }

    @Test func `goes on for other users when a master dies, and for its own when the replica has taken over`() throws {
        let cluster = ValkeyCluster(withReplicas: true)
        let prefix = NameSource().next()
        let a = try makeNode(cluster, prefix: prefix, timeout: 300)
        let b = try makeNode(cluster, name: "b", prefix: prefix, timeout: 300)
        let users = (0..<30).map { ClusterUser.name($0) }
        for user in users { _ = try register(a, user) }
        for server in cluster.servers where try server.output("role").contains("master") {
            try server.run("wait 1 5000")
        }
        let victim = try cluster.master(of: "\(prefix):{:\(users[0])}")
        let lost = try users.filter { try cluster.master(of: "\(prefix):{:\($0)}") === victim }
        let kept = users.filter { !lost.contains($0) }
        #expect(!kept.isEmpty)
        kill(victim.pid, SIGKILL)
        #expect(a.wait { (try? read(a, lost[0])) == nil })
        for user in kept { #expect(try read(a, user).count == 1) }
        #expect(throws: StoreError.self) { try register(a, lost[0], cseq: 2, keepsTrying: true) }
        #expect(a.store.backlog == 1)
        _ = try register(a, kept[0], cseq: 2, keepsTrying: true)
        #expect(a.wait(30_000) { a.store.backlog == 0 })
        for user in lost { #expect(a.wait { (try? read(a, user))?.count == 1 }) }
        #expect(try read(a, lost[0]).map(\.cseq) == [2])
        // Whoever has the channel of a node, it is told again.
        for user in [lost[0], kept[0]] {
            var isHeld = false
            #expect(
                b.wait {
                    b.store.hold(for: user, claim: "call", seconds: 100, now: start) { (store) throws(StoreError) in
                        true
                    } then: { result, _ in
                        if (try? result.get()) != nil { isHeld = true }
                    }
                    return b.wait(400) { isHeld }
                })
        }
        #expect(
            b.wait {
                _ = try? a.ask(lost[0], announcing: [1]) { (store) throws(StoreError) in true }
                return !b.heard.isEmpty
            })
    }

    @Test func `says which cluster nobody answers for`() throws {
        let access = ValkeyAccess(try ValkeyAddress("redis+cluster://127.0.0.1:1"))
        let node = try ValkeyNode(.shared, access: access)
        #expect(node.wait { node.lines.contains { $0.contains("redis+cluster://127.0.0.1:1: node 127.0.0.1:1") } })
    }

    @Test func `says that a server is in no cluster`() throws {
        let alone = ValkeyServer(replicaOf: nil)
        let access = ValkeyAccess(try ValkeyAddress("redis+cluster://127.0.0.1:\(alone.port)"))
        let node = try ValkeyNode(alone, access: access)
        #expect(node.wait { node.lines.contains { $0.contains("cluster support disabled") } })
    }
}
