// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// Pushes through Huawei's Push Kit: one service account, one token that it signs itself, one connection pool.
final class HarmonyOSChannel: ProviderChannel {
    let label: String
    var breaker: Breaker
    let loop: Loop
    let pool: ProviderPool
    private let builder: HarmonyOSRequest
    private var credential: HarmonyOSCredential
    private let sign: ([UInt8]) -> [UInt8]?

    /// `sign` makes a PS256 signature; nil when the key cannot.
    init(
        _ account: HarmonyOSAccount, builder: HarmonyOSRequest, pool: ProviderPool, label: String, maxFail: Int,
        loop: Loop, sign: @escaping ([UInt8]) -> [UInt8]?
    ) {
        credential = HarmonyOSCredential(account)
        self.builder = builder
        self.pool = pool
        self.label = label
        self.loop = loop
        self.sign = sign
        breaker = Breaker(maxFail: maxFail)
    }

    func write(_ job: PushJob, into request: inout HTTPRequest) throws(PushFailure) {
        guard let (authorization, generation) = authorization() else { throw .signingFailed }
        job.generation = generation
        request = try builder.build(job.binding, job.content, authorization: authorization, now: loop.wallSeconds)
    }

    private func authorization() -> ([UInt8], UInt32)? {
        var action = credential.authorization(now: loop.wallSeconds)
        if case .sign(let input) = action {
            guard let signature = sign(input) else { return nil }
            action = credential.signed(input, signature: signature)
        }
        guard case .use(let authorization, let generation) = action else { return nil }
        return (authorization, generation)
    }

    func ended(_ job: PushJob, _ result: HTTPResult) {
        guard case .answered(let response, _) = result else {
            return job.conclude(result, on: self, loop)
        }
        pool.noteAnswer()
        // HTTP may say 200 whatever happened: the body is read every time.
        let body = try? JSONParser.parse(response.body)
        var verdict = HarmonyOSResponse.verdict(
            response, body, isRepeatable: job.isRepeatable, now: loop.wallSeconds)
        if verdict.next == .renewCredential,
            !credential.refused(generation: job.generation, now: loop.wallSeconds)
        {
            verdict.next = .finish
        }
        job.conclude(verdict, status: response.status, on: self, loop)
    }
}

extension ChannelBuilder {
    /// Nil when it is not set up, or when there never was a key that could be used; `problems` says why.
    func openHarmonyOS(
        replacing old: (any ProviderChannel)?, _ problems: inout [String]
    ) -> (any ProviderChannel)? {
        replace(old, .harmonyOSKey, &problems, retire: { $0.retire() }) { () throws(KeyFileError) in
            try harmonyOS()
        }
    }

    private func harmonyOS() throws(KeyFileError) -> any ProviderChannel {
        let (account, signer) = try HarmonyOSKeyFile.read(settings.text(.harmonyOSKey))
        guard let builder = HarmonyOSRequest(settings, project: account.project) else {
            throw KeyFileError(message: "project_id cannot be sent")
        }
        let label = "harmonyos \(account.project)"
        return HarmonyOSChannel(
            account, builder: builder, pool: pool(builder.origin, label, connections: 2), label: label,
            maxFail: Int(settings.integer(.maxFail)), loop: loop, sign: { try? signer.sign($0) })
    }
}

extension HarmonyOSRequest {
    /// Nil when the project cannot be sent.
    fileprivate init?(_ settings: Settings, project: String) {
        let origin = HTTPOrigin(settings.text(.harmonyOSURL)) ?? HTTPOrigin(host: "push-api.cloud.huawei.com")
        self.init(origin: origin, project: project, settings: PayloadSettings(settings))
    }
}

extension ExplainedSettings {
    /// The project stands in a file that may not be here.
    func harmonyOS(_ binding: Binding, _ content: PushContent, _ now: Int64) throws(PushFailure) -> HTTPRequest {
        let project = (try? HarmonyOSKeyFile.read(settings.text(.harmonyOSKey)))?.0.project ?? "PROJECT"
        guard let builder = HarmonyOSRequest(settings, project: project) else { throw .noTemplate }
        return try builder.build(binding, content, authorization: Array("Bearer <signed token>".utf8), now: now)
    }
}
