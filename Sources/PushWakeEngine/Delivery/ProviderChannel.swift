// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// The way to one provider with one credential: an Apple environment and key, a Google project.
protocol ProviderChannel: AnyObject {
    /// For logs: `apns production`, `fcm my-project`.
    var label: String { get }

    /// Opens the circuit after many failures in a row.
    var breaker: Breaker { get set }

    /// Its connections, and the queue where its pushes wait.
    var pool: ProviderPool { get }

    var loop: Loop { get }

    /// Why the service gives it no access; empty while it does, and where it never asks for any.
    var refusedAccess: String { get }

    /// False after a connection could not be made and until one is: calls should not rely on a push then.
    var isHealthy: Bool { get }

    /// Connects, and fetches what a push needs, before the first push does.
    func warmUp()

    /// Another channel takes its place: what was submitted is still finished, then the connections end.
    func retire()

    /// Sends a push; it is finished sooner or later, whatever happens.
    func submit(_ job: PushJob)

    /// Sends a push whose turn has come.
    func send(_ job: PushJob)

    /// Writes the request of a push, now that a stream is free for it.
    func write(_ job: PushJob, into request: inout HTTPRequest) throws(PushFailure)

    /// Goes on as the end of an attempt says.
    func ended(_ job: PushJob, _ result: HTTPResult)
}

extension ProviderChannel {
    var refusedAccess: String { "" }

    var queue: ChannelQueue { pool.queue }

    var isHealthy: Bool { pool.isHealthy }

    func warmUp() { pool.warmUp() }

    func retire() { pool.drain() }

    func submit(_ job: PushJob) {
        if let end = job.endBeforeSending(now: loop.now) { return job.finish(end, status: 0) }
        guard pool.admits(job) else { return }
        send(job)
    }

    func send(_ job: PushJob) {
        job.attempts += 1
        pool.send(job)
    }
}

/// Where a push goes that somebody has set up a provider for.
enum ChannelChoice {
    case channel(any ProviderChannel)
    /// Nowhere: this push must not leave, and ends so. Rare, and larger than a channel.
    indirect case noChannel(Verdict)

    /// Nil for a refusal.
    var channel: (any ProviderChannel)? {
        guard case .channel(let channel) = self else { return nil }
        return channel
    }
}
