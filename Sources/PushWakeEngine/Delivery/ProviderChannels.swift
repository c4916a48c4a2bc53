// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// Which channel a push takes.
final class ProviderChannels {
    private var apns: APNsChannels?
    private var fcm: FCMChannels?
    private var webPush: WebPushChannels?
    private var webhook: WebhookRoute?
    private var flexiAPI: FlexiAPIRoute?
    /// Of providers that have one channel each.
    private var others: [Provider: any ProviderChannel] = [:]
    private var builder: ChannelBuilder?
    /// The queues of all channels, those of channels that stay when others are made too.
    let queues: ChannelQueues
    private let connections: Int?
    private let clocks: ProviderClocks
    /// Connections are opened before the first push wants one.
    private var warmsUp = true

    /// No channel at all.
    init(queues: ChannelQueues, connections: Int?, clocks: ProviderClocks) {
        self.queues = queues
        self.connections = connections
        self.clocks = clocks
    }

    /// The templates that are in use; nil when none could be read.
    var payloads: PayloadLibrary? { builder?.payloads }

    /// Reads templates and all keys, and makes new channels. Where one cannot be made, `problems` says why, and the
    /// one before stays if there is one.
    func open(_ settings: Settings, loop: Loop, log: EngineLog, isTrial: Bool = false, problems: inout [String]) {
        warmsUp = !isTrial
        problems += ProxyFile.problems(settings).map { "\(SettingsTable.description(of: $0.key).name): \($0.text)" }
        let (payloads, templateProblems) = PayloadFiles.load(settings)
        problems += templateProblems.map { "\(SettingsTable.description(of: .templateDirectory).name): \($0)" }
        guard let payloads else { return }
        let tls: TLSContext
        do throws(TLSError) {
            tls = try ChannelBuilder.tls(settings)
        } catch {
            guard let before = builder?.tls else {
                return problems.append("ca_file: \(error.message); no provider can be verified, so no push is sent")
            }
            // What else has changed counts all the same.
            problems.append("ca_file: \(error.message); the certificates read before are still used")
            tls = before
        }
        builder = ChannelBuilder(
            settings: settings, tls: tls, payloads: payloads, resolver: Resolver(loop: loop), loop: loop, log: log,
            queues: queues, connections: connections, clocks: clocks)
        for provider in Provider.allCases { reopen(provider, keepsUnchanged: false, problems: &problems) }
    }

    /// Reads the keys of one provider again. Pushes under way finish on the old channels.
    ///
    /// With `keepsUnchanged` the channels of files that have not changed go on as they are.
    func reopen(_ provider: Provider, keepsUnchanged: Bool, problems: inout [String]) {
        guard let builder else { return }
        switch provider {
        case .apns:
            apns = builder.openAPNs(replacing: apns, keepsUnchanged: keepsUnchanged, &problems)
            if warmsUp { apns?.warmUp(now: SystemClock.wallSeconds()) }
        case .fcm:
            fcm = builder.openFCM(replacing: fcm, keepsUnchanged: keepsUnchanged, &problems)
            // Hundreds of keys take seconds: what begins now has its time from now on.
            builder.loop.updateTime()
            if warmsUp { fcm?.warmUp() }
        case .webpush: webPush = builder.openWebPush(replacing: webPush, &problems)
        case .webhook:
            webhook = builder.openWebhook(replacing: webhook, &problems)
            if warmsUp { webhook?.channel.warmUp() }
            flexiAPI = builder.openFlexiAPI(replacing: flexiAPI, &problems)
            if warmsUp { flexiAPI?.channel.warmUp() }
        case .acrobits: replace(provider, by: builder.openAcrobits(replacing: others[provider], &problems))
        case .harmonyos: replace(provider, by: builder.openHarmonyOS(replacing: others[provider], &problems))
        }
    }

    private func replace(_ provider: Provider, by channel: (any ProviderChannel)?) {
        others[provider] = channel
        if warmsUp { channel?.warmUp() }
    }

    /// The public VAPID key in base64url; empty without Web Push.
    var vapidKey: String { webPush?.publicKey ?? "" }

    /// Certificates in use: the name of the file without its directory, and the second since 1970 at which it ends.
    var certificates: [(file: String, expiresAt: Int64)] {
        (apns?.certified ?? []).map { channels in
            let name = channels.file.path.split(separator: "/").last.map(String.init) ?? ""
            return (name, channels.file.identity.leaf.expiresAt)
        }
    }

    /// Certificates that are over or nearly so.
    func timeProblems(now: Int64) -> [String] { apns?.timeProblems(now: now) ?? [] }

    /// Where a push goes; nil when nothing is set up for it. `type` is for Apple; `now` in seconds since 1970.
    func choice(for binding: Binding, _ type: APNsPushType?, now: Int64) -> ChannelChoice? {
        if let webhook, webhook.takes(binding) { return .channel(webhook.channel) }
        if let flexiAPI, flexiAPI.takes(binding) { return .channel(flexiAPI.channel) }
        return switch binding.provider {
        case .apns: apns?.channel(for: binding, type, now: now).map { .channel($0) }
        case .fcm: fcm?.choice(for: binding)
        case .webpush: webPush?.choice(for: binding)
        default: others[binding.provider].map { .channel($0) }
        }
    }

    /// All channels that there are now, each under the provider whose pushes it takes.
    var list: [(provider: Provider, channel: any ProviderChannel)] {
        Provider.allCases.flatMap { provider in
            channels(of: provider).map { (provider: provider, channel: $0) }
        }
    }

    private func channels(of provider: Provider) -> [any ProviderChannel] {
        switch provider {
        case .apns: apns?.all ?? []
        case .fcm: fcm?.distinct ?? []
        case .webpush: webPush?.all ?? []
        case .webhook: (webhook.map { [$0.channel] } ?? []) + (flexiAPI.map { [$0.channel] } ?? [])
        default: others[provider].map { [$0] } ?? []
        }
    }

    /// How a push ends for which there is no channel; `problems` is what was wrong with the keys, `now` in seconds since 1970.
    func refusal(of binding: Binding, _ problems: [String], now: Int64) -> Verdict {
        guard binding.provider == .apns, apns?.certified.isEmpty == false else {
            var verdict = Verdict(.misconfigured, reason: "NoCredential")
            let row = binding.provider.row
            let cause = problems.first { $0.hasPrefix(row.prefix) } ?? problems.first { $0.hasPrefix("ca_file: ") }
            verdict.detail = cause ?? "set \(row.remedy)"
            return verdict
        }
        var verdict = PushFailure.noCertificate.verdict
        // One that is over covers nothing.
        verdict.detail = apns?.timeProblems(now: now).first ?? ""
        return verdict
    }
}
