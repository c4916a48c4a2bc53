// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeStore

@Suite struct `Waiting for a locked file` {
    /// Waits from `begin` on for a lock that stays; when it gave up.
    private func wait(_ policy: inout LockWaitPolicy, from begin: Int64) -> Int64 {
        var now = begin
        var look = 0
        while let pause = policy.pause(look: look, now: now) {
            now += pause
            look += 1
        }
        return now
    }

    @Test func `lasts as long as its limit`() {
        var policy = LockWaitPolicy(limit: 50)
        #expect(wait(&policy, from: 1000) == 1050)
        var none = LockWaitPolicy(limit: 0)
        #expect(wait(&none, from: 1000) == 1000)
        #expect(!none.isCoolingDown(now: 1000))
    }

    @Test func `is lost for a second once it was in vain`() {
        var policy = LockWaitPolicy(limit: 50)
        #expect(wait(&policy, from: 1000) == 1050)
        #expect(policy.isCoolingDown(now: 2049) && !policy.isCoolingDown(now: 2050))
        for now in [Int64(1050), 1500, 2049] { #expect(wait(&policy, from: now) == now) }
        #expect(wait(&policy, from: 2050) == 2100)
    }

    @Test func `begins anew with each lock`() {
        var policy = LockWaitPolicy(limit: 50)
        // The lock was gone at the third look.
        for look in 0..<3 { #expect(policy.pause(look: look, now: 1000 + Int64(look) * 15) != nil) }
        #expect(wait(&policy, from: 5000) == 5050)
    }
}
