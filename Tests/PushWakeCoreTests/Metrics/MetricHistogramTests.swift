// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `Histogram of times` {
    @Test func `tells a quantile within its bucket`() {
        var histogram = MetricHistogram(bounds: [100, 200, 400])
        #expect(histogram.quantile(50) == nil)
        for _ in 0..<10 { histogram.add(microseconds: 150) }
        #expect(histogram.quantile(50) == 150 && histogram.quantile(100) == 200)
        histogram.add(microseconds: 5000)
        #expect(histogram.quantile(99) == 400)
    }

    @Test func `is what came since, and the sum of two`() {
        var histogram = MetricHistogram(bounds: [100, 200])
        histogram.add(microseconds: 50)
        let before = histogram
        histogram.add(microseconds: 150)
        var new = histogram.since(before)
        #expect(new.counts == [0, 1, 0] && new.sum == 150 && histogram.since(nil) == histogram)
        new.add(before)
        #expect(new == histogram)
        // With other bounds there is nothing to add.
        var other = MetricHistogram(bounds: [1, 2])
        other.add(microseconds: 1)
        new.add(other)
        #expect(new == histogram)
    }
}
