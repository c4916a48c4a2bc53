// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// Hands each push to the lane of its provider and credential, and lets none get lost: every push
/// that comes in ends with exactly one verdict.
final class Delivery {
    let loop: Loop
    private let log: EngineLog
    private var settings: Settings
    private var lanes = ProviderLanes()
    private var jobs: [UInt64: PushJob] = [:]
    private var lastID: UInt64 = 0
    private var random: Randomness
    private let limit: Int

    init(settings: Settings, loop: Loop, log: EngineLog) {
        self.settings = settings
        self.loop = loop
        self.log = log
        limit = Int(settings.integer(.queueSize))
        random = Randomness()
    }

    /// Reads keys and templates and opens the lanes; returns what is wrong.
    func open() -> [String] {
        var problems: [String] = []
        lanes = ProviderLanes(settings, loop: loop, log: log, problems: &problems)
        return problems
    }

    /// Reads keys and templates again. Pushes under way finish on the old lanes.
    func reload() -> [String] { open() }

    /// Pushes that have no verdict yet.
    var queued: Int { jobs.count }

    /// Sends one push and returns its id; `completion` runs once, never before this returns.
    @discardableResult
    func push(
        _ binding: Binding, _ content: PushContent, deadline: Int64,
        completion: @escaping (PushJob, Verdict, Int) -> Void
    ) -> UInt64 {
        lastID &+= 1
        let job = PushJob(
            id: lastID, pushID: PushID(high: random.next(), low: random.next()), binding: binding, content: content,
            deadline: deadline, startedAt: SystemClock.monotonicMicroseconds()
        ) { [weak self] job, verdict, status in
            self?.jobs[job.id] = nil
            completion(job, verdict, status)
        }
        guard jobs.count < limit else {
            loop.atEndOfTurn { job.finish(Verdict(.overloaded, reason: "QueueFull"), status: 0) }
            return job.id
        }
        jobs[job.id] = job
        guard let lane = lanes.lane(for: binding) else {
            loop.atEndOfTurn { job.finish(Verdict(.misconfigured, reason: "NoCredential"), status: 0) }
            return job.id
        }
        lane.submit(job)
        return job.id
    }

    /// Whether there is a way to push to this binding at all.
    func canPush(_ binding: Binding) -> Bool { lanes.lane(for: binding) != nil }

    /// Whether a call may rely on a push to this binding.
    func isHealthy(for binding: Binding) -> Bool { lanes.lane(for: binding)?.isHealthy ?? false }

    /// Drops what has not left yet for a call that is over.
    func cancel(_ ids: [UInt64]) {
        for id in ids { jobs[id]?.isCancelled = true }
    }

    /// Whether a token that a provider called dead may be removed now.
    func mayRemove(_ binding: Binding, now: Int64) -> Bool { true }

    /// Sixteen characters that nobody can guess usefully, for identifiers.
    func randomWord() -> String {
        let text = String(random.next(), radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
