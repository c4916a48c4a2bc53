// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// Where pushes go that must not leave.
final class RefusingLane: ProviderLane {
    let label: String
    /// Never opens: these refusals are nobody's failures.
    var breaker = Breaker(maxFail: 0)
    private let verdict: Verdict
    private let loop: Loop

    init(label: String, verdict: Verdict, loop: Loop) {
        self.label = label
        self.loop = loop
        self.verdict = verdict
    }

    var isHealthy: Bool { false }

    var queue: LaneQueue? { nil }

    func warmUp() {}

    func retire() {}

    func submit(_ job: PushJob) { loop.atEndOfTurn { [verdict] in job.finish(verdict, status: 0) } }

    func send(_ job: PushJob) { job.finish(verdict, status: 0) }

    func write(_ job: PushJob, into request: inout HTTPRequest) throws(PushRefusal) { throw .forbiddenURL }

    func ended(_ job: PushJob, _ result: HTTPResult) { job.finish(verdict, status: 0) }
}
