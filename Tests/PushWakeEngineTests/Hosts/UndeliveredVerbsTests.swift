// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeEngine

@Suite struct `Verbs for a host that is not connected` {
    @Test func `are kept in order until it subscribes, and given out once`() {
        var verbs = UndeliveredVerbs()
        verbs.keep([1], for: 7, now: 0)
        verbs.keep([2], for: 8, now: 10)
        verbs.keep([3], for: 7, now: 20)
        #expect(verbs.take(for: 7, now: 30) == [[1], [3]])
        #expect(verbs.take(for: 7, now: 30) == [])
        #expect(verbs.take(for: 8, now: 30) == [[2]])
    }

    @Test func `are of no use after ten seconds`() {
        var verbs = UndeliveredVerbs()
        verbs.keep([1], for: 7, now: 0)
        #expect(verbs.take(for: 7, now: 10_000) == [])
        verbs.keep([2], for: 7, now: 20_000)
        #expect(verbs.take(for: 7, now: 29_999) == [[2]])
    }

    @Test func `are bounded, for one host and for all`() {
        var verbs = UndeliveredVerbs()
        for number in 0..<2000 { verbs.keep([UInt8(truncatingIfNeeded: number)], for: 1, now: 0) }
        #expect(verbs.take(for: 1, now: 1).count == 1024)
        for host in 1...100 as ClosedRange<UInt64> { verbs.keep([1], for: host, now: 0) }
        let kept = (1...100 as ClosedRange<UInt64>).filter { !verbs.take(for: $0, now: 1).isEmpty }
        #expect(kept.count == 8)
    }
}
