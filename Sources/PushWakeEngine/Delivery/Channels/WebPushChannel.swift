// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// Pushes to one Web Push service: one VAPID token, one connection pool.
final class WebPushChannel: ProviderChannel {
    let label: String
    var breaker: Breaker
    /// Requests without an answer.
    private var inFlight = 0
    /// The service has answered a push.
    private(set) var hasAnswered = false
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

    /// Nothing waits or is under way. What comes back after a pause finds this channel or another one.
    var isIdle: Bool { inFlight == 0 && pool.queue.count == 0 }

    /// Until it has a place among the services it connects to nobody, and its pushes wait.
    func waitForPlace() { pool.queue.pause() }

    /// It has one.
    func takePlace() {
        if !isIdle { unansweredSince = loop.now }
        pool.queue.resume()
    }

    /// Ends all connections; nothing can be sent any more.
    func close() { pool.close() }

    /// Ends all pushes, and nothing can be sent any more.
    func end(_ verdict: Verdict) { pool.queue.close(verdict) }

    func submit(_ job: PushJob) {
        if let end = job.endBeforeSending(now: loop.now) { return job.finish(end, status: 0) }
        usedAt = loop.now
        // Pushes that ended before they were sent had no answer either.
        if isIdle { unansweredSince = loop.now }
        guard pool.queue.admits(job) else { return }
        send(job)
    }

    func send(_ job: PushJob) {
        usedAt = loop.now
        job.attempts += 1
        inFlight += 1
        pool.send(job)
    }

    func write(_ job: PushJob, into request: inout HTTPRequest) throws(PushFailure) {
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
            return job.conclude(result, on: self, loop)
        }
        pool.noteAnswer()
        hasAnswered = true
        unansweredSince = isIdle ? .max : loop.now
        let body = response.status / 100 == 2 ? nil : (try? JSONParser.parse(response.body))
        let verdict = WebPushResponse.verdict(response, body, now: loop.wallSeconds)
        if verdict.next == .renewCredential { credential.refused(by: origin) }
        job.conclude(verdict, status: response.status, on: self, loop)
    }
}

/// What all Web Push services have in common: one VAPID key, the operator's rules, the templates.
struct WebPushSender {
    /// The VAPID key's point, uncompressed.
    let publicKey: [UInt8]
    /// `mailto:` or `https:`, so that a service can reach who sends.
    let subject: String
    let settings: WebPushSettings
    let payloads: PayloadLibrary
    /// Makes an ES256 signature, raw r and s; nil when the key cannot.
    let sign: ([UInt8]) -> [UInt8]?
}

extension ChannelBuilder {
    /// Nil when it is not set up, or when there never was a key that could be used; `problems` says why.
    func openWebPush(replacing old: WebPushChannels?, _ problems: inout [String]) -> WebPushChannels? {
        replace(old, .vapidKey, &problems, retire: { $0.retire() }) { () throws(KeyFileError) in
            try webPush()
        }
    }

    /// Services are found as phones name them, so nothing is connected yet.
    func webPush() throws(KeyFileError) -> WebPushChannels {
        let signer = try VAPIDKeyFile.read(settings.text(.vapidKey))
        let sender = WebPushSender(
            publicKey: signer.key.publicPoint(),
            subject: VAPIDSubject(settings.text(.vapidSubject))?.text ?? settings.text(.vapidSubject),
            settings: WebPushSettings(settings), payloads: payloads, sign: { try? signer.sign($0) })
        // Phones name the hosts, and whoever has a host has its name server: slow ones must not hold up Apple's.
        let resolver = Resolver(loop: loop, trusted: Set(sender.settings.hosts.filter { !$0.contains("*") }))
        let lines = LimitedLines(log)
        return WebPushChannels(sender, loop: loop) { origin, sender in webPush(to: origin, sender, resolver, lines) }
    }

    /// The channel to one service. What its name resolves to is checked too, unless the operator names it: a public name
    /// may lead inside.
    func webPush(
        to origin: HTTPOrigin, _ sender: WebPushSender, _ resolver: Resolver? = nil, _ lines: LimitedLines? = nil
    ) -> WebPushChannel {
        let label = "webpush \(origin.authority)"
        // Phones name these services: no one of them may take the memory of all.
        let pool = pool(origin, label, connections: 1, share: 16, tellsTime: false, resolver: resolver, lines: lines) {
            $0.refusesLocalAddresses = !sender.settings.names(host: origin.host)
            $0.closeAfter = 60_000
        }
        return WebPushChannel(
            origin: origin, sender: sender, pool: pool, loop: loop, label: label,
            maxFail: Int(settings.integer(.maxFail)))
    }
}
