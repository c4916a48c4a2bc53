// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// Pushes for one Google project: one service account, one access token, one connection pool.
///
/// Pushes that come while the first token is being fetched wait in the queue; a refresh ahead of need makes nobody
/// wait.
final class FCMLane: PooledLane {
    let label: String
    var breaker: Breaker
    let loop: Loop
    private let log: EngineLog
    let pool: ProviderPool
    private let tokenPool: ProviderPool
    let account: ServiceAccount
    /// Tells apps that came here only because no account was named for them.
    var isGuess: (_ app: String) -> Bool = { _ in false }
    private let sign: ([UInt8]) -> [UInt8]?
    private var credential = FCMCredential()
    private var builder: FCMRequestBuilder
    private var generation: UInt32 = 0
    private var random = Randomness()
    private var isTokenRefused = false
    /// Why there is no token; said once.
    private var complaint: String?
    /// Another lane has taken over: tokens are fetched for waiting pushes only, not ahead of need.
    private var isRetired = false

    /// `sign` makes an RS256 signature; nil when the key cannot.
    init(
        account: ServiceAccount, pool: ProviderPool, tokenPool: ProviderPool, builder: FCMRequestBuilder, maxFail: Int,
        loop: Loop,
        log: EngineLog, sign: @escaping ([UInt8]) -> [UInt8]?
    ) {
        label = "fcm \(account.project)"
        breaker = Breaker(maxFail: maxFail)
        self.account = account
        self.pool = pool
        self.tokenPool = tokenPool
        self.builder = builder
        self.loop = loop
        self.log = log
        self.sign = sign
    }

    var isHealthy: Bool { pool.isHealthy && tokenPool.isHealthy && !isTokenRefused }

    func send(_ job: PushJob) {
        switch credential.authorization(now: loop.now) {
        case .use(let authorization, let current):
            if current != generation { (builder.authorization, generation) = (authorization, current) }
            job.attempts += 1
            pool.send(job)
        case .fetch:
            pool.queue.park(job)
            fetchToken()
        case .wait:
            pool.queue.park(job)
        case .rest(let until, let reason):
            let verdict = Verdict(
                isTokenRefused ? .misconfigured : .unavailable, reason: "OAuth \(reason)",
                next: isTokenRefused ? .finish : .retry(after: max(0, until - loop.now)))
            job.conclude(verdict, status: 0, on: self, loop)
        }
    }

    func write(_ job: PushJob, into request: inout HTTPRequest) throws(PushRefusal) {
        job.generation = generation
        try builder.write(job.push, now: loop.wallSeconds, into: &request)
    }

    func ended(_ job: PushJob, _ result: HTTPResult) {
        guard case .answered(let response, _) = result else {
            return job.conclude(result.verdict(isRepeatable: job.isRepeatable), status: 0, on: self, loop)
        }
        pool.noteAnswer()
        let body = response.status == 200 ? nil : (try? JSONParser.parse(response.body))
        var verdict = FCMResponse.verdict(response, body, now: loop.wallSeconds)
        if verdict.outcome == .accepted { credential.accepted(generation: job.generation) }
        if verdict.next == .renewCredential, credential.refused(generation: job.generation, now: loop.now) == .giveUp {
            verdict.next = .finish
        }
        if verdict.reason == "SENDER_ID_MISMATCH", isGuess(job.binding.app) {
            // The token may well live, in a project whose account nobody has set.
            verdict = Verdict(.misconfigured, reason: "SENDER_ID_MISMATCH (set fcm_appN and fcm_keyN for this app)")
        }
        job.conclude(verdict, status: response.status, on: self, loop)
    }

    // MARK: The access token

    func warmUp() {
        pool.warmUp()
        if case .fetch = credential.authorization(now: loop.now) { fetchToken() }
    }

    func retire() {
        isRetired = true
        pool.windDown()
        tokenPool.windDown()
    }

    private func fetchToken() {
        let input = FCMTokenRequest.signingInput(account, now: loop.wallSeconds)
        guard let signature = sign(input) else { return tokenFailed("SigningFailed", after: nil, isFinal: true) }
        do throws(PushRefusal) {
            let (_, request) = try FCMTokenRequest.build(account, signingInput: input, signature: signature)
            tokenPool.send(request, deadline: loop.now + 20_000) { [self] exchange in tokenAnswered(exchange) }
        } catch {
            tokenFailed(error.verdict.reason, after: nil, isFinal: true)
        }
    }

    private func tokenAnswered(_ exchange: HTTPResult) {
        guard case .answered(let response, _) = exchange else {
            return tokenFailed(exchange.verdict(isRepeatable: true).reason, after: nil, isFinal: false)
        }
        switch FCMTokenRequest.answer(response, (try? JSONParser.parse(response.body)), now: loop.wallSeconds) {
        case .token(let token, let lifetime):
            credential.fetched(token, lifetime: lifetime, now: loop.now)
            isTokenRefused = false
            if complaint != nil { log(.notice, "\(label): there is an access token again") }
            complaint = nil
            scheduleRefresh()
            pool.queue.resume()
        case .unavailable(let reason, let after): tokenFailed(reason, after: after, isFinal: false)
        case .refused(let reason): tokenFailed(reason, after: nil, isFinal: true)
        }
    }

    private func tokenFailed(_ reason: String, after: Int64?, isFinal: Bool) {
        isTokenRefused = isFinal
        credential.fetchFailed(reason: reason, after: after, now: loop.now, random: random.next())
        if complaint != reason { log(.warning, "\(label): no access token from \(account.tokenURI): \(reason)") }
        complaint = reason
        scheduleRefresh()
        pool.queue.resume()
    }

    private func scheduleRefresh() {
        guard let deadline = credential.deadline else { return }
        loop.schedule(at: deadline) { [weak self] in
            guard let self, !isRetired, credential.refreshIsDue(now: loop.now) else { return }
            fetchToken()
        }
    }
}
