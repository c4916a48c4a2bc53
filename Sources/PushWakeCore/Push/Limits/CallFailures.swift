// SPDX-License-Identifier: MIT

/// Calls for which a phone was pushed and did not come, one after another, for each token.
///
/// A phone without network does not come either: that is why nothing is removed unless an operator asks for it. Times in
/// seconds.
public struct CallFailures: Sendable {
    /// Failures longer ago than this are forgotten: 18 hours.
    public static let window: Int64 = 18 * 3600
    /// Failures that `1` stands for.
    public static let usual = 5
    /// Tokens that are remembered; past it all begin anew.
    public static let most = 100_000

    private var failures: [String: (count: Int, since: Int64)] = [:]

    /// Nothing has failed yet.
    public init() {}

    /// How many failures take a binding: nil when none do.
    public static func threshold(_ settings: Settings) -> Int? {
        if settings.flag(.removeOnNoanswer) { return 1 }
        let count = Int(settings.integer(.removeOnCallfail))
        return count == 0 ? nil : count == 1 ? usual : count
    }

    /// One more call has failed; how many have within the window.
    public mutating func add(_ token: String, now: Int64) -> Int {
        if failures.count >= Self.most { failures = [:] }
        var entry = failures[token] ?? (0, now)
        if now - entry.since > Self.window { entry = (0, now) }
        entry.count += 1
        failures[token] = entry
        return entry.count
    }

    /// The phone has come, or its binding is gone.
    public mutating func forget(_ token: String) { failures[token] = nil }
}
