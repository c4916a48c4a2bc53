// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// Pushes to one Apple environment with one key: one provider token, one connection pool.
final class APNsChannel: ProviderChannel {
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

    func write(_ job: PushJob, into request: inout HTTPRequest) throws(PushFailure) {
        guard let type = job.push.type else { throw .voipTokenOnly }
        guard isCertified || renewToken() else { throw .signingFailed }
        job.generation = generation
        try builder.write(job.push, type, id: job.pushID, now: loop.wallSeconds, into: &request)
    }

    /// Makes sure that the builder has a token that is good now.
    private func renewToken() -> Bool {
        if generation > 0, credential.usableGeneration(now: loop.wallSeconds) == generation { return true }
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
            return job.conclude(result, on: self, loop)
        }
        pool.noteAnswer()
        // The body of a success is empty, so the common case parses nothing.
        let body = response.status == 200 ? nil : (try? JSONParser.parse(response.body))
        var verdict = APNsResponse.verdict(response, body, now: loop.wallSeconds)
        if response.status != 200, let type = job.push.type {
            verdict = APNsResponse.sparing(verdict, job.binding, type)
        }
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

/// The channels to Apple: of each certificate, and of the `.p8` key where no certificate covers the topic.
final class APNsChannels {
    /// Nil without a `.p8` key.
    let token: APNsTokenChannels?
    let certified: [APNsCertifiedChannels]
    /// Where tokens belong whose phone did not say.
    private let standardIsSandbox: Bool
    private let choice: APNsCertificateChoice

    /// Connections that are made ahead of need; more apps than this connect with their first push.
    private static let mostWarm = 16

    /// `topic` is the rule by which requests get their topics.
    init(token: APNsTokenChannels?, certified: [APNsCertifiedChannels], topic: APNsTopic, standardIsSandbox: Bool) {
        self.token = token
        self.certified = certified
        self.standardIsSandbox = standardIsSandbox
        choice = APNsCertificateChoice(certified.map(\.file.certificate), topic: topic)
    }

    /// The channel of a push; nil when no credential is for it. `now` in seconds since 1970.
    func channel(for binding: Binding, _ type: APNsPushType?, now: Int64) -> (any ProviderChannel)? {
        let isSandbox = binding.environment.isSandbox(ifStandard: standardIsSandbox)
        if !certified.isEmpty,
            let index = choice.certificate(
                for: binding.app, type ?? (binding.service == .remote ? .alert : .voip),
                in: isSandbox ? .sandbox : .production, now: now),
            let channel = certified[index].channel(isSandbox: isSandbox)
        {
            return channel
        }
        return token?.channel(isSandbox: isSandbox)
    }

    /// Those of all keys and certificates.
    var all: [any ProviderChannel] {
        let byToken = token.map { [$0.production, $0.sandbox] } ?? []
        return byToken + certified.flatMap { [$0.production, $0.sandbox].compactMap(\.self) }
    }

    /// Certificates that are over or nearly so, with file and remedy.
    func timeProblems(now: Int64) -> [String] { certified.compactMap { $0.file.timeProblem(now: now) } }

    /// Connects to the environment of ordinary bindings.
    func warmUp(now: Int64) {
        token?.channel(isSandbox: standardIsSandbox).warmUp()
        for channels in certified.filter({ $0.file.certificate.isValid(at: now) }).prefix(Self.mostWarm) {
            channels.channel(isSandbox: standardIsSandbox)?.warmUp()
        }
    }
}

/// The channels of one `.p8` key: one for each environment.
struct APNsTokenChannels {
    let production: APNsChannel
    let sandbox: APNsChannel
    /// What the key's file looked like before it was read.
    let stamp: FileStamp?

    func channel(isSandbox: Bool) -> APNsChannel { isSandbox ? sandbox : production }

    /// Other channels take their place.
    func retire() {
        production.retire()
        sandbox.retire()
    }
}

/// The channels of one certificate: one for each environment that it is for.
struct APNsCertifiedChannels {
    let file: APNsCertificateFile
    /// What its files looked like before they were read.
    var stamps: [FileStamp?]
    let production: APNsChannel?
    let sandbox: APNsChannel?

    func channel(isSandbox: Bool) -> APNsChannel? { isSandbox ? sandbox : production }

    /// Other channels take their place.
    func retire() {
        production?.retire()
        sandbox?.retire()
    }
}

extension ChannelBuilder {
    /// Each takes a thousand pushes at a time, as a rule.
    private static let appleConnections = 1

    /// Nil when it is not set up. What cannot be used is missing, or stays as it was before; `problems` says why.
    ///
    /// With `keepsUnchanged` the channels of files that have not changed go on as they are.
    func openAPNs(replacing old: APNsChannels?, keepsUnchanged: Bool, _ problems: inout [String]) -> APNsChannels? {
        guard !settings.text(.apnsKey).isEmpty || !settings.text(.apnsCert).isEmpty else {
            old?.token?.retire()
            old?.certified.forEach { $0.retire() }
            return nil
        }
        return APNsChannels(
            token: openAPNsKey(replacing: old?.token, keepsUnchanged, &problems),
            certified: openAPNsCertificates(replacing: old?.certified ?? [], keepsUnchanged, &problems),
            topic: apnsSettings.topic, standardIsSandbox: settings.text(.apnsEnvironment) == "sandbox")
    }

