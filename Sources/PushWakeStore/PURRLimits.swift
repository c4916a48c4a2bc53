// SPDX-License-Identifier: MIT

/// For how long PURRs are good, and how many of one device are kept; times in seconds.
public struct PURRLimits: Equatable, Sendable {
    /// PURRs of one device; the oldest gives way.
    public static let perDevice = 32
    /// A use is noted so often: a write for each would cost more than the lookup.
    static let noteAfter: Int64 = 86_400

    /// Age at which the device is told another one.
    public let rotation: Int64
    /// A PURR stays good for so long after it was told or used last, and for a day more.
    public let lifetime: Int64

    /// As many as `lifetime` takes must fit: where they do not, `rotation` is longer than asked for.
    public init(rotation: Int64 = 86_400, lifetime: Int64 = 7 * 86_400) {
        self.lifetime = max(lifetime, 0)
        let most = Int64(Self.perDevice - 1)
        let shortest = self.lifetime.addingSaturating(Self.noteAfter).addingSaturating(most - 1) / most
        self.rotation = max(rotation, shortest, 1)
    }

    /// A PURR that was made then is not told any more.
    func isOld(madeAt: Int64, now: Int64) -> Bool { now.subtractingSaturating(madeAt) >= rotation }

    /// A PURR that was told or used then counts no more.
    func isOver(usedAt: Int64, now: Int64) -> Bool {
        now.subtractingSaturating(usedAt) > lifetime.addingSaturating(Self.noteAfter)
    }

    /// A use is to be noted.
    static func isDue(usedAt: Int64, now: Int64) -> Bool { now.subtractingSaturating(usedAt) >= noteAfter }
}

extension Int64 {
    /// Subtracts without leaving the range.
    func subtractingSaturating(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }
}
