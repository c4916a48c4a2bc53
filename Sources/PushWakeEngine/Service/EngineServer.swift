// SPDX-License-Identifier: MIT

public import PushWakeClient
public import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem
internal import PushWakeTransport

/// The engine: one loop that owns the store, the connections to the providers and the queue.
public final class EngineServer {
    private let loop: Loop
    private let listener: EngineListener
    private let core: EngineCore
    private let log: EngineLog
    private let settingsReload: SettingsReload
    /// Keeps the disk's pace away from the loop; nil for a store without a file.
    private let checkpoints: CheckpointThread?
    /// The same for the gateway's file.
    private var upstreamCheckpoints: CheckpointThread?
    /// Nil for a store without a file.
    private var clockFile: ClockFile?
    private var connections: [ObjectIdentifier: PeerConnection] = [:]
    private var signals: Signals?
    private var isEnding = false
    private var signalsReceived = 0
    /// Milliseconds for pushes to end when the engine is told to; supervisors kill after two seconds.
    private static let shutdownTimeout: Int64 = 1000
    private var fastAGI: FastAGIServer?
    private var http: HTTPInterface?
    /// Nil for a store that writes nothing in groups.
    private var groups: GroupWriter?
    /// Nil when no phone is to be asked to register.
    private var refreshes: RefreshWatch?
    /// Nil when others may write to the store unseen.
    private let filter: BindingFilterPublisher?
    /// Nil where this engine has a store of its own.
    private let shared: ValkeyStore?
    /// Nil when nobody wants to know; a supervised engine is not what the service manager started.
    private let heartbeat: SystemdWatchdog?
    private var buffer = [UInt8](repeating: 0, count: EngineProtocol.longestMessage)

    /// Opens the store, listens on the socket and reads the keys; a key that cannot be used is only logged.
    ///
    /// A supervised engine leaves the log line of a push that was taken to its supervisor.
    public init(
        settings: Settings, log: EngineLog, isSupervised: Bool = false, source: SettingsSource? = nil
    ) throws(EngineFailure) {
        self.log = log
        settingsReload = SettingsReload(source: source)
        AcceptGate.raiseLimit()
        // A core file would hold the users' HA1.
        if !settings.text(.secretKeyFile).isEmpty { ProcessMemory.forbidCore() }
        // ORDER: before the first key is read.
        KeyMemory.protect(keys: FCMKeys.count(settings))
        do throws(SystemError) {
            loop = try Loop()
        } catch {
            throw EngineFailure(message: "\(error)")
        }
        let notifier = isSupervised ? nil : SystemdNotifier.ofEnvironment()
        heartbeat = notifier.map { [loop] in SystemdWatchdog($0, loop: loop) }
        listener = try EngineListener(settings, loop: loop, log: log)
        let store = try Self.openStore(settings, log)
        do throws(StoreError) {
            let hasFile = settings.storeChoice == .sqlite
            checkpoints = hasFile ? try CheckpointThread(path: settings.text(.storePath)) : nil
        } catch {
            throw EngineFailure(message: "store_path: \(error)")
        }
        let delivery = Delivery(settings: settings, loop: loop, log: log)
        filter = try Self.openFilter(settings, store, loop, log)
        shared = try Self.openShared(settings, loop, log)
        core = EngineCore(
            settings: settings, store: filter.map { FilteredStore(store, $0) } ?? store, shared: shared,
            delivery: delivery, log: log)
        if settings.storeChoice == .sqlite {
            core.store.file = StoreFile(settings.text(.storePath))
            clockFile = ClockFile(storePath: settings.text(.storePath))
        }
        core.store.clock = ClockWatch(
            clockFile?.record, wall: SystemClock.wallSeconds(), running: SystemClock.runningSeconds(), now: loop.now)
        (core.upstream.keeper, upstreamCheckpoints) = try Self.openUpstream(settings, core, log)
        let problems = delivery.open()
        for problem in problems { log(.warning, problem) }
        Self.logFindings(settings, besides: problems, log)
        do throws(SystemError) {
            try listener.start(
                onPeer: { [weak self] in self?.take($0) },
                onFull: { [weak self] in self?.core.hosts.descriptorsAreShort($0) })
        } catch {
            throw EngineFailure(message: "\(error)")
        }
        delivery.watchKeys()
        HeapReserve.fill()
        // ORDER: before the filter finds that we are alone, and what another engine left begins to wait.
        groups = (store as? BufferedStore).map { GroupWriter($0, core.store) }
        begin(settings)
    }

