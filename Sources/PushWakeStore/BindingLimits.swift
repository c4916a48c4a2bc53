// SPDX-License-Identifier: MIT

/// Bounds that keep one user from filling the store.
public enum BindingLimits {
    /// Bindings of one user that any store has room for; settings allow less.
    public static let perUser = 256
    /// Marks of removal of one user; the oldest gives way.
    public static let marksPerUser = 32
    /// Seconds for which a mark of removal stays when its phone never registers again: 30 days.
    public static let markLifetime: Int64 = 30 * 86_400
}
