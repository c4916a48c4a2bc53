// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `Times of a connection` {
    private func times(
        readingSince: Int64? = nil, answeringSince: Int64? = nil, hasOutput: Bool = false, now: Int64
    ) -> ServerConnectionTimes {
        var times = ServerConnectionTimes(isTLS: false, now: 0)
        times.update(
            readingSince: readingSince, answeringSince: answeringSince, hasOutput: hasOutput, now: now)
        return times
    }

    @Test func `say since when nothing useful came of it`() {
        #expect(times(now: 100).unproductiveSince == 0)
        #expect(ServerConnectionTimes(isTLS: true, now: 7).unproductiveSince == 7)
        #expect(times(readingSince: 50, now: 100).unproductiveSince == 50)
        #expect(times(hasOutput: true, now: 100).unproductiveSince == 100)
        #expect(times(readingSince: 50, hasOutput: true, now: 100).unproductiveSince == 50)
    }

    @Test func `leave who waits for an answer alone`() {
        #expect(times(answeringSince: 10, now: 100).unproductiveSince == nil)
        #expect(times(readingSince: 5, answeringSince: 10, hasOutput: true, now: 100).unproductiveSince == nil)
    }

    @Test func `leave who reads an answer that goes on alone, as long as it reads`() {
        var times = ServerConnectionTimes(isTLS: false, now: 0)
        func goOn(hasOutput: Bool, now: Int64) {
            times.update(
                readingSince: nil, answeringSince: nil, hasOutput: hasOutput, isStreaming: true, now: now)
        }
        goOn(hasOutput: false, now: 100)
        #expect(times.unproductiveSince == nil && times.overdue(now: 10_000_000) == nil)
        goOn(hasOutput: true, now: 200_000)
        #expect(times.unproductiveSince == 200_000 && times.overdue(now: 230_000) == .reading)
        goOn(hasOutput: false, now: 210_000)
        #expect(times.overdue(now: 10_000_000) == nil)
    }

    @Test func `count from the first byte that is not read`() {
        var times = times(hasOutput: true, now: 100)
        times.update(readingSince: nil, answeringSince: nil, hasOutput: true, now: 200)
        #expect(times.unproductiveSince == 100)
        #expect(times.overdue(now: 30_099) == nil && times.overdue(now: 30_100) == .reading)
        times.update(readingSince: nil, answeringSince: nil, hasOutput: false, now: 300)
        #expect(times.unproductiveSince == 300)
    }
}
