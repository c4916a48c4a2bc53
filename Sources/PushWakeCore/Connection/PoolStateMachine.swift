// SPDX-License-Identifier: MIT

/// Decides when a pool opens connections: at most so many, never in a tight loop.
///
/// After a failed attempt the pool waits, longer each time and with jitter; Apple takes rapid connecting for an
/// attack. A connection that ended at once after it was established counts as failed too, or a server that accepts and
/// closes would be hammered.
public struct PoolStateMachine: ~Copyable {
    private let maxConnections: Int
    /// Attempts under way, and connections that can take requests.
    private var connections = 0
    private var attempts = 0
    private var backoff: Backoff
    /// Milliseconds; no attempt before.
    private var notBefore = Int64.min
    /// When the last attempt began.
    private var lastAttempt: Int64?
    /// For a request that has just come an attempt may begin so long after the last one: that is no tight loop, and a
    /// caller hears at once whether it is of use to wait.
    private static let freshPause: Int64 = 2000

    /// Delays in milliseconds.
    public init(maxConnections: Int, firstDelay: Int64 = 500, longestDelay: Int64 = 60_000) {
        self.maxConnections = max(1, maxConnections)
        backoff = Backoff(first: firstDelay, cap: longestDelay)
    }

    /// What to do for requests that no connection can take now.
    public enum DemandAction: Equatable {
        case connect
        /// Ask again at this time, milliseconds.
        case wait(until: Int64)
        case none
    }

    /// Attempts that failed since the last answer.
    public var failures: UInt32 { backoff.failures }

    /// Requests wait, and `free` streams are free on connections that stand; `isFresh`: one has just come.
    public mutating func demand(waiting: Int, free: Int, isFresh: Bool = false, now: Int64) -> DemandAction {
        guard waiting > free, connections + attempts < maxConnections, attempts == 0 else { return .none }
        let earliest = isFresh ? min(notBefore, (lastAttempt ?? now) + Self.freshPause) : notBefore
        guard now >= earliest else { return .wait(until: earliest) }
        attempts += 1
        lastAttempt = now
        return .connect
    }

    /// A connection stands.
    public mutating func attemptSucceeded() {
        attempts = max(0, attempts - 1)
        connections += 1
    }

    /// What to do after a failed attempt.
    public struct FailureAction: Equatable {
        /// The next attempt may start then, milliseconds; requests that cannot wait so long have failed.
        public let retryAt: Int64
    }

    /// `random` is any 64 random bits.
    public mutating func attemptFailed(now: Int64, random: UInt64) -> FailureAction {
        attempts = max(0, attempts - 1)
        return backOff(now: now, random: random)
    }

    /// The connection takes no more requests; `wasUseful`: it has answered at least one.
    public mutating func connectionEnded(wasUseful: Bool, now: Int64, random: UInt64) {
        connections = max(0, connections - 1)
        if !wasUseful { _ = backOff(now: now, random: random) }
    }

    /// A request was answered: the way is clear.
    public mutating func answered() {
        backoff.reset()
        notBefore = .min
    }

    private mutating func backOff(now: Int64, random: UInt64) -> FailureAction {
        notBefore = now &+ backoff.next(random: random)
        return FailureAction(retryAt: notBefore)
    }
}