    /// The engine listens: what comes by itself begins, or goes on where another engine ended.
    private func begin(_ settings: Settings) {
        // Whichever of the user's phones registers, a request that waits for one must hear of it.
        core.requests.calls.onAdd = { [weak filter] in filter?.insert($0) }
        // A phone whose REGISTER waits may say next that it wants no push.
        filter?.further = { [weak core] in core.map { $0.requests.calls.users + $0.registrations.late.aors } ?? [] }
        filter?.start()
        shared?.start()
        openFastAGI(settings)
        openHTTP(settings)
        core.queries.openCapture()
        everySecond()
        housekeeping()
        core.context.load.start()
        core.queries.watchHour()
        watchRefreshes(settings)
        core.queries.onReload = { [weak self] in self?.reload() ?? [] }
        core.upstream.keeper?.restore()
    }

    private func watchRefreshes(_ settings: Settings) {
        let lead = settings.integer(.refreshBefore)
        guard lead > 0 else { return }
        guard shared == nil else {
            return log(
                .warning, "refresh_before has no effect while nodes share the store: each node would push to all phones"
            )
        }
        let watch = RefreshWatch(core: core, lead: lead, now: loop.wallSeconds)
        refreshes = watch
        watch.start()
    }

    /// What nobody else says of keys that can be read and will not do.
    private static func logFindings(_ settings: Settings, besides known: [String], _ log: EngineLog) {
        for finding in SettingsInspection.inspect(settings) {
            let text = "\(finding.setting): \(finding.message)"
            if !known.contains(text) { log(finding.level, text) }
        }
        if let lack = SettingsInspection.lack(of: settings) { log(.warning, lack) }
    }

    private func openFastAGI(_ settings: Settings) {
        let address = settings.text(.fastAGIListen)
        guard !address.isEmpty else { return }
        do throws(FastAGIServer.Failure) {
            fastAGI = try FastAGIServer(
                address, allowing: settings.text(.fastAGIAllow), tokenFile: settings.text(.fastAGITokenFile),
                core: core,
                loop: loop, log: log)
        } catch {
            // Calls that come in by SIP must not suffer from it.
            log(.error, error.message)
        }
    }

    private func openHTTP(_ settings: Settings) {
        guard !settings.text(.httpListen).isEmpty else { return }
        do throws(HTTPInterface.Failure) {
            let service = try HTTPInterface(core, loop: loop, log: log)
            service.storeLag = { [weak self] in self?.groups?.lag ?? 0 }
            log(.info, "HTTP listens on \(service.address)")
            http = service
        } catch {
            log(.error, error.message)
        }
    }

    /// Runs until SIGTERM, SIGINT or `stop()`; SIGHUP reads settings, keys and templates again. With `parentInput` the end
    /// of that descriptor ends the engine too: no engine outlives its supervisor.
    public func run(parentInput: Int32? = nil) {
        let signals = Signals { [weak self] number in
            if number == 1 { _ = self?.reload() } else { self?.signalled() }
        }
        do throws(SystemError) {
            try signals.attach(to: loop)
            if let parentInput { try loop.watch(parentInput, for: .readable, ParentWatch(self)) }
        } catch {
            log(.error, "\(error)")
            return
        }
        self.signals = signals
        log(.info, "engine \(Release.version) listens on \(core.context.settings.text(.engineSocket))")
        loop.updateTime()
        heartbeat?.start()
        loop.run()
    }

    /// Ends `run()` after this turn, or after a second for pushes that are under way: a restart must not lose what the
    /// provider is about to answer. What has not ended by then ends as unavailable, so that whoever waits for it hears
    /// of it.
    public func stop() {
        guard !isEnding else { return }
        isEnding = true
        heartbeat?.stopping()
        guard core.delivery.queued > 0 else { return end() }
        log(.notice, "the engine ends; \(core.delivery.queued) pushes have a second to end too")
        waitForPushes(until: loop.now + Self.shutdownTimeout)
    }

    /// A supervisor closes the input and sends a signal: only a second signal means at once.
    private func signalled() {
        signalsReceived += 1
        if signalsReceived > 1 { end() } else { stop() }
    }

