// SPDX-License-Identifier: MIT

/// Counts times in buckets that grow with them, so that percentiles cost a fixed 0.5 kB however many times there are.
///
/// Eight buckets for each power of two: a percentile is at most an eighth too high. What takes longer than `longest`
/// counts as that.
public struct LatencyHistogram: Equatable, Sendable {
    /// Milliseconds; more than any request is held.
    public static let longest: Int64 = 131_071
    private static let steps = 8

    private var counts = [UInt32](repeating: 0, count: bucket(of: longest) + 1)
    /// Times counted.
    public private(set) var total: UInt64 = 0
    private var highest: Int64 = 0

    public init() {}

    /// Counts a time of so many milliseconds.
    public mutating func add(_ milliseconds: Int64) {
        let time = min(max(milliseconds, 0), Self.longest)
        let bucket = Self.bucket(of: time)
        guard counts[bucket] < .max else { return }
        counts[bucket] += 1
        total += 1
        highest = max(highest, time)
    }

    /// Milliseconds that so many percent of the times stay within; nil when there are none.
    public func percentile(_ percent: Int) -> Int64? {
        guard total > 0 else { return nil }
        // Nearest rank: the smallest time with so many of a hundred at or below it.
        let rank = max(1, (total &* UInt64(min(max(percent, 0), 100)) &+ 99) / 100)
        var seen: UInt64 = 0
        for (bucket, count) in counts.enumerated() {
            seen += UInt64(count)
            if seen >= rank { return min(Self.top(of: bucket), highest) }
        }
        return highest
    }

    /// Times up to 15 have a bucket each; from there on the three bits after the first choose.
    private static func bucket(of time: Int64) -> Int {
        guard time >= 2 * Int64(steps) else { return Int(time) }
        let shift = 60 - time.leadingZeroBitCount
        return shift * steps + Int(time >> Int64(shift))
    }

    /// The longest time in a bucket.
    private static func top(of bucket: Int) -> Int64 {
        guard bucket >= 2 * steps else { return Int64(bucket) }
        let shift = bucket / steps - 1
        return (Int64(bucket % steps + steps + 1) << Int64(shift)) - 1
    }
}
