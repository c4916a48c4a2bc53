// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Backoff between attempts` {
    @Test(arguments: [
        (0, 125, 250), (1, 250, 500), (2, 500, 1000), (3, 1000, 2000), (6, 8000, 16_000), (7, 15_000, 30_000),
        (200, 15_000, 30_000),
    ])
    func `doubles up to its cap, half of it by chance`(failures: Int, least: Int64, most: Int64) {
        var backoff = Backoff(first: 250, cap: 30_000)
        for _ in 0..<failures { _ = backoff.next(random: 7) }
        var other = backoff
        #expect(backoff.next(random: 0) == least)
        #expect(other.next(random: UInt64(most - least)) == most)
    }

    @Test func `begins anew after a success`() {
        var backoff = Backoff(first: 100, cap: 1000)
        for _ in 0..<5 { _ = backoff.next(random: 1) }
        backoff.reset()
        #expect(backoff.failures == 0)
        #expect(backoff.next(random: 0) == 50)
    }

    @Test(arguments: [(Int64(0), Int64(0)), (-5, -9), (1, .max), (.max, .max)])
    func `survives any settings`(first: Int64, cap: Int64) {
        var backoff = Backoff(first: first, cap: cap)
        for _ in 0..<100 { #expect(backoff.next(random: .max) >= 0) }
    }
}
