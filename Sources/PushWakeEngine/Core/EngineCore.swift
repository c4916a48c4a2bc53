// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Makes the parts of the engine, and hands each message to the part that carries it out.
///
/// All of them run on the engine's loop and never wait: a push is handed to `Delivery`, and its end comes back through
/// `PushOutcomes`.
final class EngineCore {
    let context: EngineContext
    let store: StoreAccess
    let hosts: HostConnections
    let outcomes: PushOutcomes
    let pushes: CallPushes
    let requests: RequestRunner
    let upstream: UpstreamService
    let registrations: Registrations
    let queries: Queries
    let manualPushes: ManualPushes
    let delivery: Delivery

    init(
        settings: Settings, store: any BindingStore, shared: (any SharedStore)? = nil, delivery: Delivery,
        log: EngineLog, mostRequests: Int = 100_000
    ) {
        context = EngineContext(settings, delivery: delivery, log: log)
        self.store = StoreAccess(store, shared: shared, context)
        hosts = HostConnections(context)
        outcomes = PushOutcomes(context, self.store, hosts)
        upstream = UpstreamService(context, hosts)
        pushes = CallPushes(context, self.store, outcomes, delivery)
        requests = RequestRunner(context, self.store, hosts, pushes, outcomes, delivery, most: mostRequests)
        manualPushes = ManualPushes(context, self.store, outcomes, delivery)
        self.delivery = delivery
        registrations = Registrations(context, self.store, outcomes, pushes, requests, upstream)
        queries = Queries(context, self.store, outcomes, requests, registrations, upstream, delivery)
        delivery.onKeys = { [weak outcomes] in outcomes?.removalGuard.beginAnew($0) }
    }

    /// Goes on with other settings, those of `SettingsChange`; limits count anew where they changed. Keys and channels are
    /// made when `delivery` reloads.
    func take(_ new: Settings) {
        let old = context.settings
        context.take(new)
        pushes.take(new, after: old)
        delivery.take(new)
    }

    /// Handles one message of a peer at `now` (monotonic milliseconds): the one place that asks whether its sender still
    /// waits.
    ///
    /// A call that waited in the socket for too long went on without push, and a push for it would wake a phone for
    /// nothing. What a REGISTER says stays true.
    func handle(_ message: MessageReader, from peer: EnginePeer, now: Int64 = SystemClock.monotonicMilliseconds()) {
        store.lookAtClock()
        switch message.kind {
        case .wake, .wait, .send, .upstreamRegister, .registerLeaves, .registerCheck:
            guard RequestDeadline(decoding: message).isPast(at: now) else { break }
            return drop(message, peer)
        case .subscribe:
            // Its sender has hung up: verbs that are kept for its host would go nowhere.
            guard RequestDeadline(decoding: message).isPast(at: now) else { break }
            return hosts.fail(message, peer, "the subscription came too late")
        case .register:
            guard RequestDeadline(decoding: message).isPast(at: now) else { break }
            return registrations.register(Question(message, nil, hosts))
        case .upstreamAnswered:
            guard RequestDeadline(decoding: message).isPast(at: now) else { break }
            return upstream.answered(Question(message, nil, hosts))
        case .progressed, .requestEnded, .requestContinues, .resume, .purrUser, .registered, .query,
            .takeBindings, .contactRemoved, .stopWaiting, .reply, .failure, .result, .waitEvent, .verbs, .upstream:
            break
        }
        carryOut(message, from: peer)
    }

    /// The refusal comes too late as well, but it shows the sender that the engine is back.
    private func drop(_ message: MessageReader, _ peer: EnginePeer) {
        context.statistics.wakesExpired += 1
        context.log(
            .debug,
            """
            no push \(EngineLog.names(EngineClient.text(.aor, in: message), EngineClient.text(.callID, in: message))): \
            its sender waited in vain and has given up
            """)
        hosts.fail(message, peer, "the request came too late")
    }

    /// Carries out one message of a peer; every request gets exactly one reply, now or later.
    private func carryOut(_ message: MessageReader, from peer: EnginePeer) {
        let question = Question(message, peer, hosts)
        switch message.kind {
        case .register: registrations.register(question)
        case .registerLeaves: registrations.answerLeftContacts(question)
        case .registerCheck: registrations.answerRefusal(question)
        case .wake: requests.wake(question, waits: false)
        case .wait: requests.wake(question, waits: true)
        case .progressed: requests.progressed(message)
        case .requestEnded: requests.requestEnded(message)
        case .requestContinues: requests.requestContinues(message)
        case .contactRemoved: registrations.contactRemoved(message)
        case .resume: requests.resume(question)
        case .purrUser: queries.purrUser(question)
        case .registered: requests.registered(question)
        case .send: manualPushes.send(question)
        case .stopWaiting:
            requests.stopWaiting(peer)
            question.reply { _ in }
        case .query: queries.answer(question)
        case .takeBindings: registrations.takeBindings(question)
        case .subscribe: hosts.subscribe(message, peer)
        case .upstreamRegister: upstream.register(question)
        case .upstreamAnswered: upstream.answered(question)
        case .reply, .failure, .result, .waitEvent, .verbs, .upstream:
            question.fail("this message only goes from the engine to the PBX")
        }
    }

    /// Forgets a connection; a channel that was waiting on it has hung up.
    func closed(_ peer: EnginePeer) {
        hosts.forget(peer)
        if let key = peer.wait {
            requests.forget(peer)
            requests.endCall(aor: key.aor, callID: key.callID, .cancelled)
        }
    }

    /// Forgets what is over; called by the loop's clock.
    func tick(now: Int64) {
        requests.tick(now: now)
        outcomes.reportLeftOut(now: now)
    }
}
