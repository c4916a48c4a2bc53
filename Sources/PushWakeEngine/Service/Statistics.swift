// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore

/// Counters since the start of the engine.
struct Statistics {
    var registers = 0
    var stored = 0
    var unbound = 0
    var refused = 0
    /// Bindings whose token has come in for another user, and that stayed.
    var claimed = 0
    /// The same, and that went.
    var moved = 0
    var wakes = 0
    /// Requests taken over from an engine that is gone.
    var resumed = 0
    /// Wakes and pushes by hand whose sender had given up.
    var wakesExpired = 0
    var pushed = 0
    var removedByProvider = 0
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
    /// From push to REGISTER.
    private var wakeLatencies: [Provider: LatencyHistogram] = [:]
    private var latencies: [Provider: (count: Int, microseconds: Int64)] = [:]

    mutating func count(_ result: PushResult) {
        outcomes[result.provider, default: Array(repeating: 0, count: Outcome.allCases.count)][
            Int(result.outcome.rawValue)] += 1
        if result.isBindingRemoved { removedByProvider += 1 }
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
        var rows: [(String, Int64)] = [
            ("registers", Int64(registers)), ("bindings_stored", Int64(stored)), ("bindings_unbound", Int64(unbound)),
            ("bindings_refused", Int64(refused)), ("bindings_claimed", Int64(claimed)),
            ("bindings_moved", Int64(moved)), ("wakes", Int64(wakes)), ("wakes_resumed", Int64(resumed)),
            ("wakes_expired", Int64(wakesExpired)),
            ("pushes", Int64(pushed)),
            ("pushes_suppressed", Int64(suppressed)), ("pushes_limited", Int64(limited)),
            ("wakes_refused", Int64(wakesRefused)), ("tokens_removed", Int64(removedByProvider)),
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
