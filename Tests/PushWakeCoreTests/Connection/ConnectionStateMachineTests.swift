// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Connection state machine` {
    func makeReady(pingAfter: Int64? = nil) -> ConnectionStateMachine {
        var machine = ConnectionStateMachine(pingAfter: pingAfter, now: 0)
        _ = machine.connected()
        _ = machine.secured(now: 0)
        return machine
    }

    @Test func `offers streams when it is secured, not before`() {
        var machine = ConnectionStateMachine(pingAfter: nil, now: 0)
        #expect(machine.allowance(peerLimit: 100) == 0)
        #expect(machine.connected() == .startHandshake)
        #expect(machine.connected() == .none)
        #expect(machine.allowance(peerLimit: 100) == 0)
        #expect(machine.secured(now: 0) == .offerStreams)
        #expect(machine.allowance(peerLimit: 100) == 100)
    }

    @Test func `never offers fewer than none when the peer lowers its limit`() {
        var machine = makeReady()
        for _ in 0..<5 { machine.streamOpened() }
        #expect(machine.allowance(peerLimit: 1) == 0)
        #expect(machine.allowance(peerLimit: 7) == 2)
    }

    @Test func `asks for a ping after silence, and trusts it when it is back`() {
        var machine = makeReady(pingAfter: 1000)
        #expect(machine.wanted(now: 999) == .use)
        #expect(machine.wanted(now: 1000) == .ping)
        #expect(machine.wanted(now: 1001) == .wait)
        #expect(machine.allowance(peerLimit: 9) == 0)
        #expect(machine.pong(now: 1100) == .offerStreams)
        #expect(machine.wanted(now: 1200) == .use)
        machine.streamOpened()
        #expect(machine.wanted(now: 9000) == .use)
    }

    @Test func `closes at once when it drains with nothing open`() {
        var machine = makeReady()
        #expect(machine.drain() == .close)
        #expect(machine.drain() == .none)
        #expect(machine.closed() == .none)
    }

    @Test func `closes with the last stream when it drains`() {
        var machine = makeReady()
        machine.streamOpened()
        machine.streamOpened()
        #expect(machine.drain() == .drain)
        #expect(machine.allowance(peerLimit: 100) == 0)
        #expect(machine.streamEnded() == .none)
        #expect(machine.streamEnded() == .close)
    }

    @Test func `counts only an attempt that was never established as a failure`() {
        var young = ConnectionStateMachine(pingAfter: nil, now: 0)
        #expect(young.closed() == .countFailure)
        var old = makeReady()
        #expect(old.closed() == .countEnd)
        #expect(old.closed() == .none)
    }

    /// Every event in every order that a small counter gives: no trap, and nothing opens once it is closed.
    @Test func `survives any order of events`() {
        for seed in 0..<4096 {
            var machine = ConnectionStateMachine(pingAfter: 10, now: 0)
            var choices = seed
            for step in 0..<6 {
                switch choices % 8 {
                case 0: _ = machine.connected()
                case 1: _ = machine.secured(now: Int64(step))
                case 2: machine.streamOpened()
                case 3: _ = machine.streamEnded()
                case 4: _ = machine.wanted(now: Int64(step) * 100)
                case 5: _ = machine.pong(now: Int64(step))
                case 6: _ = machine.drain()
                default:
                    _ = machine.closed()
                    #expect(machine.allowance(peerLimit: 100) == 0)
                    let isUsable = machine.isUsable
                    #expect(!isUsable)
                }
                choices /= 4
            }
        }
    }
}
