// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Draws the consequences of each push that has ended: counters, the log, whether its token wakes its phone, and whether
/// the binding goes.
final class PushOutcomes {
    private let context: EngineContext
    private let store: StoreAccess
    private let hosts: HostConnections
    private var failureLines = FailureLines()
    /// Which tokens wake their phones.
    private(set) var wakeRecords = WakeRecords()
    /// Calls for which phones did not come.
    var callFailures = CallFailures(endsWithRegister: true)
    /// Of phones that come and say nothing.
    private var silentCalls = CallFailures(endsWithRegister: false)
    var removalGuard = TokenRemovalGuard()
    /// Phones name apps: each may be alarming.
    private let removalAlarms: LimitedLines
    /// Pushes to these were accepted, as none before; that is to be stored.
    private var acceptances = Gathering<Binding>()

    init(_ context: EngineContext, _ store: StoreAccess, _ hosts: HostConnections) {
        (self.context, self.store, self.hosts) = (context, store, hosts)
        removalAlarms = LimitedLines(context.log)
    }

    /// Draws the consequences of a finished push: the binding of a dead token goes, and everybody hears of it.
    func record(_ job: PushJob, _ verdict: Verdict, _ status: Int) -> PushResult {
        var isRemoved = false
        var detail = verdict.detail
        switch removalGuard.decide(verdict, job.binding, job.push.type, now: SystemClock.wallSeconds()) {
        case .nothing: break
        case .remove:
            // A shared store answers after the result was told: what is said of it then is what was asked for.
            isRemoved = store.shared != nil
            removeBinding(job.binding, verdict) { isRemoved = $0 }
        case .keep(let doubt): detail = doubt.words
        case .trip(let trip):
            detail = TokenRemovalGuard.Doubt.tripped.words
            restore(trip, verdict)
        case .release(let setup): context.log(.notice, "\(setup.words): tokens work again, and dead ones go as before")
        }
        if verdict.outcome == .accepted, job.binding.acceptedAt == 0 { noteAccepted(job.binding) }
        let result = PushResult(
            id: job.id, event: job.content.event, outcome: verdict.outcome, httpStatus: status,
            isBindingRemoved: isRemoved, microseconds: SystemClock.monotonicMicroseconds() - job.startedAt,
            aor: job.binding.aor, callID: job.content.callID, provider: job.binding.provider, app: job.binding.app,
            token: EngineLog.shortened(job.binding.token), reason: verdict.reason)
        wakeRecords.ended(job.binding, verdict.outcome, verdict.reason, now: context.loop.now)
        report(result, detail: detail)
        return result
    }

    /// Says how many failures had no line, once their storm is over.
    func reportLeftOut(now: Int64) {
        for line in failureLines.summaries(now: now) { context.log(.info, line) }
    }

    /// Reports the end of a push to the log, the counters and everybody who asked; `detail` is for the log.
    func report(_ result: PushResult, detail: String = "") {
        context.statistics.count(result)
        if result.httpStatus > 0 { context.times.countAnswer(result.provider, microseconds: result.microseconds) }
        context.log(level(of: result), detail.isEmpty ? result.logLine : "\(result.logLine) (\(detail))")
        hosts.tell(result)
    }

    /// What was taken is of interest to nobody who does not look for it; of what failed a part is shown when it is much.
    private func level(of result: PushResult) -> LogLevel {
        guard result.outcome != .accepted else { return .debug }
        let (level, leftOut) = failureLines.admit(result.provider, result.outcome, now: context.loop.now)
        if leftOut > 0 { context.log(.info, FailureLines.summary(result.provider, result.outcome, leftOut)) }
        return level
    }

    /// A push that was to wake a phone for a request was accepted; once for each request.
    func accepted(_ binding: Binding, now: Int64) { wakeRecords.accepted(binding, now: now) }

