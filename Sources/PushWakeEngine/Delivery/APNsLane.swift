// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// Pushes to one Apple environment with one key: one provider token, one connection pool.
final class APNsLane: ProviderLane {
    let label: String
    private let loop: Loop
    private let log: EngineLog
    private let pool: HTTPConnectionPool
    private let authority: String
    private let signer: Signer
    private let payloads: PayloadLibrary
    private let settings: APNsSettings
    private var token: ProviderToken
    private var authorization: [UInt8] = []

    init(
        label: String, origin: HTTPOrigin, pool: HTTPConnectionPool, signer: Signer, token: ProviderToken,
        payloads: PayloadLibrary, settings: APNsSettings, loop: Loop, log: EngineLog
    ) {
        self.label = label
        self.pool = pool
        self.signer = signer
        self.token = token
        self.payloads = payloads
        self.settings = settings
        self.loop = loop
        self.log = log
        authority = origin.authority
    }

    var isHealthy: Bool { pool.isHealthy }

    func submit(_ job: PushJob) {
        guard loop.now < job.deadline, !job.isCancelled else {
            return job.finish(Verdict(.expired, reason: job.isCancelled ? "CallOver" : "DeadlinePassed"), status: 0)
        }
        guard let type = APNsRequest.pushType(of: job.content.event, for: job.binding.service) else {
            return job.finish(Verdict(.rejected, reason: "VoipTokenOnly"), status: 0)
        }
        job.attempts += 1
        do throws(PushRefusal) {
            guard refreshToken() else {
                return job.finish(Verdict(.misconfigured, reason: "SigningFailed"), status: 0)
            }
            let request = try APNsRequest.build(
                job.binding, job.content, type, payloads: payloads, settings: settings, authorization: authorization,
                authority: authority, id: job.pushID, now: loop.wallSeconds)
            pool.send(request, deadline: job.deadline) { [self] exchange in answered(job, type, exchange) }
        } catch {
            job.finish(error.verdict, status: 0)
        }
    }

    private func answered(_ job: PushJob, _ type: APNsPushType, _ exchange: HTTPExchange) {
        switch exchange {
        case .answered(let response):
            // The body of a success is empty, so the common case parses nothing.
            let body = response.status == 200 ? nil : JSON.parse(response.body)
            let verdict = APNsResponse.sparing(APNsResponse.verdict(response, body), job.binding, type)
            if verdict.connection == .retire { pool.retireConnections() }
            conclude(job, verdict, response.status)
        default:
            // The same apns-id goes out again, so a second copy is dropped by nobody but does no harm:
            // CallKit and the collapse id make one call of both.
            conclude(job, exchange.verdict, 0)
        }
    }

    private func conclude(_ job: PushJob, _ verdict: Verdict, _ status: Int) {
        let step = LaneConclusion.step(
            after: verdict, attempts: job.attempts, renewals: job.renewals, now: loop.now, deadline: job.deadline,
            isCancelled: job.isCancelled)
        switch step {
        case .finish(let final): job.finish(final, status: status)
        case .retry(let pause): loop.schedule(after: pause) { [self] in submit(job) }
        case .renew:
            job.renewals += 1
            token.expired(now: loop.wallSeconds)
            submit(job)
        }
    }
}
