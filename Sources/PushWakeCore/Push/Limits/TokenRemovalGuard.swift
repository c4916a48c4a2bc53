// SPDX-License-Identifier: MIT

/// Says whether a token may go that a provider calls bad: not where a wrong setting of ours may be to blame, for a phone
/// that sleeps does not come back by itself.
///
/// Tokens that one setting makes fail together are a `Setup`. Of each it knows the latest users with what became of them.
/// Where most of these are called bad it trips: what went since the first of them is restored, and nothing goes until
/// a token that worked before works again. Keys and settings that are read again begin anew.
///
/// Pure and bounded, whatever phones send. Times in seconds.
public struct TokenRemovalGuard: Sendable {
    /// What is to be done about a push that has ended.
    public enum Decision: Equatable, Sendable {
        /// It says nothing of the token.
        case nothing
        case remove
        case keep(Doubt)
        /// The binding stays, these come back, and an operator has to look at the settings.
        case trip(Trip)
        /// The setup works again.
        case release(Setup)
    }

    /// Why a binding stays whose token is called bad.
    public enum Doubt: Equatable, Sendable {
        /// A push to it was accepted before.
        case hasWorked
        /// Too few other tokens of the setup work.
        case othersFail
        /// Most tokens of the setup are called bad, or were a moment ago.
        case tripped
    }

    /// Others whose tokens have to work before one goes that may be a setting's victim, and for how long that counts.
    private static let leastGood = 3
    private static let goodFor: Int64 = 3600
    /// Phones name apps; past it the one that was used longest ago goes.
    private static let mostSetups = 256

    private var histories: [Setup: SetupHistory] = [:]

    public init() {}

    /// Decides about the binding of a push. `type` is the kind of a push to Apple, whose topic it decides.
    ///
    /// A token whose time of death is known is gone whatever the settings: it is neither counted nor kept. What was pushed by
    /// its token alone has no binding, and is not counted either.
    public mutating func decide(
        _ verdict: Verdict, _ binding: Binding, _ type: APNsPushType? = nil, now: Int64
    ) -> Decision {
        let isBad = verdict.outcome == .tokenGone
        guard isBad || verdict.outcome == .accepted, !binding.aor.isEmpty else { return .nothing }
        if isBad, verdict.goneSince != nil { return .remove }
        let setup = Setup(of: binding, type)
        // Found with one look: this is asked for each push that is taken.
        if let place = histories.index(forKey: setup) {
            return Self.decide(isBad ? verdict : nil, binding, setup, &histories.values[place], now)
        }
        if histories.count >= Self.mostSetups { makeRoom() }
        return Self.decide(isBad ? verdict : nil, binding, setup, &histories[setup, default: SetupHistory(now)], now)
    }

    /// Keys, topics or environments of a provider were read again. What has tripped stays so until it works.
    public mutating func beginAnew(_ provider: Provider) {
        for place in histories.indices where histories.keys[place].provider == provider {
            histories.values[place].beginAnew()
        }
    }

    /// Setups that have tripped, in no order.
    public func tripped(now: Int64) -> [Setup] {
        histories.lazy.filter { $0.value.isTripped && !$0.value.isOver(now) }.map(\.key)
    }

    /// Stands for a token among those of its user; another in each process.
    public static func digest(of binding: Binding) -> Int {
        var hasher = Hasher()
        hasher.combine(binding.provider)
        hasher.combine(binding.token)
        return hasher.finalize()
    }

    private mutating func makeRoom() {
        // One that has tripped is what matters.
        let watched = histories.filter { !$0.value.isTripped }
        let oldest = (watched.isEmpty ? histories : watched).min { $0.value.usedAt < $1.value.usedAt }
        if let oldest { histories[oldest.key] = nil }
    }

    private static func decide(
        _ bad: Verdict?, _ binding: Binding, _ setup: Setup, _ history: inout SetupHistory, _ now: Int64
    ) -> Decision {
        history.use(now)
        guard let bad else { return history.noteGood(binding, now) ? .release(setup) : .nothing }
        history.noteBad(binding, now)
        if history.isTripped { return .keep(.tripped) }
        if history.isAlarming { return .trip(history.trip(setup, now)) }
        guard !history.isSettling(now) else { return .keep(.tripped) }
        if bad.mayBeSetting {
            guard binding.acceptedAt == 0 else { return .keep(.hasWorked) }
            let (good, failing) = history.counts
            guard good >= leastGood, good > failing, now - history.goodAt <= goodFor else { return .keep(.othersFail) }
        }
        history.noteRemoval(binding)
        return .remove
    }
}

extension TokenRemovalGuard {
    /// Tokens that fail together when a setting is wrong. For a moment in time the app decides the key.
    public struct Setup: Hashable, Sendable {
        public let provider: Provider
        public let environment: Environment
        /// PushKit's topic.
        public let isForCalls: Bool
        /// The app, or the service of Web Push, which phones name by host and port. It is what a phone sent.
        public let app: String

        init(of binding: Binding, _ type: APNsPushType?) {
            (provider, environment) = (binding.provider, binding.environment)
            isForCalls = type == .voip
            app = binding.provider == .webpush ? HTTPOrigin.split(binding.token)?.0.authority ?? "" : binding.app
        }
    }

    /// What an operator is told, and which bindings come back.
    public struct Trip: Equatable, Sendable {
        public let setup: Setup
        /// Users whose tokens are called bad, of so many that were pushed last.
        public let bad: Int
        public let users: Int
        /// When the first of them was.
        public let since: Int64
        /// What was removed since.
        public let removed: [Removed]
    }

    /// Bindings of a user, by `digest(of:)`.
    public struct Removed: Equatable, Sendable {
        public let aor: String
        public let tokens: [Int]
    }
}
