// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Pool state machine` {
    @Test func `connects once for many who wait`() {
        var machine = PoolStateMachine(maxConnections: 2)
        #expect(machine.demand(waiting: 1, free: 0, now: 0) == .connect)
        #expect(machine.demand(waiting: 100, free: 0, now: 0) == .none)
        machine.attemptSucceeded()
        #expect(machine.demand(waiting: 5, free: 5, now: 0) == .none)
        #expect(machine.demand(waiting: 6, free: 5, now: 0) == .connect)
        machine.attemptSucceeded()
        #expect(machine.demand(waiting: 100, free: 0, now: 0) == .none)
        machine.connectionEnded(wasUseful: true, now: 0, random: 0)
        #expect(machine.demand(waiting: 1, free: 0, now: 0) == .connect)
    }

    @Test func `waits longer after each failure, and not after a success`() {
        var machine = PoolStateMachine(maxConnections: 1, firstDelay: 100, longestDelay: 1000)
        var now: Int64 = 0
        for least in [Int64(50), 100, 200, 400, 500, 500] {
            #expect(machine.demand(waiting: 1, free: 0, now: now) == .connect)
            let retryAt = machine.attemptFailed(now: now, random: 0).retryAt
            #expect(retryAt == now + least)
            #expect(machine.demand(waiting: 1, free: 0, now: retryAt - 1) == .wait(until: retryAt))
            now = retryAt
        }
        #expect(machine.demand(waiting: 1, free: 0, now: now) == .connect)
        machine.attemptSucceeded()
        machine.answered()
        machine.connectionEnded(wasUseful: true, now: now, random: 0)
        #expect(machine.demand(waiting: 1, free: 0, now: now) == .connect)
    }

    @Test func `tries anew for a request that has just come, two seconds after the last attempt`() {
        var machine = PoolStateMachine(maxConnections: 1, firstDelay: 100_000, longestDelay: 100_000)
        #expect(machine.demand(waiting: 1, free: 0, isFresh: true, now: 0) == .connect)
        let retryAt = machine.attemptFailed(now: 10, random: 0).retryAt
        #expect(machine.failures == 1)
        #expect(retryAt == 50_010)
        #expect(machine.demand(waiting: 1, free: 0, now: 5000) == .wait(until: retryAt))
        #expect(machine.demand(waiting: 2, free: 0, isFresh: true, now: 1999) == .wait(until: 2000))
        #expect(machine.demand(waiting: 2, free: 0, isFresh: true, now: 2000) == .connect)
        #expect(machine.attemptFailed(now: 2000, random: 0).retryAt == 52_000)
        #expect(machine.demand(waiting: 3, free: 0, isFresh: true, now: 2001) == .wait(until: 4000))
    }

    @Test func `does not hammer a server that accepts and closes`() {
        var machine = PoolStateMachine(maxConnections: 1, firstDelay: 100, longestDelay: 1000)
        #expect(machine.demand(waiting: 1, free: 0, now: 0) == .connect)
        machine.attemptSucceeded()
        machine.connectionEnded(wasUseful: false, now: 0, random: 0)
        #expect(machine.demand(waiting: 1, free: 0, now: 0) == .wait(until: 50))
    }
}
