// SPDX-License-Identifier: MIT

/// Counts times in buckets with fixed bounds, for programs that add up many engines (Prometheus).
///
/// Its cost is fixed: a comparison or two a time, and a word a bucket.
public struct MetricHistogram: Equatable, Sendable {
    /// Upper bounds in microseconds, ascending; a time on a bound counts in its bucket.
    public let bounds: [Int64]
    /// Times in each bucket, and in one more that has no bound.
    public private(set) var counts: [UInt64]
    /// All times together, microseconds.
    public private(set) var sum: Int64 = 0

    /// Takes ascending bounds in microseconds.
    public init(bounds: [Int64]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    /// What is done on this machine: a quarter of a millisecond to a second.
    public static let ownWork = MetricHistogram(bounds: [
        250, 500, 1000, 2000, 3000, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000,
    ])
    /// A provider's answer: five milliseconds to ten seconds.
    public static let providerAnswer = MetricHistogram(bounds: [
        5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000,
    ])
    /// A phone that wakes, and a caller who waits: a tenth of a second to two minutes.
    public static let wake = MetricHistogram(bounds: [
        100_000, 250_000, 500_000, 1_000_000, 1_500_000, 2_000_000, 3_000_000, 5_000_000, 10_000_000, 15_000_000,
        20_000_000, 30_000_000, 40_000_000, 60_000_000, 120_000_000,
    ])

    /// Counts a time; a negative one, which only a clock that jumps can give, counts as none.
    public mutating func add(microseconds: Int64) {
        let time = max(microseconds, 0)
        var bucket = 0
        while bucket < bounds.count, time > bounds[bucket] { bucket += 1 }
        counts[bucket] &+= 1
        sum = sum.addingReportingOverflow(time).partialValue
    }

    /// Counts the times of another with the same bounds as well.
    public mutating func add(_ other: MetricHistogram) {
        guard bounds == other.bounds else { return }
        for index in counts.indices { counts[index] &+= other.counts[index] }
        sum = sum.addingReportingOverflow(other.sum).partialValue
    }

    /// What was counted since it was `earlier`.
    public func since(_ earlier: MetricHistogram?) -> MetricHistogram {
        guard let earlier, bounds == earlier.bounds else { return self }
        var new = self
        for index in counts.indices { new.counts[index] = counts[index] &- min(counts[index], earlier.counts[index]) }
        new.sum = sum &- earlier.sum
        return new
    }

    /// Microseconds that so many of a hundred times do not exceed, between the bounds of its bucket in proportion; the last
    /// bound for what lies above; nil without any time.
    public func quantile(_ percent: UInt64) -> Int64? {
        let all = total
        guard all > 0 else { return nil }
        let rank = max(1, (all &* percent &+ 99) / 100)
        var seen: UInt64 = 0
        for (index, count) in counts.enumerated() {
            guard seen &+ count >= rank, bounds.indices.contains(index) else {
                seen &+= count
                continue
            }
            let lower = index == 0 ? 0 : bounds[index - 1]
            return lower + (bounds[index] - lower) * Int64(clamping: rank - seen) / Int64(clamping: count)
        }
        return bounds.last
    }

    /// Times counted.
    public var total: UInt64 { counts.reduce(0, &+) }
}
