// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

extension PushJob {
    /// The verdict when there is no use in sending any more; nil when there is.
    func endBeforeSending(now: Int64) -> Verdict? {
        if isCancelled { return Verdict(.expired, reason: "CallOver") }
        return now >= deadline ? .deadlinePassed : nil
    }

    /// Goes on as the verdict of an attempt says: ends here, or back to the lane now or later.
    func conclude(_ verdict: Verdict, status: Int, on lane: any ProviderLane, _ loop: Loop) {
        if verdict.next == .finish { return finish(verdict, status: status) }
        if delivery?.hasEnded == true { return finish(.engineEnds, status: 0) }
        switch verdict.next {
        case .hold(let pause): lane.queue?.hold(pause)
        case .slow: lane.queue?.slow()
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
            guard let queue = lane.queue, queue.pause(self, until: time, { self.goOn(from: lane) }) else {
                return finish(verdict, status: status)
            }
            noteRetry()
        case .renewCredential:
            renewals += 1
            goOn(from: lane)
        }
    }

    /// Back to its lane, or to the one that has taken that one's place: a new key may be what the push needs.
    private func goOn(from lane: any ProviderLane) {
        guard let delivery else { return lane.submit(self) }
        delivery.resubmit(self, from: lane)
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
        case .lost(let text):
            Verdict(.unavailable, reason: text, next: isRepeatable ? .retry(after: Self.pause) : .finish)
        case .unreachable(let text): Verdict(.unavailable, reason: text, next: .retry(after: Self.pause))
        case .notAdmitted(let text): Verdict(.misconfigured, reason: text)
        case .expired: .deadlinePassed
        case .refused(let refusal): refusal.verdict
        }
    }
}
