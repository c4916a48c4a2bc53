// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// Pushes through FlexiAPI, for apps whose keys only their vendor has.
final class FlexiAPIChannel: ProviderChannel {
    let label: String
    var breaker: Breaker
    let loop: Loop
    let pool: ProviderPool
    private let builder: FlexiAPIRequest
    private let key: [UInt8]

    init(_ builder: FlexiAPIRequest, key: [UInt8], pool: ProviderPool, label: String, maxFail: Int, loop: Loop) {
        self.builder = builder
        self.key = key
        self.pool = pool
        self.label = label
        self.loop = loop
        breaker = Breaker(maxFail: maxFail)
    }

    func write(_ job: PushJob, into request: inout HTTPRequest) throws(PushFailure) {
        request = try builder.build(job.binding, job.content, key: key)
    }

    func ended(_ job: PushJob, _ result: HTTPResult) {
        guard case .answered(let response, _) = result else {
            return job.conclude(result, on: self, loop)
        }
        pool.noteAnswer()
        let body = response.status / 100 == 2 ? nil : (try? JSONParser.parse(response.body))
        var verdict = FlexiAPIResponse.verdict(response, body, now: loop.wallSeconds)
        // 503 says that the push could not be handed on; after any other error nobody knows.
        if !job.isRepeatable, response.status != 429, response.status != 503 { verdict.next = .finish }
        job.conclude(verdict, status: response.status, on: self, loop)
    }
}

/// FlexiAPI's channel, and whom it serves.
struct FlexiAPIRoute {
    let channel: FlexiAPIChannel
    private let apps: FlexiAPIApps

    init(_ channel: FlexiAPIChannel, _ apps: FlexiAPIApps) {
        self.channel = channel
        self.apps = apps
    }

    /// Whether a push to this binding goes this way.
    func takes(_ binding: Binding) -> Bool { apps.serves(binding) }
}

extension ChannelBuilder {
    /// Nil when it is not set up, or when its key never could be read; `problems` says so.
    func openFlexiAPI(replacing old: FlexiAPIRoute?, _ problems: inout [String]) -> FlexiAPIRoute? {
        replace(old, .flexiAPIURL, &problems, retire: { $0.channel.retire() }) { () throws(KeyFileError) in
            try flexiAPI()
        }
    }

    func flexiAPI() throws(KeyFileError) -> FlexiAPIRoute {
        let apps = FlexiAPIApps(settings)
        guard let builder = FlexiAPIRequest(url: settings.text(.flexiAPIURL)), !apps.isEmpty else {
            throw KeyFileError(message: "needs an https URL, and flexiapi_apps; nothing goes through it")
        }
        let key = try FlexiAPIKeyFile.read(settings.text(.flexiAPIKeyFile))
        let label = "flexiapi \(builder.origin.authority)"
        let channel = FlexiAPIChannel(
            builder, key: key, pool: pool(builder.origin, label, connections: 2), label: label,
            maxFail: Int(settings.integer(.maxFail)), loop: loop)
        return FlexiAPIRoute(channel, apps)
    }
}
