// SPDX-License-Identifier: MIT

/// Sends fewer pushes a second when a provider has had too many and does not say until when.
///
///     free --slowed()--> half the rate --+ a sixty-fourth of the first rate each second--> free, a minute after the last word
///                            ^           |
///                            +-slowed()--+   half again, once a second
///
/// A quota that is used up leaves no time to wait for it in silence: who rings does so for less than a minute, and calls
/// go first. All times in milliseconds.
public struct Pace: Equatable, Sendable {
    /// Without a word for so long all is forgotten.
    public static let memory: Int64 = 60_000
    /// Words that come within this time are of one wave.
    private static let wave: Int64 = 1000
    /// Pushes are counted in thousandths.
    private static let one: Int64 = 1000
    private static let highest: Int64 = 1_000_000 * one

    /// Thousandths of a push per second; nil while there is no bound.
    private var rate: Int64?
    /// What it was when the provider first said so.
    private var first: Int64 = 0
    private var cutAt: Int64 = 0
    /// Thousandths of a push that may go now.
    private var credit: Int64 = 0
    private var creditAt: Int64 = 0
    // What has gone in this second and in the one before.
    private var second: Int64 = 0
    private var count: Int64 = 0
    private var before: Int64 = 0

    public init() {}

    /// Whether there is no bound.
    public var isFree: Bool { rate == nil }

    /// A push has gone out.
    public mutating func noteSent(now: Int64) {
        turn(now)
        count += 1
        if rate != nil { credit -= Self.one }
    }

    /// The provider has had too many.
    public mutating func slowed(now: Int64) {
        if rate != nil, now &- cutAt < Self.wave { return }
        turn(now)
        let sent = min(max(before, count), 1_000_000) * Self.one
        if rate == nil { first = max(sent, Self.one) }
        let lowest = max(first / 64, Self.one)
        rate = max(min(rate ?? first, max(sent, Self.one)) / 2, lowest)
        (cutAt, credit, creditAt) = (now, 0, now)
    }

    /// Whether one more push may go.
    public mutating func admits(now: Int64) -> Bool {
        guard rate != nil else { return true }
        fill(now)
        return rate == nil || credit >= Self.one
    }

    /// When to ask `admits` again; nil when a push may go now. There is no such time then: who set a timer for it would be
    /// woken at once, again and again, while nothing waits or nothing can be sent.
    public func opens(now: Int64) -> Int64? {
        // Nobody may have asked `admits` for long: a connection has to be there first, and a token.
        var current = self
        guard !current.admits(now: now), let rate = current.rate else { return nil }
        return max(now, current.creditAt &+ ((Self.one - current.credit) * 1000 + rate - 1) / rate)
    }

    /// Credit for the time that has gone, at a rate that grows with it.
    private mutating func fill(_ now: Int64) {
        guard let rate else { return }
        guard now &- cutAt < Self.memory else {
            self.rate = nil
            return
        }
        let passed = min(max(now &- creditAt, 0), 10_000)
        guard passed > 0 else { return }
        let grown = min(rate + max(first / 64, Self.one) * passed / 1000, Self.highest)
        self.rate = grown
        // A tenth of a second's worth may be saved up: no burst after a pause.
        credit = min(credit + grown * passed / 1000, max(grown / 10, Self.one))
        creditAt = now
    }

    private mutating func turn(_ now: Int64) {
        let age = now &- second
        guard age >= 1000 || age < 0 else { return }
        (before, count, second) = (age < 2000 && age >= 0 ? count : 0, 0, now)
    }
}
