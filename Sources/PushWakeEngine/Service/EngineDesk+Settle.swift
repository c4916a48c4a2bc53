// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeTransport

extension EngineDesk {
    /// Draws the consequences of a finished push: the binding of a dead token goes, and everybody hears of it.
    func settle(_ job: PushJob, _ verdict: Verdict, _ status: Int) -> PushResult {
        let mayRemove = delivery.mayRemove(job.binding, verdict, now: SystemClock.wallSeconds())
        let isRemoved = mayRemove && removeBinding(job.binding, verdict)
        let result = PushResult(
            id: job.id, event: job.content.event, outcome: verdict.outcome, httpStatus: status,
            isBindingRemoved: isRemoved, microseconds: SystemClock.monotonicMicroseconds() - job.startedAt,
            aor: job.binding.aor, callID: job.content.callID, provider: job.binding.provider, app: job.binding.app,
            token: EngineLog.shortened(job.binding.token), reason: verdict.reason)
        wakeRecords.ended(job.binding, verdict.outcome, now: delivery.loop.now)
        report(result, detail: verdict.detail)
        return result
    }

    /// Removes the binding of a dead token, unless its phone has registered since the provider
    /// confirmed the death, or unless so many tokens die that the setup must be wrong.
    private func removeBinding(_ binding: Binding, _ verdict: Verdict) -> Bool {
        guard !binding.aor.isEmpty else { return false }
        let now = SystemClock.wallSeconds()
        do throws(StoreError) {
            let current = try store.bindings(of: binding.aor, now: now).first {
                $0.provider == binding.provider && $0.app == binding.app && $0.token == binding.token
            }
            guard let current else { return false }
            if let since = verdict.goneSince,
                current.registeredAt.multipliedReportingOverflow(by: 1000).partialValue > since
            {
                log(
                    .info,
                    "binding kept aor=\(PrintableText.logValue(binding.aor)): it registered after its token was called dead"
                )
                return false
            }
            let selector = BindingSelector.token(provider: binding.provider, app: binding.app, token: binding.token)
            let removed = try store.remove(selector, of: binding.aor, reason: "token-gone \(verdict.reason)", now: now)
            return !removed.isEmpty
        } catch {
            log(.error, "a dead token could not be removed aor=\(PrintableText.logValue(binding.aor)): \(error)")
            return false
        }
    }
}
