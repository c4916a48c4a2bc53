// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem

/// Hands each push to the channel of its provider and credential; none is lost: every push
/// that comes in ends with exactly one verdict.
final class Delivery {
    let loop: Loop
    private let log: EngineLog
    private var settings: Settings
    private let channels: ProviderChannels
    /// Key files by provider, and what was wrong with them when they were read last.
    private var watches: [Provider: KeyWatch] = [:]
    private var knownProblems: [Provider: [String]] = [:]
    /// What push services say the time is.
    let clocks: ProviderClocks
    /// Monotonic milliseconds.
    private var nextTimeCheck: Int64 = 0
    /// Called with each provider whose settings, keys or certificates were read again.
    var onKeys: ((Provider) -> Void)?
    /// Called with the public VAPID key whenever it may have changed.
    var onVAPIDKey: ((String) -> Void)?
    private var lastID: UInt64 = 0
    private var random: Randomness
    /// Pushes that have no verdict yet.
    private(set) var queued = 0
    /// All pushes have been ended; no other is sent.
    private(set) var hasEnded = false
    private var pushTypes: APNsPushTypeRule

    /// `connections` to Apple and to Google at most, where a measurement or a test wants another number.
    init(settings: Settings, loop: Loop, log: EngineLog, connections: Int? = nil) {
        self.settings = settings
        self.loop = loop
        self.log = log
        pushTypes = APNsPushTypeRule(setting: settings.text(.apnsPushType))
        clocks = ProviderClocks(loop: loop, log: log)
        channels = ProviderChannels(
            queues: ChannelQueues(capacity: Int(settings.integer(.queueSize))), connections: connections, clocks: clocks
        )
        random = Randomness()
    }

    /// Where pushes wait, of all channels.
    var queues: ChannelQueues { channels.queues }

    /// What pushes say; nil before keys and templates are read.
    var payloads: PayloadLibrary? { channels.payloads }

    /// All channels, each under its provider.
    var channelList: [(provider: Provider, channel: any ProviderChannel)] { channels.list }

    /// Certificates in use, by the name of their file, with the second since 1970 at which they end.
    var certificates: [(file: String, expiresAt: Int64)] { channels.certificates }

    // MARK: Keys

    /// Reads keys and templates and opens the channels; returns what is wrong.
    ///
    /// A trial is over before the loop turns: it opens no connection.
    func open(isTrial: Bool = false) -> [String] {
        var problems: [String] = []
        // Stamps first: a file that changes while it is read is read once more.
        for provider in Provider.allCases { watches[provider] = Self.watch(over: provider, settings) }
        channels.open(settings, loop: loop, log: log, isTrial: isTrial, problems: &problems)
        hidePasted(&problems)
        for provider in Provider.allCases {
            knownProblems[provider] = problems
            onKeys?(provider)
        }
        onVAPIDKey?(channels.vapidKey)
        return problems
    }

    private func hidePasted(_ problems: inout [String]) {
        let pasted = PastedSecrets(settings)
        problems = problems.map { pasted.hide(in: $0) }
    }

    /// Reads keys and templates again. Pushes under way finish on the old channels; what is broken stays as it was.
    func reload() -> [String] { open() }

    /// Goes on with other settings from the next `reload()` on.
    func take(_ new: Settings) {
        settings = new
        pushTypes = APNsPushTypeRule(setting: new.text(.apnsPushType))
    }

    /// Looks every second for keys that are new, and takes them.
    func watchKeys() {
        loop.schedule(after: 1000) { [weak self] in
            guard let self else { return }
            lookAtKeys()
            lookAtClock()
            watchKeys()
        }
    }

    private func lookAtKeys() {
        for provider in Provider.allCases where watches[provider]?.look() == true {
            var problems: [String] = []
            channels.reopen(provider, keepsUnchanged: true, problems: &problems)
            onKeys?(provider)
            hidePasted(&problems)
            // One broken file among many is not logged again when another one changes.
            let unknown = problems.filter { knownProblems[provider]?.contains($0) != true }
            for problem in unknown { log(.warning, problem) }
            knownProblems[provider] = problems
            if unknown.isEmpty {
                let rest = problems.isEmpty ? "" : "; what could not be used before still cannot (\(problems.count))"
                log(.notice, "the keys for \(provider.name) have changed and were read again\(rest)")
            }
            if provider == .webpush { onVAPIDKey?(channels.vapidKey) }
        }
    }

    /// A certificate ends at its hour and not when its file changes.
    private func lookAtClock() {
        guard loop.now >= nextTimeCheck else { return }
        nextTimeCheck = loop.now + 3_600_000
        for problem in channels.timeProblems(now: loop.wallSeconds) {
            let text = "\(SettingsTable.description(of: .apnsCert).name): \(problem)"
            guard knownProblems[.apns]?.contains(text) != true else { continue }
            knownProblems[.apns, default: []].append(text)
            log(.warning, text)
        }
    }

    /// Where certificates, keys and passwords are or may be.
    private static func certificatePaths(_ settings: Settings) -> [String] {
        let path = settings.text(.apnsCert)
        return path.isEmpty ? [] : APNsCertificateFile.files(of: path, settings)
    }

