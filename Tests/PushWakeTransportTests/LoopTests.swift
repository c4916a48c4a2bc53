// SPDX-License-Identifier: MIT

import CLinux
import Testing

@testable import PushWakeSystem

@Suite struct `Event loop` {
    @Test func `fires timers in the order of their deadlines, cancelled ones never`() throws {
        let loop = try Loop()
        var fired: [Int] = []
        let delays: [Int64] = [30, 10, 20, 10, 0]
        for (index, delay) in delays.enumerated() { loop.schedule(after: delay) { fired.append(index) } }
        let cancelled = loop.schedule(after: 5) { fired.append(99) }
        loop.cancel(cancelled)
        loop.cancel(cancelled)
        while fired.count < 5 { loop.turn(waitingUpTo: 50) }
        loop.turn(waitingUpTo: 10)
        #expect(fired == [4, 1, 3, 2, 0])
    }

    @Test func `ends a turn although each timer sets another one for now`() throws {
        let loop = try Loop()
        var fired = 0
        func again() {
            fired += 1
            if fired < 5 { _ = loop.schedule(at: loop.now, again) }
        }
        _ = loop.schedule(at: loop.now, again)
        loop.turn(waitingUpTo: 0)
        #expect(fired == 1)
        while fired < 5 { loop.turn(waitingUpTo: 50) }
        loop.turn(waitingUpTo: 0)
        #expect(fired == 5)
    }

    @Test(arguments: [Int64.min, 0, 1])
    func `keeps no timer from its turn by one that is set for the past again and again`(past: Int64) throws {
        let loop = try Loop()
        var isOver = false
        func again() { if !isOver { _ = loop.schedule(at: past, again) } }
        _ = loop.schedule(at: past, again)
        _ = loop.schedule(after: 5) { isOver = true }
        let end = SystemClock.monotonicMilliseconds() + 1000
        while !isOver, SystemClock.monotonicMilliseconds() < end { loop.turn(waitingUpTo: 10) }
        #expect(isOver)
        isOver = true
    }

    @Test func `keeps no more cancelled timers than live ones`() {
        var heap = TimerHeap()
        var fired = 0
        for round in 0..<1000 {
            let id = heap.insert(deadline: Int64(round), action: { fired += 100 })
            _ = heap.insert(deadline: Int64(1000 - round), action: { fired += 1 })
            heap.cancel(id)
        }
        while let action = heap.popDue(now: 2000) { action() }
        #expect(fired == 1000)
        let next = heap.nextDeadline()
        #expect(next == nil)
    }

    @Test func `wakes up for no timer that was cancelled`() {
        var heap = TimerHeap()
        var fired: [Int] = []
        let ids = (0..<8).map { index in heap.insert(deadline: Int64(index), action: { fired.append(index) }) }
        for index in [0, 1, 3, 5] { heap.cancel(ids[index]) }
        let next = heap.nextDeadline()
        #expect(next == 2)
        // A slot that was cancelled is another's now: its old name cancels nothing.
        let other = heap.insert(deadline: 4, action: { fired.append(99) })
        heap.cancel(ids[0])
        heap.cancel(ids[1])
        while let action = heap.popDue(now: 6) { action() }
        #expect(fired == [2, 4, 99, 6])
        heap.cancel(other)
        heap.cancel(ids[7])
        let last = heap.nextDeadline()
        #expect(last == nil)
    }

    @Test func `keeps timers in order whatever is cancelled between them`() {
        var heap = TimerHeap()
        var seed: UInt64 = 7
        func random(_ limit: Int) -> Int {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(seed >> 33) % limit
        }
        var live: [Int: Loop.TimerID] = [:]
        var fired: [Int] = []
        for number in 0..<2000 {
            live[number] = heap.insert(deadline: Int64(random(500)), action: { fired.append(number) })
            if random(2) == 0, let id = live.removeValue(forKey: random(number + 1)) { heap.cancel(id) }
            if random(20) == 0 { _ = heap.nextDeadline() }
        }
        var deadlines: [Int64] = []
        while let next = heap.nextDeadline(), let action = heap.popDue(now: next) {
            deadlines.append(next)
            action()
        }
        #expect(deadlines == deadlines.sorted())
        #expect(fired.count == live.count && Set(fired) == Set(live.keys))
    }

