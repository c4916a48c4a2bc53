// SPDX-License-Identifier: MIT

/// When an engine that died is started again.
///
///     1st death   after 200 ms
///     2nd         after 400 ms, then 0.8, 1.6, ... at most 10 s
///     lived 10 s  counts as healthy: the next death is a first one
struct RestartPolicy: Equatable {
    private var deaths = 0
    private var startedAt: Int64 = 0

    mutating func started(now: Int64) { startedAt = now }

    /// Milliseconds to wait before the next start.
    mutating func died(now: Int64) -> Int64 {
        if now &- startedAt >= 10_000 { deaths = 0 }
        let delay: Int64 = min(200 << Int64(min(deaths, 6)), 10_000)
        deaths &+= 1
        return delay
    }
}
