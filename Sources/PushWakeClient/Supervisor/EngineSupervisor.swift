// SPDX-License-Identifier: MIT

public import PushWakeCore
internal import PushWakeSystem

/// Keeps an engine running and brings its events to the PBX.
///
/// The engine is a child by exec of the process that owns this object, so that whatever happens to
/// it never ends the PBX. It gets its settings over standard input, and ends when that is closed:
/// no engine outlives its PBX.
public final class EngineSupervisor {
    private let settings: Settings
    private let host: UInt64
    private let onResult: ((PushResult) -> Void)?
    private let onVerbs: (MessageReader) -> Void
    private let onEngine: () -> Void
    private let onUpstream: ((MessageReader) -> Void)?
    private let onLog: (LogLevel, String) -> Void
    private let log: EngineLog
    private let members = DescriptorSet()
    private let client: EngineClient
    private var child: ChildProcess?
    private var policy = RestartPolicy()
    private var startAt: Int64 = 0
    private var subscribeAt: Int64 = 0
    private var isSubscribed = false
    private var silence = SilenceWatch()
    private var hasLogged = false
    /// The log says that no engine is there, so that it must say when one is.
    private var isMissed = false
    /// Milliseconds that an engine may take to answer before its silence is logged: somebody else's, or one of our own,
    /// which may have a large store to open.
    var grace: Int64
    /// What the engine that runs now has called an error last.
    private var lastError = ""
    /// Since when nobody answers.
    private var lostAt: Int64?
    /// Asks over the same connection, and hears of all that comes.
    private weak var legs: LegService?

    /// Starts nothing yet: the first `process()` does. `host` names the processes of this PBX; verbs for the requests
    /// that they hold come to `onVerbs`, orders of the gateway to `onUpstream` where it executes them. `onEngine` runs whenever an engine answers anew.
    public init(
        settings: Settings, host: UInt64 = 0, onResult: ((PushResult) -> Void)?,
        onVerbs: @escaping (MessageReader) -> Void = { _ in }, onEngine: @escaping () -> Void = {},
        onUpstream: ((MessageReader) -> Void)? = nil,
        onLog: @escaping (LogLevel, String) -> Void
    ) {
        self.settings = settings
        self.host = host
        self.onResult = onResult
        self.onVerbs = onVerbs
        self.onEngine = onEngine
        self.onUpstream = onUpstream
        self.onLog = onLog
        log = EngineLog(threshold: LogLevel(name: settings.text(.logLevel)), write: onLog)
        client = EngineClient(settings: settings)
        grace = settings.text(.engineMode) == "supervised" ? 5000 : 2000
    }

    /// Poll this for reading.
    public var descriptor: Int32 { members.descriptor }

    /// Process id of the engine, or 0.
    public var enginePID: Int32 { child?.pid ?? 0 }

    private var isSupervised: Bool { settings.text(.engineMode) == "supervised" }

    /// Milliseconds until `process()` must run again, -1 for no limit.
    public func timeoutMilliseconds() -> Int32 {
        let now = SystemClock.monotonicMilliseconds()
        var next = Int64.max
        if isSupervised && child == nil { next = startAt }
        if !isSubscribed && (child != nil || !isSupervised) { next = min(next, subscribeAt) }
        if child != nil { next = min(next, silence.nextAt) }
        // A kernel without pidfd: look now and then.
        if let child, child.exitDescriptor < 0 { next = min(next, now + 200) }
        return next == .max ? -1 : Int32(clamping: max(0, next &- now))
    }

    /// Does what can be done without waiting.
    public func process() {
        let now = SystemClock.monotonicMilliseconds()
        let ready = members.ready()
        // A kernel without pidfd: look every time.
        if let child,
            child.exitDescriptor < 0 || ready.contains(child.exitDescriptor) || ready.contains(child.errorDescriptor)
        {
            collectChild(now)
        }
        if let child, child.hasUnwritten { writeOn(child) }
        if isSupervised && child == nil && now >= startAt { start(now) }
        if !isSubscribed && now >= subscribeAt && (child != nil || !isSupervised) { subscribe(now) }
        if isSubscribed && ready.contains(client.descriptor) { deliver(now) }
        // ORDER: last, since what has come meanwhile is a sign of life, however late this process looks.
        switch silence.act(now: now) {
        case .nothing: break
        case .ask: askAgain()
        case .end: endHungEngine()
        }
    }

