// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem

/// What Prometheus reads. Labels are providers, outcomes and the names of certificate files: never a user, a token or
/// anything else that grows with the number of phones.
struct MetricsReport {
    private static let mostCertificates = 100

    private let core: EngineCore
    private let http: HTTPInterface
    private var text = MetricsText()
    private let channels: [(provider: Provider, channel: any ProviderChannel)]

    init(_ core: EngineCore, _ http: HTTPInterface) {
        self.core = core
        self.http = http
        channels = core.delivery.channelList
        writeEngine()
        writeRequests()
        writePushes()
        writeRefusals()
        writeProviders()
        writeTimes()
        writeHTTP()
        writeClock()
        writeCapture()
    }

    var answer: ServedAnswer { ServedAnswer(200, type: MetricsText.mediaType, body: text.bytes) }

    // MARK: Engine

    private mutating func writeEngine() {
        text.family("pushwake_info", .gauge, "The release of the engine; always 1.")
        text.sample("pushwake_info", 1, [("version", Release.version)])
        let up = SystemClock.monotonicMilliseconds() - core.context.startedAt
        text.single(
            "pushwake_start_time_seconds", .gauge, SystemClock.wallSeconds() - up / 1000,
            "Seconds since 1970 at which the engine started.")
        text.family("pushwake_cpu_seconds_total", .counter, "CPU that the engine has used.")
        text.sample("pushwake_cpu_seconds_total", millionths: SystemClock.processMicroseconds())
        writeStore()
        let sample = core.context.load.meter.sample
        text.single(
            "pushwake_load_level", .gauge, Int64(core.context.load.meter.level.rawValue),
            "How busy the engine is, from 0; see load_call and the like.")
        text.family("pushwake_load_lag_seconds", .gauge, "How late the loop was when it looked last.")
        text.sample("pushwake_load_lag_seconds", millionths: sample.lag &* 1000)
        text.family("pushwake_load_queue_ratio", .gauge, "How full the fullest queue of pushes was.")
        text.sample("pushwake_load_queue_ratio", millionths: Int64(sample.queueFill) &* 10_000)
        text.family("pushwake_load_cpu_ratio", .gauge, "Part of one core that the engine used.")
        text.sample("pushwake_load_cpu_ratio", millionths: Int64(sample.cpu) &* 10_000)
    }

    private mutating func writeStore() {
        let store = core.store.state
        text.single(
            "pushwake_store_up", .gauge, store.isUsable ? 1 : 0, "1 while bindings can be read and stored.")
        if let bindings = store.bindings {
            text.single("pushwake_bindings", .gauge, Int64(bindings), "Push bindings in the store.")
        }
        text.single(
            "pushwake_registers_waiting", .gauge, Int64(core.registrations.registersWaiting),
            "REGISTERs that the store has not taken yet.")
        text.family(
            "pushwake_store_lag_seconds", .gauge, "How long refreshes have waited to be written to the store.")
        text.sample("pushwake_store_lag_seconds", millionths: http.storeLag() &* 1000)
    }

    // MARK: Requests

    private mutating func writeRequests() {
        let statistics = core.context.statistics
        let counters: [(String, Int, String)] = [
            ("registers", statistics.registers, "REGISTERs that the engine heard of."),
            ("bindings_stored", statistics.stored, "Bindings stored or refreshed."),
            ("bindings_refused", statistics.refused, "REGISTERs whose push parameters could not be used."),
            ("bindings_claimed", statistics.claimed, "Bindings whose token another user has registered as well."),
            ("bindings_restored", statistics.restored, "Bindings brought back that had been removed."),
            ("wakes", statistics.wakes, "Requests to users, woken or not."),
            ("calls", statistics.calls, "Calls to users with push bindings, woken or not."),
            ("wakes_resumed", statistics.resumed, "Requests taken over from an engine that is gone."),
            (
                "wakes_expired", statistics.wakesExpired,
                "Requests whose sender had given up before the engine saw them."
            ),
            ("wakes_refused", statistics.wakesRefused, "Requests for which there was no room."),
            ("pushes_suppressed", statistics.suppressed, "Pushes put off by ignore_same."),
            ("pushes_limited", statistics.limited, "Pushes put off by the limits against floods."),
        ]
        for (name, value, help) in counters {
            text.single("pushwake_\(name)_total", .counter, Int64(value), help)
        }
        text.family("pushwake_bindings_removed_total", .counter, "Bindings that went, by the reason.")
        for reason in Statistics.Removal.allCases {
            text.sample(
                "pushwake_bindings_removed_total", Int64(statistics.removals[reason] ?? 0),
                [("reason", reason.rawValue)])
        }
        writeAppVersions()
        text.single("pushwake_requests_held", .gauge, Int64(core.requests.calls.live), "Requests that are open now.")
    }

