// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeStore

@Suite struct `Patience with a locked file` {
    /// Waits from `begin` on for a lock that stays; when it gave up.
    private func wait(_ patience: inout LockPatience, from begin: Int64) -> Int64 {
        var now = begin
        var look = 0
        while let pause = patience.pause(look: look, now: now) {
            now += pause
            look += 1
        }
        return now
    }

    @Test func `lasts as long as its limit`() {
        var patience = LockPatience(limit: 50)
        #expect(wait(&patience, from: 1000) == 1050)
        var none = LockPatience(limit: 0)
        #expect(wait(&none, from: 1000) == 1000)
        #expect(!none.isResting(now: 1000))
    }

    @Test func `is lost for a second once it was in vain`() {
        var patience = LockPatience(limit: 50)
        #expect(wait(&patience, from: 1000) == 1050)
        #expect(patience.isResting(now: 2049) && !patience.isResting(now: 2050))
        for now in [Int64(1050), 1500, 2049] { #expect(wait(&patience, from: now) == now) }
        #expect(wait(&patience, from: 2050) == 2100)
    }

    @Test func `begins anew with each lock`() {
        var patience = LockPatience(limit: 50)
        // The lock was gone at the third look.
        for look in 0..<3 { #expect(patience.pause(look: look, now: 1000 + Int64(look) * 15) != nil) }
        #expect(wait(&patience, from: 5000) == 5050)
    }
}
