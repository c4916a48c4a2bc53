// SPDX-License-Identifier: MIT

/// Reads what a webhook answered.
public enum WebhookResponse {
    private static let pause: Int64 = 2000

    /// Reads an answer by the operator's table; `now` in seconds since 1970.
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

/// What a webhook's HTTP statuses mean; the operator can overrule the usual reading.
public struct WebhookAnswers: Equatable, Sendable {
    private struct Rule: Equatable, Sendable {
        let statuses: ClosedRange<Int>
        let outcome: Outcome
    }

    private var rules: [Rule] = []

    public init() {}

    /// Reads a setting such as `404=rejected 5xx=unavailable 409=token-gone`; nil when a part makes no sense.
    public init?(setting: String) {
        for part in setting.split(separator: " ") {
            let sides = part.split(separator: "=", omittingEmptySubsequences: false)
            guard sides.count == 2, let statuses = Self.statuses(sides[0]),
                let outcome = Outcome.allCases.first(where: { $0.name == sides[1] })
            else { return nil }
            rules.append(Rule(statuses: statuses, outcome: outcome))
        }
    }

    /// The meaning of a status: the first rule that fits, else the usual one.
    public func outcome(of status: Int) -> Outcome {
        if let rule = rules.first(where: { $0.statuses.contains(status) }) { return rule.outcome }
        switch status {
        case 200...299: return .accepted
        case 401, 403, 407: return .misconfigured
        // 404 is what a proxy says while its server starts anew.
        case 410: return .tokenGone
        case 429: return .throttled
        case 408, 421, 425: return .unavailable
        case 300...499: return .rejected
        default: return .unavailable
        }
    }

    private static func statuses(_ text: Substring) -> ClosedRange<Int>? {
        if text.utf8.count == 3, text.lowercased().hasSuffix("xx"), let hundred = Int(text.prefix(1)) {
            return (1...5).contains(hundred) ? hundred * 100...hundred * 100 + 99 : nil
        }
        guard let status = Int(text), (100...599).contains(status) else { return nil }
        return status...status
    }
}
