// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeClient

@Suite struct `A circuit to the engine` {
    @Test func `is closed at first and lets everything through`() {
        let circuit = EngineCircuit()
        #expect(!circuit.isOpen)
        #expect(circuit.admits(now: 0))
        #expect(circuit.admits(now: .min))
    }

    @Test func `opens for a second after a timeout, and then lets one try`() {
        var circuit = EngineCircuit()
        circuit.timedOut(now: 5000)
        #expect(circuit.isOpen)
        #expect([5000, 5001, 5999].allSatisfy { !circuit.admits(now: $0) })
        #expect(circuit.admits(now: 6000))
        circuit.timedOut(now: 6100)
        #expect(!circuit.admits(now: 7099))
        #expect(circuit.admits(now: 7100))
    }

    @Test func `closes with the first answer`() {
        var circuit = EngineCircuit()
        circuit.timedOut(now: 5000)
        circuit.close()
        #expect(!circuit.isOpen)
        #expect(circuit.admits(now: 5000))
    }

    @Test func `survives any time`() {
        var circuit = EngineCircuit()
        circuit.timedOut(now: .max)
        #expect(circuit.admits(now: .max))
        circuit.timedOut(now: .min)
        #expect(circuit.admits(now: 0))
    }

    /// A stopped engine, a worker with a request every 10 ms, a timeout of 100 ms: ten seconds.
    @Test func `costs one timeout in a second at most`() {
        var circuit = EngineCircuit()
        var (now, waited, requests) = (Int64(0), Int64(0), 0)
        while now < 10_000 {
            requests += 1
            if circuit.admits(now: now) {
                now += 100
                waited += 100
                circuit.timedOut(now: now)
            }
            now += 10
        }
        #expect(waited <= 1000)
        #expect(requests > 800)
    }
}
