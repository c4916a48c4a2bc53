// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Wake record` {
    private func record(accepted: Int, wakes: [Int64], misses: Int = 0, failures: [Outcome] = []) -> WakeRecord {
        var record = WakeRecord()
        // The wakes come first, then what missed.
        for index in 0..<(accepted - misses) {
            record.accept(now: 10)
            if index < wakes.count { record.wake(after: wakes[index], now: 11) }
        }
        if accepted - misses > wakes.count, let last = wakes.last { record.wake(after: last, now: 11) }
        for _ in 0..<misses { record.accept(now: 20) }
        for outcome in failures { record.end(outcome, now: 30) }
        return record
    }

    @Test func `knows nothing of a phone that was not pushed`() {
        let record = WakeRecord()
        #expect(record.assessment.words == "not pushed since the engine started")
        #expect(record.lastPush == nil && record.lastWake == nil)
        #expect(record.wakePercent == nil && record.meanLatency == nil)
    }

    @Test func `tells a push for no call from none at all`() {
        var record = WakeRecord()
        record.end(.accepted, now: 30)
        #expect(record.assessment == .pushedForNone)
        record.accept(now: 40)
        #expect(record.assessment == .unproven(1))
    }

    @Test(
        arguments: [
            (1, [], "accepted 1, woke 0 so far"), (2, [], "accepted 2, woke 0 so far"),
            (12, [], "accepted 12, woke 0: notifications off?"), (1, [1200], "wakes in 1.2 s"),
            (2, [800, 899], "wakes in 849 ms"), (3, [40_000, 40_000, 40_000], "wakes in 40 s"),
        ] as [(Int, [Int64], String)])
    func `says in words whether pushes wake the phone`(accepted: Int, wakes: [Int64], words: String) {
        #expect(record(accepted: accepted, wakes: wakes).assessment.words == words)
    }

    @Test func `says how often a phone wakes that does not always`() {
        var record = WakeRecord()
        for index in 0..<12 {
            record.accept(now: 10)
            if index % 2 == 1 { record.wake(after: 2000, now: 12) }
        }
        #expect(record.assessment == .wakesSometimes(2000, woke: 6, accepted: 12))
        #expect(record.assessment.words == "wakes in 2 s, 6 times of 12")
        #expect(record.wakePercent == 50)
    }

    @Test func `notices that a phone has stopped waking`() {
        let wakes = Array(repeating: Int64(1000), count: 20)
        #expect(record(accepted: 22, wakes: wakes, misses: 2).assessment == .wakes(1000))
        let stopped = record(accepted: 23, wakes: wakes, misses: 3)
        #expect(stopped.assessment.words == "accepted 3 since it woke last: notifications off?")
        #expect(stopped.lastPush == 20 && stopped.lastWake == 11)
    }

    @Test func `puts failures first, until a push is accepted`() {
        var failing = record(accepted: 5, wakes: [], failures: [.rejected])
        #expect(failing.assessment.words == "the last push failed: rejected")
        failing.end(.misconfigured, now: 31)
        #expect(failing.assessment.words == "the last 2 pushes failed: misconfigured")
        failing.end(.accepted, now: 32)
        #expect(failing.assessment == .neverWoke(5))
        #expect(failing.lastPush == 32)
    }

    @Test func `takes any time that a clock can give`() {
        var record = WakeRecord()
        for time in [Int64.min, -1, 0, .max, .max] { record.wake(after: time, now: .max) }
        #expect(record.woke == 5 && record.slowest == .max && record.meanLatency != nil)
    }
}

@Suite struct `Latency histogram` {
    @Test func `has no percentiles without times`() {
        #expect(LatencyHistogram().percentile(50) == nil)
    }

    @Test(arguments: [0, 1, 15, 16, 17, 31, 32, 999, 1000, 40_000, 131_071] as [Int64])
    func `gives a single time back exactly`(time: Int64) {
        var histogram = LatencyHistogram()
        histogram.add(time)
        #expect([1, 50, 99, 100].map { histogram.percentile($0) } == [time, time, time, time])
    }

    @Test func `is never too low, and at most an eighth too high`() throws {
        var histogram = LatencyHistogram()
        for time in 1...10_000 as ClosedRange<Int64> { histogram.add(time) }
        for percent in 1...100 {
            let exact = Int64(percent) * 100
            let told = try #require(histogram.percentile(percent))
            #expect(told >= exact && told <= exact + exact / 8, "p\(percent)")
        }
    }

    @Test func `keeps one slow phone out of the middle`() {
        var histogram = LatencyHistogram()
        for _ in 0..<98 { histogram.add(10) }
        for time in [30_000, Int64.max] { histogram.add(time) }
        #expect(histogram.percentile(50) == 10 && histogram.percentile(98) == 10)
        #expect(histogram.percentile(100) == LatencyHistogram.longest)
        #expect(histogram.total == 100)
        histogram.add(.min)
        #expect(histogram.percentile(0) == 0)
    }
}
