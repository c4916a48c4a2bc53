// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeClient

@Suite struct `Restart of the engine` {
    @Test func `comes within a second at first and slows down when it keeps dying`() {
        var policy = RestartPolicy()
        var now: Int64 = 1000
        var delays: [Int64] = []
        for _ in 0..<9 {
            policy.started(now: now)
            now += 50
            delays.append(policy.died(now: now))
        }
        #expect(delays == [200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000])
    }

    @Test func `forgets earlier deaths once an engine has lived for ten seconds`() {
        var policy = RestartPolicy()
        policy.started(now: 0)
        _ = policy.died(now: 10)
        policy.started(now: 210)
        _ = policy.died(now: 220)
        policy.started(now: 1000)
        #expect(policy.died(now: 11_000) == 200)
    }
}
