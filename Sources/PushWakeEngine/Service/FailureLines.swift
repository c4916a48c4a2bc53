// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore

/// Which failed pushes get a line of their own in the log: all of them on a good day. In a storm the log gets a part
/// and the number of the rest; counters, results and `log_level=debug` still have each.
///
/// Lines are of level info: a phone whose app is gone is nothing to mend. What is misconfigured is, so that one line a minute
/// stands where the log shows warnings alone.
struct FailureLines {
    /// Lines of one kind in a second.
    static let most = 5

    private struct Kind: Hashable {
        let provider: Provider
        let outcome: Outcome
    }

    private var budgets: [Kind: LineBudget] = [:]
    private var warnings: [Provider: LineBudget] = [:]

    /// The level of a push's line, and how many of its kind were left out since the last one; `now` in milliseconds.
    mutating func admit(_ provider: Provider, _ outcome: Outcome, now: Int64) -> (level: LogLevel, leftOut: Int) {
        let kind = Kind(provider: provider, outcome: outcome)
        guard
            case .write(let leftOut) = budgets[kind, default: LineBudget(most: Self.most, period: 1000)].admit(now: now)
        else { return (.debug, 0) }
        guard outcome == .misconfigured,
            case .write = warnings[provider, default: LineBudget(most: 1, period: 60_000)].admit(now: now)
        else { return (.info, leftOut) }
        return (.warning, leftOut)
    }

    /// What was left out in periods that are over, a line each.
    mutating func summaries(now: Int64) -> [String] {
        var lines: [String] = []
        for (kind, budget) in budgets where budget.leftOut > 0 && budget.rest(now: now) == 0 {
            lines.append(Self.summary(kind.provider, kind.outcome, budget.leftOut))
            _ = budgets[kind]?.takeLeftOut()
        }
        return lines
    }

    /// Says how many lines are missing.
    static func summary(_ provider: Provider, _ outcome: Outcome, _ count: Int) -> String {
        "push \(outcome.name) provider=\(provider.name): \(count) more, not shown one by one (log_level=debug does)"
    }
}
