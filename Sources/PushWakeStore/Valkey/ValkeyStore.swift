// SPDX-License-Identifier: MIT

public import PushWakeCore
public import PushWakeSystem

/// Bindings in Valkey or Redis, shared by several nodes.
///
/// A user is one value (`UserImage`). A question reads it, lets the rules of `MemoryStore` work on it, and writes it back
/// if it is still as it was read (`ValkeyScript.put`); else it begins anew with what another node has written. So
/// there is one set of rules for all stores, and no lock.
public final class ValkeyStore: SharedStore {
    /// What an engine sets.
    public struct Options: Sendable {
        /// Milliseconds that a question waits for its answer.
        public var timeout: Int64 = 80
        /// REGISTERs that are kept while the server is away.
        public var backlog = 10_000
        /// Questions under way at once.
        public var mostQuestions = 20_000
        public var perUser = BindingLimits.perUser
        public var tombstoneLifetime = BindingLimits.tombstoneLifetime
        /// Begins every key.
        public var prefix = "pw"
        /// Names this node among all that share the server.
        public var node = ""
        /// Where other nodes send calls for its phones; empty: nowhere.
        public var nodeURI = ""
        /// Seconds for which a node that says nothing more counts as there.
        public var presence: Int64 = 15
        /// Seconds for which a node alone pushes for a request.
        public var claims: Int64 = 30

        public init() {}
    }

    /// How often a question begins anew when other nodes are faster.
    private static let mostConflicts = 16
    /// Milliseconds by which a claim that nobody confirms is over before another node asks once more.
    private static let claimMargin: Int64 = 50
    /// Milliseconds between two looks at the users of held requests while announcements are not heard.
    private static let gapPause: Int64 = 1000
    /// Milliseconds between two looks for a server that takes writes.
    private static let leavePause: Int64 = 5000

    let access: ValkeyAccess
    let servers: any ValkeyServers
    let loop: Loop
    private(set) var options: Options
    let keys: ValkeyKeys
    private var order: RequestOrder
    private var questions: [UInt64: ValkeyQuestion] = [:]
    private var lastID: UInt64 = 0
    private var timer: (at: Int64, id: Loop.TimerID)?
    private var scripts: [String: [UInt8]] = [:]
    private var random: UInt64
    var late: RegisterBacklog<ValkeyQuestion>
    var lateUnderWay = 0
    var isLatePaused = false
    private var isGapWatched = false
    var serverErrors = ServerErrors()
    var rights = ServerRights()
    private var leaveAgain: Int64 = 0
    let presence = Presence(startedAt: SystemClock.wallSeconds())
    /// What this node is called, and where it is, when that says something else.
    var names: [NameWatch]
    var isPresenceDue = false
    /// Keys under which this node has said that it is there.
    var hasSpoken: Set<[UInt8]> = []
    let say: (_ isWarning: Bool, _ text: String) -> Void

    public var onAnnouncement: ([UInt8]) -> Void = { _ in }
    public var onGap: () -> Void = {}
    /// Milliseconds that a question waits for its answer, from the next one on.
    public var timeout: Int64 {
        get { options.timeout }
        set { options.timeout = newValue }
    }
    public var backlog: Int { late.count + lateUnderWay }