    private static func watch(over provider: Provider, _ settings: Settings) -> KeyWatch {
        switch provider {
        case .apns: KeyWatch([settings.text(.apnsKey)] + certificatePaths(settings))
        case .fcm:
            KeyWatch(
                [settings.text(.fcmKey), FCMKeySources.directory(settings)] + settings.fcmAccounts.map(\.file),
                names: FCMKeySources.isKeyName)
        case .webhook:
            // FlexiAPI has no provider of its own: it is opened with the webhook, as another server that pushes for others.
            KeyWatch(
                [settings.text(.webhookSecretFile), settings.text(.flexiAPIKeyFile)] + settings.webhookFiles)
        default: KeyWatch(provider.row.secretFiles.map { settings.text($0) })
        }
    }

    // MARK: Pushes

    /// Sends one push and returns it. With a `refusal` nothing is sent, and that is how the push ends.
    @discardableResult
    func push(_ push: consuming Push, owner: any PushOwner, refusal: Verdict? = nil) -> PushJob {
        if !push.isTypeGiven, let type = push.type {
            push.type = pushTypes.type(insteadOf: type, for: push.binding.service)
        }
        let choice = refusal == nil ? channels.choice(for: push.binding, push.type, now: loop.wallSeconds) : nil
        lastID &+= 1
        let job = PushJob(
            id: lastID, pushID: PushID(high: random.next(), low: random.next()), push: push,
            startedAt: loop.microseconds, owner: owner, delivery: self)
        queued += 1
        if let choice {
            submit(job, to: choice)
        } else {
            let refusal = refusal ?? self.refusal(of: job.binding)
            loop.atEndOfTurn { job.finish(refusal, status: 0) }
        }
        return job
    }

    /// Sends a push once more that a channel has given back: over that channel, or over the one that is in its place now.
    /// It stays on the one that it had when its credential is gone without another.
    func resubmit(_ job: PushJob, from old: any ProviderChannel) {
        guard let current = channels.choice(for: job.binding, job.push.type, now: loop.wallSeconds),
            current.channel !== old
        else { return old.submit(job) }
        // Another credential may be renewed by itself.
        job.renewals = 0
        submit(job, to: current)
    }

    /// The circuit of a credential that fails and fails is open; one push in a while finds out whether it works again.
    private func submit(_ job: PushJob, to choice: ChannelChoice) {
        let channel: any ProviderChannel
        switch choice {
        case .channel(let chosen): channel = chosen
        case .noChannel(let verdict):
            // No channel's breaker hears of it: nobody has failed.
            job.channel = nil
            return loop.atEndOfTurn { job.finish(verdict, status: 0) }
        }
        if case .open = channel.breaker.admit(now: loop.now) {
            let refusal = channel.breaker.refusal
            return loop.atEndOfTurn { job.finish(refusal, status: 0) }
        }
        job.channel = channel
        channel.submit(job)
    }

    /// Ends every push that has not ended: the engine does.
    func endAll() {
        hasEnded = true
        queues.close(.engineEnds)
    }

    /// For jobs: one has its verdict. `channel` had it last; nil when none did.
    func ended(_ job: PushJob, _ verdict: Verdict, on channel: (any ProviderChannel)?) {
        queued -= 1
        if let channel { note(verdict, of: job, on: channel) }
    }

    private func note(_ verdict: Verdict, of job: PushJob, on channel: any ProviderChannel) {
        // Phones name their apps: one that is another team's must not open the circuit for all.
        guard !verdict.isOfApp else { return }
        // Refused here while its service wants a pause: one answer of the service must not count for all who come meanwhile.
        guard verdict.outcome != .throttled || job.attempts > 0 else { return }
        guard channel.breaker.note(verdict, now: loop.now) else { return }
        if channel.breaker.isOpen {
            log(
                .error,
                "\(channel.label): \(settings.integer(.maxFail)) failures in a row (\(verdict.reason)); circuit open")
            channel.queue.endAll(channel.breaker.refusal)
        } else {
            log(.notice, "\(channel.label): works again")
        }
    }

    /// Where a push to this binding goes now; nil when no key is for it.
    func choice(for binding: Binding) -> ChannelChoice? {
        channels.choice(for: binding, nil, now: loop.wallSeconds)
    }

    /// How a push ends for which there is no channel.
    func refusal(of binding: Binding) -> Verdict {
        channels.refusal(of: binding, knownProblems[binding.provider] ?? [], now: loop.wallSeconds)
    }

    /// Whether there is a way to push to this binding at all.
    func canPush(_ binding: Binding) -> Bool { choice(for: binding) != nil }

    /// Whether a call may rely on a push to this binding; `type` is for Apple.
    func isHealthy(for binding: Binding, _ type: APNsPushType?) -> Bool {
        guard let channel = channels.choice(for: binding, type, now: loop.wallSeconds)?.channel else { return false }
        return channel.isHealthy && !channel.breaker.isOpen && !channel.queue.isHeld
            && channel.queue.hasPlace(for: .call)
    }

    /// Whether a push to this binding would leave at once.
    func hasRoom(for binding: Binding) -> Bool {
        choice(for: binding)?.channel?.queue.hasRoom ?? false
    }

    /// Drops what has not left yet for a call that is over.
    func cancel(_ jobs: [PushJob]) {
        for job in jobs {
            job.isCancelled = true
            job.channel?.queue.sweepSoon()
        }
    }
}
