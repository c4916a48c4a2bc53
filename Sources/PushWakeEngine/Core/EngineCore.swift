// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Answers what the PBX asks: the one place where bindings, wakes and pushes meet.
///
/// It runs on the engine's loop and never waits: a push is handed to `Delivery`, and its end comes
/// back through `PushOutcomes`.
final class EngineCore {
    let context: EngineContext
    let store: StoreAccess
    let hosts: HostConnections
    let outcomes: PushOutcomes
    let pushes: CallPushes
    let delivery: Delivery
    /// What the times of calls and the number of bindings were in the last hour.
    var hour = LastHour()
    let claimLines: LimitedLines
    /// REGISTERs that the store of this process has yet to take.
    var late: RegisterBacklog<LateRegister>
    /// About 2 kB each.
    private static let mostLateRegisters = 10_000
    /// Requests for which phones are woken or watched.
    let calls: HeldRequests
    /// Monotonic milliseconds of the next look for requests whose host is gone.
    var nextAbandonedLook: Int64 = 0
    /// Requests whose bindings a shared store is being asked for, and how they ended meanwhile.
    var wakesUnderWay: [RequestID: CallEnd?] = [:]
    var resumesUnderWay = ResumesUnderWay()
    /// Calls that wait for the bindings of a shared store do so while it has not been away for long.
    var storeOutage = StoreOutage()
    /// Users whose phones may be elsewhere without this node hearing of it, and whether they are looked at soon.
    var usersToCheck: Set<UserKey> = []
    var isLookDue = false
    /// Sends the traces to a HEP server; nil where there is none.
    var capture: TraceCapture?
    /// Why the last REGISTER of a user stored nothing.
    var refusals = RecentReasons<String>()
    let pages: PageQueue
    /// Their tokens are new to their users; who else has them is to be looked for.
    var unclaimed = Gathering<Binding>()
    var nullSenders = NullSenders()
    /// A phone has registered in `Binding.usualTable` since this engine has started.
    var usualTableIsInUse = false
    /// Nil where nobody keeps upstream registrations, as in a core without a service.
    var upstream: UpstreamKeeper?
    var earlyRegistrations = EarlyRegistrations(now: SystemClock.monotonicMilliseconds())
    /// Reads all again that can be read again, and says what came of it.
    var onReload: (() -> [ReloadNote])?

    init(
        settings: Settings, store: any BindingStore, shared: (any SharedStore)? = nil, delivery: Delivery,
        log: EngineLog, mostRequests: Int = 100_000
    ) {
        context = EngineContext(settings, delivery: delivery, log: log)
        self.store = StoreAccess(store, shared: shared, context)
        hosts = HostConnections(context)
        outcomes = PushOutcomes(context, self.store, hosts)
        pushes = CallPushes(context, self.store, outcomes, delivery)
        self.delivery = delivery
        late = RegisterBacklog(most: Self.mostLateRegisters)
        calls = HeldRequests(most: mostRequests)
        claimLines = LimitedLines(log)
        pages = PageQueue(loop: context.loop)
        pushes.onProgress = { [weak self] in self?.progressed($0, device: $1, $2) }
        delivery.onKeys = { [weak outcomes] in outcomes?.removalGuard.beginAnew($0) }
        shared?.onAnnouncement = { [weak self] in self?.received($0) }
        shared?.onGap = { [weak self] in self?.lookElsewhere() }
    }

    /// Goes on with other settings, those of `SettingsChange`; limits count anew where they changed. Keys and channels are
    /// made when `delivery` reloads.
    func take(_ new: Settings) {
        let old = context.settings
        context.take(new)
        pushes.take(new, after: old)
        delivery.take(new)
    }

    /// Carries out one message of a peer; every request gets exactly one reply, now or later.
    func carryOut(_ message: MessageReader, from peer: EnginePeer) {
        switch message.kind {
        case .register: register(message, peer)
        case .registerLeaves: sayWhatLeaves(message, peer)
        case .wake: wake(message, peer, waits: false)
        case .wait: wake(message, peer, waits: true)
        case .progressed: progressed(message, peer)
        case .requestEnded: requestEnded(message, peer)
        case .requestContinues: requestContinues(message)
        case .contactRemoved: contactRemoved(message)
        case .resume: resume(message, peer)
        case .purrUser: purrUser(message, peer)
        case .callEnded: callEnded(message, peer)
        case .registered: registered(message, peer)
        case .send: send(message, peer)
        case .stopWaiting:
            stopWaiting(peer)
            hosts.reply(to: message, peer) { _ in }
        case .query: query(message, peer)
        case .takeBindings: takeBindings(message, peer)
        case .subscribe: hosts.subscribe(message, peer)
        case .upstreamRegister: upstreamRegister(message, peer)
        case .upstreamAnswered: upstreamAnswered(message, peer)
        case .reply, .failure, .result, .waitEvent, .verbs, .upstream:
            hosts.fail(message, peer, "this message only goes from the engine to the PBX")
        }
    }

    /// Forgets a connection; a channel that was waiting on it has hung up.
    func closed(_ peer: EnginePeer) {
        hosts.forget(peer)
        if let key = peer.wait {
            forget(peer)
            endCall(aor: key.aor, callID: key.callID, .cancelled)
        }
    }
}
