// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeEngine

@Suite struct `Times of a request` {
    @Test func `count the first push alone, and none of a request that another engine began`() {
        var times = RequestTimes(arrivedAt: 1000)
        #expect(times.pushed(at: 0) == nil)
        #expect(times.pushed(at: 1500) == 500)
        #expect(times.pushed(at: 1600) == nil)
        var resumed = RequestTimes(arrivedAt: nil)
        #expect(resumed.pushed(at: 1500) == nil && !resumed.endWait())
    }

    @Test func `count each leg that a REGISTER has released, when the host has sent it`() {
        var times = RequestTimes(arrivedAt: 0)
        times.released(leg: 2, at: 100)
        #expect(times.sent(leg: 1, at: 150) == nil)
        #expect(times.sent(leg: 2, at: 150) == 50)
        #expect(times.sent(leg: 2, at: 160) == nil)
        for leg in 0..<100 { times.released(leg: leg, at: 0) }
        #expect(times.sent(leg: 99, at: 1) == nil)
    }

    @Test func `let the wait of a caller end once`() {
        var times = RequestTimes(arrivedAt: 0)
        #expect(times.endWait())
        #expect(!times.endWait())
    }
}
