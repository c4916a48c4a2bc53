// SPDX-License-Identifier: MIT

/// The rules of a script and how often each has fitted.
struct FaultBook: Sendable {
    private let requestRules: [FaultRule]
    private let handshakeRules: [FaultRule]
    private var requestMatches: [Int]
    private var handshakeMatches: [Int]
    private var firings: [Int]
    private var handshakeFirings: [Int]
    /// Requests of this second, for rules that count so.
    private var seconds: [(second: Int64, count: Int)]
    /// Microseconds at which the last answer leaves, for rules that give them in turn.
    private var lastTurns: [Int64]
    /// How often rules fitted on one connection, for rules that count so.
    typealias ConnectionMatches = [Int: Int]

    init(_ rules: [FaultRule]) {
        requestRules = rules.filter { $0.handshake == nil }
        handshakeRules = rules.filter { $0.handshake != nil }
        needsToken = requestRules.contains { $0.token != nil }
        requestMatches = Array(repeating: 0, count: requestRules.count)
        firings = requestMatches
        handshakeMatches = Array(repeating: 0, count: handshakeRules.count)
        handshakeFirings = handshakeMatches
        seconds = Array(repeating: (0, 0), count: requestRules.count)
        lastTurns = Array(repeating: 0, count: requestRules.count)
    }

    /// Some rule wants to know the token, which may have to be dug out of a body.
    let needsToken: Bool

    /// No rule is for requests, so requests need not be looked at.
    var isEmpty: Bool { requestRules.isEmpty }

    /// The first rule that is due for a request at `now` (milliseconds), with the delay that it has then.
    mutating func rule(
        provider: ProviderName, token: ArraySlice<UInt8>, connection: Int, matches: inout ConnectionMatches, now: Int64
    ) -> FaultRule? {
        for (index, rule) in requestRules.enumerated() {
            guard rule.provider == nil || rule.provider == provider, rule.connection.map({ $0 == connection }) ?? true,
                rule.token?.matches(token) ?? true
            else { continue }
            if let excess = rule.excess, !isAbove(excess, index, now) { continue }
            requestMatches[index] &+= 1
            var seen = requestMatches[index]
            if rule.isPerConnection {
                seen = matches[index, default: 0] &+ 1
                matches[index] = seen
            }
            guard Self.isDue(rule, seen: seen, fired: firings[index]) else { continue }
            firings[index] &+= 1
            return rule.pace.map { inTurn(rule, $0, index, now) } ?? rule
        }
        return nil
    }

    private mutating func isAbove(_ most: Int, _ index: Int, _ now: Int64) -> Bool {
        let second = now / 1000
        seconds[index] = seconds[index].second == second ? (second, seconds[index].count &+ 1) : (second, 1)
        return seconds[index].count > most
    }

    private mutating func inTurn(_ rule: FaultRule, _ pace: Int, _ index: Int, _ now: Int64) -> FaultRule {
        lastTurns[index] = max(lastTurns[index], now * 1000) + 1_000_000 / Int64(pace)
        var delayed = rule
        delayed.delay += (lastTurns[index] + 999) / 1000 - now
        return delayed
    }

    /// What happens to a new connection's handshake.
    mutating func handshake(connection: Int) -> FaultRule.Handshake? {
        for (index, rule) in handshakeRules.enumerated() {
            guard rule.connection.map({ $0 == connection }) ?? true else { continue }
            handshakeMatches[index] &+= 1
            guard Self.isDue(rule, seen: handshakeMatches[index], fired: handshakeFirings[index]) else { continue }
            handshakeFirings[index] &+= 1
            return rule.handshake
        }
        return nil
    }

    private static func isDue(_ rule: FaultRule, seen: Int, fired: Int) -> Bool {
        guard fired < rule.count, seen > rule.after, (seen &- rule.after) % rule.every == 0 else { return false }
        return rule.probability >= 1 || Double.random(in: 0..<1) < rule.probability
    }
}
