// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore

/// Counters since the start of the engine.
struct Statistics {
    var registers = 0
    var stored = 0
    var refused = 0
    /// Bindings whose token has come in for another user, and that stayed.
    var claimed = 0
    var wakes = 0
    /// Calls among them to users with bindings; a copy of one counts with it.
    var calls = 0
    /// Requests taken over from an engine that is gone.
    var resumed = 0
    /// Wakes and pushes by hand whose sender had given up.
    var wakesExpired = 0
    var pushed = 0
    /// Bindings brought back that had been removed.
    var restored = 0
    var suppressed = 0
    /// Pushes put off by `device_pushes`, `caller_pushes` and `aor_pushes`, once for each that they waited for.
    var limited = 0
    /// Requests for which nothing was done, because there are too many.
    var wakesRefused = 0
    /// REGISTERs at other nodes for requests held here.
    var registeredElsewhere = 0
    /// Pushes that another node sends for the same request.
    var leftToOtherNodes = 0
    /// Messages to peers that did not read.
    var messagesDropped = 0
    /// Of each provider, how many pushes came to each outcome, by its raw value.
    private(set) var outcomes: [Provider: [Int]] = [:]
    /// Bindings that went, by the reason.
    private(set) var removals: [Removal: Int] = [:]
    /// What providers have answered to pushes that they did not take.
    private(set) var refusals: [Provider: RefusalCounts] = [:]
    /// Which releases of apps come when they are pushed.
    var appVersions = AppVersions()
    /// From push to REGISTER.
    private var wakeLatencies: [Provider: LatencyHistogram] = [:]
    private var latencies: [Provider: (count: Int, microseconds: Int64)] = [:]

    /// Why a binding went.
    enum Removal: String, CaseIterable {
        /// The provider called its token dead.
        case tokenGone = "token-gone"
        /// Its phone or app took it back.
        case unregistered
        /// Its phone has registered as another user.
        case moved
        /// `remove_on_callfail`.
        case didNotCome = "did-not-come"
        /// `remove_on_noanswer`.
        case didNotAnswer = "did-not-answer"
        case byHand = "by-hand"
    }

    mutating func countRemoval(_ reason: Removal, _ count: Int = 1) { removals[reason, default: 0] += count }

    mutating func count(_ result: PushResult) {
        outcomes[result.provider, default: Array(repeating: 0, count: Outcome.allCases.count)][
            Int(result.outcome.rawValue)] += 1
        if result.isBindingRemoved { countRemoval(.tokenGone) }
        if result.httpStatus > 0, result.outcome != .accepted {
            refusals[result.provider, default: RefusalCounts()].add(result.reason)
        }
        if result.outcome == .accepted {
            let old = latencies[result.provider] ?? (0, 0)
            latencies[result.provider] = (old.count + 1, old.microseconds &+ result.microseconds)
        }
    }

    /// A phone has registered so many milliseconds after it was pushed for a request.
    mutating func countWake(_ provider: Provider, milliseconds: Int64) {
        wakeLatencies[provider, default: LatencyHistogram()].add(milliseconds)
    }

    /// Name and value of each counter.
    func rows() -> [(name: String, value: Int64)] {
        let removed = { (reason: Removal) in Int64(removals[reason] ?? 0) }
        var rows: [(String, Int64)] = [
            ("registers", Int64(registers)), ("bindings_stored", Int64(stored)),
            ("bindings_unbound", removed(.unregistered)),
            ("bindings_refused", Int64(refused)), ("bindings_claimed", Int64(claimed)),
            ("bindings_moved", removed(.moved)), ("wakes", Int64(wakes)), ("wakes_resumed", Int64(resumed)),
            ("wakes_expired", Int64(wakesExpired)),
            ("pushes", Int64(pushed)),
            ("pushes_suppressed", Int64(suppressed)), ("pushes_limited", Int64(limited)),
            ("wakes_refused", Int64(wakesRefused)), ("tokens_removed", removed(.tokenGone)),
            ("bindings_restored", Int64(restored)),
        ]
        if registeredElsewhere > 0 { rows.append(("registered_elsewhere", Int64(registeredElsewhere))) }
        if leftToOtherNodes > 0 { rows.append(("pushes_left_to_nodes", Int64(leftToOtherNodes))) }
        if messagesDropped > 0 { rows.append(("messages_dropped", Int64(messagesDropped))) }
        for provider in Provider.allCases {
            guard let counts = outcomes[provider] else { continue }
            for outcome in Outcome.allCases {
                let name = outcome.name.split(separator: "-").joined(separator: "_")
                rows.append(("\(provider.name)_\(name)", Int64(counts[Int(outcome.rawValue)])))
            }
            if let latency = latencies[provider], latency.count > 0 {
                rows.append(("\(provider.name)_mean_us", latency.microseconds / Int64(latency.count)))
            }
        }
        for provider in Provider.allCases {
            guard let latencies = wakeLatencies[provider] else { continue }
            rows.append(("\(provider.name)_woke", Int64(clamping: latencies.total)))
            for percent in [50, 90, 99] {
                guard let time = latencies.percentile(percent) else { continue }
                rows.append(("\(provider.name)_wake_p\(percent)_ms", time))
            }
        }
        return rows
    }
}
