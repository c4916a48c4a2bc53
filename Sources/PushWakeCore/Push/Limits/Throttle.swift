// SPDX-License-Identifier: MIT

/// Stops sending when a provider says for how long, and comes back slowly; sends less where it does not (`Pace`) (Firebase,
/// "Best practices when sending FCM messages at scale": wait as told or a minute, double it, then ramp up over a minute).
///
///     free --held()--> holding --time--> ramping --60 s--> free
///                         ^                 |
///                         +-----held()------+   twice as long, half as steep
public struct Throttle: Equatable, Sendable {
    /// Milliseconds from the first push after a hold to full speed.
    public static let ramp: Int64 = 60_000
    /// Longest hold unless the provider asked for more, milliseconds.
    public static let longestHold: Int64 = 600_000
    /// Pushes per second at the end of the first ramp: Google's ordinary quota, 600,000 a minute.
    private static let fullRate: Int64 = 10_000

    private var end: Int64?
    private var sent: Int64 = 0
    private var pace = Pace()
    /// Holds since the last ramp that went well.
    private var holds: Int64 = 0

    public init() {}

    /// False once the channel holds or ramps up.
    public var isFree: Bool { end == nil && pace.isFree }

    /// The end of a hold that lasts at `now`; nil when there is none. All times in milliseconds.
    public func heldUntil(now: Int64) -> Int64? {
        guard let end, now < end else { return nil }
        return end
    }

    /// The provider wants no pushes for `pause`. A second word of the same wave, from a push that was under way, is
    /// no new offence.
    public mutating func held(for pause: Int64, now: Int64) {
        let base = min(max(pause, 0), 3_600_000)
        if let until = heldUntil(now: now) {
            end = max(until, Self.sum(now, base))
            return
        }
        let doubled = Backoff.doubled(base, times: min(holds, 4), cap: Self.longestHold)
        holds = min(holds + 1, 16)
        end = Self.sum(now, max(base, doubled))
        sent = 0
    }

    /// As `Pace` counts them.
    public mutating func answered(_ count: Int, now: Int64) { pace.answered(count, now: now) }

    /// The provider did not take a push and did not say until when it wants none. `isQuota`: it has said that it had too many.
    public mutating func refused(isQuota: Bool) { pace.refused(isQuota: isQuota) }

    private static func sum(_ now: Int64, _ pause: Int64) -> Int64 {
        let (sum, overflow) = now.addingReportingOverflow(pause)
        return overflow ? .max : sum
    }

    /// Whether one more push may go out at `now`; `noteSent` counts it.
    public mutating func admits(now: Int64) -> Bool {
        guard pace.admits(now: now) else { return false }
        guard let end else { return true }
        let age = now - end
        guard age >= 0 else { return false }
        guard age < Self.ramp else {
            (self.end, sent, holds) = (nil, 0, 0)
            return true
        }
        return sent < allowance(age)
    }

    /// A push has gone out.
    public mutating func noteSent(now: Int64) {
        pace.noteSent(now: now)
        if end != nil { sent += 1 }
    }

    /// When to ask `admits` again; nil when it is true now.
    public func opens(now: Int64) -> Int64? {
        let paced = pace.opens(now: now)
        guard let end else { return paced }
        if now < end { return end }
        let age = now - end
        guard age < Self.ramp, sent >= allowance(age) else { return paced }
        return max(now + 50, paced ?? now)
    }

    /// Pushes that the ramp has let through by then: the rate grows evenly, so the sum grows as a square. The first
    /// one goes at once and finds out how things are.
    private func allowance(_ age: Int64) -> Int64 {
        let rate = max(Self.fullRate >> min(max(holds - 1, 0), 6), 10)
        return 1 + rate * age / 1000 * age / (2 * Self.ramp)
    }
}
