// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

extension PushJob {
    /// The verdict when there is no use in sending any more; nil when there is.
    func endBeforeSending(now: Int64) -> Verdict? {
        if isCancelled { return Verdict(.expired, reason: "CallOver") }
        return now >= deadline ? Verdict(.expired, reason: "DeadlinePassed") : nil
    }

    /// Goes on as the verdict of an attempt says: ends here, or back to the lane now or later.
    func conclude(_ verdict: Verdict, status: Int, on lane: any ProviderLane, _ loop: Loop) {
        let step = LaneConclusion.step(
            after: verdict, attempts: attempts, renewals: renewals, now: loop.now, deadline: deadline,
            isCancelled: isCancelled)
        switch step {
        case .finish(let final): finish(final, status: status)
        case .retry(let pause): loop.schedule(after: pause) { lane.submit(self) }
        case .renew:
            renewals += 1
            lane.submit(self)
        }
    }
}
