// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeStore
import PushWakeSystem
import Testing

private let aor = "alice@example.com"

/// What only a store on a server of its own can do: several nodes, and a server that fails.
@Suite struct `A store that nodes share` {
    /// Two nodes on one server.
    private func withNodes(
        _ server: ValkeyServer = .shared, _ change: @escaping (inout ValkeyStore.Options) -> Void = { _ in },
        _ body: (ValkeyNode, ValkeyNode) throws -> Void
    ) throws {
        let prefix = NameSource().next()
        let a = try ValkeyNode(server, name: "a", prefix: prefix, change)
        let b = try ValkeyNode(server, name: "b", prefix: prefix, change)
        #expect(a.connect() && b.connect())
        try body(a, b)
    }

    @Test func `has one binding when two nodes store the same device at once`() throws {
        try withNodes { a, b in
            for round in 0..<50 {
                let time = start + Int64(round)
                var open = 2
                for (node, name) in [(a, "a"), (b, "b")] {
                    let phone = makeBinding(
                        token: "token of \(round)", contact: "sip:\(name)@192.0.2.1", callID: "\(name)\(round)",
                        at: time)
                    node.store.ask(about: aor, now: time, keepsTrying: false, announcing: nil) {
                        (store) throws(StoreError) in
                        try store.register([phone], now: time)
                    } then: { result in
                        #expect(throws: Never.self) { try result.get() }
                        open -= 1
                    }
                }
                // Both have read before either writes.
                #expect(a.wait { b.turns() && open == 0 })
                let stored = try a.bindings(now: time)
                #expect(stored.map(\.token) == ["token of \(round)"])
            }
        }
    }

    @Test func `keeps all devices that two nodes store at once`() throws {
        try withNodes { a, b in
            var open = 40
            for index in 0..<20 {
                for (node, name) in [(a, "a"), (b, "b")] {
                    let id = "\(name)\(index)"
                    let phone = makeBinding(token: id, instance: id, contact: "sip:\(id)@192.0.2.1", callID: id)
                    node.store.ask(about: aor, now: start, keepsTrying: false, announcing: nil) {
                        (store) throws(StoreError) in
                        _ = try store.register([phone], now: start)
                    } then: { result in
                        #expect(throws: Never.self) { try result.get() }
                        open -= 1
                    }
                }
            }
            #expect(a.wait { b.turns() && open == 0 })
            let stored = try b.bindings()
            #expect(stored.count == 40)
        }
    }

    @Test func `lets no older REGISTER replace a newer one of another node`() throws {
        try withNodes { a, b in
            let newer = makeBinding(token: "new", cseq: 9, at: start + 5)
            let older = makeBinding(token: "old", cseq: 8, at: start + 6)
            try a.register(newer)
            try b.register(older)
            let stored = try a.bindings(now: start + 6)
            #expect(stored == [newer])
        }
    }

    @Test func `answers questions about one user in their order`() throws {
        try withNodes { a, _ in
            var seen: [Int] = []
            for index in 0..<100 {
                let phone = makeBinding(token: "\(index)", cseq: UInt32(index + 1))
                a.store.ask(about: aor, now: start, keepsTrying: false, announcing: nil) { (store) throws(StoreError) in
                    let before = try store.bindings(of: aor, now: start).map(\.token)
                    _ = try store.register([phone], now: start)
                    return before
                } then: { result in
                    #expect((try? result.get()) == (index == 0 ? [] : ["\(index - 1)"]))
                    seen.append(index)
                }
            }
            #expect(a.wait { seen.count == 100 })
            #expect(seen == Array(0..<100))
        }
    }

    @Test func `tells the node that holds a request of a phone that registers at another`() throws {
        try withNodes { a, b in
            let phone = makeBinding()
            try b.register(phone)
            let held = a.hold()
            #expect(held?.bindings == [phone] && held?.isClaimed == false)
            // The same request at another node: the first one pushes.
            #expect(b.hold()?.isClaimed == true)
            let again = makeBinding(cseq: 2, at: start + 1)
            try b.register(again, announcing: Array("registered".utf8))
            #expect(a.wait { a.heard == [Array("registered".utf8)] })
            // A REGISTER that changes nothing is told too, and nobody hears of his own.
            _ = try b.ask(announcing: Array("more".utf8)) { (store) throws(StoreError) in true }
            #expect(a.wait { a.heard.count == 2 })
            #expect(b.heard.isEmpty)
        }
    }

