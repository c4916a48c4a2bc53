// SPDX-License-Identifier: MIT

/// Judges what a webhook answered.
public enum WebhookResponse {
    private static let pause: Int64 = 2000

    /// Judges an answer by the operator's table; `now` in seconds since 1970.
    public static func verdict(_ response: HTTPResponse, _ answers: WebhookAnswers, now: Int64 = 0) -> Verdict {
        let outcome = answers.outcome(of: response.status)
        let reason = outcome == .accepted ? "" : "HTTP \(response.status)"
        switch outcome {
        case .throttled, .unavailable:
            let told = RetryAfter.milliseconds(response, now: now)
            // The operator's own server knows no device: who is to wait there is everybody.
            if outcome == .throttled, let told { return Verdict(outcome, reason: reason, next: .hold(told)) }
            return Verdict(outcome, reason: reason, next: .retry(after: told ?? pause))
        case .accepted, .tokenGone, .rejected, .misconfigured, .expired, .overloaded:
            return Verdict(outcome, reason: reason)
        }
    }
}
