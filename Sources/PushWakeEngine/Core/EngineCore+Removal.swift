// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// What takes bindings away by itself: tokens that providers call dead, and phones that do not come.
extension EngineCore {
    /// Draws the consequences of a finished push: the binding of a dead token goes, and everybody hears of it.
    func recordResult(_ job: PushJob, _ verdict: Verdict, _ status: Int) -> PushResult {
        var isRemoved = false
        var detail = verdict.detail
        switch removalGuard.decide(verdict, job.binding, job.type, now: SystemClock.wallSeconds()) {
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

/// Which tokens have worked: a push to them was accepted once. It is stored, for it counts after a restart too.
extension EngineCore {
    private func noteAccepted(_ binding: Binding) {
        guard !binding.aor.isEmpty else { return }
        after(acceptances.add(binding)) { $0.storeAcceptances() }
    }

    /// Does at once, or in a moment, what a step of a `Gathering` asks for.
    func after<Element>(_ step: Gathering<Element>.Step, _ action: @escaping (EngineCore) -> Void) {
        switch step {
        case .wait: break
        case .take: action(self)
        case .schedule:
            context.loop.schedule(after: Gathering<Element>.pause) { [weak self] in
                if let self { action(self) }
            }
        }
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
extension EngineCore {
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
                silences.succeed(binding, now: wall)
            } else if silences.add(binding, now: wall) >= days, silences.othersCome(besides: binding) {
                silences.forget(binding)
                remove(binding, .didNotAnswer, "came and said nothing on \(days) days", wall)
            }
        }
    }

    private func remove(
        _ binding: Binding, _ kind: Statistics.Removal, _ reason: String, _ now: Int64
    ) {
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
