// SPDX-License-Identifier: MIT

/// Makes a steady level out of samples: one bad moment raises nothing, and the level falls slowly, so that
/// pushes are not refused and let through in turn.
public struct LoadMeter: Equatable, Sendable {
    /// Samples in a row that must be above the level before it rises.
    private static let samplesToRise = 2
    /// Milliseconds that all samples must be below the level before it falls by one.
    private static let calmToFall: Int64 = 2000

    /// What counts until samples say otherwise for long enough.
    public private(set) var level = LoadLevel.low
    /// The last sample.
    public private(set) var sample = LoadSample()
    /// The least that the samples above the level were, and how many in a row.
    private var rise: (level: LoadLevel, count: Int) = (.low, 0)
    /// Milliseconds; since when the samples are below the level.
    private var calmSince: Int64?

    public init() {}

    /// Takes a sample at `now` (milliseconds); returns true when the level has changed.
    public mutating func note(_ sample: LoadSample, now: Int64) -> Bool {
        self.sample = sample
        let current = sample.level
        guard current <= level else { return noteAbove(current) }
        rise = (.low, 0)
        guard current < level else {
            calmSince = nil
            return false
        }
        guard let since = calmSince else {
            calmSince = now
            return false
        }
        guard now - since >= Self.calmToFall, let lower = LoadLevel(rawValue: level.rawValue - 1) else { return false }
        level = lower
        calmSince = now
        return true
    }

    private mutating func noteAbove(_ current: LoadLevel) -> Bool {
        calmSince = nil
        rise = (rise.count == 0 ? current : min(rise.level, current), rise.count + 1)
        guard rise.count >= Self.samplesToRise else { return false }
        level = rise.level
        rise = (.low, 0)
        return true
    }

    public static func == (a: LoadMeter, b: LoadMeter) -> Bool {
        a.level == b.level && a.sample == b.sample && a.rise == b.rise && a.calmSince == b.calmSince
    }
}

/// How busy an engine is, 0 to 4, as Mizutech's `wsload` has it.
public enum LoadLevel: UInt8, Comparable, Sendable, CaseIterable {
    case low = 0
    case normal = 1
    case high = 2
    case veryHigh = 3
    case extreme = 4

    public static func < (a: LoadLevel, b: LoadLevel) -> Bool { a.rawValue < b.rawValue }
}

/// What was measured of an engine in a moment.
public struct LoadSample: Equatable, Sendable {
    /// How full the fullest queue is, in parts of 100.
    public var queueFill: Int
    /// Milliseconds by which the loop came too late to a timer.
    public var lag: Int64
    /// CPU time of the process since the sample before, in parts of 100 of one core.
    public var cpu: Int

    public init(queueFill: Int = 0, lag: Int64 = 0, cpu: Int = 0) {
        self.queueFill = queueFill
        self.lag = lag
        self.cpu = cpu
    }

    /// The level of the worst measure.
    ///
    /// | level | queue | lag     | CPU  |
    /// |-------|-------|---------|------|
    /// | 1     | 5 %   | 10 ms   | 40 % |
    /// | 2     | 20 %  | 50 ms   | 70 % |
    /// | 3     | 50 %  | 200 ms  | 90 % |
    /// | 4     | 80 %  | 1000 ms |      |
    ///
    /// A busy CPU alone is not an overload: while nothing waits and nothing is late, all is done that comes in.
    public var level: LoadLevel {
        max(
            Self.level(Int64(queueFill), [5, 20, 50, 80]), Self.level(lag, [10, 50, 200, 1000]),
            Self.level(Int64(cpu), [40, 70, 90]))
    }

    private static func level(_ value: Int64, _ bounds: [Int64]) -> LoadLevel {
        LoadLevel(rawValue: UInt8(bounds.count { value >= $0 })) ?? .extreme
    }
}