    /// Lets waiting legs ask over this connection, in place of those before.
    package func serve(_ legs: LegService) {
        self.legs = legs
        legs.follow { [weak self] in self?.client.postOn($0) ?? false }
        if isSubscribed { legs.engineCame(host: host) }
    }

    /// Ends the engine: asks, waits at most two seconds, then kills.
    public func stop() {
        legs?.engineLeft()
        client.disconnect()
        if isSupervised { EngineAbsence.clear(at: settings.text(.engineSocket)) }
        child?.stop(milliseconds: 2000)
        child?.takeLines().forEach(log)
        child = nil
    }

    private func start(_ now: Int64) {
        policy.started(now: now)
        do throws(ChildProcess.Failure) {
            let started = try ChildProcess.start(
                settings.text(.enginePath), arguments: ["engine", "--supervised"] + Self.library())
            started.write(settings.lines() + "\n")
            if started.hasUnwritten { members.add(started.inputDescriptor, for: .writable) }
            members.add(started.exitDescriptor)
            members.add(started.errorDescriptor)
            child = started
            hasLogged = false
            lastError = ""
            lostAt = nil
            subscribeAt = now + 20
        } catch {
            if !hasLogged { onLog(.error, error.message) }
            EngineAbsence.note(error.message, at: settings.text(.engineSocket))
            (hasLogged, isMissed) = (true, true)
            startAt = now + policy.died(now: now)
        }
    }

    /// The engine runs from the file that the PBX has loaded: no second version, and the pages are shared.
    static func library() -> [String] {
        guard let file = ChildProcess.ownFile, file.split(separator: "/").last?.hasPrefix("libpushwake.so") == true
        else { return [] }
        return ["--library", file]
    }

    /// Settings with many accounts are more than the child takes at once.
    private func writeOn(_ child: ChildProcess) {
        child.writeOn()
        if !child.hasUnwritten { members.remove(child.inputDescriptor) }
    }

    private func collectChild(_ now: Int64) {
        guard let running = child else { return }
        running.takeLines().forEach(log)
        guard let end = running.takeEnd() else { return }
        running.takeLines().forEach(log)
        unsubscribe()
        if running.hasUnwritten { members.remove(running.inputDescriptor) }
        members.remove(running.exitDescriptor)
        members.remove(running.errorDescriptor)
        child = nil
        let delay = policy.died(now: now)
        startAt = now + delay
        isMissed = true
        EngineAbsence.note(
            lastError.isEmpty ? "it ended (\(end))" : lastError, at: settings.text(.engineSocket))
        onLog(.error, "the engine ended (\(end)); starting it again in \(delay) ms; calls go on without push")
    }

    private func subscribe(_ now: Int64) {
        beginSubscribing(waits: true)
        do throws(ClientError) {
            // Patient by itself: it asks seldom, and no request of the PBX waits behind it.
            _ = try client.call(milliseconds: settings.integer(.engineTimeout))
            isSubscribed = true
            members.add(client.descriptor)
            noteAnswer()
            if isSupervised { silence.heard(now: now) }
            onEngine()
            legs?.engineCame(host: host)
        } catch {
            client.disconnect()
            subscribeAt = now + (isSupervised ? 50 : 500)
            noteAbsence(now, error)
        }
    }

    private func beginSubscribing(waits: Bool) {
        client.begin(.subscribe, waits: waits)
        client.put(.host, Int64(bitPattern: host))
        if onUpstream != nil { client.put(.sendsUpstream, 1) }
    }

    /// Asks a silent engine for a sign of life, without waiting for it.
    private func askAgain() {
        beginSubscribing(waits: false)
        // One that has not read what it was asked before takes no more.
        try? client.post()
    }

