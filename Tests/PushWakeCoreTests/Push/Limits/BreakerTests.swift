// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Circuit breaker` {
    @Test func `opens after so many failures in a row, and says so once`() {
        var breaker = Breaker(maxFail: 3)
        expectEqual((0..<4).map { _ in breaker.note(Verdict(.unavailable), now: 0) }, [false, false, true, false])
        #expect(breaker.isOpen)
        expectEqual(breaker.admit(now: 1), .open(until: 30_000))
    }

    @Test(arguments: [Outcome.accepted, .tokenGone]) func `counts from 0 again after a success`(success: Outcome) {
        var breaker = Breaker(maxFail: 2)
        _ = breaker.note(Verdict(.misconfigured), now: 0)
        _ = breaker.note(Verdict(success), now: 0)
        _ = breaker.note(Verdict(.misconfigured), now: 0)
        #expect(!breaker.isOpen)
    }

    @Test func `lets one probe out per pause, and closes at its success`() {
        var breaker = Breaker(maxFail: 1)
        _ = breaker.note(Verdict(.rejected), now: 0)
        expectEqual(breaker.admit(now: 30_000), .probe)
        expectEqual(breaker.admit(now: 30_001), .open(until: 60_000))
        expectEqual(breaker.note(Verdict(.accepted), now: 30_002), true)
        expectEqual(breaker.admit(now: 30_003), .send)
        expectEqual(breaker.note(Verdict(.accepted), now: 30_004), false)
    }

    @Test func `remembers what opened it, and what its probes met`() {
        var breaker = Breaker(maxFail: 2)
        _ = breaker.note(Verdict(.unavailable, reason: "Connection refused"), now: 0)
        #expect(breaker.cause == nil)
        let revoked = Verdict(.misconfigured, reason: "InvalidProviderToken")
        _ = breaker.note(revoked, now: 0)
        #expect(breaker.cause == revoked)
        #expect(breaker.refusal == Verdict(.unavailable, reason: "CircuitOpen (InvalidProviderToken)"))
        // What waited ends by it, and says nothing new.
        _ = breaker.note(breaker.refusal, now: 1)
        #expect(breaker.cause == revoked)
        let refused = Verdict(.unavailable, reason: "Connection refused")
        _ = breaker.note(refused, now: 30_000)
        #expect(breaker.cause == refused)
        _ = breaker.note(Verdict(.accepted), now: 60_000)
        #expect(breaker.cause == nil)
    }

    @Test func `never opens when set to 0`() {
        var breaker = Breaker(maxFail: 0)
        for _ in 0..<100 { _ = breaker.note(Verdict(.unavailable), now: 0) }
        expectEqual(breaker.admit(now: 0), .send)
    }

    @Test(arguments: [Outcome.expired, .overloaded]) func `does not blame the provider for what stayed here`(
        outcome: Outcome
    ) {
        var breaker = Breaker(maxFail: 1)
        expectEqual(breaker.note(Verdict(outcome), now: 0), false)
        #expect(!breaker.isOpen)
    }
}
