// SPDX-License-Identifier: MIT

import PushWakeCore

/// What the simulator counts, as `GET /_simulator/counters` shows it.
struct SimulatorCounters: Sendable {
    /// Counts of one provider.
    struct Provider: Sendable {
        var requests = 0
        var accepted = 0
        var duplicates = 0
        var rejected = 0
        var unanswered = 0
        /// Rejections by the vendor's reason.
        var reasons: [String: Int] = [:]
    }

    /// More different reasons than this are counted together.
    static let mostReasons = 200

    private var providers = Array(repeating: Provider(), count: ProviderName.allCases.count)
    var ledger = PushLedger()
    var connections = 0
    var openConnections = 0
    var handshakeFailures = 0
    var resetsReceived = 0
    var resetsSent = 0
    var goAwaysReceived = 0
    var goAwaysSent = 0
    var pingsReceived = 0
    var closes = 0
    var settingsSent = 0

    subscript(provider: ProviderName) -> Provider { providers[Self.slot(provider)] }

    /// Counts a request that came whole.
    mutating func received(_ provider: ProviderName) { providers[Self.slot(provider)].requests += 1 }

    /// Counts an answer at the moment it leaves, and enters its push in the ledger.
    mutating func answered(_ provider: ProviderName, _ answer: ProviderAnswer) {
        let slot = Self.slot(provider)
        if answer.status < 300, answer.reason == "ok" {
            providers[slot].accepted += 1
            if let push = answer.push, !ledger.enter(push, isAnswered: true) { providers[slot].duplicates += 1 }
            return
        }
        providers[slot].rejected += 1
        let known = providers[slot].reasons[answer.reason] != nil
        let reason = known || providers[slot].reasons.count < Self.mostReasons ? answer.reason : "others"
        providers[slot].reasons[reason, default: 0] += 1
    }

    /// Counts a request that gets no answer; `push` when it was delivered all the same.
    mutating func unanswered(_ provider: ProviderName, push: PushIdentity?) {
        let slot = Self.slot(provider)
        providers[slot].unanswered += 1
        guard let push else { return }
        providers[slot].accepted += 1
        if !ledger.enter(push, isAnswered: false) { providers[slot].duplicates += 1 }
    }

    /// All counts as one object.
    var json: JSONValue {
        let pushes = ProviderName.allCases.filter(\.isPush)
        func sum(_ count: KeyPath<Provider, Int>) -> JSONValue {
            .integer(Int64(pushes.reduce(0) { $0 + self[$1][keyPath: count] }))
        }
        var members: [JSONValue.Member] = [
            .init("requests", sum(\.requests)), .init("accepted", sum(\.accepted)),
            .init("distinct", .integer(Int64(ledger.distinct))),
            .init("duplicates", .integer(Int64(ledger.duplicates))),
            .init("resends", .integer(Int64(ledger.resends))),
            .init("repeats", .integer(Int64(ledger.repeats))), .init("copies", .integer(Int64(ledger.copies))),
            .init("accepted_unanswered", .integer(Int64(ledger.unheard))),
            .init("rejected", sum(\.rejected)),
            .init("unanswered", sum(\.unanswered)), .init("ledger_full", .bool(ledger.isFull)),
        ]
        let numbers: [(String, Int)] = [
            ("connections", connections), ("open_connections", openConnections),
            ("handshake_failures", handshakeFailures), ("rst_received", resetsReceived), ("rst_sent", resetsSent),
            ("goaways_received", goAwaysReceived), ("goaways_sent", goAwaysSent), ("pings_received", pingsReceived),
            ("settings_sent", settingsSent), ("closes", closes),
        ]
        members += numbers.map { .init($0.0, .integer(Int64($0.1))) }
        let each = ProviderName.allCases.filter { $0 != .control }.map { name in
            JSONValue.Member(name.rawValue, Self.json(self[name]))
        }
        members.append(.init("providers", .object(each)))
        return .object(members)
    }

    private static func json(_ provider: Provider) -> JSONValue {
        let reasons = provider.reasons.sorted { $0.key < $1.key }.map {
            JSONValue.Member($0.key, .integer(Int64($0.value)))
        }
        return .object([
            .init("requests", .integer(Int64(provider.requests))),
            .init("accepted", .integer(Int64(provider.accepted))),
            .init("duplicates", .integer(Int64(provider.duplicates))),
            .init("rejected", .integer(Int64(provider.rejected))),
            .init("unanswered", .integer(Int64(provider.unanswered))), .init("reasons", .object(reasons)),
        ])
    }

    private static func slot(_ provider: ProviderName) -> Int { ProviderName.allCases.firstIndex(of: provider) ?? 0 }
}