    /// Connects from now on, again and again. `log` hears what goes wrong, once.
    public init(
        _ access: ValkeyAccess, options: Options, loop: Loop,
        log: @escaping (_ isWarning: Bool, _ text: String) -> Void
    ) throws(StoreError) {
        self.loop = loop
        self.options = options
        say = log
        names = (options.nodeURI == options.node ? [options.node] : [options.node, options.nodeURI])
            .filter { !$0.isEmpty }.map { NameWatch(name: $0) }
        keys = ValkeyKeys(prefix: options.prefix)
        order = RequestOrder(most: options.mostQuestions)
        late = RegisterBacklog(most: options.backlog)
        random = UInt64.random(in: 0...UInt64.max)
        self.access = access
        let greeting = ScriptGreeting()
        let channel = options.node.isEmpty ? nil : keys.channel(options.node)
        if case .cluster(let seeds, _) = access.address.place {
            servers = try ClusterServers(
                access, seeds: seeds, greeting: greeting.commands, channel: channel, loop: loop)
        } else {
            servers = try SingleServer(access, greeting: greeting.commands, channel: channel, loop: loop)
        }
        greeting.onLoaded = { [weak self] in self?.scripts[$0] = $1 }
        servers.events.onReady = { [weak self] in self?.established($0) }
        servers.events.onTrouble = { text in
            let remedy = ServerRights.isDenial(text) ? "; \(ServerRights.remedy)" : ""
            log(true, "\(text); calls wait for it for 5 s at most, then go on without push\(remedy)")
        }
        servers.events.onDenied = { [weak self] in self?.denied($0, by: $1) }
        servers.events.onSubscribed = { [weak self] in
            self?.allowedToListen()
            self?.onGap()
        }
        servers.events.onUnsubscribed = { [weak self] in self?.watchGap() }
        servers.events.onMessage = { [weak self] in self?.onAnnouncement($0) }
    }

    /// Connects.
    public func start() { servers.start() }

    /// Gives all up: what is under way fails.
    public func end() { servers.end() }

    /// A server takes commands.
    public var isReady: Bool { servers.isReady }
    public var refusal: StoreError? {
        serverErrors.error(of: servers.names) ?? rights.error(of: servers.names, "\(access.address)")
    }

    /// A server has been connected to: it may have forgotten what it was told last, or be another.
    private func established(_ isAll: Bool) {
        sayPresent()
        tryServers()
        if isAll { say(false, "\(access.address): connected; \(backlog) REGISTERs wait to be stored") }
        isLatePaused = false
        storeLate()
        onGap()
    }

    /// Looks for itself what was announced, for as long as announcements are not heard.
    private func watchGap() {
        guard !isGapWatched else { return }
        isGapWatched = true
        loop.schedule(after: Self.gapPause) { [weak self] in
            guard let self else { return }
            isGapWatched = false
            guard !servers.isSubscribed else { return }
            if servers.isReady { onGap() }
            watchGap()
        }
    }

    // MARK: Asking

    public func ask<Answer>(
        about aor: String, now: Int64, keepsTrying: Bool,
        announcing announcement: @autoclosure @escaping () -> [UInt8]?,
        _ work: @escaping (any BindingStore) throws(StoreError) -> Answer,
        then: @escaping (Result<Answer, StoreError>) -> Void
    ) {
        var answer: Answer?
        add(
            ValkeyQuestion(
                aor: aor, now: now, announcement: announcement, keepsTrying: keepsTrying,
                run: { (store) throws(StoreError) in answer = try work(store) },
                finish: { failure, _ in then(Self.result(answer, failure)) }))
    }

    public func hold<Answer>(
        for aor: String, claim: String, seconds: Int64, now: Int64,
        _ work: @escaping (any BindingStore) throws(StoreError) -> Answer,
        then: @escaping (Result<Answer, StoreError>, HoldState) -> Void
    ) {
        var answer: Answer?
        add(
            ValkeyQuestion(
                aor: aor, kind: .hold(claim: claim, seconds: seconds), now: now,
                run: { (store) throws(StoreError) in answer = try work(store) },
                finish: { failure, state in then(Self.result(answer, failure), state) }))
    }

    public func holdAgain<Answer>(
        for aor: String, seconds: Int64, now: Int64,
        _ work: @escaping (any BindingStore) throws(StoreError) -> Answer,
        then: @escaping (Result<Answer, StoreError>, _ isKnown: Bool) -> Void
    ) {
        var answer: Answer?
        add(
            ValkeyQuestion(
                aor: aor, kind: .holdAgain(seconds: seconds), now: now,
                run: { (store) throws(StoreError) in answer = try work(store) },
                finish: { failure, state in then(Self.result(answer, failure), state.isKnown) }))
    }

    public func confirmClaim(_ claim: String, of aor: String) {
        let key = keys.claim(aor, claim)
        servers.send(["SET".word, key, options.node.word, "EX".word, "\(options.claims)".word], about: key) { _ in }
    }

