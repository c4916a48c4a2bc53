// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// Where the pushes of a channel wait: for a free stream, for an access token, for the end of a hold. Only one that a
/// connection gave back, or did not take after all, waits in the pool.
///
/// While nothing waits and a stream is free, a push goes straight through. A push that has to wait is kept as it
/// came: its request is built when its turn has come, with the credential of that moment.
final class ChannelQueue {
    private struct Entry {
        let job: PushJob
        /// Beside the job, so that a sweep reads one array.
        let deadline: Int64
    }

    /// How much was waiting for its memory to be worth asking back.
    private static let backlog = 10_000
    /// One attempt that fails may meet a provider that starts anew; the second comes within half a second.
    private static let failuresOfUnreachable = 2
    /// Milliseconds between two sweeps for pushes whose time is over.
    private static let sweepPause: Int64 = 100

    private let pool: HTTPConnectionPool
    private let loop: Loop
    private var waiting: PushQueue<Entry>
    private var throttle = Throttle()
    private var streams = StreamLimit()
    private var isPaused = false
    /// Nothing waits, holds or pauses: only the pool has to be asked.
    private var isDirect = true
    private var isDraining = false
    /// Pushes that will come back to the channel after a pause of their own, by id; they take places too.
    private var paused: [UInt64: PushJob] = [:]
    /// The most that waited since nothing did.
    private var mostWaiting = 0
    private let sweepTimer: DueTimer
    private let turnTimer: DueTimer

    /// `capacity` is how many may wait.
    init(pool: HTTPConnectionPool, capacity: Int, loop: Loop) {
        self.pool = pool
        self.loop = loop
        sweepTimer = DueTimer(loop: loop)
        turnTimer = DueTimer(loop: loop)
        waiting = PushQueue(capacity: capacity)
        pool.onCapacity = { [weak self] in self?.drain() }
        pool.onAnswers = { [weak self] count, fastest in self?.noteAnswers(count, fastest) }
        pool.onFailure = { [weak self] reason, retryAt in self?.fail(before: retryAt, reason) }
    }

    var count: Int { waiting.count }
    /// Pushes that will come back after a pause.
    var pausing: Int { paused.count }
    /// Whether the next push goes straight through.
    var hasRoom: Bool { isDirect && pool.hasRoom }
    /// Why no connection can be made; empty while one can.
    var problem: String { pool.lastProblem }
    /// Connections that stand.
    var connections: Int { pool.openConnections }
    /// Pushes that have been sent and have no answer.
    var inFlight: Int { pool.inFlightCount }
    /// How full it is, in parts of 100.
    var fill: Int { waiting.fill(beside: pausing) }
    /// Backed off as the provider asked.
    var isHeld: Bool { throttle.heldUntil(now: loop.now) != nil }
    /// The provider answers late, for as many as it has to do.
    var isBounded: Bool { !streams.isFree }
    /// Whether a push of this class would be let in.
    func hasPlace(for priority: PushPriority) -> Bool {
        waiting.admits(priority, beside: pausing, now: loop.now)
    }

    /// True when the push may be sent now. Otherwise it waits, and its channel sends it when its turn has come, or has
    /// been refused.
    @inline(__always)
    func admits(_ job: PushJob) -> Bool {
        if isDirect, pool.hasRoom {
            throttle.noteSent(now: loop.now)
            return true
        }
        wait(job)
        return false
    }

    // MARK: Waiting

    private func wait(_ job: PushJob) {
        // What had paused comes back to its old channel where no other has taken that one's place.
        if pool.isClosed { return refuse(job, unreachable("closed")) }
        if let end = throttle.heldUntil(now: loop.now), job.deadline <= end {
            return refuse(job, Verdict(.throttled, reason: "ProviderAsksToWait"))
        }
        let entry = Entry(job: job, deadline: job.deadline)
        let admission = waiting.append(
            entry, PushPriority(of: job.content.event), askedAt: job.startedAt / 1000, deadline: job.deadline,
            isBack: job.attempts > 0, beside: pausing, now: loop.now)
        switch admission {
        case .queued: break
        case .displaced(let victim): refuse(victim.job, Verdict(.overloaded, reason: "QueueFull"))
        case .refused: return refuse(job, Verdict(.overloaded, reason: "QueueFull"))
        }
        isDirect = false
        mostWaiting = max(mostWaiting, waiting.count)
        sweep(by: job.deadline)
        drain()
    }

