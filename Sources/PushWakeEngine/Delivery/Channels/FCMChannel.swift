// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// Pushes for one Google project: one service account, one access token, one connection pool.
///
/// Pushes that come while the first token is being fetched wait in the queue; a refresh ahead of need makes nobody
/// wait.
final class FCMChannel: ProviderChannel {
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
    /// Requests for a token in a row that had no answer. One may meet a server that starts anew.
    private var unansweredTokens = 0
    private static let unansweredOfUnreachable = 2
    /// Why there is no token; said once.
    private var loggedReason: String?
    /// Another channel has taken over: tokens are fetched for waiting pushes only, not ahead of need.
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

    /// A token that is good serves while another cannot be had.
    var isHealthy: Bool {
        pool.isHealthy && (credential.isUsable(now: loop.now) || tokenPool.isHealthy && !isTokenRefused)
    }

    var refusedAccess: String { isTokenRefused ? loggedReason ?? "" : "" }

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
        case .backOff(let until, let reason):
            if isTokenRefused, credential.clockWasSet(to: clock) { return send(job) }
            if unansweredTokens >= Self.unansweredOfUnreachable { job.noteUnreachable() }
            let verdict = Verdict(
                isTokenRefused ? .misconfigured : .unavailable, reason: "OAuth \(reason)",
                next: isTokenRefused ? .finish : .retry(after: max(0, until - loop.now)))
            job.conclude(verdict, status: 0, on: self, loop)
        }
    }

    func write(_ job: PushJob, into request: inout HTTPRequest) throws(PushFailure) {
        job.generation = generation
        try builder.write(job.push, now: loop.wallSeconds, into: &request)
    }

    func ended(_ job: PushJob, _ result: HTTPResult) {
        guard case .answered(let response, _) = result else {
            return job.conclude(result, on: self, loop)
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
            verdict.isOfApp = true
        }
        job.conclude(verdict, status: response.status, on: self, loop)
    }

    // MARK: The access token

    func warmUp() {
        pool.warmUp()
        fetchFirst()
    }

    private func fetchFirst() {
        if !isRetired, case .fetch = credential.authorization(now: loop.now) { fetchToken() }
    }

    func retire() {
        isRetired = true
        pool.drain()
        tokenPool.drain()
    }

    private func fetchToken() {
        tokenPool.send(
            FCMTokenExchange(
                account, deadline: loop.now + 20_000, now: { [loop] in loop.wallSeconds }, sign: sign
            ) { [self] result in tokenAnswered(result) })
    }

    private func tokenAnswered(_ exchange: HTTPResult) {
        if case .refused(let refusal) = exchange {
            return tokenFailed(refusal.verdict.reason, after: nil, isFinal: true)
        }
        guard case .answered(let response, _) = exchange else {
            unansweredTokens = min(unansweredTokens + 1, Self.unansweredOfUnreachable)
            return tokenFailed(exchange.verdict(isRepeatable: true).reason, after: nil, isFinal: false)
        }
        unansweredTokens = 0
        switch FCMTokenRequest.answer(response, (try? JSONParser.parse(response.body)), now: loop.wallSeconds) {
        case .token(let token, let lifetime):
            credential.fetched(token, lifetime: lifetime, now: loop.now)
            isTokenRefused = false
            if loggedReason != nil { log(.notice, "\(label): there is an access token again") }
            loggedReason = nil
            scheduleRefresh()
            pool.queue.resume()
        case .unavailable(let reason, let after): tokenFailed(reason, after: after, isFinal: false)
        case .refused(let reason): tokenFailed(reason, after: nil, isFinal: true)
        }
    }

    private func tokenFailed(_ reason: String, after: Int64?, isFinal: Bool) {
        isTokenRefused = isFinal
        credential.fetchFailed(reason: reason, after: after, now: loop.now, clock: clock, random: random.next())
        if loggedReason != reason { log(.warning, "\(label): no access token from \(account.tokenURI): \(reason)") }
        loggedReason = reason
        scheduleRefresh()
        pool.queue.resume()
        // Whether there is a token decides what callers wait for.
        if !isFinal, let until = credential.retryAt { loop.schedule(at: until) { [weak self] in self?.fetchFirst() } }
    }

    /// Seconds by which the wall clock is ahead of the loop's: another number when it was set.
    private var clock: Int64 { loop.wallSeconds &- loop.now / 1000 }

    private func scheduleRefresh() {
        guard let deadline = credential.deadline else { return }
        loop.schedule(at: deadline) { [weak self] in
            guard let self, !isRetired, credential.refreshIsDue(now: loop.now) else { return }
            fetchToken()
        }
    }
}

/// The channels to Google: one per service account.
struct FCMChannels {
    let keys: FCMKeys
    private let channels: [FCMChannel?]
    /// How pushes end whose account cannot be used, in the order of the keys.
    private let broken: [Verdict]
    /// How pushes end that no account serves.
    private static let noAccount = Verdict(
        .misconfigured, reason: "NoServiceAccount (set fcm_key, or fcm_appN and fcm_keyN for this package or project)")

