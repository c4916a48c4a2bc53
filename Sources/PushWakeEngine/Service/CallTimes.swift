// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// How long what matters in a call takes, counted since the engine started.
struct CallTimes {
    /// What a caller's wait came to.
    enum WaitEnd: String, CaseIterable {
        /// A phone rang, or answered at once.
        case rang
        case cancelled
        case timedOut = "timed-out"
        case failed
    }

    /// From the engine's hearing of a request to its first push on the wire.
    private(set) var requestToPush = MetricHistogram.ownWork
    /// From a phone's REGISTER to the host's word that the request is out to it.
    private(set) var registerToRequest = MetricHistogram.ownWork
    /// From a push to its provider's answer.
    private(set) var providerAnswers: [Provider: MetricHistogram] = [:]
    /// From a push to the phone's REGISTER.
    private(set) var wakes: [Provider: MetricHistogram] = [:]
    /// From a call's arrival to the first ringing or to its end.
    private(set) var waits: [WaitEnd: MetricHistogram] = [:]

    mutating func countPush(afterMicroseconds time: Int64) { requestToPush.add(microseconds: time) }

    mutating func countRelease(afterMicroseconds time: Int64) { registerToRequest.add(microseconds: time) }

    mutating func countAnswer(_ provider: Provider, microseconds: Int64) {
        providerAnswers[provider, default: .providerAnswer].add(microseconds: microseconds)
    }

    mutating func countWake(_ provider: Provider, milliseconds: Int64) {
        wakes[provider, default: .wake].add(microseconds: milliseconds &* 1000)
    }

    mutating func countWait(_ end: WaitEnd, milliseconds: Int64) {
        waits[end, default: .wake].add(microseconds: milliseconds &* 1000)
    }
}

/// What is measured of one held request.
struct RequestTimes {
    /// Monotonic microseconds at which the engine heard of it; nil for one that another engine had begun.
    let arrivedAt: Int64?
    /// Its machine decides for the first time: what it pushes now, it pushes as soon as it can.
    var isBeginning = true
    private var hasCountedPush = false
    private var hasCountedWait = false
    /// Legs that a REGISTER has released, and when that came, monotonic microseconds.
    private var released: [Int: Int64] = [:]

    init(arrivedAt: Int64?) { self.arrivedAt = arrivedAt }

    /// A push of its beginning is on the wire; gives what that took, once.
    mutating func pushed(at time: Int64) -> Int64? {
        guard !hasCountedPush, let arrivedAt, time > 0 else { return nil }
        hasCountedPush = true
        return time &- arrivedAt
    }

    /// A REGISTER that came at `time` has released a leg.
    mutating func released(leg: Int, at time: Int64) {
        if released.count < 16 { released[leg] = time }
    }

    /// The host has sent a leg; gives what that took since the REGISTER.
    mutating func sent(leg: Int, at time: Int64) -> Int64? { released.removeValue(forKey: leg).map { time &- $0 } }

    /// The caller need not wait any more; true for the first time.
    mutating func endWait() -> Bool {
        guard !hasCountedWait, arrivedAt != nil else { return false }
        hasCountedWait = true
        return true
    }
}
