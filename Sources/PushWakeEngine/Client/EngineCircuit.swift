// SPDX-License-Identifier: MIT

/// Keeps a SIP worker from waiting for an engine that hangs: after a timeout nothing is asked for a second.
///
///     closed --timeout--> open --(a second)--> one request tries --answer--> closed
///                          ^                                   |
///                          +--------------timeout--------------+
///
/// Without it a stopped engine costs `engine_timeout` for each request, and the workers of a PBX are few.
/// Any message from the engine closes it, also a reply that comes too late. Times are monotonic milliseconds.
public struct EngineCircuit: Equatable, Sendable {
    /// Milliseconds between two requests that try.
    public static let pause: Int64 = 1000

    private var nextTry: Int64?

    /// Begins closed.
    public init() {}

    /// The last request that was waited for had no answer.
    public var isOpen: Bool { nextTry != nil }

    /// Whether a request may be sent and waited for at `now`.
    public func admits(now: Int64) -> Bool { nextTry.map { now >= $0 } ?? true }

    /// A request was waited for in vain until `now`.
    public mutating func timedOut(now: Int64) {
        let (time, overflow) = now.addingReportingOverflow(Self.pause)
        nextTry = overflow ? .max : time
    }

    /// The engine has said something, or its connection has ended: what hung is no more.
    public mutating func close() { nextTry = nil }
}