    private mutating func writeAppVersions() {
        let name = "pushwake_app_wakes_total"
        text.family(name, .counter, "Phones that were pushed for a call, by the release of their app.")
        for count in core.context.statistics.appVersions.counts {
            let version = (name: "app_version", value: count.version)
            text.sample(name, Int64(count.came), [version, ("result", "came")])
            text.sample(name, Int64(count.stayedAway), [version, ("result", "did-not-come")])
        }
    }

    // MARK: Providers

    /// Those that are set up or have had a push.
    private var providers: [Provider] {
        Provider.allCases.filter { provider in
            core.context.statistics.outcomes[provider] != nil || channels.contains { $0.provider == provider }
        }
    }

    private mutating func writePushes() {
        text.family("pushwake_pushes_total", .counter, "Pushes that have ended, by provider and outcome.")
        for provider in providers {
            let counts = core.context.statistics.outcomes[provider]
            for outcome in Outcome.allCases {
                text.sample(
                    "pushwake_pushes_total", Int64(counts?[Int(outcome.rawValue)] ?? 0),
                    [("provider", provider.name), ("outcome", outcome.name)])
            }
        }
    }

    private mutating func writeRefusals() {
        let name = "pushwake_push_refusals_total"
        text.family(name, .counter, "Pushes that a provider has answered and not taken, by its reason.")
        for provider in providers {
            for (reason, count) in core.context.statistics.refusals[provider]?.counts.sorted(by: { $0.key < $1.key })
                ?? []
            {
                text.sample(name, Int64(count), [("provider", provider.name), ("reason", reason)])
            }
        }
    }

    private mutating func writeProviders() {
        gauge("pushwake_provider_up", "1 while a provider is reached: all of its channels connect, no circuit is open.")
        {
            channels in channels.allSatisfy { HealthReport.state(of: $0) <= .backedOff } ? 1 : 0
        }
        gauge(
            "pushwake_provider_circuits_open", "Credentials whose circuit is open because their pushes failed in a row."
        ) {
            $0.count { $0.breaker.isOpen }
        }
        writeRefusedTokens()
        gauge("pushwake_provider_backed_off", "Channels that a provider has asked for a pause.") {
            $0.count { $0.queue.isHeld }
        }
        gauge("pushwake_provider_connections", "Connections to a provider.") {
            $0.reduce(0) { $0 + $1.queue.connections }
        }
        gauge("pushwake_pushes_waiting", "Pushes that wait for a stream, a token or the end of a pause.") {
            $0.reduce(0) { $0 + $1.queue.count + $1.queue.pausing }
        }
        gauge("pushwake_pushes_in_flight", "Pushes without an answer yet.") {
            $0.reduce(0) { $0 + $1.queue.inFlight }
        }
        let name = "pushwake_certificate_expiry_timestamp_seconds"
        text.family(name, .gauge, "Seconds since 1970 at which a certificate ends.")
        for certificate in core.delivery.certificates.prefix(Self.mostCertificates) {
            text.sample(name, certificate.expiresAt, [("setting", "apns_cert"), ("file", certificate.file)])
        }
        if let time = http.certificateExpiresAt {
            text.sample(name, time, [("setting", "http_cert"), ("file", "")])
        }
    }

