// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// Pushes to one Web Push service: one VAPID token, one connection pool.
final class WebPushLane: PooledLane {
    let label: String
    var breaker: Breaker
    /// Requests without an answer.
    private var inFlight = 0
    /// Monotonic milliseconds of the last push that came in.
    private(set) var usedAt: Int64 = 0
    /// Monotonic milliseconds since which pushes are here and no answer has come; `.max` while there are none.
    private(set) var unansweredSince = Int64.max
    private let origin: HTTPOrigin
    private let sender: WebPushSender
    let loop: Loop
    let pool: ProviderPool
    private var credential: WebPushCredential

    init(origin: HTTPOrigin, sender: WebPushSender, pool: ProviderPool, loop: Loop, label: String, maxFail: Int) {
        self.origin = origin
        self.sender = sender
        self.pool = pool
        self.loop = loop
        self.label = label
        breaker = Breaker(maxFail: maxFail)
        credential = WebPushCredential(publicKey: sender.publicKey, subject: sender.subject)
    }

    /// Nothing waits, comes back or is under way.
    var isIdle: Bool { inFlight == 0 && pool.queue.count == 0 && pool.queue.pausing == 0 }

    /// Ends all connections; nothing can be sent any more.
    func close() { pool.close() }

    /// Ends all pushes, and nothing can be sent any more.
    func end(_ verdict: Verdict) { pool.queue.close(verdict) }

    func submit(_ job: PushJob) {
        if let end = job.endBeforeSending(now: loop.now) { return job.finish(end, status: 0) }
        usedAt = loop.now
        if unansweredSince == .max { unansweredSince = loop.now }
        guard pool.queue.admits(job) else { return }
        send(job)
    }

    func send(_ job: PushJob) {
        usedAt = loop.now
        job.attempts += 1
        inFlight += 1
        pool.send(job)
    }

    func write(_ job: PushJob, into request: inout HTTPRequest) throws(PushRefusal) {
        guard let authorization = authorization() else { throw .signingFailed }
        (_, request) = try WebPushRequest.build(
            job.binding, job.content, payloads: sender.payloads, settings: sender.settings,
            authorization: authorization, crypto: WebPushPrimitives(), now: loop.wallSeconds)
    }

    private func authorization() -> [UInt8]? {
        switch credential.authorization(for: origin, now: loop.wallSeconds) {
        case .use(let authorization): return authorization
        case .sign(let input):
            guard let signature = sender.sign(input) else { return nil }
            return credential.signed(input, signature: signature, for: origin, now: loop.wallSeconds)
        }
    }

    func ended(_ job: PushJob, _ result: HTTPResult) {
        inFlight -= 1
        guard case .answered(let response, _) = result else {
            return job.conclude(result.verdict(isRepeatable: job.isRepeatable), status: 0, on: self, loop)
        }
        pool.noteAnswer()
        unansweredSince = isIdle ? .max : loop.now
        let body = response.status / 100 == 2 ? nil : (try? JSONParser.parse(response.body))
        let verdict = WebPushResponse.verdict(response, body, now: loop.wallSeconds)
        if verdict.next == .renewCredential { credential.refused(by: origin) }
        job.conclude(verdict, status: response.status, on: self, loop)
    }
}
