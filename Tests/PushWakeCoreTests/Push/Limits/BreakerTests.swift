// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Circuit breaker` {
    @Test func `opens after so many failures in a row, and says so once`() {
        var breaker = Breaker(maxFail: 3)
        expectEqual((0..<4).map { _ in breaker.note(.unavailable, now: 0) }, [false, false, true, false])
        #expect(breaker.isOpen)
        expectEqual(breaker.admit(now: 1), .open(until: 30_000))
    }

    @Test func `counts from 0 again after a success`() {
        var breaker = Breaker(maxFail: 2)
        _ = breaker.note(.misconfigured, now: 0)
        _ = breaker.note(.accepted, now: 0)
        _ = breaker.note(.misconfigured, now: 0)
        #expect(!breaker.isOpen)
    }

    @Test func `lets one probe out per pause, and closes at its success`() {
        var breaker = Breaker(maxFail: 1)
        _ = breaker.note(.rejected, now: 0)
        expectEqual(breaker.admit(now: 30_000), .probe)
        expectEqual(breaker.admit(now: 30_001), .open(until: 60_000))
        expectEqual(breaker.note(.accepted, now: 30_002), true)
        expectEqual(breaker.admit(now: 30_003), .send)
        expectEqual(breaker.note(.accepted, now: 30_004), false)
    }

    @Test func `never opens when set to 0`() {
        var breaker = Breaker(maxFail: 0)
        for _ in 0..<100 { _ = breaker.note(.unavailable, now: 0) }
        expectEqual(breaker.admit(now: 0), .send)
    }

    @Test(arguments: [Outcome.expired, .overloaded]) func `does not blame the provider for what stayed here`(
        outcome: Outcome
    ) {
        var breaker = Breaker(maxFail: 1)
        expectEqual(breaker.note(outcome, now: 0), false)
        #expect(!breaker.isOpen)
    }
}
