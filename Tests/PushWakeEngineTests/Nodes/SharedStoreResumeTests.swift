// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

extension SharedStoreHost {
    /// Goes on with a call that an earlier engine began so many milliseconds ago, and pushed.
    fileprivate func resume(age: Int64 = 5000) throws {
        var message = WakeMessage()
        (message.aor, message.callID, message.method) = ("bob", "call", "INVITE")
        (message.host, message.handle) = (7, 1)
        let first = try CoreBench()
        let now = SystemClock.wallSeconds()
        _ = first.store.register(bindings.isEmpty ? [Self.binding(age: 600)] : bindings, now: now)
        let ticket = try first.core.requests.wake(message).ticket
        try say(.resume, [.host: 7, .handle: 1, .ticket: ticket, .pushedDevices: 1, .milliseconds: age])
        #expect(hear()?.kind == .reply)
    }

    private var bindings: [Binding] { store.bindings.bindings(of: "bob", now: SystemClock.wallSeconds()) }

    /// Answers what is asked until a verb of this kind comes; nil after two seconds.
    func verbSoon(_ kind: Int64) -> MessageReader? {
        let end = SystemClock.monotonicMilliseconds() + 2000
        while SystemClock.monotonicMilliseconds() < end {
            store.answer()
            if let verb = verb(kind) { return verb }
            bench.loop.turn(waitingUpTo: 20)
        }
        return nil
    }
}

let ring = Int64(HostVerb.Kind.ring.rawValue)

@Suite struct `A call of an earlier engine, whose store is shared` {
    /// The engine hears of it before its connection stands.
    @Test func `goes on when the store can be asked`() throws {
        let host = try SharedStoreHost()
        host.putBinding(age: 600)
        host.store.isAway = true
        try host.resume()
        host.store.answer()
        #expect(host.live == 0)
        host.store.isAway = false
        host.putBinding(age: 0)
        #expect(host.verbSoon(ring) != nil)
        #expect(host.live == 1 && host.bench.core.requests.pendingRequests.unasked.isEmpty)
    }

    @Test(arguments: [(2, true), (30, false)] as [(Int64, Bool)])
    func `rings a phone that has registered elsewhere since it came`(age: Int64, rings: Bool) throws {
        let host = try SharedStoreHost()
        host.putBinding(age: age)
        try host.resume()
        host.store.answer()
        #expect((host.verb(ring) != nil) == rings)
        #expect(host.pushed == 0)
    }

    @Test func `rings a phone that registers here before the store can be asked`() throws {
        let host = try SharedStoreHost()
        host.store.isAway = true
        try host.resume()
        host.store.answer()
        try host.register()
        host.store.answer()
        let verb = try #require(host.verb(ring))
        #expect(EngineClient.text(.contactKey, in: verb) == "uloc-1")
        // Nothing is done twice when the store is back.
        host.store.isAway = false
        host.bench.core.requests.retryPendingRequests()
        host.store.answer()
        #expect(host.verb(ring) == nil && host.live == 1)
    }

    @Test func `is forgotten when it ends before the store can be asked`() throws {
        let host = try SharedStoreHost()
        host.putBinding(age: 0)
        try host.resume()
        try host.report(.requestEnded, .how, 0)
        host.store.answer()
        #expect(host.verb(ring) == nil)
        #expect(host.live == 0)
    }

    @Test func `knows what its host reported before the store could be asked`() throws {
        let host = try SharedStoreHost()
        host.putBinding(age: 600)
        try host.resume()
        try host.report(.requestContinues, .milliseconds, 60_000)
        host.store.answer()
        let request = try #require(host.bench.core.requests.calls[.handle(host: 7, 1)])
        #expect(request.machine.end == nil && !request.machine.isWaiting)
    }
}

@Suite struct `A call of which other nodes do not know` {
    @Test(arguments: [true, false])
    func `rings a phone that registers elsewhere`(isRefused: Bool) throws {
        let host = try SharedStoreHost()
        // No push of this node fails.
        host.store.isClaimed = true
        host.putBinding(age: 600)
        host.store.isKnown = !isRefused
        try host.call()
        host.store.answer()
        #expect(host.hear()?.kind == .reply)
        if !isRefused {
            // The look fails once, as when this node hears again before it can ask.
            host.store.isAway = true
            host.store.onGap()
            host.store.answer()
            host.store.isAway = false
        }
        host.putBinding(age: 0)
        #expect(host.verbSoon(ring) != nil)
        #expect(host.store.heldAgain > 0)
    }

    @Test func `is told of again, and its phone rung once, for as long as it waits`() throws {
        let host = try SharedStoreHost()
        host.store.isClaimed = true
        host.store.isKnown = false
        try host.hold(age: 600)
        _ = host.hear()
        host.putBinding(age: 0)
        #expect(host.verbSoon(ring) != nil)
        let looks = host.store.heldAgain
        let end = SystemClock.monotonicMilliseconds() + 2000
        while host.store.heldAgain < looks + 2, SystemClock.monotonicMilliseconds() < end {
            host.store.answer()
            #expect(host.verb(ring) == nil)
            host.bench.loop.turn(waitingUpTo: 20)
        }
        #expect(host.store.heldAgain >= looks + 2)
    }
}
