// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// One push on its way to one token, from the request to the outcome.
final class PushJob {
    let id: UInt64
    /// Name of the push at the provider; the same in every attempt.
    let pushID: PushID
    let binding: Binding
    let content: PushContent
    /// For Apple: the kind of push; nil for the others.
    let type: APNsPushType?
    /// Monotonic milliseconds after which the push is of no use.
    let deadline: Int64
    /// Monotonic microseconds at which it was asked for.
    let startedAt: Int64
    /// The lane that took it; nil until one has.
    var lane: (any ProviderLane)?
    var attempts = 0
    var renewals = 0
    /// The call is over: drop it where that is still possible.
    var isCancelled = false
    private let completion: (PushJob, Verdict, Int) -> Void
    private var isFinished = false

    /// `completion` runs once, with the final verdict and the HTTP status (0 when no answer came).
    init(
        id: UInt64, pushID: PushID, binding: Binding, content: PushContent, type: APNsPushType?, deadline: Int64,
        startedAt: Int64, completion: @escaping (PushJob, Verdict, Int) -> Void
    ) {
        self.id = id
        self.pushID = pushID
        self.binding = binding
        self.content = content
        self.type = type
        self.deadline = deadline
        self.startedAt = startedAt
        self.completion = completion
    }

    /// Ends the push; a second end is ignored, so that no path can report it twice.
    func finish(_ verdict: Verdict, status: Int) {
        guard !isFinished else { return }
        isFinished = true
        completion(self, verdict, status)
    }
}
