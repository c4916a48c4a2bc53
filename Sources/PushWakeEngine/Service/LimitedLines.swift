// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem

/// Lines of one kind for the log, a few a minute: what causes one may cause thousands.
final class LimitedLines {
    private let log: EngineLog
    private var budget: LineBudget

    init(_ log: EngineLog, most: Int = 3) {
        self.log = log
        budget = LineBudget(most: most, period: 60_000)
    }

    /// Writes a line, with the number of those that were left out before it; false when it is left out itself. `now` in
    /// monotonic milliseconds.
    @discardableResult func callAsFunction(
        _ level: LogLevel, _ text: String, now: Int64 = SystemClock.monotonicMilliseconds()
    ) -> Bool {
        guard case .write(let leftOut) = budget.admit(now: now) else { return false }
        log(level, leftOut > 0 ? "\(text) (\(leftOut) more like this were left out)" : text)
        return true
    }
}
