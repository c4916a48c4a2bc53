// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// How an attempt of a push failed when another was to follow. A class, because few pushes have one and all of
/// them would keep room for it.
final class FailedAttempt {
    let verdict: Verdict
    /// HTTP status; 0 when no answer came.
    let status: Int

    init(_ verdict: Verdict, status: Int) {
        self.verdict = verdict
        self.status = status
    }
}
