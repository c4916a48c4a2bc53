// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem

/// Whether the engine can do its work, for load balancers and watchdogs: no name, no path, no secret.
struct HealthReport {
    /// How a push service is reached.
    enum State: String, Comparable {
        case ready
        /// It has asked for a pause.
        case backedOff = "backed-off"
        /// It calls most tokens of an app bad: a setting may be wrong.
        case tokensRefused = "tokens-refused"
        /// No connection can be made.
        case unreachable
        /// Its pushes failed in a row.
        case circuitOpen = "circuit-open"

        static func < (a: State, b: State) -> Bool { a.rank < b.rank }

        private var rank: Int {
            switch self {
            case .ready: 0
            case .backedOff: 1
            case .tokensRefused: 2
            case .unreachable: 3
            case .circuitOpen: 4
            }
        }
    }

    let isStoreUsable: Bool
    /// Of each provider that is set up, the worst of its channels.
    let providers: [(provider: Provider, state: State)]
    let loadLevel: Int
    let held: Int

    init(_ core: EngineCore) {
        isStoreUsable = core.store.state.isUsable
        var states: [Provider: State] = [:]
        for entry in core.delivery.channelList {
            states[entry.provider] = max(states[entry.provider] ?? .ready, Self.state(of: entry.channel))
        }
        for setup in core.outcomes.removalGuard.tripped(now: SystemClock.wallSeconds()) {
            states[setup.provider] = max(states[setup.provider] ?? .ready, .tokensRefused)
        }
        providers = Provider.allCases.compactMap { provider in states[provider].map { (provider, $0) } }
        loadLevel = Int(core.context.load.meter.level.rawValue)
        held = core.requests.calls.live
    }

    static func state(of channel: any ProviderChannel) -> State {
        if channel.breaker.isOpen { return .circuitOpen }
        if !channel.isHealthy { return .unreachable }
        return channel.queue.isHeld ? .backedOff : .ready
    }

    /// 503 when bindings cannot be read or written; a provider that fails shows, and calls go on without it.
    var answer: ServedAnswer {
        let isFine = isStoreUsable && providers.allSatisfy { $0.state == .ready }
        return .json(isStoreUsable ? 200 : 503) { writer in
            writer.name("status")
            writer.string(!isStoreUsable ? "failing" : isFine ? "ok" : "degraded")
            writer.name("version")
            writer.string(Release.version)
            writer.name("store")
            writer.string(isStoreUsable ? "ok" : "failing")
            writer.name("load_level")
            writer.integer(Int64(loadLevel))
            writer.name("held_requests")
            writer.integer(Int64(held))
            writer.name("providers")
            writer.object { writer in
                for entry in providers {
                    writer.name(entry.provider.name)
                    writer.string(entry.state.rawValue)
                }
            }
        }
    }
}