    public func claimAnew(_ claim: String, of aor: String, then: @escaping (_ isClaimed: Bool) -> Void) {
        let key = keys.claim(aor, claim)
        let words = ["SET".word, key, options.node.word, "EX".word, "\(options.claims)".word, "NX".word, "GET".word]
        servers.send(words, about: key) { [node = options.node.word] in
            then($0?.bulk.map { $0 != node } ?? false)
        }
    }

    public var claimPause: Int64 { max(3 * options.timeout, 250) }

    public func ask<Answer>(
        aboutPURR purr: PURR, now: Int64, _ work: @escaping (any BindingStore) throws(StoreError) -> Answer,
        then: @escaping (Result<Answer, StoreError>) -> Void
    ) {
        let key = keys.purr(purr)
        guard servers.isResponsive(about: key, within: options.timeout) else { return then(.failure(unavailable)) }
        servers.send(["GET".word, key], about: key) { [weak self] reply in
            guard let self else { return }
            switch reply {
            case .bytes(let bytes)?:
                let aor = String(decoding: bytes, as: UTF8.self)
                ask(about: aor, now: now, keepsTrying: false, announcing: nil, work, then: then)
            case .error(let text)?: then(.failure(failure(text, about: key)))
            case nil: then(.failure(unavailable))
            default:
                do throws(StoreError) {
                    then(.success(try work(MemoryStore())))
                } catch {
                    then(.failure(error))
                }
            }
        }
    }

    private static func result<Answer>(_ answer: Answer?, _ failure: StoreError?) -> Result<Answer, StoreError> {
        if let failure { return .failure(failure) }
        return answer.map { .success($0) } ?? .failure(.corrupt("the store gave no answer"))
    }

    func add(_ question: ValkeyQuestion) {
        guard servers.isResponsive(about: keys.image(question.aor), within: options.timeout) else {
            return finish(question, unavailable)
        }
        // ORDER: what the user's phones said before goes first.
        if question.keepsTrying { late.take(of: question.aor).forEach(addLate) }
        lastID += 1
        let id = lastID
        switch order.add(id, about: Array(question.aor.utf8), deadline: loop.now + options.timeout) {
        case .refuse:
            return finish(
                question, .unusable("\(access.address): \(order.count) questions wait for it already"))
        case .go:
            questions[id] = question
            read(id, question)
        case .wait: questions[id] = question
        }
        setTimer()
    }

    // MARK: One question

    private func read(_ id: UInt64, _ question: ValkeyQuestion) {
        // It would overtake one that could not be stored just now.
        if question.keepsTrying || question.isLate, late.hasAny(of: question.aor) {
            return end(id, question, unavailable)
        }
        switch question.kind {
        case _ where question.isPlain, .ask:
            let image = keys.image(question.aor)
            servers.send(["GET".word, image], about: image) { [weak self] in self?.take($0, id, question) }
        case .hold(let claim, let seconds):
            let keys = [
                keys.image(question.aor), keys.holders(question.aor), keys.claim(question.aor, claim),
            ]
            let arguments = [options.node, Self.lifetime(seconds), "\(claimPause - Self.claimMargin)"].map(\.word)
            run(.hold, keys, arguments) { [weak self] in self?.take($0, id, question) }
        case .holdAgain(let seconds):
            let keys = [keys.image(question.aor), keys.holders(question.aor)]
            run(.holdAgain, keys, [options.node, Self.lifetime(seconds)].map(\.word)) { [weak self] in
                self?.take($0, id, question)
            }
        }
    }

    /// Seconds that a server takes.
    private static func lifetime(_ seconds: Int64) -> String { "\(min(max(seconds, 1), 1 << 40))" }

    private func take(_ reply: ValkeyReply?, _ id: UInt64, _ question: ValkeyQuestion) {
        guard !question.isOver else { return }
        switch reply {
        case .bytes(let image)?: work(on: image, id, question)
        case .null?: work(on: [], id, question)
        case .array(let elements)? where elements.count == 2:
            question.state.isClaimed = elements[1].text != options.node
            work(on: elements[0].bulk ?? [], id, question)
        case .error(let text)? where question.kind != .ask && !question.isPlain:
            // A server that takes no writes can still be read: this node does not hear of other nodes then.
            _ = failure(text, about: keys.image(question.aor))
            question.isPlain = true
            question.state.isKnown = false
            read(id, question)
        case .error(let text)?: end(id, question, failure(text, about: keys.image(question.aor)))
        case nil: end(id, question, unavailable)
        default: end(id, question, .corrupt("\(access.address): an answer of another kind"))
        }
    }

