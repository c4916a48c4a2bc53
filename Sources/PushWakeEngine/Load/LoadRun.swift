// SPDX-License-Identifier: MIT

internal import PushWakeClient
public import PushWakeCore
internal import PushWakeSystem

/// Sends many pushes through the real delivery path, a fixed number at a time, and measures.
///
/// Each push goes to a token of its own and is rendered, signed for, queued, sent and read as a push of
/// the engine is; only the store and the PBX are missing.
public final class LoadRun {
    private let loop: Loop
    private let delivery: Delivery
    private let provider: Provider
    private let count: Int
    private let concurrency: Int
    /// Where a push goes; the others have tokens of their own.
    private let target: Binding
    /// Token and Call-ID are each push's own: sixteen digits from the fourth byte on, and from the fifth.
    private var token: [UInt8]
    private var callID = Array("load-0000000000000000@127.0.0.1".utf8)
    private var started = 0
    private var running = 0
    private var isRefillPending = false
    private var latencies: [Int32] = []
    private var report = LoadReport()

    /// `settings` name key, URL and CA as for the engine.
    public init(
        settings: Settings, provider: Provider, count: Int, concurrency: Int, connections: Int
    ) throws(EngineFailure) {
        do throws(SystemError) {
            loop = try Loop()
        } catch {
            throw EngineFailure(message: "\(error)")
        }
        self.provider = provider
        let shape =
            provider == .apns
            ? "00fc0000000000000000ff78512e5d1d7d3b9c1a6e2f4b8097c3a5d6e7f80912"
            : "fGx-0000000000000000:APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx_kcxT3n9hJ7oK2lB5dQwErTyUiOpAsDfGhJkLzXcVbNm"
        token = Array(shape.utf8)
        target = Self.binding(provider, token: shape)
        self.count = count
        self.concurrency = concurrency
        delivery = Delivery(
            settings: settings, loop: loop, log: EngineLog(threshold: .error) { _, _ in }, connections: connections)
        let problems = delivery.open()
        if !delivery.canPush(target) {
            throw EngineFailure(message: problems.first ?? "\(provider.name) is not set up")
        }
        latencies.reserveCapacity(count)
        HeapReserve.fill()
    }

    /// Runs to the end. What it measures begins when a connection stands, or cannot be had. `onProgress` hears a few
    /// times a second how many have ended.
    public func run(onProgress: ((Int) -> Void)? = nil) -> LoadReport {
        let deadline = SystemClock.monotonicMilliseconds() + 5000
        while !delivery.hasRoom(for: target), delivery.isHealthy(for: target, type),
            SystemClock.monotonicMilliseconds() < deadline
        {
            loop.turn(waitingUpTo: 100)
        }
        let cpu = SystemClock.processMicroseconds()
        let begin = SystemClock.monotonicMicroseconds()
        refillSoon()
        if let onProgress { tell(onProgress) }
        loop.run()
        let wall = SystemClock.monotonicMicroseconds() - begin
        report.count = count
        report.seconds = Double(wall) / 1e6
        report.microsecondsPerPush = Double(SystemClock.processMicroseconds() - cpu) / Double(max(count, 1))
        latencies.sort()
        report.medianMilliseconds = percentile(50)
        report.p99Milliseconds = percentile(99)
        return report
    }

    private func tell(_ onProgress: @escaping (Int) -> Void) {
        loop.schedule(after: 100) { [weak self] in
            guard let self else { return }
            onProgress(latencies.count)
            tell(onProgress)
        }
    }

    private func percentile(_ percent: Int) -> Double {
        guard !latencies.isEmpty else { return 0 }
        return Double(latencies[min(latencies.count - 1, latencies.count * percent / 100)]) / 1000
    }

    private func refillSoon() {
        guard !isRefillPending else { return }
        isRefillPending = true
        loop.atEndOfTurn { [self] in
            isRefillPending = false
            while running < concurrency && started < count && !hasOnlyFailures { startNext() }
            if running == 0 && (started == count || hasOnlyFailures) { loop.stop() }
        }
    }

    private func startNext() {
        let index = started
        started += 1
        running += 1
        if index > 0 {
            Self.count(in: &token, at: 4)
            Self.count(in: &callID, at: 5)
        }
        let push = Push(
            Self.binding(provider, token: Self.text(&token)),
            PushContent(
                event: .call, callID: Self.text(&callID), fromURI: "sip:alice@example.com",
                fromDisplay: "Alice Example", toURI: "sip:bob@example.com", timeToLive: 40, sentAt: loop.wallSeconds),
            type: type, deadline: loop.now + 15_000)
        delivery.push(push, owner: self)
    }

    private var type: APNsPushType? { provider == .apns ? .voip : nil }

    /// Nobody answers at all: there is nothing to measure.
    private var hasOnlyFailures: Bool { report.accepted == 0 && report.failed > 0 }

    private func count(_ verdict: Verdict) {
        switch verdict.outcome {
        case .accepted: report.accepted += 1
        case .tokenGone, .rejected, .misconfigured: report.rejected += 1
        case .throttled, .unavailable, .expired, .overloaded: report.failed += 1
        }
        if verdict.outcome != .accepted && report.firstReason.isEmpty {
            report.firstReason = "\(verdict.outcome.name) \(verdict.reason)"
        }
    }

    private static func binding(_ provider: Provider, token: String) -> Binding {
        Binding(
            aor: "load", provider: provider, app: "com.example.phone", service: provider == .apns ? .voip : nil,
            token: token, dialect: .rfc8599)
    }

    /// `inout` and not changed: nobody else can change it then, and no reference is counted.
    private static func text(_ bytes: inout [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// Makes a number of sixteen hexadecimal digits one more.
    private static func count(in text: inout [UInt8], at start: Int) {
        var digits = text.mutableSpan
        guard digits.count >= start + 16 else { return }
        for position in stride(from: start + 15, through: start, by: -1) {
            let digit = digits[position]
            digits[position] = digit == 0x39 ? 0x61 : digit == 0x66 ? 0x30 : digit &+ 1
            if digit != 0x66 { return }
        }
    }
}

/// What a load run measured.
public struct LoadReport: Equatable, Sendable {
    /// Pushes that were asked for.
    public var count = 0
    /// The provider took them.
    public var accepted = 0
    /// The provider said no.
    public var rejected = 0
    /// No usable answer came.
    public var failed = 0
    /// From the first push to the last outcome.
    public var seconds = 0.0
    /// CPU time of this process, user and system, per push.
    public var microsecondsPerPush = 0.0
    /// From a push to its outcome.
    public var medianMilliseconds = 0.0
    /// What 99 of 100 pushes stay below.
    public var p99Milliseconds = 0.0
    /// The first reason for which a push was not accepted.
    public var firstReason = ""
}

extension LoadRun: PushOwner {
    func ended(_ job: PushJob, _ verdict: Verdict, status: Int) {
        running -= 1
        latencies.append(Int32(clamping: loop.microseconds - job.startedAt))
        count(verdict)
        refillSoon()
    }
}
