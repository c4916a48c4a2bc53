// SPDX-License-Identifier: MIT

/// Notices when the wall clock is put right: a machine without a battery begins in another year, and what is registered
/// before it has asked for the time must not be over the moment it has.
public struct WallClock: Equatable, Sendable {
    /// A jump of the clock.
    public struct Jump: Equatable, Sendable {
        /// What the clock would say without it, seconds since 1970.
        public let old: Int64
        public let new: Int64
    }

    /// Shorter jumps are the clock's own business, seconds.
    public static let least: Int64 = 86_400

    private var offset: Int64

    /// `wall` in seconds since 1970, `running` in seconds since the machine started, sleep included.
    public init(wall: Int64, running: Int64) { offset = wall &- running }

    /// Looks at both clocks; a jump is told once. The slow ways in which one is kept right are none.
    public mutating func look(wall: Int64, running: Int64) -> Jump? {
        let current = wall &- running
        let before = offset
        offset = current
        guard (current &- before).magnitude > Self.least.magnitude else { return nil }
        return Jump(old: running &+ before, new: wall)
    }
}
