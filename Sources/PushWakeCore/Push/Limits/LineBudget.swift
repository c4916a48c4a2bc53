// SPDX-License-Identifier: MIT

/// Bounds how many lines of one kind a log gets, so that the failures of a provider do not fill the disk.
public struct LineBudget: Equatable, Sendable {
    /// What to do with a line.
    public enum Admission: Equatable, Sendable {
        /// Write it; so many were left out since the last one that was written.
        case write(leftOut: Int)
        case leaveOut
    }

    private let most: Int
    private let period: Int64
    private var begin = Int64.min
    private var written = 0
    /// Lines left out since the last one that was written.
    public private(set) var leftOut = 0

    /// At most `most` lines in `period` milliseconds.
    public init(most: Int, period: Int64) {
        self.most = max(most, 1)
        self.period = max(period, 1)
    }

    /// Asks for leave to write a line at `now`, milliseconds.
    public mutating func admit(now: Int64) -> Admission {
        if isOver(now: now) { (begin, written) = (now, 0) }
        guard written < most else {
            leftOut = leftOut == .max ? .max : leftOut + 1
            return .leaveOut
        }
        written += 1
        return .write(leftOut: takeLeftOut())
    }

    /// Milliseconds until lines are written again.
    public func rest(now: Int64) -> Int64 {
        guard !isOver(now: now) else { return 0 }
        return period - (now - begin)
    }

    /// How many were left out, once.
    public mutating func takeLeftOut() -> Int {
        defer { leftOut = 0 }
        return leftOut
    }

    private func isOver(now: Int64) -> Bool {
        let (age, overflow) = now.subtractingReportingOverflow(begin)
        return overflow || age < 0 || age >= period
    }
}