    private func waitForPushes(until time: Int64) {
        guard core.delivery.queued > 0, loop.now < time else { return end() }
        loop.schedule(after: 20) { [weak self] in self?.waitForPushes(until: time) }
    }

    private func end() {
        core.delivery.endAll()
        core.hosts.flushAll()
        core.outcomes.storeAcceptances()
        groups?.write()
        core.upstream.keeper?.flush()
        core.outcomes.reportLeftOut(now: .max)
        core.queries.capture?.end()
        shared?.end()
        filter?.withdraw()
        http?.close()
        loop.stop()
    }

    /// Reads the settings file again if there is one, then keys and templates.
    private func reload() -> [ReloadNote] {
        let outcome = settingsReload.read(core.context.settings)
        var notes = outcome.notes
        if let settings = outcome.settings {
            core.take(settings)
            shared?.timeout = settings.storeTimeout
            core.queries.openCapture()
        }
        if !outcome.isBroken {
            let pasted = PastedSecrets(core.context.settings)
            let problems =
                core.delivery.reload() + (http?.reload(core.context.settings) ?? []).map { pasted.hide(in: $0) }
            notes.removeAll { problems.contains($0.text) }
            notes += problems.map { ReloadNote.problem($0) }
        }
        for note in notes { log(note.level, note.text) }
        return notes
    }

    private static func openStore(_ settings: Settings, _ log: EngineLog) throws(EngineFailure) -> any BindingStore {
        let perUser = Int(settings.integer(.bindingsPerUser))
        guard settings.storeChoice == .sqlite else {
            return MemoryStore(perUser: perUser, findsTokens: true)
        }
        do throws(StoreError) {
            let durability: SQLiteStore.Durability = settings.text(.storeSync) == "full" ? .everyCommit : .checkpoint
            var options = SQLiteStore.Options(durability: durability)
            options.findsEnds = settings.integer(.refreshBefore) > 0
            options.perUser = perUser
            let store = try SQLiteStore(path: settings.text(.storePath), options: options)
            // A page that is lost may be many rows.
            let lines = LimitedLines(log, most: 10)
            store.onDamage = { lines(.error, $0) }
            if let lack = store.lacksTimes {
                log(.warning, "phones count as registered up to a day earlier than they did: \(lack)")
            }
            if let lack = store.lacksTokens {
                log(
                    .warning,
                    "which users have the same push token is not known until the engine is started anew with room for it: \(lack)"
                )
            }
            return try BufferedStore(store, inGroups: durability != .everyCommit)
        } catch {
            throw EngineFailure(message: "store_path: \(error)")
        }
    }

    private static func openUpstream(
        _ settings: Settings, _ core: EngineCore, _ log: EngineLog
    ) throws(EngineFailure) -> (UpstreamKeeper, CheckpointThread?) {
        var box: SecretBox?
        let key = settings.text(.secretKeyFile)
        if !key.isEmpty {
            do throws(KeyFileError) {
                box = try SecretKeyFile.read(key)
            } catch {
                log(.error, "secret_key_file: \(error.message); X-PIID is not kept")
            }
        }
        guard !settings.isGateway || core.store.shared == nil else {
            throw EngineFailure(
                message: "upper_servers: a gateway has its bindings for itself; set store = sqlite or memory")
        }
        // A PBX that is not a gateway gets no file.
        guard settings.isGateway, let path = settings.upstreamPath else {
            return (UpstreamKeeper(core: core, settings: settings, file: nil, box: box), nil)
        }
        do throws(StoreError) {
            let file = try UpstreamFile(path: path)
            let keeper = UpstreamKeeper(core: core, settings: settings, file: file, box: box)
            return (keeper, try CheckpointThread(path: path))
        } catch {
            throw EngineFailure(message: "store_path: \(error)")
        }
    }

    /// Wakes that are over, and peers that did not read in time.
    private func everySecond() {
        loop.schedule(after: 1000) { [weak self] in
            guard let self else { return }
            core.tick(now: loop.now)
            core.upstream.keeper?.lookAtClock()
            core.registrations.lookAtStore()
            listener.look()
            if let path = core.store.file?.foundMissing() {
                log(
                    .error,
                    "store_path: \(path) was removed or replaced; bindings stored from now on are lost when the engine ends; restart it, and phones are bound again by their next REGISTER"
                )
            }
            everySecond()
        }
    }

