// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// The way to one provider with one credential: an Apple environment and key, a Google project.
protocol ProviderLane: AnyObject {
    /// For logs: `apns production`, `fcm my-project`.
    var label: String { get }

    /// Rests the credential after many failures in a row.
    var breaker: Breaker { get set }

    /// False after a connection could not be made and until one is: calls should not rely on a push then.
    var isHealthy: Bool { get }

    /// Where its pushes wait; nil when it has no connections.
    var queue: LaneQueue? { get }

    /// Connects, and fetches what a push needs, before the first push does.
    func warmUp()

    /// Another lane takes its place: what was submitted is still finished, then the connections end.
    func retire()

    /// Sends a push; it is finished sooner or later, whatever happens.
    func submit(_ job: PushJob)

    /// Sends a push whose turn has come.
    func send(_ job: PushJob)

    /// Writes the request of a push, now that a stream is free for it.
    func write(_ job: PushJob, into request: inout HTTPRequest) throws(PushRefusal)

    /// Goes on as the end of an attempt says.
    func ended(_ job: PushJob, _ result: HTTPResult)
}