    @Test func `needs no script that somebody has removed`() throws {
        let server = ValkeyServer()
        try withNodes(server) { a, _ in
            try a.register(makeBinding())
            try flushScripts(server)
            let again = makeBinding(token: "other", cseq: 2)
            try a.register(again)
            #expect(try a.bindings() == [again])
        }
    }

    private func flushScripts(_ server: ValkeyServer) throws { try server.run("script flush") }

    @Test func `says so when the server stands still, and keeps REGISTERs for later`() throws {
        let server = ValkeyServer()
        try withNodes(server, { $0.timeout = 300 }) { a, b in
            server.stop()
            let begin = SystemClock.monotonicMilliseconds()
            #expect(throws: StoreError.self) { try a.register(makeBinding(), keepsTrying: true) }
            let first = SystemClock.monotonicMilliseconds() - begin
            #expect(first >= 300 && first < 3000)
            // Nobody waits for it any more.
            #expect(throws: StoreError.self) { try a.bindings() }
            #expect(SystemClock.monotonicMilliseconds() - begin - first < 300)
            #expect(a.store.backlog == 1)
            server.goOn()
            #expect(a.wait { a.store.backlog == 0 && a.store.isReady })
            #expect(b.wait { b.store.isReady })
            #expect(b.read() == [makeBinding()])
        }
    }

    @Test func `does not let a REGISTER that comes late replace what came after it`() throws {
        let server = ValkeyServer()
        try withNodes(server, { $0.timeout = 300 }) { a, b in
            server.stop()
            let late = makeBinding(token: "late", contact: "sip:late@192.0.2.1", callID: "late")
            #expect(throws: StoreError.self) { try a.register(late, keepsTrying: true) }
            server.goOn()
            // The other node is faster.
            #expect(b.wait { b.store.isReady })
            let newer = makeBinding(token: "newer", callID: "newer", at: start + 9)
            #expect(b.wait { (try? b.register(newer)) != nil })
            #expect(a.wait { a.store.backlog == 0 })
            #expect(b.read(now: start + 9) == [newer])
        }
    }

    @Test func `tells nobody of a REGISTER that comes late and was overtaken`() throws {
        let server = ValkeyServer()
        try withNodes(server, { $0.timeout = 300 }) { a, b in
            server.stop()
            let late = makeBinding(token: "late", contact: "sip:late@192.0.2.1", callID: "late")
            #expect(throws: StoreError.self) { try a.register(late, keepsTrying: true, announcing: Array("late".utf8)) }
            server.goOn()
            let newer = makeBinding(token: "newer", callID: "newer", at: start + 9)
            #expect(b.wait { b.store.isReady })
            #expect(b.wait { (try? b.register(newer)) != nil })
            #expect(b.hold(now: start + 9) != nil)
            #expect(a.wait { a.store.backlog == 0 })
            // Announcements come in their order: one that came before this one would have been heard.
            _ = try a.ask(now: start + 10, announcing: Array("last".utf8)) { (store) throws(StoreError) in true }
            #expect(b.wait { !b.heard.isEmpty })
            #expect(b.heard == [Array("last".utf8)])
        }
    }

    @Test func `stores what a phone said while the server was away before what it says now`() throws {
        let server = ValkeyServer()
        try withNodes(server, { $0.timeout = 300 }) { a, _ in
            server.stop()
            #expect(throws: StoreError.self) { try a.register(makeBinding(), keepsTrying: true) }
            server.goOn()
            // It leaves while its REGISTER still waits, or is on its way, or is stored: what cannot be stored now waits too.
            _ = try? a.ask(now: start + 5, keepsTrying: true) { (store) throws(StoreError) in
                try store.remove(.all, of: aor, reason: "unregistered", now: start + 5)
            }
            #expect(a.wait { a.store.backlog == 0 })
            #expect(a.read(now: start + 6) == [])
        }
    }

