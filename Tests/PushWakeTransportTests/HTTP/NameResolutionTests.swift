// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import Synchronization
import Testing

@testable import PushWakeSimulator
@testable import PushWakeSystem
@testable import PushWakeTransport

/// Counts in any thread.
private final class Counter: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    func add() { count.add(1, ordering: .relaxed) }
}

@Suite(.serialized) struct `The way from a name to a connection` {
    @Test func `looks names up without blocking`() throws {
        let bench = try Workbench().serve()
        let pool = try bench.makePool(host: "localhost")
        #expect(bench.send(pool)?.response?.status == 200)
    }

    @Test func `does not wait for a name longer than for a connection, and takes it when it comes`() throws {
        let bench = try Workbench()
        let port = try bench.serve().address().port
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: port))
        let asked = Counter()
        let resolver = Resolver(loop: bench.loop) { _, _ in
            asked.add()
            usleep(1_500_000)
            return .addresses([address])
        }
        let pool = try bench.makePool(host: "localhost", resolver: resolver) {
            $0.connectTimeout = 300
            $0.longestPause = 100
        }
        let begin = SystemClock.monotonicMilliseconds()
        guard case .unreachable(let text) = bench.send(pool, within: 800) else {
            Issue.record("not unreachable")
            return
        }
        #expect(text == "cannot resolve localhost within 300 ms")
        #expect(SystemClock.monotonicMilliseconds() - begin < 1500)
        // One thread for all attempts: the second push is sent with what it finds.
        #expect(bench.send(pool, within: 20_000)?.response?.status == 200)
        #expect(asked.value == 1)
    }

    @Test func `does not wait behind names that hang`() throws {
        let bench = try Workbench()
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 1))
        let hangs = Counter()
        let resolver = Resolver(loop: bench.loop, lookupTimeout: 200) { host, _ in
            if host.hasPrefix("hangs") {
                hangs.add()
                usleep(4_000_000)
                return .failed("no")
            }
            return .addresses([address])
        }
        var found: [String: Int64] = [:]
        func ask(_ host: String) {
            bench.loop.updateTime()
            let begin = bench.loop.now
            resolver.resolve(host, port: 1) { _ in found[host] = bench.loop.now - begin }
        }
        ask("known")
        bench.run { found["known"] != nil }
        found = [:]
        for number in 0..<6 { ask("hangs\(number)") }
        ask("known")
        ask("new")
        bench.run(seconds: 3) { found.count == 2 }
        #expect((found["known"] ?? 9999) < 200)
        #expect((found["new"] ?? 9999) < 700)
        #expect(hangs.value >= 4)
        // Twice as many as hang at once: those that did before come last.
        for number in 0..<40 { ask("hangs\(number)") }
        ask("newer")
        ask("known")
        found = [:]
        bench.run(seconds: 3) { found["known"] != nil }
        #expect((found["known"] ?? 9999) < 200)
    }

    @Test func `does not wait behind names that somebody made up`() throws {
        let bench = try Workbench()
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 1))
        let resolver = Resolver(loop: bench.loop, lookupTimeout: 200, trusted: ["listed"]) { host, _ in
            if host.hasPrefix("hangs") {
                usleep(host == "hangs0" ? 1_000_000 : 4_000_000)
                return .failed("no")
            }
            return .addresses([address])
        }
        var found: [String] = []
        bench.loop.updateTime()
        // More than there are threads.
        var tickets = (0..<200).map { number in resolver.resolve("hangs\(number)", port: 1) { _ in } }
        bench.run(seconds: 2) { resolver.waiting <= 172 }
        for name in ["listed", "newest"] { tickets.append(resolver.resolve(name, port: 1) { _ in found.append(name) }) }
        bench.run(seconds: 1) { found.contains("listed") }
        #expect(found == ["listed"])
        // One place becomes free; all others hang.
        bench.run(seconds: 3) { found.count == 2 }
        #expect(found == ["listed", "newest"])
        for ticket in tickets { resolver.giveUp(ticket) }
        #expect(resolver.waiting == 0)
    }

    @Test func `takes the address that answers`() throws {
        let bench = try Workbench()
        let port = try bench.serve().address().port
        var results: [Result<Socket, SystemError>] = []
        let addresses = try ["127.0.0.9", "127.0.0.1"].map { try #require(SocketAddress(ip: $0, port: port)) }
        let connector = Connector(loop: bench.loop, addresses: addresses) { results.append($0) }
        bench.run { !results.isEmpty }
        withExtendedLifetime(connector) {}
        #expect(results.count == 1)
        #expect(throws: Never.self) { try results.first?.get() }
    }

    @Test func `leaves an address that takes connections and says nothing, and finds the one that serves`() throws {
        let bench = try Workbench()
        let port = try bench.serve().address().port
        let mute = try #require(SocketAddress(ip: "127.0.0.9", port: port))
        let good = try #require(SocketAddress(ip: "127.0.0.1", port: port))
        // The kernel answers SYN for it; nobody answers TLS.
        let socket = try Socket.listen(on: mute)
        let resolver = Resolver(loop: bench.loop) { _, _ in .addresses([mute, good]) }
        let pool = try bench.makePool(host: "localhost", resolver: resolver) { $0.connectTimeout = 300 }
        #expect(bench.send(pool)?.response?.status == 200)
        #expect(pool.statistics.connectionsFailed == 1)
        // The next connection begins with the good one.
        bench.connections.first?.close()
        bench.connections.first?.flush()
        bench.run { bench.closed == 1 && pool.openConnections == 0 }
        #expect(bench.send(pool)?.response?.status == 200)
        #expect(pool.statistics.connectionsFailed == 1)
        pool.close()
        socket.close()
    }

    @Test func `leaves an address where every connection ends before it has served`() throws {
        let bench = try Workbench()
        let good = try bench.serve().address()
        let frontEnd = FrontEnd()
        let closing = try #require(
            bench.serve(hosts: ["localhost"], ip: "127.0.0.9", port: good.port, script: frontEnd).server)
        let address = closing.address
        let resolver = Resolver(loop: bench.loop) { _, _ in .addresses([address, good]) }
        let pool = try bench.makePool(host: "localhost", resolver: resolver)
        // The request was sent: whether it may be repeated is for its owner to say.
        #expect(bench.send(pool)?.response == nil)
        #expect(bench.send(pool)?.response?.status == 200)
        #expect(frontEnd.connections == 1)
        pool.close()
    }

    /// Takes connections and has no back end: it ends them when a request comes.
    private final class FrontEnd: ServerScript {
        private(set) var connections = 0

        func opened(_ connection: ServedConnection) { connections += 1 }
        func received(_ request: ScriptedRequest, on connection: ServedConnection) { connection.abort() }
        func closed(_ connection: ServedConnection) {}
    }

    @Test func `gives addresses of the last resort the way when the others fail, or take long`() throws {
        let bench = try Workbench()
        let port = try bench.serve().address().port
        let refused = try #require(SocketAddress(ip: "127.0.0.9", port: port))
        let good = try #require(SocketAddress(ip: "127.0.0.1", port: port))
        // Nothing answers there: a backlog that is full drops SYN.
        let full = try #require(SocketAddress(ip: "127.0.0.8", port: port))
        let listener = try Socket.listen(on: full, backlog: 0)
        let filler = try [Socket.connect(to: full), Socket.connect(to: full)]
        for (first, pause) in [([refused], Int64(0)..<200), ([full, refused], Connector.connectTimeout - 50..<4000)] {
            bench.loop.updateTime()
            let begin = bench.loop.now
            var end: Int64?
            let connector = Connector(loop: bench.loop, addresses: .init(first: first, later: [good])) { _ in
                bench.loop.updateTime()
                end = bench.loop.now
            }
            bench.run { end != nil }
            #expect(connector.reached?.description == good.description)
            #expect(pause.contains((end ?? 0) - begin))
        }
        withExtendedLifetime((listener, filler)) {}
    }

    @Test func `refuses loopback when addresses from outside are not trusted`() throws {
        let bench = try Workbench().serve()
        let pool = try bench.makePool {
            $0.refusesLocalAddresses = true
            $0.failsFast = true
        }
        #expect(bench.send(pool)?.problem.contains("not allowed") == true)
        #expect(bench.connections.isEmpty)
    }
}