    private func work(on image: [UInt8], _ id: UInt64, _ question: ValkeyQuestion) {
        let store = MemoryStore(
            tombstoneLifetime: options.tombstoneLifetime, perUser: options.perUser)
        let key = Array(question.aor.utf8)
        var version: [UInt8] = []
        var before = MemoryStore.User()
        if !image.isEmpty {
            guard let read = UserImage.decode(image, of: question.aor) else {
                let name = String(decoding: keys.image(question.aor), as: UTF8.self)
                return end(
                    id, question,
                    .corrupt("\(access.address): \(name) is damaged or of a later release; it is left as it is"))
            }
            (version, before) = read
            store.load(before, of: question.aor)
        }
        do throws(StoreError) {
            try question.run(store)
        } catch {
            return end(id, question, error)
        }
        let after = store.users[key] ?? MemoryStore.User()
        // Nobody is told of a contact that is no longer the phone's.
        if question.isLate, before.isNewer(than: question.now, changedTo: after) { return end(id, question, nil) }
        guard after != before else {
            guard question.announcement() != nil else { return end(id, question, nil) }
            return announceUnchanged(id, question)
        }
        write(after, over: version, told: after.purrs.filter { !before.purrs.contains($0) }, id, question)
    }

    private func write(
        _ user: MemoryStore.User, over version: [UInt8], told: [MemoryStore.PURRUse], _ id: UInt64,
        _ question: ValkeyQuestion
    ) {
        // ORDER: before the user, so that no phone is told a PURR that leads nowhere.
        guard !told.isEmpty else { return write(user, over: version, id, question) }
        var left = told.count
        var failure: StoreError?
        for told in told {
            let life = PURRLimits.lifetime + 2 * 86_400
            let key = keys.purr(told.purr)
            servers.send(["SET".word, key, question.aor.word, "EX".word, "\(max(life, 1))".word], about: key) {
                [weak self] reply in
                guard let self, !servers.keepsOrder else { return }
                left -= 1
                if case .error(let text)? = reply { failure = self.failure(text, about: key) }
                if reply == nil { failure = unavailable }
                guard left == 0 else { return }
                if let failure { return end(id, question, failure) }
                if !question.isOver { write(user, over: version, id, question) }
            }
        }
        if servers.keepsOrder { write(user, over: version, id, question) }
    }

    private func write(_ user: MemoryStore.User, over version: [UInt8], _ id: UInt64, _ question: ValkeyQuestion) {
        let image = UserImage.encode(user, of: question.aor, version: newVersion())
        let seconds = user.lifetime(now: question.now, tombstoneLifetime: options.tombstoneLifetime)
        run(
            .put, [keys.image(question.aor), keys.holders(question.aor)],
            [version, image, "\(min(seconds, 1 << 40))".word]
        ) { [weak self] in self?.written($0, id, question) }
    }

    private func written(_ reply: ValkeyReply?, _ id: UInt64, _ question: ValkeyQuestion) {
        switch reply {
        case .array(let elements)? where elements.first == .integer(1) && elements.count == 2:
            if serverErrors.isAny { serverErrors.end(servers.server(of: keys.image(question.aor))) }
            // Also when nobody waits any more: it has happened.
            announce(question, to: elements[1].elements.compactMap(\.text))
            end(id, question, nil)
        case .array(let elements)? where elements.first == .integer(0) && elements.count == 2:
            guard !question.isOver else { return }
            question.conflicts += 1
            guard question.conflicts < Self.mostConflicts else {
                return end(id, question, .unusable("\(access.address): other nodes change this user all the time"))
            }
            work(on: elements[1].bulk ?? [], id, question)
        case .error(let text)?: end(id, question, failure(text, about: keys.image(question.aor)))
        case nil: end(id, question, unavailable)
        default: end(id, question, .corrupt("\(access.address): an answer of another kind"))
        }
    }

