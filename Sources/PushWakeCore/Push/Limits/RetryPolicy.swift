// SPDX-License-Identifier: MIT

/// When a push is sent again: as the verdict says, never past its deadline, and not for ever.
public struct RetryPolicy: Equatable, Sendable {
    /// What to do after an attempt.
    public enum Step: Equatable, Sendable {
        /// The outcome is final.
        case finish(Verdict)
        /// Send again at this time.
        case retry(at: Int64)
        /// Get a fresh credential, then send at once.
        case renewCredential
    }

    /// Attempts in all, the first included.
    public let mostAttempts: Int
    /// Longest pause between two attempts, milliseconds, unless the provider asked for more.
    public let longestPause: Int64

    public init(mostAttempts: Int = 8, longestPause: Int64 = 60_000) {
        self.mostAttempts = mostAttempts
        self.longestPause = longestPause
    }

    /// Decides after attempt number `attempts` (from 1) of a push that must be there by `deadline`.
    ///
    /// The verdict's pause doubles with each attempt, plus up to a quarter by chance (`random`); 0 means at
    /// once, the first time. A retry that would come too late is not made: the verdict is final now, so that the
    /// caller hears of it while it still matters. All times in milliseconds.
    public func step(
        after verdict: Verdict, attempts: Int, renewals: Int, now: Int64, deadline: Int64, random: UInt64
    ) -> Step {
        switch verdict.next {
        case .finish:
            return .finish(verdict)
        case .renewCredential:
            return renewals == 0 && now < deadline ? .renewCredential : .finish(verdict)
        case .retry(let after), .hold(let after), .slow(let after):
            guard attempts < mostAttempts else { return .finish(verdict) }
            let pause = self.pause(after, attempts: attempts, random: random)
            let (time, overflow) = now.addingReportingOverflow(pause)
            return overflow || time >= deadline ? .finish(verdict) : .retry(at: time)
        }
    }

    private func pause(_ asked: Int64, attempts: Int, random: UInt64) -> Int64 {
        // A lost connection is no reason to wait once, but a provider that drops each one is.
        let base = asked > 0 ? asked : attempts > 1 ? 50 : 0
        let pause = max(asked, Backoff.doubled(base, times: Int64(attempts) - 1, cap: longestPause))
        let spread = pause.addingReportingOverflow(Int64(truncatingIfNeeded: random % UInt64(max(pause, 0) / 4 + 1)))
        return spread.overflow ? pause : spread.partialValue
    }
}
