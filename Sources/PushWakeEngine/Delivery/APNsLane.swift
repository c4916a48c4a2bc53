// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// Pushes to one Apple environment with one key: one provider token, one connection pool.
final class APNsLane: PooledLane {
    let label: String
    var breaker: Breaker
    let loop: Loop
    private let log: EngineLog
    let pool: ProviderPool
    private let sign: ([UInt8]) -> [UInt8]?
    private var credential: APNsCredential
    /// Apple knows the sender by the certificate of the connection: nothing is signed.
    private let isCertified: Bool
    private var builder: APNsRequestBuilder
    private var generation: UInt32 = 0

    /// Without a credential the pool's TLS has a certificate. `sign` makes an ES256 signature, raw r and s; nil
    /// when the key cannot.
    init(
        label: String, pool: ProviderPool, credential: consuming APNsCredential?, builder: APNsRequestBuilder,
        maxFail: Int,
        loop: Loop, log: EngineLog, sign: @escaping ([UInt8]) -> [UInt8]?
    ) {
        self.label = label
        breaker = Breaker(maxFail: maxFail)
        self.pool = pool
        isCertified = credential == nil
        self.credential = credential ?? APNsCredential(keyID: "", teamID: "")
        self.builder = builder
        self.loop = loop
        self.log = log
        self.sign = sign
    }

    /// Connects, and signs while nobody waits for it.
    func warmUp() {
        if !isCertified { _ = renewToken() }
        pool.warmUp()
    }

    func write(_ job: PushJob, into request: inout HTTPRequest) throws(PushRefusal) {
        guard let type = job.type else { throw .voipTokenOnly }
        guard isCertified || renewToken() else { throw .signingFailed }
        job.generation = generation
        try builder.write(job.push, type, id: job.pushID, now: loop.wallSeconds, into: &request)
    }

    /// Makes sure that the builder has a token that is good now.
    private func renewToken() -> Bool {
        switch credential.authorization(now: loop.wallSeconds) {
        case .use(let authorization, let current):
            if current != generation { (builder.authorization, generation) = (authorization, current) }
            return true
        case .sign(let input):
            guard let signature = sign(input) else { return false }
            builder.authorization = credential.signed(input, signature: signature)
            generation = credential.generation
            log(.debug, "\(label): signed a provider token")
            return true
        }
    }

    func ended(_ job: PushJob, _ result: HTTPResult) {
        guard case .answered(let response, let connection) = result else {
            return job.conclude(result.verdict(isRepeatable: job.isRepeatable), status: 0, on: self, loop)
        }
        pool.noteAnswer()
        // The body of a success is empty, so the common case parses nothing.
        let body = response.status == 200 ? nil : (try? JSONParser.parse(response.body))
        var verdict = APNsResponse.verdict(response, body, now: loop.wallSeconds)
        if response.status != 200, let type = job.type { verdict = APNsResponse.sparing(verdict, job.binding, type) }
        if verdict.next == .renewCredential, !isCertified {
            tokenRefused(job.generation, connection)
        } else if verdict.connection == .retire {
            pool.retire(connection)
        }
        job.conclude(verdict, status: response.status, on: self, loop)
    }

    /// Sees to it that no other push goes out with the refused token. One that is too young to be replaced stays,
    /// and so does its connection: the push is tried once more and ends with the second refusal.
    private func tokenRefused(_ refused: UInt32, _ connection: Int) {
        guard credential.expired(generation: refused, now: loop.wallSeconds) == .resend else { return }
        pool.retire(connection)
    }
}
