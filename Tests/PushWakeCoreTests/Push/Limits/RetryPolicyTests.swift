// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Retry policy` {
    private let policy = RetryPolicy(mostAttempts: 4, longestPause: 60_000)

    private func step(
        _ next: Verdict.Next, attempts: Int = 1, renewals: Int = 0, now: Int64 = 1000, deadline: Int64 = 41_000,
        random: UInt64 = 0
    ) -> RetryPolicy.Step {
        policy.step(
            after: Verdict(.unavailable, next: next), attempts: attempts, renewals: renewals, now: now,
            deadline: deadline, random: random)
    }

    private func final(_ next: Verdict.Next) -> RetryPolicy.Step { .finish(Verdict(.unavailable, next: next)) }

    @Test func `ends when the verdict is final`() { #expect(step(.finish) == final(.finish)) }

    @Test(arguments: [(1, Int64(1500)), (2, 2000), (3, 3000)])
    func `waits longer each time`(attempts: Int, time: Int64) {
        #expect(step(.retry(after: 500), attempts: attempts) == .retry(at: time))
    }

    @Test func `spreads retries by chance, up to a quarter`() {
        #expect(step(.retry(after: 400), random: 100) == .retry(at: 1500))
        #expect(step(.retry(after: 400), random: 101) == .retry(at: 1400))
    }

    @Test func `goes at once after a lost connection, the first time`() {
        #expect(step(.retry(after: 0)) == .retry(at: 1000))
        #expect(step(.retry(after: 0), attempts: 2) == .retry(at: 1100))
    }

    @Test func `never outlives the deadline`() {
        #expect(step(.retry(after: 39_999)) == .retry(at: 40_999))
        #expect(step(.retry(after: 40_000)) == final(.retry(after: 40_000)))
        #expect(step(.retry(after: 0), now: 41_000) == final(.retry(after: 0)))
    }

    @Test func `gives up after so many attempts`() {
        #expect(step(.retry(after: 1), attempts: 4) == final(.retry(after: 1)))
    }

    @Test func `renews a credential once`() {
        #expect(step(.renewCredential) == .renewCredential)
        #expect(step(.renewCredential, renewals: 1) == final(.renewCredential))
        #expect(step(.renewCredential, now: 41_000) == final(.renewCredential))
    }

    @Test(arguments: [Int64.min, -1]) func `takes a pause that is over for none`(pause: Int64) {
        for now in [0, .max - 5] as [Int64] {
            #expect(step(.retry(after: pause), now: now, deadline: .max, random: .max) == .retry(at: now))
        }
    }

    @Test(arguments: [1, 3]) func `ends before a pause that has no end`(attempts: Int) {
        let verdict = Verdict.Next.retry(after: .max)
        for now in [0, .max - 5] as [Int64] {
            #expect(step(verdict, attempts: attempts, now: now, deadline: .max, random: .max) == final(verdict))
        }
    }
}
