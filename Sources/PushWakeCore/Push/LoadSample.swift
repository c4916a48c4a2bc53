// SPDX-License-Identifier: MIT

/// What was measured of an engine in a moment.
public struct LoadSample: Equatable, Sendable {
    /// How full the fullest queue is, in parts of 100.
    public var queueFill: Int
    /// Milliseconds by which the loop came too late to a timer.
    public var lag: Int64
    /// CPU time of the process since the sample before, in parts of 100 of one core.
    public var cpu: Int

    public init(queueFill: Int = 0, lag: Int64 = 0, cpu: Int = 0) {
        self.queueFill = queueFill
        self.lag = lag
        self.cpu = cpu
    }

    /// The level of the worst measure.
    ///
    /// | level | queue | lag     | CPU  |
    /// |-------|-------|---------|------|
    /// | 1     | 5 %   | 10 ms   | 40 % |
    /// | 2     | 20 %  | 50 ms   | 70 % |
    /// | 3     | 50 %  | 200 ms  | 90 % |
    /// | 4     | 80 %  | 1000 ms |      |
    ///
    /// A busy CPU alone is no overload: while nothing waits and nothing is late, all is done that comes in.
    public var level: LoadLevel {
        max(
            Self.level(Int64(queueFill), [5, 20, 50, 80]), Self.level(lag, [10, 50, 200, 1000]),
            Self.level(Int64(cpu), [40, 70, 90]))
    }

    private static func level(_ value: Int64, _ bounds: [Int64]) -> LoadLevel {
        LoadLevel(rawValue: UInt8(bounds.count { value >= $0 })) ?? .extreme
    }
}
