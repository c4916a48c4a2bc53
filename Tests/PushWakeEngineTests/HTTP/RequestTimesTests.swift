// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeEngine

@Suite struct `Times of a request` {
    @Test func `count the first push alone, and none of a request that another engine began`() {
        var times = RequestTimes(arrivedAt: 1000)
        let pushes = [0, 1500, 1600].map { times.pushed(at: $0) }
        #expect(pushes == [nil, 500, nil])
        var resumed = RequestTimes(arrivedAt: nil)
        let late = resumed.pushed(at: 1500)
        let waited = resumed.endWait()
        #expect(late == nil && !waited)
    }

    @Test func `count each leg that a REGISTER has released, when the host has sent it`() {
        var times = RequestTimes(arrivedAt: 0)
        times.released(leg: 2, at: 100)
        let sent = [times.sent(leg: 1, at: 150), times.sent(leg: 2, at: 150), times.sent(leg: 2, at: 160)]
        #expect(sent == [nil, 50, nil])
        for leg in 0..<100 { times.released(leg: leg, at: 0) }
        let past = times.sent(leg: 99, at: 1)
        #expect(past == nil)
    }

    @Test func `let the wait of a caller end once`() {
        var times = RequestTimes(arrivedAt: 0)
        let ends = [times.endWait(), times.endWait()]
        #expect(ends == [true, false])
    }
}