    private func endHungEngine() {
        onLog(
            .error,
            "the engine (process \(enginePID)) has not answered for \(SilenceWatch.limit / 1000) s; it is ended, and started again"
        )
        child?.end()
    }

    private func noteAnswer() {
        if isMissed { onLog(.notice, "the engine answers") }
        if isSupervised { EngineAbsence.clear(at: settings.text(.engineSocket)) }
        (hasLogged, isMissed) = (false, false)
        lostAt = nil
    }

    /// One of our own that ends says itself why; one that runs and is silent says nothing.
    private func noteAbsence(_ now: Int64, _ error: ClientError) {
        guard !hasLogged else { return }
        let since = lostAt ?? now
        lostAt = since
        guard now - since >= grace else { return }
        (hasLogged, isMissed) = (true, true)
        let what = if case .unavailable(let text) = error { text } else { "it is silent" }
        onLog(
            .warning,
            isSupervised
                ? "the engine (process \(enginePID)) runs, but has not answered for \(grace) ms: \(what); "
                    + "calls go on without push until it does"
                : "no engine answers: \(what); start `pushwake engine`, or set engine_socket; calls go on without push")
    }

    private func unsubscribe() {
        members.remove(client.descriptor)
        client.disconnect()
        if isSubscribed { legs?.engineLeft() }
        isSubscribed = false
        silence = SilenceWatch()
    }

    /// Hands on what has come, a bounded number per turn so that the log is not starved.
    private func deliver(_ now: Int64) {
        do throws(ClientError) {
            for _ in 0..<256 {
                guard let message = try client.nextEvent() else { return }
                if isSupervised { silence.heard(now: now) }
                legs?.receive(message)
                switch message.kind {
                case .result:
                    onResult?(PushResult(decoding: message))
                    // Verbs that come of it are in the same message.
                    onVerbs(message)
                case .verbs: onVerbs(message)
                case .upstream: onUpstream?(message)
                default: break
                }
            }
        } catch {
            unsubscribe()
            subscribeAt = now + 50
        }
    }

    private func log(_ line: String) {
        let (level, text) = LogLevel.parse(line: line)
        if level == .error { lastError = text }
        onLog(level, text)
    }
}

/// When an engine that has answered counts as hung. Times are monotonic milliseconds.
///
///     heard --10 s--> asked --10 s--> asked --10 s--> asked --10 s--> hung
///       ^               |               |               |
///       +-----------------any message of the engine-----+
///
/// Questions are counted and not only time, so that nobody ends an engine because the watching process stood still.
struct SilenceWatch: Equatable {
    enum Action: Equatable { case nothing, ask, end }

    private static let pause: Int64 = 10_000
    private static let questions = 3
    /// Milliseconds of silence after which an engine hangs.
    static let limit = pause * Int64(questions + 1)

    /// When `act` must be called at the latest; `.max` while nobody is watched.
    private(set) var nextAt = Int64.max
    private var asked = 0

    mutating func heard(now: Int64) {
        asked = 0
        nextAt = now &+ Self.pause
    }

    mutating func act(now: Int64) -> Action {
        guard now >= nextAt else { return .nothing }
        guard asked < Self.questions else {
            self = SilenceWatch()
            return .end
        }
        asked += 1
        nextAt = now &+ Self.pause
        return .ask
    }
}

/// When an engine that died is started again.
///
///     1st death   after 200 ms
///     2nd         after 400 ms, then 0.8, 1.6, ... at most 10 s
///     lived 10 s  counts as healthy: the next death is a first one
struct RestartPolicy: Equatable {
    private var backoff = Backoff(first: 200, cap: 10_000)
    private var startedAt: Int64 = 0

    mutating func started(now: Int64) { startedAt = now }

    /// Milliseconds to wait before the next start.
    mutating func died(now: Int64) -> Int64 {
        if now &- startedAt >= 10_000 { backoff.reset() }
        return backoff.next()
    }
}
