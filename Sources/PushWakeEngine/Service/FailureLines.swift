// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// Which failed pushes get a line of their own in the log: all of them on a good day. In a storm the log gets a part
/// and the number of the rest; counters, results and `log_level=debug` still have each.
struct FailureLines {
    /// Lines of one kind in a period.
    static let most = 50
    /// Milliseconds.
    static let period: Int64 = 10_000

    private struct Kind: Hashable {
        let provider: Provider
        let outcome: Outcome
    }

    private var budgets: [Kind: LineBudget] = [:]

    /// What to do with the line of a push; `now` in milliseconds.
    mutating func admit(_ provider: Provider, _ outcome: Outcome, now: Int64) -> LineBudget.Admission {
        budgets[Kind(provider: provider, outcome: outcome), default: LineBudget(most: Self.most, period: Self.period)]
            .admit(now: now)
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
