// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

struct `A budget of log lines` {
    @Test func `lets some through, and says later how many it left out`() {
        var budget = LineBudget(most: 2, period: 1000)
        #expect(budget.admit(now: 5000) == .write(leftOut: 0))
        #expect(budget.admit(now: 5999) == .write(leftOut: 0))
        #expect(budget.admit(now: 5999) == .leaveOut)
        #expect(budget.admit(now: 5999) == .leaveOut)
        #expect(budget.rest(now: 5999) == 1)
        #expect(budget.admit(now: 6000) == .write(leftOut: 2))
        #expect(budget.admit(now: 6001) == .write(leftOut: 0))
        #expect(budget.admit(now: 6002) == .leaveOut)
    }

    @Test func `says once how many it left out`() {
        var budget = LineBudget(most: 1, period: 10)
        for _ in 0..<5 { _ = budget.admit(now: 0) }
        #expect(budget.takeLeftOut() == 4)
        #expect(budget.takeLeftOut() == 0)
        #expect(budget.admit(now: 10) == .write(leftOut: 0))
    }

    @Test func `survives any clock`() {
        var budget = LineBudget(most: 1, period: .max)
        for now in [Int64.min, .max, 0, -1, .min, .max] { _ = budget.admit(now: now) }
        #expect(budget.rest(now: 0) >= 0)
    }
}
