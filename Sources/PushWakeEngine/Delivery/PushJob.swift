// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// Who has asked for a push, and hears what becomes of it.
protocol PushOwner: AnyObject {
    /// Runs once, with the final verdict and the HTTP status (0 when no answer came), after `Delivery` has heard of it.
    func ended(_ job: PushJob, _ verdict: Verdict, status: Int)

    /// It could not go at this try, and another will follow.
    func retried(_ job: PushJob)

    /// Its provider could not be reached several times in a row, and attempts go on.
    func unreachable(_ job: PushJob)
}

extension PushOwner {
    func retried(_ job: PushJob) {}
    func unreachable(_ job: PushJob) {}
}

/// One push on its way to one token, from the request to the outcome.
final class PushJob: HTTPExchange {
    let id: UInt64
    /// Name of the push at the provider; the same in every attempt.
    let pushID: PushID
    let push: Push
    /// Monotonic microseconds at which it was asked for.
    let startedAt: Int64
    /// The channel that took it; nil until one has.
    var channel: (any ProviderChannel)?
    var attempts = 0
    var renewals = 0
    /// The last one: it says more than that the time is over.
    var failedAttempt: FailedAttempt?
    /// The call is over: drop it where that is still possible.
    var isCancelled = false
    /// Monotonic microseconds at which its request was written first; 0 before, and where nobody wants to know.
    private(set) var writtenAt: Int64 = 0
    /// Which of its channel's credentials the last request carried.
    var generation: UInt32 = 0
    /// Nil where nobody counts pushes or changes channels.
    let delivery: Delivery?
    private let owner: any PushOwner
    private(set) var isFinished = false

    init(
        id: UInt64, pushID: PushID, push: consuming Push, startedAt: Int64, owner: any PushOwner,
        delivery: Delivery? = nil
    ) {
        let deadline = push.deadline
        self.id = id
        self.pushID = pushID
        self.push = push
        self.startedAt = startedAt
        self.owner = owner
        self.delivery = delivery
        super.init(deadline: deadline)
    }

    var binding: Binding { push.binding }
    var content: PushContent { push.content }

    /// Goes on after it waited.
    func takeTurn() {
        guard let channel else { return finish(Verdict(.unavailable, reason: "NoChannel"), status: 0) }
        channel.send(self)
    }

    override func write(into request: inout HTTPRequest) throws(PushFailure) {
        if push.isPrompt, writtenAt == 0 { writtenAt = SystemClock.monotonicMicroseconds() }
        // Taken out for the call, and no reference is counted.
        guard !isCancelled, let channel = self.channel.take() else { throw .callOver }
        defer { self.channel = channel }
        try channel.write(self, into: &request)
    }

    /// A phone that knows the call already ignores the second copy, while a message would be shown twice. Apple's phones
    /// fold notifications with one collapse id, which all have; PushKit makes one call of a Call-ID's pushes, and a call
    /// of anything else.
    override var isRepeatable: Bool {
        switch (content.event, push.type) {
        case (.call, _), (.cancel, _), (.refresh, _), (_, .alert): true
        case (_, .voip), (_, .background): false
        case (.missed, _), (.answeredElsewhere, _), (.voicemail, _), (.refer, _): true
        case (.chat, _), (.custom, _), (.groupChat, _): false
        }
    }

    override func ended(_ result: HTTPResult) {
        // As for `write`: most pushes need no channel any more, and `conclude` gives it back where another attempt follows.
        guard let channel = self.channel.take() else {
            return finish(result.verdict(isRepeatable: false), status: 0)
        }
        channel.ended(self, result)
    }

    /// An attempt failed, or there is no connection for one, and another will follow.
    func noteRetry() { owner.retried(self) }

    /// No connection can be had, and attempts go on.
    func noteUnreachable() { owner.unreachable(self) }

    /// Ends the push; a second end is ignored, so that no path can report it twice.
    func finish(_ verdict: Verdict, status: Int) { finish(verdict, status: status, on: channel) }

