// SPDX-License-Identifier: MIT

/// What pushes to one token have come to: "accepted" is the provider's word, only a REGISTER proves that a phone woke.
public struct WakeRecord: Equatable, Sendable {
    /// Accepted pushes without a wake from which on something must be wrong.
    static let suspicious = 3

    /// Requests for which a push was accepted.
    public private(set) var accepted: UInt32 = 0
    /// Those among them for which the phone registered in time.
    public private(set) var woke: UInt32 = 0
    /// Milliseconds from push to REGISTER, all together, and the longest.
    private var total: UInt32 = 0
    public private(set) var slowest: UInt32 = 0
    /// Seconds of the owner's clock; nil for never.
    public private(set) var lastPush: UInt32?
    public private(set) var lastWake: UInt32?
    /// Accepted since it woke last.
    private var missed: UInt16 = 0
    /// Pushes that the provider has not taken, in a row, and what became of the last one.
    private var failures: UInt16 = 0
    private var lastFailure = Outcome.accepted

    public init() {}

    /// A push for a request was accepted; `now` in seconds.
    public mutating func accept(now: UInt32) {
        accepted = accepted == .max ? .max : accepted + 1
        missed = missed == .max ? .max : missed + 1
        lastPush = now
    }

    /// The phone registered so many milliseconds after it was pushed.
    public mutating func wake(after milliseconds: Int64, now: UInt32) {
        let time = UInt32(clamping: milliseconds)
        woke = woke == .max ? .max : woke + 1
        let (sum, isOver) = total.addingReportingOverflow(time)
        total = isOver ? .max : sum
        slowest = max(slowest, time)
        missed = 0
        lastWake = now
    }

    /// Any push, for a request or not, has ended.
    public mutating func end(_ outcome: Outcome, now: UInt32) {
        lastPush = now
        lastFailure = outcome
        failures = outcome == .accepted ? 0 : failures == .max ? .max : failures + 1
    }

    /// Mean milliseconds from push to REGISTER; nil while it has not woken.
    public var meanLatency: Int64? { woke > 0 ? Int64(total / woke) : nil }

    /// Of a hundred accepted pushes so many have woken it; nil while none was accepted.
    public var wakePercent: Int? { accepted > 0 ? Int(min(100, UInt64(woke) * 100 / UInt64(accepted))) : nil }

    /// What to think of it.
    public var assessment: Assessment {
        if failures > 0 { return .failing(Int(failures), lastFailure) }
        guard accepted > 0 || woke > 0 else { return lastPush == nil ? .neverPushed : .pushedForNone }
        guard let time = meanLatency else {
            return accepted < Self.suspicious ? .unproven(Int(accepted)) : .neverWoke(Int(accepted))
        }
        if missed >= Self.suspicious { return .stoppedWaking(Int(missed)) }
        let isSure = (wakePercent ?? 100) >= 90
        return isSure ? .wakes(time) : .wakesSometimes(time, woke: Int(woke), accepted: Int(accepted))
    }

    /// How far a token can be relied on.
    public enum Assessment: Equatable, Sendable {
        /// Not since the engine started, at least.
        case neverPushed
        /// Pushes were accepted, by hand or as a notice, and none of them for a call or message.
        case pushedForNone
        /// The last pushes were not accepted.
        case failing(Int, Outcome)
        /// Accepted too rarely to say anything.
        case unproven(Int)
        case neverWoke(Int)
        /// It has woken, but not for the last accepted pushes.
        case stoppedWaking(Int)
        /// Milliseconds.
        case wakes(Int64)
        case wakesSometimes(Int64, woke: Int, accepted: Int)

        /// For people.
        public var words: String {
            switch self {
            case .neverPushed: "not pushed since the engine started"
            case .pushedForNone: "accepted, but for no call so far"
            case .failing(1, let outcome): "the last push failed: \(outcome.name)"
            case .failing(let count, let outcome): "the last \(count) pushes failed: \(outcome.name)"
            case .unproven(let accepted): "accepted \(accepted), woke 0 so far"
            case .neverWoke(let accepted): "accepted \(accepted), woke 0: notifications off?"
            case .stoppedWaking(let missed): "accepted \(missed) since it woke last: notifications off?"
            case .wakes(let time): "wakes in \(TraceText.duration(time))"
            case .wakesSometimes(let time, let woke, let accepted):
                "wakes in \(TraceText.duration(time)), \(woke) times of \(accepted)"
            }
        }
    }
}
