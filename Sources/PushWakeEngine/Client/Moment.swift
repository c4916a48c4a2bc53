// SPDX-License-Identifier: MIT

private import PushWakeTransport

/// The time for those who may not see the transport layer.
public enum Moment {
    /// Milliseconds since some point in the past.
    public static func now() -> Int64 { SystemClock.monotonicMilliseconds() }
}