    @Test func `waits no longer than engine_timeout allows since a reload`() throws {
        let server = ValkeyServer()
        try withNodes(server) { a, _ in
            server.stop()
            a.store.timeout = 300
            let error = #expect(throws: StoreError.self) { try a.ask { (store) throws(StoreError) in true } }
            #expect("\(error as Any)".contains("no answer within 300 ms"))
            server.goOn()
        }
    }

    /// Asks once more, as a node does after `claimPause`.
    private func isClaimedStill(_ node: ValkeyNode) -> Bool? {
        var answer: Bool?
        node.loop.schedule(after: node.store.claimPause) {
            node.store.claimAnew("call", of: aor) { answer = $0 }
        }
        #expect(node.wait { answer != nil })
        return answer
    }

    @Test func `has one node push for a request that two have`() throws {
        try withNodes(.shared, { $0.timeout = 300 }) { a, b in
            try b.register(makeBinding())
            #expect(a.hold()?.isClaimed == false)
            a.store.confirmClaim("call", of: aor)
            a.loop.turn(waitingUpTo: 0)
            #expect(b.hold()?.isClaimed == true)
            #expect(isClaimedStill(b) == true)
            // The same once more, at the node that pushes.
            #expect(a.hold()?.isClaimed == false)
            #expect(isClaimedStill(a) == false)
        }
    }

    @Test func `lets another node push when the first has not said that it does`() throws {
        try withNodes(.shared, { $0.timeout = 300 }) { a, b in
            try b.register(makeBinding())
            #expect(a.hold()?.isClaimed == false)
            #expect(b.hold()?.isClaimed == true)
            #expect(isClaimedStill(b) == false)
            #expect(isClaimedStill(a) == true)
        }
    }

    /// The first node's request goes on without push at the very moment in which the second is told of its claim.
    @Test func `loses no push when the server stands still for as long as a question waits`() throws {
        let server = ValkeyServer()
        try withNodes(server, { $0.timeout = 250 }) { a, b in
            try b.register(makeBinding())
            server.stop()
            a.loop.updateTime()
            b.loop.updateTime()
            var first: Bool?
            var second: Bool?
            a.store.hold(for: aor, claim: "call", seconds: 100, now: start) { (store) throws(StoreError) in
                true
            } then: { result, state in
                first = (try? result.get()) != nil && !state.isClaimed
            }
            // On its way before the second node asks.
            a.loop.turn(waitingUpTo: 0)
            SystemClock.wait(milliseconds: 150)
            b.loop.updateTime()
            b.store.hold(for: aor, claim: "call", seconds: 100, now: start) { (store) throws(StoreError) in
                true
            } then: {
                second = (try? $0.get()) == nil ? nil : $1.isClaimed
            }
            b.loop.turn(waitingUpTo: 0)
            #expect(a.wait { first != nil })
            #expect(first == false)
            server.goOn()
            #expect(b.wait { second != nil })
            // Told that the other has it, which has gone on without.
            if second == true { #expect(isClaimedStill(b) == false) }
            _ = a.wait { a.store.isReady }
            #expect(b.store.isReady)
        }
    }

    @Test func `pushes rather twice than not at all when nobody can be asked`() throws {
        let server = ValkeyServer()
        try withNodes(server, { $0.timeout = 300 }) { a, _ in
            kill(server.pid, SIGKILL)
            #expect(isClaimedStill(a) == false)
        }
    }

    @Test func `keeps no more REGISTERs than it was told to`() throws {
        let node = try ValkeyNode(.shared, access: ValkeyAccess(ValkeyAddress("unix:///nonexistent/x"))) {
            $0.backlog = 3
        }
        for index in 0..<5 {
            #expect(throws: StoreError.self) {
                try node.ask("user\(index)", keepsTrying: true) { (store) throws(StoreError) in
                    try store.register([makeBinding(aor: "user\(index)")], now: start)
                }
            }
        }
        #expect(node.store.backlog == 3)
        #expect(node.wait { node.lines.contains { $0.contains("/nonexistent/x") } })
    }

    @Test func `goes on reading when the server takes no writes, and stores later`() throws {
        let server = ValkeyServer()
        try withNodes(server) { a, _ in
            try a.register(makeBinding())
            try server.run("config set min-replicas-to-write 1")
            let again = makeBinding(token: "other", cseq: 2)
            #expect(throws: StoreError.self) { try a.register(again, keepsTrying: true) }
            #expect(a.hold()?.bindings == [makeBinding()])
            try server.run("config set min-replicas-to-write 0")
            #expect(a.wait { a.store.backlog == 0 })
            #expect(try a.bindings() == [again])
        }
    }

