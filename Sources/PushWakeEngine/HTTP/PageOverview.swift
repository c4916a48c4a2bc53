// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem

/// Collects what the overview shows.
struct PageOverview {
    /// Seconds before the end of a certificate from which on somebody has to renew it.
    private static let certificateLead: Int64 = 21 * 86_400

    private let core: EngineCore
    private let certificateEnd: Int64?

    init(_ core: EngineCore, certificateEnd: Int64?) { (self.core, self.certificateEnd) = (core, certificateEnd) }

    var overview: Overview {
        var overview = Overview()
        overview.held = core.requests.calls.live
        overview.bindings = core.store.state.bindings
        overview.loadLevel = Int(core.context.load.meter.level.rawValue)
        overview.hour = core.queries.hour.report(core.context.times)
        let services = HealthReport(core).providers.map { ($0.provider, $0.state, channels(of: $0.provider)) }
        overview.services = services.map { provider, state, channels in
            Overview.PushService(
                name: provider.name, state: state.rawValue, reason: Self.reason(channels, state),
                connections: channels.reduce(0) { $0 + $1.queue.connections },
                waiting: channels.reduce(0) { $0 + $1.queue.count + $1.queue.pausing },
                median: core.queries.hour.answers(of: provider, core.context.times)?.quantile(50).map {
                    ($0 + 500) / 1000
                })
        }
        overview.concerns = storeConcerns + (services.isEmpty ? [Self.unset] : services.compactMap(concern))
        overview.concerns += guardConcerns + clockConcerns
        overview.concerns += certificateConcerns + bindingConcerns(overview.bindings) + phoneConcerns
        if overview.loadLevel >= 3 {
            overview.concerns.append(
                .init(
                    "the load is \(Overview.loadWords[min(overview.loadLevel, 4)])",
                    "see pushwake stats: load_* and queued say what is short"))
        }
        return overview
    }

    private func channels(of provider: Provider) -> [any ProviderChannel] {
        core.delivery.channelList.filter { $0.provider == provider }.map(\.channel)
    }

    /// Of the channel that fares worst.
    private static func reason(_ channels: [any ProviderChannel], _ state: HealthReport.State) -> String {
        guard let worst = channels.first(where: { HealthReport.state(of: $0) == state }) else { return "" }
        if !worst.refusedAccess.isEmpty { return worst.refusedAccess }
        if let cause = worst.breaker.cause { return cause.detail.isEmpty ? cause.reason : cause.detail }
        return worst.queue.problem
    }

    // MARK: Concerns

    private var storeConcerns: [Overview.Concern] {
        guard !core.store.state.isUsable else { return [] }
        if core.store.refusal == nil, core.store.file?.isInPlace == false {
            return [
                .init("the file of the store was taken away: bindings are lost when the engine ends", Remedy.fileIsGone)
            ]
        }
        let reason = core.store.refusal.map { "\($0)" } ?? ""
        return [
            .init(
                reason.isEmpty ? "bindings cannot be read or stored" : "bindings cannot be read or stored: \(reason)",
                Remedy.store(reason, isShared: core.store.shared != nil))
        ]
    }

    private static let unset = Overview.Concern(
        "no push service is set up: no phone can be woken",
        "set apns_key, fcm_key or another service in pushwake.conf; pushwake check says what is missing")

    private func concern(
        _ provider: Provider, _ state: HealthReport.State, _ channels: [any ProviderChannel]
    ) -> Overview.Concern? {
        let reason = Self.reason(channels, state)
        let cause = reason.isEmpty ? "" : ": \(reason)"
        switch state {
        case .ready, .tokensRefused: return nil
        case .backedOff:
            return .init("\(provider.name) has asked for a pause\(cause)", Remedy.push(.throttled, reason, provider))
        case .unreachable:
            return .init("\(provider.name) is unreachable\(cause)", Remedy.unreachable(reason, provider))
        case .circuitOpen:
            let verdict = channels.lazy.compactMap(\.breaker.cause).first
            return .init(
                "pushes to \(provider.name) fail in a row\(cause)",
                Remedy.push(verdict?.outcome ?? .unavailable, verdict?.reason ?? reason, provider))
        }
    }

    private var guardConcerns: [Overview.Concern] {
        core.outcomes.removalGuard.tripped(now: SystemClock.wallSeconds()).sorted { $0.app < $1.app }.prefix(5).map {
            setup in
            .init(
                "\(setup.provider.name) calls most tokens of \(setup.app) bad; none is removed",
                Remedy.setup(of: setup.provider))
        }
    }

    private var clockConcerns: [Overview.Concern] {
        guard let clock = core.delivery.clocks.current, clock.isOff else { return [] }
        return [.init(clock.words, Remedy.clock)]
    }

    private var certificateConcerns: [Overview.Concern] {
        let now = SystemClock.wallSeconds()
        let own = certificateEnd.map { [(file: "http_cert", expiresAt: $0)] } ?? []
        return (core.delivery.certificates + own).filter { $0.expiresAt - now < Self.certificateLead }
            .sorted { $0.expiresAt < $1.expiresAt }.prefix(5).map { certificate in
                let days = (certificate.expiresAt - now) / 86_400
                let when =
                    certificate.expiresAt <= now ? "has expired" : days == 1 ? "ends in 1 day" : "ends in \(days) days"
                return .init(
                    "the certificate \(certificate.file) \(when)",
                    "put a new one in its place; it is read without a restart")
            }
    }

    /// A tenth of all phones, and more than a few.
    private func bindingConcerns(_ now: Int?) -> [Overview.Concern] {
        guard let now, let before = core.queries.hour.bindingsBefore, before - now >= 5, (before - now) * 10 >= before
        else {
            return []
        }
        return [
            .init(
                "\(before - now) of \(before) phones have gone within an hour",
                "see the log for bindings that were removed, and why; pushwake restore brings back what was removed wrongly",
                link: "/phones")
        ]
    }

    private var phoneConcerns: [Overview.Concern] {
        let (stopped, never) = core.outcomes.wakeRecords.silent
        let kinds: [(count: Int, words: String, choice: PhoneFilter.Choice)] = [
            (stopped, stopped == 1 ? "phone no longer wakes" : "phones no longer wake", .silent),
            (never, never == 1 ? "phone never woke" : "phones never woke", .never),
        ]
        return kinds.filter { $0.count > 0 }.map { count, words, choice in
            .init(
                "\(count) \(words)", "open one of them and see its last calls",
                link: "/phones?show=\(choice.rawValue)")
        }
    }
}
