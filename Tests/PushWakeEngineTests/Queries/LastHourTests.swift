// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore
@testable import PushWakeEngine

@Suite struct `Last hour` {
    @Test func `is what counters have grown by, part for part`() {
        var (times, hour) = (CallTimes(), LastHour())
        #expect(hour.report(times).parts.isEmpty && hour.bindingsBefore == nil)
        times.countWait(.rang, milliseconds: 900)
        hour.mark(times, bindings: 100)
        times.countWait(.rang, milliseconds: 900)
        times.countWait(.cancelled, milliseconds: 10)
        times.countWake(.fcm, milliseconds: 2000)
        hour.mark(times, bindings: 80)
        times.countWait(.timedOut, milliseconds: 3000)
        times.countWait(.failed, milliseconds: 5)
        times.countAnswer(.apns, microseconds: 40_000)
        let parts = hour.report(times).parts
        #expect(parts.map(\.rang) == [1, 0] && parts.map(\.early) == [1, 0] && parts.map(\.lost) == [0, 2])
        #expect(parts.map(\.woken) == [1, 0] && parts[0].answers == nil && parts[1].wakes == nil)
        #expect(hour.answers(of: .apns, times)?.total == 1 && hour.bindingsBefore == 100)
    }

    @Test func `forgets what is older`() {
        var (times, hour) = (CallTimes(), LastHour())
        for bindings in 0..<100 {
            hour.mark(times, bindings: bindings)
            times.countWait(.rang, milliseconds: 1)
        }
        #expect(hour.report(times).parts.map(\.rang) == Array(repeating: 1, count: HourReport.parts))
        #expect(hour.bindingsBefore == 100 - HourReport.parts)
    }
}
