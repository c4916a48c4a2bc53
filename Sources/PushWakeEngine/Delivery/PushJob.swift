// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// One push on its way to one token, from the request to the outcome.
final class PushJob: HTTPExchange {
    let id: UInt64
    /// Name of the push at the provider; the same in every attempt.
    let pushID: PushID
    let push: Push
    /// For Apple: the kind of push; nil for the others.
    let type: APNsPushType?
    /// Monotonic microseconds at which it was asked for.
    let startedAt: Int64
    /// The lane that took it; nil until one has.
    var lane: (any ProviderLane)?
    var attempts = 0
    var renewals = 0
    /// The last one: it says more than that the time is over.
    var failedAttempt: FailedAttempt?
    /// The call is over: drop it where that is still possible.
    var isCancelled = false
    /// Runs once, when the push could not go at the first try and is tried again.
    var onRetry: (() -> Void)?
    /// Which of its lane's credentials the last request carried.
    var generation: UInt32 = 0
    /// Nil where nobody counts pushes or changes lanes.
    let delivery: Delivery?
    private let completion: (PushJob, Verdict, Int) -> Void
    private var isFinished = false

    /// `completion` runs once, with the final verdict and the HTTP status (0 when no answer came), after
    /// `delivery` has heard of it. The push is of no use after `deadline`, monotonic milliseconds.
    init(
        id: UInt64, pushID: PushID, push: Push, type: APNsPushType?, deadline: Int64,
        startedAt: Int64, delivery: Delivery? = nil, completion: @escaping (PushJob, Verdict, Int) -> Void
    ) {
        self.id = id
        self.pushID = pushID
        self.push = push
        self.type = type
        self.startedAt = startedAt
        self.delivery = delivery
        self.completion = completion
        super.init(deadline: deadline)
    }

    var binding: Binding { push.binding }
    var content: PushContent { push.content }

    /// Goes on after it waited.
    func takeTurn() {
        guard let lane else { return finish(Verdict(.unavailable, reason: "NoLane"), status: 0) }
        lane.send(self)
    }

    override func write(into request: inout HTTPRequest) throws(PushRefusal) {
        guard let lane, !isCancelled else { throw .callOver }
        try lane.write(self, into: &request)
    }

    /// A phone that knows the call already ignores the second copy, while a message would be shown twice. Apple's phones
    /// fold notifications with one collapse id, which all have; PushKit makes one call of a Call-ID's pushes, and a call
    /// of anything else.
    override var isRepeatable: Bool {
        switch (content.event, type) {
        case (.call, _), (.cancel, _), (.refresh, _), (_, .alert): true
        case (_, .voip), (_, .background): false
        case (.missed, _), (.answeredElsewhere, _), (.voicemail, _), (.refer, _): true
        case (.chat, _), (.custom, _), (.groupChat, _): false
        }
    }

    override func ended(_ result: HTTPResult) {
        guard let lane else { return finish(result.verdict(isRepeatable: false), status: 0) }
        lane.ended(self, result)
    }

    /// An attempt failed, or there is no connection for one, and another will follow.
    func noteRetry() {
        let onRetry = self.onRetry
        self.onRetry = nil
        onRetry?()
    }

    /// Ends the push; a second end is ignored, so that no path can report it twice.
    func finish(_ verdict: Verdict, status: Int) {
        guard !isFinished else { return }
        isFinished = true
        onRetry = nil
        var (verdict, status) = (verdict, status)
        if let failedAttempt, verdict == .deadlinePassed {
            (verdict, status) = (failedAttempt.verdict, failedAttempt.status)
        }
        delivery?.ended(self, verdict)
        completion(self, verdict, status)
    }
}