    /// Later than now: nobody hears of the end of a push before its id.
    private func refuse(_ job: PushJob, _ verdict: Verdict) {
        loop.atEndOfTurn { job.finish(verdict, status: 0) }
    }

    /// Sends what may go, the most urgent first.
    private func drain() {
        // A push that ends at once may bring in the next, which comes here again.
        guard !isDirect, !isDraining else { return }
        isDraining = true
        while !isPaused, pool.hasRoom, throttle.admits(now: loop.now), !isFull(),
            let entry = waiting.popNext(now: loop.now)
        {
            if let end = entry.job.endBeforeSending(now: loop.now) {
                entry.job.finish(end, status: 0)
                continue
            }
            throttle.noteSent(now: loop.now)
            entry.job.takeTurn()
        }
        isDraining = false
        update()
    }

    /// Whether something waits and no more may be under way.
    private func isFull() -> Bool {
        !streams.isFree && !waiting.isEmpty && !streams.admits(beside: pool.inFlightCount)
    }

    /// Sees to it that somebody comes back for what waits.
    private func update() {
        isDirect = waiting.isEmpty && !isPaused && throttle.isFree && streams.isFree
        let opens = throttle.opens(now: loop.now)
        // A channel that may not send needs no connections.
        pool.waitingOutside = isPaused || opens != nil || isFull() ? 0 : waiting.count
        if let opens, !turnTimer.isSet { turnTimer.set(at: opens) { [weak self] in self?.drain() } }
        if waiting.isEmpty, mostWaiting > 0 {
            if mostWaiting >= Self.backlog { pool.returnMemorySoon() }
            mostWaiting = 0
        }
    }

    // MARK: Holding

    /// The provider wants no pushes for so many milliseconds: what cannot wait so long ends now.
    func hold(_ pause: Int64) {
        let before = throttle.heldUntil(now: loop.now)
        throttle.held(for: pause, now: loop.now)
        isDirect = false
        turnTimer.cancel()
        // The answers of a wave come by the thousand, and a hundred thousand pushes may wait: the first has told all.
        if let end = throttle.heldUntil(now: loop.now), end != before {
            finish({ $0.deadline <= end }, Verdict(.throttled, reason: "ProviderAsksToWait"))
        }
        update()
    }

    private func noteAnswers(_ count: Int, _ fastest: Int64) {
        throttle.answered(count, now: loop.now)
        let hasChanged = streams.answered(count, after: fastest, underWay: pool.inFlightCount, now: loop.now)
        guard hasChanged || isDirect && !throttle.isFree else { return }
        isDirect = false
        turnTimer.cancel()
        update()
    }

    /// The provider did not take a push; `isQuota`: it had too many of them.
    func noteRefusal(isQuota: Bool) { throttle.refused(isQuota: isQuota) }

    /// Keeps a push whose turn had come until `resume()`, and all that come after it.
    func park(_ job: PushJob) {
        isPaused = true
        isDirect = false
        waiting.putBack(
            Entry(job: job, deadline: job.deadline), PushPriority(of: job.content.event),
            askedAt: job.startedAt / 1000, deadline: job.deadline)
        mostWaiting = max(mostWaiting, waiting.count)
        sweep(by: job.deadline)
        update()
    }

    /// Nothing leaves until `resume()`.
    func pause() {
        isPaused = true
        update()
    }

    /// What the channel lacked is there, or will not come.
    func resume() {
        isPaused = false
        update()
        drain()
    }