    private func announce(_ question: ValkeyQuestion, to nodes: [String]) {
        let others = nodes.filter { $0 != options.node }
        guard !others.isEmpty, let announcement = question.announcement() else { return }
        for node in others {
            servers.publish(announcement, to: keys.channel(node))
        }
    }

    /// A phone without bindings has registered.
    private func announceUnchanged(_ id: UInt64, _ question: ValkeyQuestion) {
        let holders = keys.holders(question.aor)
        servers.send(["HKEYS".word, holders], about: holders) { [weak self] reply in
            guard let self else { return }
            announce(question, to: reply?.elements.compactMap(\.text) ?? [])
            end(id, question, reply == nil ? unavailable : nil)
        }
    }

    private func end(_ id: UInt64, _ question: ValkeyQuestion, _ failure: StoreError?) {
        guard !question.isOver else { return }
        questions[id] = nil
        let next = order.ended(id)
        finish(question, failure)
        if let next, let question = questions[next] { read(next, question) }
    }

    private func finish(_ question: ValkeyQuestion, _ failure: StoreError?) {
        guard !question.isOver else { return }
        question.isOver = true
        if failure != nil, question.keepsTrying { keep(question) }
        question.finish(failure, question.state)
    }

    private func setTimer() {
        guard let at = order.nextDeadline(), timer == nil else { return }
        timer = (
            at,
            loop.schedule(at: at) { [weak self] in
                guard let self else { return }
                timer = nil
                for id in order.expired(now: loop.now) {
                    if let question = questions[id] { end(id, question, silent) }
                }
                setTimer()
            }
        )
    }

    // MARK: The server

    private func run(
        _ script: ValkeyScript, _ keys: [[UInt8]], _ arguments: [[UInt8]], _ handler: @escaping ValkeyLink.Handler
    ) {
        guard let key = keys.first else { return handler(nil) }
        let tail = ["\(keys.count)".word] + keys + arguments
        let isBrief = script.canBeRead
        let sendWhole = { [servers] in
            servers.send(["EVAL".word, script.source.word] + tail, about: key, isBrief: isBrief, handler)
        }
        // The first questions wait for a connection that has yet to name it.
        guard let id = scripts[script.name] else { return sendWhole() }
        servers.send(["EVALSHA".word, id] + tail, about: key, isBrief: isBrief) { reply in
            guard case .error(let text)? = reply, text.hasPrefix("NOSCRIPT") else { return handler(reply) }
            // Somebody has emptied the server's memory of scripts; this brings it back.
            sendWhole()
        }
    }

    /// What an error of the server that has a key means; what will pass is said once.
    func failure(_ text: String, about key: [UInt8]) -> StoreError {
        if text.hasPrefix("READONLY"), loop.now >= leaveAgain {
            // A master that was demoted: its name may lead to the new one by now. Until then there is reading.
            leaveAgain = loop.now + Self.leavePause
            loop.atEndOfTurn { [weak self] in self?.servers.leave(text) }
        }
        return refused(text, by: servers.server(of: key))
    }

    @discardableResult func refused(_ text: String, by server: String) -> StoreError {
        // Which right it is, a trial says.
        if ServerRights.isDenial(text) {
            denied(text, by: server)
            return .unusable("\(access.address): \(text)")
        }
        let (error, isNew) = serverErrors.note(text, by: server, "\(access.address)", now: loop.now)
        if isNew { say(true, "\(error)") }
        return error
    }

    var unavailable: StoreError { .unusable("\(access.address): no connection, or no answer") }

    private var silent: StoreError { .unusable("\(access.address): no answer within \(options.timeout) ms") }

    /// Eight bytes that no other write has.
    private func newVersion() -> [UInt8] {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let mixed = (random ^ random >> 29) &* 0xBF58_476D_1CE4_E5B9
        return stride(from: UInt64(0), to: 64, by: 8).map { UInt8(truncatingIfNeeded: mixed >> $0) }
    }
}

extension String {
    /// As a word of a command.
    var word: [UInt8] { Array(utf8) }
}
