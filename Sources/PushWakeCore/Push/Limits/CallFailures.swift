// SPDX-License-Identifier: MIT

/// Calls that failed for a phone, one after another, for each token: it was pushed and did not come, or it came and said
/// nothing. Times in seconds.
public struct CallFailures: Sendable {
    /// Failures longer ago than this are forgotten: 18 hours.
    public static let window: Int64 = 18 * 3600
    /// Failures that `remove_on_callfail` 1 stands for (Mizutech: 5 within 18 hours).
    public static let usual = 5
    /// Silences in a row that `remove_on_noanswer` waits for: a phone may lose its network once.
    public static let silences = 3
    /// Tokens that are remembered; past it all begin anew.
    public static let most = 100_000

    private var failures: [String: (count: Int, since: Int64)] = [:]

    /// Nothing has failed yet.
    public init() {}

    /// How many calls take a binding whose phone did not come: nil when none do. Behind a gateway the SIP server sees to
    /// its users itself, so there it is off unless it is set (Mizutech).
    public static func threshold(_ settings: Settings) -> Int? {
        let count = Int(settings.integer(.removeOnCallfail))
        if count < 0 { return settings.isGateway ? nil : usual }
        return count == 0 ? nil : count == 1 ? usual : count
    }

    /// How many calls take a binding whose phone came and said nothing: nil when none do.
    public static func silenceThreshold(_ settings: Settings) -> Int? {
        let value = settings.integer(.removeOnNoanswer)
        return value > 0 || value < 0 && !settings.isGateway ? silences : nil
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
    public mutating func forget(_ token: String) {
        if !failures.isEmpty { failures[token] = nil }
    }
}