    /// Runs the action at `time`, unless the push has ended; until then it takes a place. False when there is none.
    func pause(_ job: PushJob, until time: Int64, _ action: @escaping () -> Void) -> Bool {
        guard fill < 100 else { return false }
        paused[job.id] = job
        loop.schedule(at: time) { [self] in
            guard paused.removeValue(forKey: job.id) != nil else { return }
            action()
        }
        return true
    }

    // MARK: Ending

    /// Ends all that wait.
    func endAll(_ verdict: Verdict) { finish({ _ in true }, verdict) }

    /// Ends all that waits, pauses or is under way, and the connections.
    func close(_ verdict: Verdict) {
        endAll(verdict)
        let jobs = paused.values
        paused = [:]
        for job in jobs { job.finish(verdict, status: 0) }
        pool.close()
    }

    /// No connection can be had before `time`.
    private func fail(before time: Int64, _ reason: String) {
        finish({ $0.deadline <= time }, unreachable(reason))
        let isUnreachable = pool.failuresInARow >= Self.failuresOfUnreachable
        for entry in waiting.elements {
            entry.job.noteRetry()
            if isUnreachable { entry.job.noteUnreachable() }
        }
    }

    /// How a push ends that had no connection: with the certificate refused none can help but the operator.
    private func unreachable(_ reason: String) -> Verdict {
        Verdict(pool.isRefused ? .misconfigured : .unavailable, reason: reason)
    }

    private func finish(_ matches: (Entry) -> Bool, _ verdict: Verdict) {
        guard !waiting.isEmpty else { return }
        let entries = waiting.removeAll(where: matches)
        update()
        for entry in entries { entry.job.finish(verdict, status: 0) }
    }

    /// Looks for pushes that are over, soon: a call has ended.
    func sweepSoon() { if !waiting.isEmpty { sweep(by: loop.now) } }

    private func sweep(by deadline: Int64) {
        sweepTimer.set(noLaterThan: max(deadline, loop.now + Self.sweepPause)) { [weak self] in self?.sweep() }
    }

    private func sweep() {
        let now = loop.now
        var next = Int64.max
        let over = waiting.removeAll { entry in
            if entry.deadline <= now || entry.job.isCancelled { return true }
            next = min(next, entry.deadline)
            return false
        }
        update()
        if next < .max { sweep(by: next) }
        for entry in over {
            guard let end = entry.job.endBeforeSending(now: now) else { continue }
            let isUnreachable = end == .deadlinePassed && !pool.lastProblem.isEmpty
            entry.job.finish(isUnreachable ? unreachable(pool.lastProblem) : end, status: 0)
        }
    }
}

/// The queues of all channels, for what is to be known of them together. Channels come and go; it keeps none alive.
final class ChannelQueues {
    private struct Place {
        weak var queue: ChannelQueue?
    }

    /// Pushes that may wait in each.
    let capacity: Int
    private var places: [Place] = []

    init(capacity: Int) { self.capacity = capacity }

    /// Makes the queue in front of a pool; `share` is which part of the capacity it has.
    func make(_ pool: HTTPConnectionPool, share: Int, isCounted: Bool = true, loop: Loop) -> ChannelQueue {
        let queue = ChannelQueue(pool: pool, capacity: max(1, capacity / max(1, share)), loop: loop)
        guard isCounted else { return queue }
        places.removeAll { $0.queue == nil }
        places.append(Place(queue: queue))
        return queue
    }

    /// Ends all pushes.
    func close(_ verdict: Verdict) { for place in places { place.queue?.close(verdict) } }

    /// How full the fullest is, in parts of 100.
    var fill: Int { places.reduce(0) { max($0, $1.queue?.fill ?? 0) } }
    /// Pushes that wait.
    var waiting: Int { places.reduce(0) { $0 + ($1.queue?.count ?? 0) } }
    /// Pushes without an answer.
    var inFlight: Int { places.reduce(0) { $0 + ($1.queue?.inFlight ?? 0) } }
    /// Queues that are backed off.
    var held: Int { places.count { $0.queue?.isHeld ?? false } }
}