    // MARK: The key

    private func openAPNsKey(
        replacing old: APNsTokenChannels?, _ keepsUnchanged: Bool, _ problems: inout [String]
    ) -> APNsTokenChannels? {
        let stamp = FileStamp(settings.text(.apnsKey))
        if keepsUnchanged, let old, old.stamp == stamp { return old }
        return replace(old, .apnsKey, &problems, retire: { $0.retire() }) { () throws(KeyFileError) in
            let signer = try APNsKeyFile.read(settings.text(.apnsKey))
            return APNsTokenChannels(
                production: apns(.production, signer), sandbox: apns(.sandbox, signer), stamp: stamp)
        }
    }

    private func apns(_ environment: Environment, _ signer: Signer) -> APNsChannel {
        let origin = apnsOrigin(environment)
        let label = "apns \(environment.name)"
        return APNsChannel(
            label: label,
            pool: pool(origin, label, connections: connections ?? Self.appleConnections) { $0.needsHTTP2 = true },
            credential: APNsCredential(keyID: APNsKeyFile.keyID(settings), teamID: settings.text(.apnsTeamID)),
            builder: APNsRequestBuilder(payloads: payloads, settings: apnsSettings, authority: origin.authority),
            maxFail: Int(settings.integer(.maxFail)), loop: loop, log: log, sign: { try? signer.sign($0) })
    }

    // MARK: Certificates

    private func openAPNsCertificates(
        replacing old: [APNsCertifiedChannels], _ keepsUnchanged: Bool, _ problems: inout [String]
    ) -> [APNsCertifiedChannels] {
        guard !settings.text(.apnsCert).isEmpty else {
            old.forEach { $0.retire() }
            return []
        }
        let name = SettingsTable.description(of: .apnsCert).name
        let paths: [String]
        do throws(KeyFileError) {
            paths = try APNsCertificateFiles.paths(settings)
        } catch {
            let ending = old.isEmpty ? "" : "; the certificates read before are still used"
            problems.append("\(name): \(error.message)\(ending)")
            return old
        }
        let stamps = Dictionary(
            paths.map { ($0, APNsCertificateFile.files(of: $0, settings).map { FileStamp($0) }) },
            uniquingKeysWith: { first, _ in first })
        let before = Dictionary(old.map { ($0.file.path, $0) }, uniquingKeysWith: { first, _ in first })
        let files = APNsCertificateFiles(paths, settings) { path in
            guard let channels = before[path], keepsUnchanged, channels.stamps == stamps[path] else { return nil }
            return channels.file
        }
        var channels: [APNsCertifiedChannels] = []
        for file in files.usable {
            let seen = stamps[file.path] ?? []
            if keepsUnchanged, var same = before[file.path], same.file.identity.isSame(as: file.identity) {
                same.stamps = seen
                channels.append(same)
                continue
            }
            do throws(TLSError) {
                channels.append(try certified(file, seen))
            } catch {
                problems.append("\(name): \(file.path): \(error.message)")
                if let kept = before[file.path] { channels.append(kept) }
            }
        }
        for problem in files.problems {
            let kept = before[problem.path]
            problems.append(
                "\(name): \(problem.message)\(kept == nil ? "" : "; the certificate read before is still used")")
            if let kept { channels.append(kept) }
        }
        let current = channels.compactMap { $0.production ?? $0.sandbox }.map { ObjectIdentifier($0) }
        for channels in old {
            guard let channel = channels.production ?? channels.sandbox, !current.contains(ObjectIdentifier(channel))
            else {
                continue
            }
            channels.retire()
        }
        let now = SystemClock.wallSeconds()
        problems += channels.compactMap { $0.file.timeProblem(now: now).map { "\(name): \($0)" } }
        return channels
    }

    private func certified(_ file: APNsCertificateFile, _ stamps: [FileStamp?]) throws(TLSError)
        -> APNsCertifiedChannels
    {
        let tls = try Self.tls(settings, identity: file.identity)
        return APNsCertifiedChannels(
            file: file, stamps: stamps,
            production: file.certificate.allowsProduction ? apns(.production, file, tls) : nil,
            sandbox: file.certificate.allowsSandbox ? apns(.sandbox, file, tls) : nil)
    }

    private func apns(_ environment: Environment, _ file: APNsCertificateFile, _ tls: TLSContext) -> APNsChannel {
        let origin = apnsOrigin(environment)
        let label = "apns \(environment.name) \(file.certificate.topics.first ?? "")"
        return APNsChannel(
            label: label,
            pool: pool(
                origin, label, connections: connections ?? Self.appleConnections, tls: tls, certificate: file.path
            ) { $0.needsHTTP2 = true },
            credential: nil,
            builder: APNsRequestBuilder(payloads: payloads, settings: apnsSettings, authority: origin.authority),
            maxFail: Int(settings.integer(.maxFail)), loop: loop, log: log, sign: { _ in nil })
    }

    // MARK: Both

    private func apnsOrigin(_ environment: Environment) -> HTTPOrigin {
        let url = settings.text(environment == .sandbox ? .apnsSandboxURL : .apnsURL)
        return HTTPOrigin(url) ?? HTTPOrigin(host: "api.push.apple.com")
    }

    private var apnsSettings: APNsSettings { APNsSettings(settings) }
}
