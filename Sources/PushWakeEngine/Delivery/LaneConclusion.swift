// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// What a lane does after an attempt: the rules are the same for all providers.
///
///     verdict     finish            -> the verdict is final
///                 retry(after:)     -> again, when that is before the deadline and the call still waits
///                 renewCredential   -> again once with a fresh credential
///
/// An attempt that got no answer is repeated when the provider cannot have processed it, or when a
/// second copy does no harm because both carry the same id.
struct LaneConclusion: Equatable {
    enum Step: Equatable {
        case finish(Verdict)
        case retry(after: Int64)
        case renew
    }

    /// Attempts after which a push is given up, whatever the provider says.
    static let mostAttempts = 8

    static func step(
        after verdict: Verdict, attempts: Int, renewals: Int, now: Int64, deadline: Int64, isCancelled: Bool
    ) -> Step {
        switch verdict.next {
        case .finish:
            return .finish(verdict)
        case .renewCredential:
            guard renewals == 0, now < deadline, !isCancelled else { return .finish(verdict) }
            return .renew
        case .retry(let pause):
            let earliest = now.addingReportingOverflow(pause)
            guard !earliest.overflow, earliest.partialValue < deadline, attempts < mostAttempts, !isCancelled else {
                return .finish(verdict)
            }
            return .retry(after: pause)
        }
    }
}
