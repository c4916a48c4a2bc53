// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem

/// Measures how busy the engine is, four times a second.
final class LoadWatch {
    /// Milliseconds between two samples.
    private static let pause: Int64 = 250

    private(set) var meter = LoadMeter()
    private let delivery: Delivery
    private let loop: Loop
    private let log: EngineLog
    private var sampledAt: Int64 = 0
    private var cpu: Int64 = 0

    init(delivery: Delivery, log: EngineLog) {
        self.delivery = delivery
        self.log = log
        loop = delivery.loop
    }

    /// Begins to measure; goes on as long as this object lives.
    func start() {
        loop.updateTime()
        sampledAt = SystemClock.monotonicMicroseconds()
        cpu = SystemClock.processMicroseconds()
        next()
    }

    private func next() {
        let due = loop.now + Self.pause
        loop.schedule(at: due) { [weak self] in
            self?.sample(due: due)
            self?.next()
        }
    }

    private func sample(due: Int64) {
        let now = SystemClock.monotonicMicroseconds()
        let cpuNow = SystemClock.processMicroseconds()
        defer { (sampledAt, cpu) = (now, cpuNow) }
        let sample = LoadSample(
            queueFill: delivery.queues.fill, lag: max(0, now / 1000 - due),
            cpu: Int((cpuNow - cpu) * 100 / max(now - sampledAt, 1)))
        let old = meter.level
        guard meter.note(sample, now: now / 1000) else { return }
        // Up is worth a line, and so is calm; each step down is not.
        guard meter.level > old || meter.level == .low else { return }
        log(
            meter.level >= .veryHigh ? .warning : .info,
            "load level \(meter.level.rawValue): queue \(sample.queueFill) %, \(sample.lag) ms late, CPU \(sample.cpu) %"
        )
    }
}
