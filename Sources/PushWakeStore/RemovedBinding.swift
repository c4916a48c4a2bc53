// SPDX-License-Identifier: MIT

public import PushWakeCore

/// A binding that is gone, kept visible until the phone registers again.
public struct RemovedBinding: Equatable, Sendable {
    /// What it was.
    public var binding: Binding
    /// `unregistered`, `token-gone BadDeviceToken`, `by hand`, ...
    public var reason: String
    /// Seconds since 1970.
    public var removedAt: Int64

    /// Marks `binding` as removed.
    public init(binding: Binding, reason: String, removedAt: Int64) {
        self.binding = binding
        self.reason = reason
        self.removedAt = removedAt
    }
}
