// SPDX-License-Identifier: MIT

/// What a load run measured.
public struct LoadReport: Equatable, Sendable {
    /// Pushes that were asked for.
    public var count = 0
    /// The provider took them.
    public var accepted = 0
    /// The provider said no.
    public var rejected = 0
    /// No usable answer came.
    public var failed = 0
    /// From the first push to the last outcome.
    public var seconds = 0.0
    /// CPU time of this process, user and system, per push.
    public var microsecondsPerPush = 0.0
    /// From a push to its outcome.
    public var medianMilliseconds = 0.0
    /// What 99 of 100 pushes stay below.
    public var p99Milliseconds = 0.0
    /// The first reason for which a push was not accepted.
    public var firstReason = ""
}
