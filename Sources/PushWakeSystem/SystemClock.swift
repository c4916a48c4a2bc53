// SPDX-License-Identifier: MIT

private import CLinux

/// The only place where time is read. Everything above it gets `now` as a parameter.
public enum SystemClock {
    /// Microseconds since some point in the past; never goes back.
    public static func monotonicMicroseconds() -> Int64 { read(CLOCK_MONOTONIC) }

    /// Milliseconds since some point in the past; never goes back.
    public static func monotonicMilliseconds() -> Int64 { read(CLOCK_MONOTONIC) / 1000 }

    /// As `monotonicMilliseconds()`, some milliseconds late but cheaper: never a system call, on any host.
    public static func coarseMilliseconds() -> Int64 { read(CLOCK_MONOTONIC_COARSE) / 1000 }

    /// Microseconds since 1970.
    public static func wallMicroseconds() -> Int64 { read(CLOCK_REALTIME) }

    /// Seconds since 1970.
    public static func wallSeconds() -> Int64 { read(CLOCK_REALTIME) / 1_000_000 }

    /// Seconds since the machine started, those included in which it slept.
    public static func runningSeconds() -> Int64 { read(CLOCK_BOOTTIME) / 1_000_000 }

    /// Stops the thread for so long; a loop is not to be stopped.
    public static func wait(milliseconds: Int32) { _ = poll(nil, 0, milliseconds) }

    /// CPU time of this process, in microseconds.
    public static func processMicroseconds() -> Int64 { read(CLOCK_PROCESS_CPUTIME_ID) }

    /// Id of this process, as the system has it after a fork.
    public static func processID() -> Int32 { getpid() }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        _ = clock_gettime(clock, &time)
        return Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1000
    }

    /// This machine's zone now: seconds east of Greenwich, and its name.
    public static func zone() -> (offset: Int64, name: String) {
        var now = time(nil)
        var parts = tm()
        localtime_r(&now, &parts)
        return (Int64(parts.tm_gmtoff), parts.tm_zone.map { String(cString: $0) } ?? "")
    }

    /// Date and time here and now, `2026-03-29 02:30:00`.
    public static func localTime() -> String {
        var now = time(nil)
        var parts = tm()
        localtime_r(&now, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday)) "
            + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
    }
}
