// SPDX-License-Identifier: MIT

/// Sends no more pushes a second than a provider takes, when it refuses many and does not say until when.
///
///     free --a second with many refusals--> as many as it took --+ a sixty-fourth of the first rate each second--> free, a minute
///      ^                                          ^    |                                          after the last such second
///      +--refused as many of fewer: not for       +----+ a second with many refusals
///         their number, and let be for a while
///
/// A quota that is used up leaves no time to wait for it in silence: who rings does so for less than a minute, and calls
/// go first. A provider that is out of order refuses as well, however little it is asked; to ask less of it helps nobody. So
/// a 503 counts only while it becomes rarer when less is asked, a word about the quota always. All times in milliseconds.
public struct Pace: Equatable, Sendable {
    /// Without many refusals for so long all is forgotten.
    public static let memory: Int64 = 60_000
    /// Refusals that do not depend on the rate are let be for so long.
    public static let indifference: Int64 = 30_000
    /// Answers are counted for so long.
    private static let window: Int64 = 1000
    /// So many refusals of a window, and this part of its answers in hundredths, are many: in order to begin, and to go on.
    private static let manyToBegin: (count: Int64, share: Int64) = (8, 50)
    private static let manyToGoOn: (count: Int64, share: Int64) = (4, 12)
    /// Pushes are counted in thousandths.
    private static let one: Int64 = 1000
    private static let highest: Int64 = 1_000_000 * one

    /// Thousandths of a push per second; nil while there is no bound.
    private var rate: Int64?
    /// What it was when the provider first said so.
    private var first: Int64 = 0
    private var cutAt: Int64 = 0
    /// How many of a hundred answers were refusals when it was cut.
    private var shareAtCut: Int64 = 0
    private var ignoresUntil = Int64.min
    /// Thousandths of a push that may go now.
    private var credit: Int64 = 0
    private var creditAt: Int64 = 0
    // Of this window.
    private var start: Int64 = 0
    private var sent: Int64 = 0
    private var answers: Int64 = 0
    private var refusals: Int64 = 0
    private var isQuota = false

    public init() {}

    /// Whether there is no bound.
    public var isFree: Bool { rate == nil }

    /// A push has gone out.
    public mutating func noteSent(now: Int64) {
        turn(now)
        sent += 1
        if rate != nil { credit -= Self.one }
    }

    /// So many answers have come, refusals among them.
    public mutating func answered(_ count: Int, now: Int64) {
        turn(now)
        answers = min(answers + Int64(min(max(count, 0), 1 << 20)), 1 << 32)
    }

    /// One of the answers was a refusal that may be for the number of pushes; `isQuota`: the provider has said that it is.
    public mutating func refused(isQuota: Bool) {
        refusals += 1
        if isQuota { self.isQuota = true }
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

    /// Ends a window, and draws the consequence of its answers.
    private mutating func turn(_ now: Int64) {
        let length = now &- start
        guard length >= Self.window || length < 0 else { return }
        // What came late in a window that nobody ended says nothing of a second.
        if length >= 0, length < 2 * Self.window, answers > 0 { conclude(length, now) }
        (start, sent, answers, refusals, isQuota) = (now, 0, 0, 0, false)
    }

    private mutating func conclude(_ length: Int64, _ now: Int64) {
        let share = refusals * 100 / answers
        let many = rate == nil ? Self.manyToBegin : Self.manyToGoOn
        let isMany = refusals >= many.count && share >= many.share
        guard isQuota || isMany && now >= ignoresUntil else { return }
        if rate != nil {
            // In the first window came answers to what was sent before the cut; the second one shows what it was good for.
            let age = now &- cutAt
            guard age >= 2 * Self.window else { return }
            if !isQuota, age < 3 * Self.window, share * 4 >= shareAtCut * 3 {
                (rate, ignoresUntil) = (nil, now &+ Self.indifference)
                return
            }
        } else {
            first = max(min(sent, 1_000_000) * Self.one * 1000 / length, Self.one)
        }
        let taken = min(max(answers - refusals, 0), 1_000_000) * Self.one * 1000 / length
        rate = max(taken, first / 64, Self.one)
        (cutAt, shareAtCut, credit, creditAt) = (now, share, 0, now)
    }
}
