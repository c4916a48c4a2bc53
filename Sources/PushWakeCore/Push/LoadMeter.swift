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
