// SPDX-License-Identifier: MIT

import PushWakeCore

@testable import PushWakeEngine

/// Hears in a closure how a push ends.
final class PushCompletion: PushOwner {
    private let body: (PushJob, Verdict, Int) -> Void

    init(_ body: @escaping (PushJob, Verdict, Int) -> Void) { self.body = body }

    func ended(_ job: PushJob, _ verdict: Verdict, status: Int) { body(job, verdict, status) }
}

extension Delivery {
    @discardableResult
    func push(
        _ push: Push, refusal: Verdict? = nil, completion: @escaping (PushJob, Verdict, Int) -> Void
    ) -> PushJob {
        self.push(push, owner: PushCompletion(completion), refusal: refusal)
    }
}

extension PushJob {
    /// One that no delivery counts.
    convenience init(_ push: Push, completion: @escaping (PushJob, Verdict, Int) -> Void = { _, _, _ in }) {
        self.init(
            id: 1, pushID: PushID(high: 1, low: 1), push: push, startedAt: 0, owner: PushCompletion(completion))
    }
}
