// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeClient

@Suite struct `An engine that is silent` {
    @Test func `is asked three times, ten seconds apart, and is ended when it says nothing`() {
        var watch = SilenceWatch()
        watch.heard(now: 5_000)
        var actions: [Int64: SilenceWatch.Action] = [:]
        for now in stride(from: Int64(5_000), through: 100_000, by: 1_000) {
            let action = watch.act(now: now)
            if action != .nothing { actions[now] = action }
        }
        #expect(actions == [15_000: .ask, 25_000: .ask, 35_000: .ask, 45_000: .end])
    }

    @Test func `is alive with any message`() {
        var watch = SilenceWatch()
        watch.heard(now: 0)
        for round in 1...100 {
            let now = Int64(round) * 30_000
            for late in [Int64(0), 10_000] {
                let action = watch.act(now: now + late)
                #expect(action == .ask)
            }
            watch.heard(now: now + 19_000)
        }
    }

    @Test func `is not ended because whoever watches it stood still`() {
        var watch = SilenceWatch()
        watch.heard(now: 0)
        let first = watch.act(now: 3_600_000)
        #expect(first == .ask)
        let second = watch.act(now: 3_600_001)
        #expect(second == .nothing)
    }

    @Test func `is not watched before it has answered, nor after it was ended`() {
        var watch = SilenceWatch()
        let action = watch.act(now: .max - 1)
        #expect(action == .nothing)
        #expect(watch.nextAt == .max)
    }
}
