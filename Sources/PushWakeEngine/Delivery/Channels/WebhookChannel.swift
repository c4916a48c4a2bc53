// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// Pushes to an HTTP server of the operator's own.
final class WebhookChannel: ProviderChannel {
    let label: String
    var breaker: Breaker
    let loop: Loop
    let pool: ProviderPool
    private let setup: WebhookSetup

    init(_ setup: WebhookSetup, pool: ProviderPool, label: String, maxFail: Int, loop: Loop) {
        self.setup = setup
        self.pool = pool
        self.label = label
        self.loop = loop
        breaker = Breaker(maxFail: maxFail)
    }

    func write(_ job: PushJob, into request: inout HTTPRequest) throws(PushFailure) {
        let now = loop.wallSeconds
        request = try setup.request.build(job.binding, job.content, id: job.pushID, now: now) { text in
            setup.signature(of: text, now: now)
        }
    }

    func ended(_ job: PushJob, _ result: HTTPResult) {
        let isRepeatable = setup.isIdempotent || job.isRepeatable
        guard case .answered(let response, _) = result else {
            return job.conclude(result, isRepeatable: isRepeatable, on: self, loop)
        }
        pool.noteAnswer()
        var verdict = WebhookResponse.verdict(response, setup.answers, now: loop.wallSeconds)
        // 429 and 503 say that nothing was done; after any other error nobody knows.
        if !isRepeatable, response.status != 429, response.status != 503 { verdict.next = .finish }
        job.conclude(verdict, status: response.status, on: self, loop)
    }
}

/// The webhook's channel, and whom it serves.
struct WebhookRoute {
    let channel: WebhookChannel
    /// One bit for each of PushWake's own providers that it takes over.
    private let takenOver: UInt64
    private let providers: WebhookProviders

    init(_ channel: WebhookChannel, _ providers: WebhookProviders) {
        self.channel = channel
        self.providers = providers
        takenOver = providers.known.reduce(0) { $0 | 1 << UInt64($1.rawValue) }
    }

    /// Whether a push to this binding goes this way.
    func takes(_ binding: Binding) -> Bool {
        if binding.provider == .webhook { return providers.serves(binding) }
        return takenOver >> UInt64(binding.provider.rawValue) & 1 == 1
    }
}

extension ChannelBuilder {
    /// Nil when it is not set up, or when something about it never made sense; `problems` says what.
    func openWebhook(replacing old: WebhookRoute?, _ problems: inout [String]) -> WebhookRoute? {
        do throws(WebhookSetup.Problem) {
            let route = try WebhookSetup.load(settings).map { WebhookRoute(webhook($0), $0.providers) }
            old?.channel.retire()
            return route
        } catch {
            let ending = old == nil ? "" : "; what was read before is still used"
            problems.append("\(error.setting): \(error.message)\(ending)")
            return old
        }
    }

    /// Its host is written out by the operator, so it may be a local one.
    func webhook(_ setup: WebhookSetup) -> WebhookChannel {
        let label = "webhook \(setup.request.origin.authority)"
        let pool = pool(setup.request.origin, label, connections: 4, tellsTime: false)
        return WebhookChannel(setup, pool: pool, label: label, maxFail: Int(settings.integer(.maxFail)), loop: loop)
    }
}