    @Test func `names a password that is wrong, and goes on when it is right`() throws {
        let server = ValkeyServer("--requirepass secret")
        let file = server.directory + "/password"
        try server.write("wrong\n", to: file)
        let node = try ValkeyNode(server, access: server.access(passwordFile: file))
        #expect(node.wait { node.lines.contains { $0.contains("WRONGPASS") && $0.contains("store_password_file") } })
        #expect(!node.lines.contains { $0.contains("wrong\n") || $0.contains("secret") })
        try server.write("secret\n", to: file)
        #expect(node.connect())
        try node.register(makeBinding())
    }

    @Test func `repeats no password that the server repeats`() throws {
        let server = ValkeyServer("--rename-command AUTH ''")
        let file = server.directory + "/password"
        try server.write("secret\n", to: file)
        let node = try ValkeyNode(server, access: server.access(passwordFile: file))
        #expect(node.wait { node.lines.contains { $0.contains("store_password_file") } })
        #expect(!node.lines.contains { $0.contains("secret") })
    }

    @Test func `follows the master that Sentinels name, and loses nothing that was replicated`() throws {
        let master = ValkeyServer(replicaOf: nil)
        let replica = ValkeyServer(replicaOf: master)
        let sentinel = try ValkeyServer(sentinelOf: master, named: "push")
        // One of the Sentinels is away.
        let address = try ValkeyAddress("redis+sentinel://127.0.0.1:1,127.0.0.1:\(sentinel.port)/push")
        let node = try ValkeyNode(master, access: ValkeyAccess(address))
        #expect(node.connect())
        try node.register(makeBinding())
        // A Sentinel finds replicas by asking the master now and then; the write has to have reached this one.
        try master.run("wait 1 10000")
        #expect(node.wait { (try? sentinel.output("sentinel replicas push").contains("\(replica.port)")) == true })
        kill(master.pid, SIGKILL)
        #expect(node.wait { !node.store.isReady })
        #expect(node.wait(30_000) { node.store.isReady })
        #expect(node.read() == [makeBinding()])
        let again = makeBinding(token: "other", cseq: 2)
        try node.register(again)
        #expect(try replica.output("role").contains("master"))
    }

    @Test func `says which master nobody knows`() throws {
        let master = ValkeyServer(replicaOf: nil)
        let sentinel = try ValkeyServer(sentinelOf: master, named: "push")
        let address = try ValkeyAddress("redis+sentinel://127.0.0.1:\(sentinel.port)/pull")
        let node = try ValkeyNode(master, access: ValkeyAccess(address))
        #expect(node.wait { node.lines.contains { $0.contains("it knows no master pull") } })
    }

    @Test func `connects again when the server was killed`() throws {
        let server = ValkeyServer("--appendonly yes --appendfsync always")
        try withNodes(server) { a, _ in
            try a.register(makeBinding())
            server.killAndRestart("--appendonly yes --appendfsync always")
            #expect(a.wait { !a.store.isReady })
            #expect(a.connect())
            #expect(try a.bindings() == [makeBinding()])
        }
    }
}

extension ValkeyServer {
    /// One command by the server's own tool.
    func run(_ command: String) throws { _ = try output(command) }

    /// What that tool prints in at most 20 s.
    func output(_ command: String) throws -> String {
        let done = directory + "/done"
        unlink(done)
        let shell = try ChildProcess.start(
            "/bin/sh",
            arguments: ["-c", "timeout 20 redis-cli -s \(socket) \(command) >\(done).part; mv \(done).part \(done)"])
        let end = SystemClock.monotonicMilliseconds() + 25_000
        while Glibc.access(done, F_OK) != 0, SystemClock.monotonicMilliseconds() < end {
            SystemClock.wait(milliseconds: 5)
        }
        shell.closeInput()
        shell.reap()
        return String(decoding: try FileContent.read(done), as: UTF8.self)
    }

    func write(_ text: String, to path: String) throws {
        let file = fopen(path, "w")
        fputs(text, file)
        fclose(file)
    }
}