    fileprivate func finish(_ verdict: Verdict, status: Int, on channel: (any ProviderChannel)?) {
        guard !isFinished else { return }
        isFinished = true
        var (verdict, status) = (verdict, status)
        if let failedAttempt, verdict == .deadlinePassed {
            (verdict, status) = (failedAttempt.verdict, failedAttempt.status)
        }
        if verdict.outcome != .accepted { verdict = verdict.withoutToken(of: binding) }
        delivery?.ended(self, verdict, on: channel)
        owner.ended(self, verdict, status: status)
    }
}

extension PushJob {
    /// The verdict when there is no use in sending any more; nil when there is.
    func endBeforeSending(now: Int64) -> Verdict? {
        if isCancelled { return Verdict(.expired, reason: "CallOver") }
        return now >= deadline ? .deadlinePassed : nil
    }

    /// Goes on after an attempt that has no answer; with `isRepeatable` where a second copy does no harm.
    func conclude(
        _ result: HTTPResult, isRepeatable: Bool? = nil, on channel: any ProviderChannel, _ loop: Loop
    ) {
        var isRepeatable = isRepeatable ?? self.isRepeatable
        // It has waited there behind our own pushes, and would stand behind more of them.
        if case .unanswered = result, channel.queue.isBounded { isRepeatable = false }
        conclude(result.verdict(isRepeatable: isRepeatable), status: 0, on: channel, loop)
    }

    /// Goes on as the verdict of an attempt says: ends here, or back to the channel now or later.
    func conclude(_ verdict: Verdict, status: Int, on channel: any ProviderChannel, _ loop: Loop) {
        if verdict.next == .finish { return finish(verdict, status: status, on: channel) }
        self.channel = channel
        if delivery?.hasEnded == true { return finish(.engineEnds, status: 0) }
        switch verdict.next {
        case .hold(let pause): channel.queue.hold(pause)
        case .slow: channel.queue.noteRefusal(isQuota: true)
        case .retry where status == 429 || status == 503: channel.queue.noteRefusal(isQuota: false)
        case .finish, .retry, .renewCredential: break
        }
        let step = RetryPolicy().step(
            after: verdict, attempts: attempts, renewals: renewals, now: loop.now, deadline: deadline,
            random: pushID.low)
        failedAttempt = FailedAttempt(verdict, status: status)
        switch step {
        case .finish(let final): finish(final, status: status)
        case .retry(let time):
            // Pauses take places in the queue: a provider out of order must not fill the memory.
            guard channel.queue.pause(self, until: time, { self.goOn(from: channel) }) else {
                return finish(verdict, status: status)
            }
            noteRetry()
        case .renewCredential:
            renewals += 1
            goOn(from: channel)
        }
    }

    /// Back to its channel, or to the one that has taken that one's place: a new key may be what the push needs.
    private func goOn(from channel: any ProviderChannel) {
        guard let delivery else { return channel.submit(self) }
        delivery.resubmit(self, from: channel)
    }
}

extension Verdict {
    /// The push was of no use any more before it could be sent.
    static let deadlinePassed = Verdict(.expired, reason: "DeadlinePassed")
    /// The engine was told to end before the push had.
    static let engineEnds = Verdict(.unavailable, reason: "EngineEnds")
}

extension HTTPResult {
    /// Pause before the next attempt after a connection was lost or could not be made, milliseconds.
    private static let pause: Int64 = 250

    /// What it means that no answer came.
    func verdict(isRepeatable: Bool) -> Verdict {
        switch self {
        case .answered(let response, _): Verdict(.unavailable, reason: "HTTP \(response.status)")
        case .lost(let text), .unanswered(let text):
            Verdict(.unavailable, reason: text, next: isRepeatable ? .retry(after: Self.pause) : .finish)
        case .unreachable(let text): Verdict(.unavailable, reason: text, next: .retry(after: Self.pause))
        case .notAdmitted(let text): Verdict(.misconfigured, reason: text)
        case .expired: .deadlinePassed
        case .refused(let refusal): refusal.verdict
        }
    }
}

/// How an attempt of a push failed when another was to follow. A class, because few pushes have one and all of
/// them would keep room for it.
final class FailedAttempt {
    let verdict: Verdict
    /// HTTP status; 0 when no answer came.
    let status: Int

    init(_ verdict: Verdict, status: Int) {
        self.verdict = verdict
        self.status = status
    }
}
