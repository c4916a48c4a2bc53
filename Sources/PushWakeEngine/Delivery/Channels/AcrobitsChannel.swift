// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// Pushes through Acrobits' mediator; it needs no credential.
final class AcrobitsChannel: ProviderChannel {
    let label = "acrobits"
    var breaker: Breaker
    let loop: Loop
    let pool: ProviderPool
    private let builder: AcrobitsRequest

    init(pool: ProviderPool, builder: AcrobitsRequest, maxFail: Int, loop: Loop) {
        breaker = Breaker(maxFail: maxFail)
        self.pool = pool
        self.builder = builder
        self.loop = loop
    }

    func write(_ job: PushJob, into request: inout HTTPRequest) throws(PushFailure) {
        (_, request) = try builder.build(job.binding, job.content, now: loop.wallSeconds)
    }

    func ended(_ job: PushJob, _ result: HTTPResult) {
        guard case .answered(let response, _) = result else {
            return job.conclude(result, on: self, loop)
        }
        pool.noteAnswer()
        // HTTP says 200 whatever happened: the body is read every time.
        let body = try? JSONParser.parse(response.body)
        let verdict = AcrobitsResponse.verdict(
            response, body, isRepeatable: job.isRepeatable, now: loop.wallSeconds)
        job.conclude(verdict, status: response.status, on: self, loop)
    }
}

extension ChannelBuilder {
    /// Nil when it is not set up, or when its URL cannot be used: then `problems` says so.
    func openAcrobits(
        replacing old: (any ProviderChannel)?, _ problems: inout [String]
    ) -> (any ProviderChannel)? {
        guard settings.flag(.acrobits) else {
            old?.retire()
            return nil
        }
        let channel = acrobits()
        old?.retire()
        if channel == nil { problems.append("acrobits_url: is not an https URL; no push goes through Acrobits") }
        return channel
    }

    private func acrobits() -> AcrobitsChannel? {
        guard let origin = HTTPOrigin.split(settings.text(.acrobitsURL))?.0, let builder = AcrobitsRequest(settings)
        else { return nil }
        return AcrobitsChannel(
            pool: pool(origin, "acrobits", connections: 2), builder: builder, maxFail: Int(settings.integer(.maxFail)),
            loop: loop)
    }
}

extension AcrobitsRequest {
    /// Nil when the URL cannot be used.
    fileprivate init?(_ settings: Settings) {
        self.init(settings: AcrobitsSettings(url: settings.text(.acrobitsURL), payload: PayloadSettings(settings)))
    }
}

extension ExplainedSettings {
    func acrobits(_ binding: Binding, _ content: PushContent, _ now: Int64) throws(PushFailure) -> HTTPRequest {
        guard let builder = AcrobitsRequest(settings) else { throw .noTemplate }
        return try builder.build(binding, content, now: now).request
    }
}
