// SPDX-License-Identifier: MIT

/// What a load run measured.
public struct LoadReport: Equatable, Sendable {
    public var count = 0
    public var accepted = 0
    /// The provider said no.
    public var rejected = 0
    /// No usable answer came.
    public var failed = 0
    public var seconds = 0.0
    /// CPU time of this process, user and system, per push.
    public var microsecondsPerPush = 0.0
    public var medianMilliseconds = 0.0
    public var p99Milliseconds = 0.0
    /// The first reason for which a push was not accepted.
    public var firstReason = ""
}
