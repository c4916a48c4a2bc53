// SPDX-License-Identifier: MIT

/// Opens the circuit of a credential that fails and fails, so that no provider bans it for a wrong setting (Mizutech's
/// `fcm_maxfail`).
///
///     closed --(maxFail failures in a row)--> open --(one probe per pause)--> closed by the first success
public struct Breaker: Equatable, Sendable {
    /// Whether a push may go out.
    public enum Admission: Equatable, Sendable {
        case send
        /// Send this one to see whether the provider works again.
        case probe
        /// Do not send before this time.
        case open(until: Int64)
    }

    /// Milliseconds between two probes.
    public static let pause: Int64 = 30_000

    private let maxFail: Int
    private var failures = 0
    private var nextProbe: Int64?
    /// How the push ended that opened it, or the last one that tried it since; nil while it is closed.
    public private(set) var cause: Verdict?

    /// Opens after so many failures in a row; 0 never does.
    public init(maxFail: Int) { self.maxFail = max(maxFail, 0) }

    /// True while the circuit is open.
    public var isOpen: Bool { nextProbe != nil }

    /// Asks for leave to send at `now` (milliseconds).
    public mutating func admit(now: Int64) -> Admission {
        guard let time = nextProbe else { return .send }
        guard now >= time else { return .open(until: time) }
        nextProbe = now.addingReportingOverflow(Self.pause).partialValue
        return .probe
    }

    /// How pushes end that it does not let out.
    public var refusal: Verdict {
        let reason = cause?.reason ?? ""
        return Verdict(.unavailable, reason: reason.isEmpty ? "CircuitOpen" : "CircuitOpen (\(reason))")
    }

    /// Notes how a push ended; returns true when the breaker has just opened or closed, which is worth a log line.
    public mutating func note(_ verdict: Verdict, now: Int64) -> Bool {
        switch verdict.outcome {
        // A dead token says nothing against the credential.
        case .accepted, .tokenGone:
            failures = 0
            guard nextProbe != nil else { return false }
            (nextProbe, cause) = (nil, nil)
            return true
        case .rejected, .throttled, .unavailable, .misconfigured:
            // What waited when it opened was ended by itself.
            if isOpen, verdict == refusal { return false }
            failures = min(failures, Int.max - 1) + 1
            guard maxFail > 0, failures >= maxFail else { return false }
            cause = verdict
            guard nextProbe == nil else { return false }
            nextProbe = now.addingReportingOverflow(Self.pause).partialValue
            return true
        case .expired, .overloaded:
            // Never left this host.
            return false
        }
    }
}