    private mutating func writeRefusedTokens() {
        let name = "pushwake_provider_tokens_refused"
        text.family(
            name, .gauge, "Apps and environments of a provider most of whose tokens it calls bad: none is removed.")
        let tripped = core.outcomes.removalGuard.tripped(now: SystemClock.wallSeconds())
        for provider in providers {
            text.sample(name, Int64(tripped.count { $0.provider == provider }), [("provider", provider.name)])
        }
    }

    private mutating func gauge(_ name: String, _ help: String, _ value: ([any ProviderChannel]) -> Int) {
        text.family(name, .gauge, help)
        for provider in Provider.allCases {
            let own = channels.filter { $0.provider == provider }.map(\.channel)
            if !own.isEmpty { text.sample(name, Int64(value(own)), [("provider", provider.name)]) }
        }
    }

    // MARK: Times

    private mutating func writeTimes() {
        let times = core.context.times
        text.histograms(
            "pushwake_push_answer_seconds", "From a push to its provider's answer.",
            byProvider(times.providerAnswers, .providerAnswer))
        text.histograms(
            "pushwake_wake_seconds", "From a push to the REGISTER of the phone that it woke.",
            byProvider(times.wakes, .wake))
        text.histograms(
            "pushwake_request_to_push_seconds",
            "From the engine's hearing of a request to its first push on the wire, where it is pushed at once.",
            [([], times.requestToPush)])
        text.histograms(
            "pushwake_register_to_request_seconds",
            "From the engine's hearing of a phone's REGISTER to the host's word that the held request is out to it.",
            [([], times.registerToRequest)])
        text.histograms(
            "pushwake_caller_wait_seconds", "From a call's arrival until a phone rings, or until its end.",
            CallTimes.WaitEnd.allCases.map { end in
                (labels: [(name: "end", value: end.rawValue)], histogram: times.waits[end] ?? .wake)
            })
    }

    private func byProvider(
        _ known: [Provider: MetricHistogram], _ empty: MetricHistogram
    ) -> [(labels: [MetricsText.Label], histogram: MetricHistogram)] {
        providers.map { ([(name: "provider", value: $0.name)], known[$0] ?? empty) }
    }

    private mutating func writeHTTP() {
        text.single("pushwake_http_connections", .gauge, Int64(http.connections), "HTTP connections now.")
        text.single("pushwake_http_pages", .gauge, Int64(http.pages), "Open pages that hear of changes.")
        text.single(
            "pushwake_http_requests_total", .counter, Int64(http.counters.requests), "HTTP requests, this one too.")
        text.single(
            "pushwake_http_limited_total", .counter, Int64(http.counters.limited),
            "HTTP requests and connections of addresses that sent too many.")
        text.single(
            "pushwake_http_wrong_credentials_total", .counter, Int64(http.counters.wrong),
            "Wrong passwords and tokens.")
        text.single(
            "pushwake_http_overdue_total", .counter, Int64(http.rejected.overdue),
            "HTTP clients that took too long.")
        text.single(
            "pushwake_http_connections_refused_total", .counter, Int64(http.rejected.turnedAway),
            "HTTP connections that were closed because there was no room, or to make room for others.")
    }

    private mutating func writeClock() {
        guard let clock = core.delivery.clocks.current else { return }
        text.single(
            "pushwake_clock_ahead_seconds", .gauge, clock.ahead,
            "Seconds by which this machine's clock is ahead of a push service's, by the Date of its answers.")
    }

    private mutating func writeCapture() {
        guard let counters = core.queries.capture?.counters else { return }
        text.family("pushwake_hep_packets_total", .counter, "Steps of calls for the HEP server of hep_capture.")
        text.sample("pushwake_hep_packets_total", counters.sent, [("outcome", "sent")])
        text.sample("pushwake_hep_packets_total", counters.dropped, [("outcome", "dropped")])
    }
}
