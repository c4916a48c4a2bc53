// SPDX-License-Identifier: MIT

/// Pauses between attempts that fail in a row: doubled each time up to a cap, half of each left to chance,
/// so that many who failed together do not come back together.
///
/// With `first` 250 ms and `cap` 10 s:
///
/// | attempt | pause            |
/// |---------|------------------|
/// | 1       | 125 to 250 ms    |
/// | 2       | 250 to 500 ms    |
/// | 3       | 500 ms to 1 s    |
/// | 4       | 1 to 2 s         |
/// | 5       | 2 to 4 s         |
/// | 6       | 4 to 8 s         |
/// | 7 on    | 5 to 10 s        |
public struct Backoff: Equatable, Sendable {
    private let first: Int64
    private let cap: Int64
    /// Failures since the last success.
    public private(set) var failures: UInt32 = 0

    /// Both in milliseconds; `first` at least 1, `cap` at least `first`.
    public init(first: Int64, cap: Int64) {
        self.first = max(first, 1)
        self.cap = max(cap, self.first)
    }

    /// The pause in milliseconds after one more failure, with nothing left to chance: for one who fails alone.
    public mutating func next() -> Int64 {
        let pause = Self.doubled(first, times: Int64(failures), cap: cap)
        failures = failures == .max ? .max : failures + 1
        return pause
    }

    /// A pause that is doubled so many times, up to a cap.
    public static func doubled(_ pause: Int64, times: Int64, cap: Int64) -> Int64 {
        let doubled = pause.multipliedReportingOverflow(by: 1 << min(max(times, 0), 40))
        return doubled.overflow ? cap : min(doubled.partialValue, cap)
    }

    /// The pause in milliseconds after one more failure; `random` is any 64 random bits.
    public mutating func next(random: UInt64) -> Int64 {
        let full = next()
        let half = full / 2
        return full - half + Int64(truncatingIfNeeded: random % UInt64(half + 1))
    }

    /// An attempt went well.
    public mutating func reset() { failures = 0 }
}