    /// Bindings whose time is over go, a bounded number at a time so that calls never wait for it.
    private func housekeeping() {
        var pause: Int64 = 60_000
        core.store.lookAtClock()
        if core.store.clock.pending == nil {
            let wall = SystemClock.wallSeconds()
            clockFile?.keep(
                wall: wall, running: SystemClock.runningSeconds(),
                seen: core.store.clock.lastSeen(wall: wall, now: loop.now, core.delivery.clocks.current))
        }
        do throws(StoreError) {
            let clock = core.delivery.clocks.current
            if try core.store.forgetSome(now: loop.now, wall: loop.wallSeconds, clock) { pause = 50 }
        } catch {
            core.store.failed(error)
            log(.error, "old bindings could not be dropped: \(error)")
        }
        for failure in [checkpoints, upstreamCheckpoints].compactMap({ $0?.takeFailure() }) {
            log(.warning, "the store's log could not be emptied: \(failure)")
        }
        loop.schedule(after: pause) { [weak self] in self?.housekeeping() }
    }
}

// MARK: Connections

extension EngineServer {
    /// Ends the engine with its supervisor.
    private final class ParentWatch: LoopSource {
        weak var server: EngineServer?

        init(_ server: EngineServer) { self.server = server }

        func ready(_ readiness: Loop.Readiness) {
            guard let server, Descriptor.isAtEnd(0) else { return }
            // It would be said at every turn.
            server.loop.unwatch(0)
            server.stop()
        }
    }

    /// One connection of a PBX process or a shell.
    private final class PeerConnection: LoopSource {
        let peer: SocketPeer
        weak var server: EngineServer?
        private var isWaitingToWrite = false
        private var lastTurn: UInt64 = 0

        init(_ peer: SocketPeer, _ server: EngineServer) {
            self.peer = peer
            self.server = server
        }

        func ready(_ readiness: Loop.Readiness) {
            if readiness.contains(.writable) { _ = peer.flush() }
            if !readiness.isDisjoint(with: [.readable, .failed]) { server?.receive(on: self) }
            server?.updateWatch(self)
        }

        /// Messages to read now. A peer that had one in the last turn too may have many; of others one more read only
        /// finds that there is nothing.
        func quota(_ turn: UInt64) -> Int {
            defer { lastTurn = turn }
            return turn == lastTurn &+ 1 ? 64 : 1
        }

        /// Watches for room to write only while something is kept.
        func adjust(_ loop: Loop) {
            guard peer.hasBacklog != isWaitingToWrite else { return }
            isWaitingToWrite = peer.hasBacklog
            loop.rewatch(peer.socket.descriptor, for: isWaitingToWrite ? [.readable, .writable] : .readable)
        }
    }

    private func take(_ socket: LocalSocket) {
        let connection = PeerConnection(SocketPeer(socket: socket), self)
        do throws(SystemError) {
            try loop.watch(socket.descriptor, for: .readable, connection)
            connections[ObjectIdentifier(connection.peer)] = connection
            connection.peer.onBacklog = { [weak self, weak connection] in
                guard let self, let connection else { return }
                connection.adjust(loop)
            }
            connection.peer.onLoss = { [weak self] in self?.core.hosts.messageLost() }
        } catch {
            log(.error, "a connection could not be accepted: \(error)")
        }
    }

    /// A bounded number of messages per turn, so that one busy worker does not starve the others.
    private func receive(on connection: PeerConnection) {
        for _ in 0..<connection.quota(loop.turns) {
            switch connection.peer.socket.receive(into: &buffer) {
            case .wouldBlock: return
            case .closed: return connection.peer.close()
            case .message(let count):
                guard let message = MessageReader(Array(buffer[..<count])) else {
                    log(.warning, "a client that speaks another version of the protocol was disconnected")
                    return connection.peer.close()
                }
                core.handle(message, from: connection.peer)
            }
        }
    }

    private func updateWatch(_ connection: PeerConnection) {
        guard connection.peer.isClosed else { return connection.adjust(loop) }
        loop.unwatch(connection.peer.socket.descriptor)
        connections[ObjectIdentifier(connection.peer)] = nil
        // Answers that are still to come keep the peer, not its descriptor.
        connection.peer.socket.close()
        core.closed(connection.peer)
    }
}

/// Why an engine could not start.
public struct EngineFailure: Error, Equatable, Sendable {
    /// What is wrong and what to do.
    public let message: String
}
