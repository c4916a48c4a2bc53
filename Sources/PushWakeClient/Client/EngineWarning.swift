// SPDX-License-Identifier: MIT

/// Keeps a log from filling up while no engine answers: a line in ten seconds, with the number of those left out.
public struct EngineWarning: Equatable, Sendable {
    /// Milliseconds between two lines.
    public static let pause: Int64 = 10_000

    private var nextLine: Int64?
    private var leftOut = 0

    /// Has said nothing yet.
    public init() {}

    /// The line for a request that went on without an engine at `now` (monotonic milliseconds); nil when one was said
    /// just before.
    public mutating func line(_ text: String, now: Int64) -> String? {
        if let nextLine, now < nextLine {
            leftOut &+= 1
            return nil
        }
        let more = leftOut > 0 ? " (\(leftOut) more since the last such line)" : ""
        let (time, isOver) = now.addingReportingOverflow(Self.pause)
        nextLine = isOver ? .max : time
        leftOut = 0
        return text + more
    }
}