    @Test func `runs end-of-turn work once, and work asked for then in the next turn`() throws {
        let loop = try Loop()
        var turns: [String] = []
        loop.atEndOfTurn {
            turns.append("first")
            loop.atEndOfTurn { turns.append("second") }
        }
        loop.turn(waitingUpTo: 0)
        #expect(turns == ["first"])
        loop.turn(waitingUpTo: 1000)
        #expect(turns == ["first", "second"])
    }

    @Test func `hears of a descriptor until it is unwatched`() throws {
        final class Source: LoopSource {
            var count = 0
            func ready(_ readiness: Loop.Readiness) { count += 1 }
        }
        let loop = try Loop()
        let descriptor = eventfd(1, Int32(EFD_CLOEXEC))
        defer { close(descriptor) }
        let source = Source()
        try loop.watch(descriptor, for: .readable, source)
        loop.turn(waitingUpTo: 100)
        loop.turn(waitingUpTo: 100)
        #expect(source.count == 2)
        loop.unwatch(descriptor)
        loop.turn(waitingUpTo: 5)
        #expect(source.count == 2)
    }

    @Test func `wakes for what another thread posts`() throws {
        let loop = try Loop()
        nonisolated(unsafe) var count = 0
        let box = Unmanaged.passRetained(Box(loop.poster) { count += 1 })
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let box = Unmanaged<Box>.fromOpaque(argument).takeRetainedValue()
                for _ in 0..<100 { box.poster.post(box.action) }
                return nil
            }, box.toOpaque())
        while count < 100 { loop.turn(waitingUpTo: 1000) }
        pthread_join(thread, nil)
        #expect(count == 100)
    }

    final class Box: Sendable {
        let poster: Loop.Poster
        let action: @Sendable () -> Void
        init(_ poster: Loop.Poster, _ action: @escaping @Sendable () -> Void) {
            self.poster = poster
            self.action = action
        }
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("10.1.2.3", true), ("192.168.1.1", true), ("172.31.0.1", true), ("172.32.0.1", false),
        ("169.254.1.1", true), ("100.64.0.1", true), ("8.8.8.8", false), ("::1", true), ("fe80::1", true),
        ("fd00::1", true), ("2001:db8::1", true), ("::ffff:127.0.0.1", true), ("::ffff:8.8.8.8", false),
        ("0.0.0.0", true),
        ("169.254.169.254", true), ("224.0.0.1", true), ("::", true), ("64:ff9b::7f00:1", true),
        ("2002:7f00:1::", true),
        ("2a00:1450:4001:80b::200e", false),
    ])
    func `knows local addresses`(ip: String, isLocal: Bool) throws {
        let address = try #require(SocketAddress(ip: ip, port: 443))
        #expect(address.isLocal == isLocal)
        #expect(address.port == 443)
    }

    @Test(arguments: [
        ("::ffff:192.0.2.7", "192.0.2.7"), ("::ffff:0.0.0.1", "0.0.0.1"), ("192.0.2.7", "192.0.2.7"),
        ("2001:db8::ffff:c000:207", "2001:db8::ffff:c000:207"), ("::1", "::1"), ("::fffe:c000:207", "::fffe:c000:207"),
    ])
    func `knows the IPv4 peer of a listener for both`(ip: String, plain: String) throws {
        let address = try #require(SocketAddress(ip: ip, port: 443)).unmapped
        #expect(address.ip == plain && address.port == 443)
    }

    @Test func `takes the address families of a listener for both apart`() throws {
        let listener = try Socket.listen(on: try #require(SocketAddress(ip: "::", port: 0)))
        let port = listener.localAddress.port
        for ip in ["127.0.0.1", "::1"] {
            let client = try Socket.connect(to: try #require(SocketAddress(ip: ip, port: port)))
            var accepted = listener.accept()
            while accepted == nil { accepted = listener.accept() }
            #expect(accepted?.peer.ip == ip && accepted?.peer.port == client.localAddress.port)
        }
    }

    @Test func `tries the address families in turn`() throws {
        let addresses = try ["2001:db8::1", "2001:db8::2", "192.0.2.1"].map {
            try #require(SocketAddress(ip: $0, port: 1))
        }
        #expect(Connector.interleave(addresses).map(\.ip) == ["2001:db8::1", "192.0.2.1", "2001:db8::2"])
    }
}