    /// The phone of a pushed binding has registered while its request was there, so many milliseconds after the push.
    func woke(_ binding: Binding, isCall: Bool = true, milliseconds: Int64, now: Int64) {
        wakeRecords.woke(binding, milliseconds: milliseconds, now: now)
        if isCall { context.statistics.appVersions.count(binding.token, came: true) }
        context.statistics.countWake(binding.provider, milliseconds: milliseconds)
        context.times.countWake(binding.provider, milliseconds: milliseconds)
    }

    /// Removes the binding of a dead token, unless its phone has registered since the provider
    /// confirmed the death.
    private func removeBinding(_ binding: Binding, _ verdict: Verdict, _ then: @escaping (Bool) -> Void) {
        let now = SystemClock.wallSeconds()
        store.ask(about: binding.aor) { (store) throws(StoreError) in
            let current = try store.bindings(of: binding.aor, now: now).first {
                $0.provider == binding.provider && $0.app == binding.app && $0.token == binding.token
            }
            guard let current else { return (removed: false, isNewer: false) }
            if let since = verdict.goneSince,
                current.registeredAt.multipliedReportingOverflow(by: 1000).partialValue > since
            {
                return (false, true)
            }
            let selector = BindingSelector.token(provider: binding.provider, app: binding.app, token: binding.token)
            let reason = "\(DiagnosisFacts.Removed.deadToken) \(verdict.reason)"
            return (try !store.remove(selector, of: binding.aor, reason: reason, now: now).isEmpty, false)
        } then: { [context] (result: Result<(removed: Bool, isNewer: Bool), StoreError>) in
            let name = PrintableText.logValue(binding.aor)
            switch result {
            case .success((let removed, let isNewer)):
                if isNewer {
                    context.log(.info, "binding kept aor=\(name): it registered after its token was called dead")
                }
                then(removed)
            case .failure(let error):
                context.log(.error, "a dead token could not be removed aor=\(name): \(error)")
                then(false)
            }
        }
    }

    /// Brings back what went since most tokens of a setup are called bad, and says so.
    private func restore(_ trip: TokenRemovalGuard.Trip, _ verdict: Verdict) {
        for user in trip.removed {
            restore(of: user.aor) { tombstone in
                tombstone.reason.hasPrefix(DiagnosisFacts.Removed.deadToken)
                    && user.tokens.contains(TokenRemovalGuard.digest(of: tombstone.binding))
            } then: { [context] result in
                guard case .failure(let error) = result else { return }
                let name = PrintableText.logValue(user.aor)
                context.log(
                    .error, "a binding could not be restored aor=\(name): \(error); see pushwake bindings restore")
            }
        }
        let back = trip.removed.reduce(0) { $0 + $1.tokens.count }
        removalAlarms(
            .error,
            """
            \(trip.setup.words): the tokens of \(trip.bad) of the last \(trip.users) users are called bad \
            (\(verdict.reason)); none is removed, and \(back) that were are restored, until one that worked before works \
            again: \(Remedy.setup(of: trip.setup.provider))
            """,
            now: context.loop.now)
    }

    /// Brings removed bindings of a user back that are meant.
    func restore(
        of aor: String, where isMeant: @escaping (RemovedBinding) -> Bool,
        then: @escaping (Result<[RemovedBinding], StoreError>) -> Void
    ) {
        let now = SystemClock.wallSeconds()
        store.ask(about: aor) { (store) throws(StoreError) in
            try store.restore(of: aor, now: now, where: isMeant)
        } then: { [self] (result: Result<[RemovedBinding], StoreError>) in
            if case .success(let restored) = result { context.statistics.restored += restored.count }
            then(result)
        }
    }
}

extension PushOutcomes: PushOwner {
    /// Of a push whose end nobody waits for.
    func ended(_ job: PushJob, _ verdict: Verdict, status: Int) { _ = record(job, verdict, status) }
}

