// SPDX-License-Identifier: MIT

/// How many requests a provider may have without an answer at a time: no more than it answers soon.
///
/// A provider that has too much to do answers in order, and what it has not begun waits there, where nothing can go before it.
/// What it answers in a second, times the seconds that a push may wait for it, is what may be under way (Little's law).
/// Its own pace is known from its fastest answer. Late answers alone do not say that there is too much to do: it may be slow and
/// do as many at a time as it is asked. So fewer are asked for, and only a provider that goes on answering as many is limited
/// (TCP Vegas and BBR tell a queue from a long way with the same two measures).
///
///     free --all answers of a second are late--> trial --as many are answered--> bounded
///      ^                                           |                               |  ^
///      +<--fewer are answered: slow, not busy------+<------late again--------------+  |
///      +<--nothing had to wait for five seconds------------------------------------+--+ as many as it answers soon
///
/// All times in milliseconds.
public struct StreamLimit: Equatable, Sendable {
    /// An answer that takes so much longer than the fastest ever is late; half of it is what a push may wait at a provider.
    public static let late: Int64 = 500
    /// Fewer than that under way are not worth a limit.
    public static let least = 8
    /// What is concluded, is concluded from so much time and from so many answers.
    private static let window: Int64 = 1000
    private static let fewestAnswers: Int64 = 8
    /// Windows in which no push had to wait, after which there is no limit.
    private static let calmWindows = 5

    private enum State: Equatable {
        case free
        /// Answers a second before it. Those of the trial come from `from` on, and are counted for at least `span`: what is
        /// sent in bursts is answered in bursts.
        case trial(before: Int64, from: Int64, span: Int64)
        /// Windows in which no push had to wait.
        case bounded(calm: Int)
    }

    private var state = State.free
    private var limit = Int.max
    /// The fastest answer while the provider had little to do.
    private var base = Int64.max
    // Of this window; it begins with its first answer.
    private var start: Int64?
    private var answers: Int64 = 0
    private var fastest = Int64.max
    private var wasFull = false

    public init() {}

    /// Whether there is no limit.
    public var isFree: Bool { state == .free }

    /// Whether one more request may be under way beside so many.
    public mutating func admits(beside underWay: Int) -> Bool {
        guard underWay >= limit else { return true }
        wasFull = true
        return false
    }

    /// So many answers came at `now`, the fastest of them after so long; so many requests are under way still. True when that
    /// has changed the limit.
    public mutating func answered(
        _ count: Int, after fastest: Int64, underWay: @autoclosure () -> Int, now: Int64
    ) -> Bool {
        var span = Self.window
        if case .trial(_, let from, let least) = state {
            guard now >= from else { return false }
            span = max(span, least)
        }
        guard let start else {
            begin(at: now)
            return false
        }
        answers = min(answers + Int64(min(max(count, 0), 1 << 20)), 1 << 32)
        self.fastest = min(self.fastest, max(fastest, 0), 3_600_000)
        let length = now &- start
        guard length >= span, answers >= Self.fewestAnswers else { return false }
        let before = limit
        conclude(rate: answers * 1000 / length, underWay(), now)
        begin(at: now)
        // The window of a trial begins later.
        if case .trial = state { self.start = nil }
        return limit != before
    }

    private mutating func begin(at now: Int64) {
        (start, answers, fastest, wasFull) = (now, 0, .max, false)
    }

    private mutating func conclude(rate: Int64, _ underWay: Int, _ now: Int64) {
        switch state {
        case .free:
            if isLate, underWay >= Self.least { tryLess(rate, underWay, now) }
            if !isLate { base = min(base, fastest) }
        case .trial(let before, _, _):
            guard wasFull, rate * 4 >= before * 3 else {
                if wasFull { base = max(base, fastest) }
                (state, limit) = (.free, .max)
                return
            }
            (state, limit) = (.bounded(calm: 0), answeredSoon(rate))
        case .bounded(let calm):
            if isLate, underWay >= Self.least { return tryLess(rate, underWay, now) }
            base = min(base, fastest)
            if wasFull {
                // Twice as many at most: what it answers now may be what it was asked.
                (state, limit) = (.bounded(calm: 0), max(limit, min(limit * 2, answeredSoon(rate))))
            } else {
                (state, limit) = calm + 1 < Self.calmWindows ? (.bounded(calm: calm + 1), limit) : (.free, .max)
            }
        }
    }

    /// No answer of the window was in time.
    private var isLate: Bool { base < .max && fastest > base + Self.late }

    /// How many are answered in the time that a push may wait.
    private func answeredSoon(_ rate: Int64) -> Int {
        let (product, overflow) = rate.multipliedReportingOverflow(by: min(base, 60_000) + Self.late / 2)
        return overflow ? .max : max(1, Int(product / 1000))
    }

    private mutating func tryLess(_ rate: Int64, _ underWay: Int, _ now: Int64) {
        state = .trial(before: rate, from: now &+ fastest, span: fastest)
        limit = max(answeredSoon(rate), underWay / 2)
    }
}
