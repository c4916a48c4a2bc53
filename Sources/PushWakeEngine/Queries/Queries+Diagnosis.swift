// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

extension Queries {
    /// Users with another domain that are named when there is none of this name.
    private static let mostOthers = 3

    /// Says of each step on the way to a user's phones how it fares; the last row is what to do.
    func diagnose(_ question: Question, _ aor: String) {
        guard !aor.isEmpty else { return question.fail("whose way? name a user as the registrar has it") }
        facts(of: aor) { [self] in answer(question, UserDiagnosis($0)) }
    }

    private func answer(_ question: Question, _ diagnosis: UserDiagnosis) {
        question.reply { writer in
            for finding in diagnosis.findings {
                writer.put(.row, 1)
                writer.column("step", finding.step.rawValue)
                writer.column("state", finding.state.rawValue)
                writer.column("text", finding.text)
            }
            writer.put(.row, 1)
            writer.column("step", "advice")
            writer.column("state", diagnosis.isFine ? "ok" : "fails")
            writer.column("text", diagnosis.advice)
        }
    }

    /// What is known of a user.
    func facts(of aor: String, then: @escaping (DiagnosisFacts) -> Void) {
        let now = SystemClock.wallSeconds()
        store.ask(about: aor) { (store) throws(StoreError) in
            (try store.bindings(of: aor, now: now), try store.removed(of: aor))
        } then: { [self] (result: Result<([Binding], [RemovedBinding]), StoreError>) in
            var facts = DiagnosisFacts(aor: aor)
            facts.isStoreShared = store.shared != nil
            switch result {
            case .success((let bindings, let removed)):
                facts.phones = bindings.map { phone($0, now) }
                facts.removed = removed.reversed().map {
                    DiagnosisFacts.Removed(provider: $0.binding.provider, app: $0.binding.app, reason: $0.reason)
                }
            case .failure(let error): facts.storeProblem = "\(error)"
            }
            then(complete(facts, now))
        }
    }

    private func complete(_ known: DiagnosisFacts, _ now: Int64) -> DiagnosisFacts {
        var facts = known
        let aor = facts.aor
        facts.writeProblem = store.refusal.map { "\($0)" }
        facts.isFileGone = store.file?.isInPlace == false
        facts.clock = delivery.clocks.current
        facts.refusal = registrations.refusals.reason(of: aor)
        (facts.registers, facts.wakes) = (context.statistics.registers, context.statistics.wakes)
        facts.wakesCalls = WakingMethods(context.settings).contains("INVITE")
        facts.waitsInDialplan = context.settings.text(.wait) == "dialplan"
        // A store that nodes share is not looked through for names.
        if store.shared == nil, facts.phones.isEmpty { facts.others = (try? others(like: aor, now)) ?? [] }
        if let id = context.traces.find(aor, limit: 1).first, let trace = context.traces.trace(of: id) {
            let ago = max(0, SystemClock.monotonicMilliseconds() - trace.startedAt) / 1000
            facts.lastRequest = DiagnosisFacts.Request(trace: trace, ago: ago)
        }
        return facts
    }

    private func phone(_ binding: Binding, _ now: Int64) -> DiagnosisFacts.Phone {
        let record = outcomes.wakeRecords.record(of: binding)
        return DiagnosisFacts.Phone(
            provider: binding.provider, app: binding.app, token: EngineLog.shortened(binding.token),
            registeredAgo: max(0, now &- binding.registeredAt), expiresIn: binding.expiresAt &- now,
            way: delivery.way(to: binding), payload: payloadChoice(for: binding), assessment: record.assessment,
            lastFailure: outcomes.wakeRecords.reason(of: binding),
            lastPushAgo: WakeRecords.ago(record.lastPush, now: context.loop.now))
    }

    /// `bob@example.com` for `bob`, `bob` for `bob@example.com`, and both for `sip:bob@example.com`.
    private func others(like aor: String, _ now: Int64) throws(StoreError) -> [String] {
        var name = aor
        if let colon = aor.firstIndex(of: ":"), ["sip", "sips"].contains(aor[..<colon].lowercased()) {
            name = String(aor[aor.index(after: colon)...].prefix { $0 != ";" && $0 != "?" })
            if try !store.own.bindings(of: name, now: now).isEmpty { return [name] }
        }
        if let at = name.lastIndex(of: "@") {
            let user = String(name[..<at])
            return try store.own.bindings(of: user, now: now).isEmpty ? [] : [user]
        }
        return try store.own.aors(after: "\(name)@", limit: Self.mostOthers, now: now).filter {
            $0.hasPrefix("\(name)@")
        }
    }
}

extension Delivery {
    /// The way to the push service of a binding, as it is now.
    func way(to binding: Binding) -> DiagnosisFacts.Way {
        let choice = choice(for: binding) ?? .noChannel(refusal(of: binding))
        let channel: any ProviderChannel
        switch choice {
        case .channel(let chosen): channel = chosen
        case .noChannel(let verdict): return .missing(verdict.detail.isEmpty ? verdict.reason : verdict.detail)
        }
        if !channel.refusedAccess.isEmpty { return .refused(channel.refusedAccess) }
        if let cause = channel.breaker.cause { return .circuitOpen(cause) }
        switch HealthReport.state(of: channel) {
        case .unreachable: return .unreachable(channel.queue.problem)
        case .backedOff: return .backedOff
        case .ready, .tokensRefused, .circuitOpen: return .ready(connections: channel.queue.connections)
        }
    }
}