/// Which tokens have worked: a push to them was accepted once. It is stored, for it counts after a restart too.
extension PushOutcomes {
    private func noteAccepted(_ binding: Binding) {
        guard !binding.aor.isEmpty else { return }
        context.loop.take(acceptances.add(binding), self) { $0.storeAcceptances() }
    }

    /// Stores what waits. What cannot be stored is noted again with the next push.
    func storeAcceptances() {
        let bindings = acceptances.take()
        let now = SystemClock.wallSeconds()
        guard store.shared != nil else {
            guard !bindings.isEmpty else { return }
            return _ = store.askOwn { (store) throws(StoreError) in try store.noteAccepted(bindings, at: now) }
        }
        for binding in bindings {
            store.ask(about: binding.aor) { (store) throws(StoreError) in
                try store.noteAccepted([binding], at: now)
            } then: { (_: Result<Void, StoreError>) in
            }
        }
    }
}

/// Bindings of phones that do not come, where the operator says so.
extension PushOutcomes {
    /// The wait of a call is over: phones that were pushed for it and did not come.
    func countFailures(_ request: HeldRequest) {
        guard request.content.event == .call else { return }
        let absent = request.pushedAt.devices.filter { !request.machine.isProbablyThere($0) }
            .compactMap(request.binding(of:))
        for binding in absent { context.statistics.appVersions.count(binding.token, came: false) }
        guard let days = CallFailures.days(.removeOnCallfail, context.settings) else { return }
        let now = SystemClock.wallSeconds()
        for binding in absent
        where callFailures.add(binding, now: now) >= days && callFailures.othersCome(besides: binding) {
            callFailures.forget(binding)
            remove(binding, .didNotCome, "did not come on \(days) days", now)
        }
    }

    /// A call is over: a phone that came for it has said something, and begins anew, or nothing, once more. `now` in
    /// monotonic milliseconds.
    func countSilences(_ request: HeldRequest, _ now: Int64) {
        guard request.content.event == .call, let days = CallFailures.days(.removeOnNoanswer, context.settings) else {
            return
        }
        let wall = SystemClock.wallSeconds()
        let silent = request.machine.silentDevices(now: now)
        for device in request.devices.chosen.indices where request.pushedAt[device] == nil {
            guard let binding = request.binding(of: device) else { continue }
            if !silent.contains(device) {
                silentCalls.succeed(binding, now: wall)
            } else if silentCalls.add(binding, now: wall) >= days, silentCalls.othersCome(besides: binding) {
                silentCalls.forget(binding)
                remove(binding, .didNotAnswer, "came and said nothing on \(days) days", wall)
            }
        }
    }

    private func remove(_ binding: Binding, _ kind: Statistics.Removal, _ reason: String, _ now: Int64) {
        let token = BindingSelector.token(provider: binding.provider, app: binding.app, token: binding.token)
        store.ask(about: binding.aor) { (store) throws(StoreError) in
            try store.remove(token, of: binding.aor, reason: reason, now: now).count
        } then: { [self] (result: Result<Int, StoreError>) in
            switch result {
            case .success(0): break
            case .success(let count):
                context.statistics.countRemoval(kind, count)
                context.log(.notice, "binding removed aor=\(PrintableText.logValue(binding.aor)): it \(reason)")
            case .failure(let error): context.log(.error, "a binding could not be removed: \(error)")
            }
        }
    }
}

extension TokenRemovalGuard.Doubt {
    /// Behind the line of the push.
    fileprivate var words: String {
        switch self {
        case .hasWorked: "its binding stays: it has worked before, so a setting may be to blame"
        case .othersFail: "its binding stays: no others of its app work, so a setting may be to blame"
        case .tripped: "its binding stays: most tokens of its app are called bad"
        }
    }
}

extension TokenRemovalGuard.Setup {
    /// For the log.
    fileprivate var words: String {
        let place = environment == .standard ? "" : " \(environment.name)"
        let kind = isForCalls ? " voip" : ""
        return "\(provider.name)\(place)\(kind) \(PrintableText.logValue(app, most: 120))"
    }
}