    /// `makeChannel` opens the channel of one account; accounts that have a channel in `kept` stay on it, with token and
    /// connections.
    init(
        _ keys: FCMKeys, hiding pasted: PastedSecrets, keeping kept: FCMChannels?,
        makeChannel: (FCMKeys.Key) -> FCMChannel
    ) {
        self.keys = keys
        let before = kept?.distinct ?? []
        var made: [FCMChannel] = []
        channels = keys.keys.map { key in
            guard let key else { return nil }
            // Two files may hold the same account: Google counts by project, and so does the breaker.
            if let known = made.first(where: { $0.account == key.account }) { return known }
            let channel = before.first { $0.account == key.account } ?? makeChannel(key)
            channel.isGuess = { keys.directory.isGuess(for: $0) }
            made.append(channel)
            return channel
        }
        broken = keys.sources.map { source in
            Verdict(
                .misconfigured,
                reason: "NoServiceAccount (\(pasted.hide(in: source.path)) of \(source.setting) cannot be used)")
        }
    }

    /// The channel of a binding; a refusal with the remedy when no account serves it.
    func choice(for binding: Binding) -> ChannelChoice {
        switch keys.directory.choice(for: binding.app) {
        case .account(let index): channels[index].map { .channel($0) } ?? .noChannel(Self.noAccount)
        case .broken(let index): .noChannel(broken[index])
        case .none: .noChannel(Self.noAccount)
        }
    }

    /// Connects each account.
    func warmUp() { for channel in distinct { channel.warmUp() } }

    /// Others have taken over, except for channels that they took along; pushes under way finish.
    func retire(replacedBy new: FCMChannels) {
        let inUse = new.distinct
        for channel in distinct where !inUse.contains(where: { $0 === channel }) { channel.retire() }
    }

    /// Google is switched off.
    func retireAll() { for channel in distinct { channel.retire() } }

    /// Each channel once.
    var distinct: [FCMChannel] {
        var seen: [FCMChannel] = []
        for case let channel? in channels where !seen.contains(where: { $0 === channel }) { seen.append(channel) }
        return seen
    }
}

extension ChannelBuilder {
    /// Nil when it is not set up. An account that cannot be used is as it was before, or missing; `problems` says why.
    ///
    /// With `keepsUnchanged` the channels of accounts that have not changed go on as they are.
    func openFCM(replacing old: FCMChannels?, keepsUnchanged: Bool, _ problems: inout [String]) -> FCMChannels? {
        guard FCMKeySources.areSet(in: settings) else {
            old?.retireAll()
            return nil
        }
        let keys = FCMKeys(settings, keeping: old?.keys)
        problems += keys.problems.map { "\($0.setting): \($0.message)" }
        let channels = FCMChannels(
            keys, hiding: PastedSecrets(settings), keeping: keepsUnchanged ? old : nil, makeChannel: fcm)
        old?.retire(replacedBy: channels)
        return channels
    }

    /// The channel of one account.
    func fcm(_ key: FCMKeys.Key) -> FCMChannel {
        let (account, signer) = (key.account, key.signer)
        let origin = HTTPOrigin(settings.text(.fcmURL)) ?? HTTPOrigin(host: "fcm.googleapis.com")
        let tokenOrigin = HTTPOrigin.split(account.tokenURI)?.0 ?? HTTPOrigin(host: "oauth2.googleapis.com")
        let label = "fcm \(account.project)"
        return FCMChannel(
            account: account,
            pool: pool(origin, label, connections: connections ?? 4) {
                // Google answers more streams, and any PING, with GOAWAY.
                $0.maxStreams = 100
                $0.pingAfter = nil
            },
            tokenPool: pool(tokenOrigin, "\(label) OAuth", connections: 1, carriesPushes: false) {
                $0.pingAfter = nil
                // Pushes wait for the token: they are to hear of it.
                $0.failsFast = true
            },
            builder: FCMRequestBuilder(
                payloads: payloads,
                settings: FCMSettings(project: account.project, payload: PayloadSettings(settings)),
                authority: origin.authority),
            maxFail: Int(settings.integer(.maxFail)), loop: loop, log: log, sign: { try? signer.sign($0) })
    }
}

/// One request for an access token of Google's. Its assertion is signed when a connection takes it: it may have waited for
/// one for seconds, and a host that has just started is told the right time meanwhile.
final class FCMTokenExchange: HTTPExchange {
    private let account: ServiceAccount
    private let now: () -> Int64
    private let sign: ([UInt8]) -> [UInt8]?
    private let completion: (HTTPResult) -> Void

    /// `now` in seconds since 1970; `sign` makes an RS256 signature, nil when the key cannot; `completion` runs once.
    init(
        _ account: ServiceAccount, deadline: Int64, now: @escaping () -> Int64,
        sign: @escaping ([UInt8]) -> [UInt8]?, completion: @escaping (HTTPResult) -> Void
    ) {
        self.account = account
        self.now = now
        self.sign = sign
        self.completion = completion
        super.init(deadline: deadline)
    }

    override func write(into request: inout HTTPRequest) throws(PushFailure) {
        let input = FCMTokenRequest.signingInput(account, now: now())
        guard let signature = sign(input) else { throw .signingFailed }
        request = try FCMTokenRequest.build(account, signingInput: input, signature: signature).1
    }

    override func ended(_ result: HTTPResult) { completion(result) }
}
