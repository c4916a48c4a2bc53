// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// A lane with connections and a queue of its own: all but those that only refuse.
protocol PooledLane: ProviderLane {
    var pool: ProviderPool { get }
    var loop: Loop { get }
}

extension PooledLane {
    var queue: LaneQueue? { pool.queue }

    var isHealthy: Bool { pool.isHealthy }

    func warmUp() { pool.warmUp() }

    func retire() { pool.windDown() }

    func submit(_ job: PushJob) {
        if let end = job.endBeforeSending(now: loop.now) { return job.finish(end, status: 0) }
        guard pool.queue.admits(job) else { return }
        send(job)
    }

    func send(_ job: PushJob) {
        job.attempts += 1
        pool.send(job)
    }
}
