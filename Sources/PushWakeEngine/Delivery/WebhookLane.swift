// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// Pushes to an HTTP server of the operator's own.
final class WebhookLane: PooledLane {
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

    func write(_ job: PushJob, into request: inout HTTPRequest) throws(PushRefusal) {
        let now = loop.wallSeconds
        request = try setup.request.build(job.binding, job.content, id: job.pushID, now: now) { text in
            setup.signature(of: text, now: now)
        }
    }

    func ended(_ job: PushJob, _ result: HTTPResult) {
        let isRepeatable = setup.isIdempotent || job.isRepeatable
        guard case .answered(let response, _) = result else {
            return job.conclude(result.verdict(isRepeatable: isRepeatable), status: 0, on: self, loop)
        }
        pool.noteAnswer()
        var verdict = WebhookResponse.verdict(response, setup.answers, now: loop.wallSeconds)
        // 429 and 503 say that nothing was done; after any other error nobody knows.
        if !isRepeatable, response.status != 429, response.status != 503 { verdict.next = .finish }
        job.conclude(verdict, status: response.status, on: self, loop)
    }
}
