// SPDX-License-Identifier: MIT

/// Stops the removal of tokens when most tokens of one topic and environment are called bad: then the setup
/// is wrong (sandbox for production, another topic), not the tokens. Of one user one bad token counts.
///
/// Counts fade: every ten minutes they are halved, so that the guard lets go by itself.
public struct TokenRemovalGuard: Sendable {
    /// What to do with the binding.
    public enum Decision: Equatable, Sendable {
        case remove
        case keep
        /// Keep it, and tell the operator: this is the first.
        case keepAndAlarm
    }

    private struct Tally {
        var good = 0
        var bad = 0
        var halvedAt: Int64
        var isOn = false
        /// Users with a bad token since the counts were halved.
        var users: Set<Int> = []

        mutating func fade(_ now: Int64) {
            let age = now.subtractingReportingOverflow(halvedAt).partialValue
            if age >= TokenRemovalGuard.halfLife {
                let halvings = min(age / TokenRemovalGuard.halfLife, 62)
                good >>= halvings
                bad >>= halvings
                halvedAt = now
                users.removeAll()
                if bad < TokenRemovalGuard.leastBad { isOn = false }
            } else if age < 0 {
                // The clock was put back: by what was noted before it, nothing would fade until it has caught up.
                halvedAt = now
            }
        }
    }

    /// Bad tokens below which nothing is concluded.
    public static let leastBad = 5
    private static let halfLife: Int64 = 600
    private static let mostTopics = 1024
    /// Users that are told apart; those of a few are enough.
    private static let mostUsers = 64

    private struct Topic: Hashable {
        let provider: Provider
        let environment: Environment
        let app: String

        init(_ binding: Binding) {
            (provider, environment) = (binding.provider, binding.environment)
            app = TokenRemovalGuard.topic(of: binding)
        }
    }

    private var tallies: [Topic: Tally] = [:]

    public init() {}

    /// Whose tokens are counted together: those of an app, or of a service of Web Push, which phones name by host and
    /// port. It is what a phone sent.
    public static func topic(of binding: Binding) -> String {
        binding.provider == .webpush ? HTTPOrigin.split(binding.token)?.0.authority ?? "" : binding.app
    }

    /// Decides about the binding of a verdict; nil when there is no question of removing it. `now` in seconds.
    ///
    /// A token with a time of death is gone for certain: neither counted nor kept.
    public mutating func decide(_ verdict: Verdict, _ binding: Binding, now: Int64) -> Decision? {
        let isBad = verdict.outcome == .tokenGone
        guard isBad || verdict.outcome == .accepted else { return nil }
        if isBad, verdict.goneSince != nil { return .remove }
        let topic = Topic(binding)
        // Found with one look: this is asked for each push that is taken.
        if let place = tallies.index(forKey: topic) {
            return Self.decide(isBad, binding, &tallies.values[place], now)
        }
        if tallies.count >= Self.mostTopics { tallies.removeAll(keepingCapacity: true) }
        return Self.decide(isBad, binding, &tallies[topic, default: Tally(halvedAt: now)], now)
    }

    private static func decide(_ isBad: Bool, _ binding: Binding, _ tally: inout Tally, _ now: Int64) -> Decision? {
        tally.fade(now)
        guard isBad else {
            tally.good += 1
            if tally.isOn, tally.good > tally.bad { tally.isOn = false }
            return nil
        }
        // One user may bring any number of bad ones. A token that was given by hand has none, and is one by itself.
        let user = binding.aor.isEmpty ? binding.token : binding.aor
        if tally.users.count >= mostUsers || tally.users.insert(user.hashValue).inserted { tally.bad += 1 }
        guard tally.bad >= leastBad, tally.bad > tally.good else { return tally.isOn ? .keep : .remove }
        defer { tally.isOn = true }
        return tally.isOn ? .keep : .keepAndAlarm
    }
}
