// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// One connection to a server, made again whenever it ends: commands go out together at the end of a turn of the loop,
/// replies come in their order.
///
/// A command that is sent gets exactly one answer: a reply, or nil when the connection ended before it came.
final class ValkeyLink: LoopSource, TurnEnding {
    typealias Handler = (ValkeyReply?) -> Void

    private enum Stage {
        case away
        case searching(MasterSearch)
        case connecting(Connector)
        case securing(Channel)
        case established(Channel)
    }

    /// Milliseconds in which a connection must stand, and answer.
    private static let patience: Int64 = 2000
    /// Milliseconds without a word after which the server is asked for one.
    private static let idle: Int64 = 1000

    let access: ValkeyAccess
    private let loop: Loop
    private let resolver: Resolver
    private let tls: TLSContext?
    private var stage = Stage.away
    private var reader: ValkeyReader?
    private var waiting: [(handler: Handler, sentAt: Int64)] = []
    private var firstWaiting = 0
    private var machine = ValkeyLinkMachine()
    private var attempt = 0
    private var timer: Loop.TimerID?
    private var isFlushDue = false
    private var isWatchingWrites = false
    private var isEnded = false
    /// The host that it is connected to.
    private var host = ""
    /// A server that wants no password is well too.
    var isPasswordOptional = false
    /// Sent first on each connection, after what `access` says of user and database.
    var greeting: [(command: [[UInt8]], handler: (ValkeyReply) -> String?)] = []
    /// The connection stands, and the server takes commands.
    var onReady: () -> Void = {}
    /// The connection is gone, or could not be made; said once for each reason.
    var onTrouble: (_ reason: String) -> Void = { _ in }
    /// A message of a channel that was subscribed to.
    var onMessage: ([UInt8]) -> Void = { _ in }

    /// Does nothing yet.
    init(_ access: ValkeyAccess, loop: Loop) throws(StoreError) {
        self.access = access
        self.loop = loop
        resolver = Resolver(loop: loop, threadLimit: 1)
        guard access.address.isTLS else {
            tls = nil
            return
        }
        do throws(TLSError) {
            tls = try TLSContext.client(caFile: access.caFile.isEmpty ? nil : access.caFile, protocols: [])
        } catch {
            throw StoreError.unusable("\(access.address): \(error.message)")
        }
    }

    /// Connects, and does so again whenever the connection ends.
    func start() {
        guard case .away = stage, !isEnded else { return }
        attempt += 1
        setTimer(after: Self.patience) { [weak self] in self?.lose("no answer within \(Self.patience) ms") }
        switch access.address.place {
        case .unix(let path):
            guard let address = SocketAddress(unixPath: path) else { return lose("the path is too long") }
            connect(to: [address])
        case .tcp(let host, let port, _): resolve(ValkeyAddress.Host(name: host, port: port))
        case .sentinel: search()
        }
    }

    private func search() {
        setTimer(after: Self.patience) { [weak self] in
            guard let self, case .searching(let search) = stage else { return }
            lose(search.lastProblem)
        }
        do throws(StoreError) {
            stage = .searching(
                try MasterSearch(access, loop: loop) { [weak self] host in
                    guard let self, case .searching = stage else { return }
                    stage = .away
                    setTimer(after: Self.patience) { [weak self] in
                        self?.lose("\(host.name):\(host.port): no answer within \(Self.patience) ms")
                    }
                    resolve(host)
                })
        } catch {
            lose(error.description)
        }
    }

    private func resolve(_ place: ValkeyAddress.Host) {
        host = place.name
        let attempt = attempt
        resolver.resolve(place.name, port: place.port) { [weak self] answer in
            guard let self, self.attempt == attempt, case .away = stage, !isEnded else { return }
            switch answer {
            case .addresses(let found): connect(to: found)
            case .failed(let text): lose(text)
            }
        }
    }

    /// Ends it for good; commands that wait get nil.
    func end() {
        isEnded = true
        drop()
        failAll()
    }

    /// The server answers, and has not kept anybody waiting for longer than `patience` milliseconds.
    func isResponsive(within patience: Int64) -> Bool {
        guard machine.isReady else { return false }
        return firstWaiting == waiting.count || loop.now - waiting[firstWaiting].sentAt < patience
    }

    var isReady: Bool { machine.isReady }

    /// Commands that wait for their replies.
    var waitingCount: Int { waiting.count - firstWaiting }

    /// Sends a command; nil comes back at once where no connection stands.
    func send(_ command: [[UInt8]], _ handler: @escaping Handler) {
        guard machine.isReady, case .established(let channel) = stage else { return handler(nil) }
        write(command, to: channel, handler)
    }

    /// Leaves a server that will not do, such as a replica that takes no writes, and looks for another.
    func leave(_ reason: String) { lose(reason) }

    // MARK: Connecting

    private func connect(to addresses: [SocketAddress]) {
        stage = .connecting(Connector(loop: loop, addresses: addresses) { [weak self] in self?.connected($0) })
    }

    private func connected(_ result: Result<Socket, SystemError>) {
        let socket: Socket
        switch result {
        case .failure(let error): return lose(error.description)
        case .success(let opened): socket = opened
        }
        let channel = Channel(socket: socket, loop: loop)
        do {
            try loop.watch(socket.descriptor, for: .readable, self)
            isWatchingWrites = false
            guard let tls else { return greet(channel) }
            stage = .securing(channel)
            try channel.startTLS(tls, host: host)
            handshake(channel)
        } catch {
            stage = .established(channel)
            lose("\(error)")
        }
    }

    private func handshake(_ channel: Channel) {
        switch channel.handshake() {
        case .incomplete: flushSoon()
        case .failed(let text):
            _ = channel.flush()
            lose("TLS: \(text)")
        case .complete: greet(channel)
        }
    }

    /// Says who this is, and gets ready; any error ends the connection.
    private func greet(_ channel: Channel) {
        stage = .established(channel)
        reader = ValkeyReader()
        for (command, handler) in access.greeting(isPasswordOptional: isPasswordOptional) + greeting {
            write(command, to: channel) { [weak self] reply in
                guard let self, let reply, case .established = stage else { return }
                if let problem = handler(reply) { lose(problem) }
            }
        }
        write([Array("PING".utf8)], to: channel) { [weak self] reply in
            guard let self, let reply, case .established = stage else { return }
            if case .error(let text) = reply, text.hasPrefix("LOADING") || text.hasPrefix("NOAUTH") {
                return lose(text)
            }
            stand()
        }
    }

    private func stand() {
        machine.stands()
        watchSilence()
        onReady()
    }

    private func watchSilence() {
        setTimer(after: Self.idle) { [weak self] in
            guard let self, case .established(let channel) = stage else { return }
            if firstWaiting < waiting.count {
                if loop.now - waiting[firstWaiting].sentAt >= Self.patience {
                    return lose("no answer within \(Self.patience) ms")
                }
            } else {
                write([Array("PING".utf8)], to: channel) { _ in }
            }
            watchSilence()
        }
    }

    /// The connection is gone: another follows after a pause.
    private func lose(_ reason: String) {
        guard !isEnded else { return }
        drop()
        let text = "\(access.address): \(reason)"
        let (pause, isNews) = machine.lost(text, random: UInt64.random(in: 0...UInt64.max))
        if isNews { onTrouble(text) }
        setTimer(after: pause) { [weak self] in self?.start() }
        failAll()
    }

    private func drop() {
        if let timer { loop.cancel(timer) }
        timer = nil
        switch stage {
        case .away: break
        case .searching(let search): search.end()
        case .connecting(let connector): connector.cancel()
        case .securing(let channel), .established(let channel):
            loop.unwatch(channel.socket.descriptor)
            channel.close(aborting: true)
        }
        stage = .away
        reader = nil
        machine.drops()
    }

    /// ORDER: handlers may send anew, which has to fail at once: the connection is away by now.
    private func failAll() {
        let unanswered = waiting[firstWaiting...]
        waiting = []
        firstWaiting = 0
        for entry in unanswered { entry.handler(nil) }
    }

    private func setTimer(after pause: Int64, _ action: @escaping () -> Void) {
        if let timer { loop.cancel(timer) }
        timer = loop.schedule(after: pause) { [weak self] in
            self?.timer = nil
            action()
        }
    }

    // MARK: Bytes

    private func write(_ command: [[UInt8]], to channel: Channel, _ handler: @escaping Handler) {
        let bytes = ValkeyReader.command(command)
        guard !bytes.isEmpty else { return handler(nil) }
        waiting.append((handler, loop.now))
        var rest = bytes[...]
        while !rest.isEmpty {
            if !channel.hasRoom, channel.flush() != .sent, !channel.hasRoom { return lose("it reads too slowly") }
            let piece = rest.prefix(16_384)
            guard piece.withUnsafeBytes({ channel.write($0) }) else { return lose("TLS failed") }
            rest = rest.dropFirst(piece.count)
        }
        flushSoon()
    }

    private func flushSoon() {
        guard !isFlushDue else { return }
        isFlushDue = true
        loop.atEndOfTurn(self)
    }

    func turnEnds() {
        isFlushDue = false
        switch stage {
        case .securing(let channel), .established(let channel):
            switch channel.flush() {
            case .sent: watchWrites(channel, false)
            case .blocked: watchWrites(channel, true)
            case .failed(let text): lose(text)
            }
        case .away, .searching, .connecting: break
        }
    }

    private func watchWrites(_ channel: Channel, _ wanted: Bool) {
        guard wanted != isWatchingWrites else { return }
        isWatchingWrites = wanted
        loop.rewatch(channel.socket.descriptor, for: wanted ? [.readable, .writable] : .readable)
    }

    func ready(_ readiness: Loop.Readiness) {
        if readiness.contains(.writable) { flushSoon() }
        guard !readiness.isDisjoint(with: [.readable, .failed]) else { return }
        if case .securing(let channel) = stage { handshake(channel) }
        if case .established(let channel) = stage { read(channel) }
    }

    private func read(_ channel: Channel) {
        var replies: [ValkeyReply] = []
        var broken: String?
        let end = channel.read { [reader] bytes in
            guard let reader, reader.feed(bytes) else {
                broken = "no memory for an answer"
                return false
            }
            while true {
                switch reader.next() {
                case .reply(let reply): replies.append(reply)
                case .incomplete: return true
                case .broken(let text):
                    broken = "it does not speak RESP: \(text)"
                    return false
                }
            }
        }
        let attempt = attempt
        for reply in replies {
            // A handler may have left this connection.
            guard self.attempt == attempt, case .established = stage else { return }
            take(reply)
        }
        guard self.attempt == attempt, case .established = stage else { return }
        if let broken { return lose(broken) }
        switch end {
        case .drained, .stopped: return
        case .closed: lose("the server closed the connection")
        case .failed(let text): lose(text)
        }
    }

    private func take(_ reply: ValkeyReply) {
        let elements = reply.elements
        if elements.count == 3, elements[0].text == "message" || elements[0].text == "smessage" {
            if let bytes = elements[2].bulk { onMessage(bytes) }
            return
        }
        guard firstWaiting < waiting.count else { return lose("an answer came that nobody asked for") }
        let handler = waiting[firstWaiting].handler
        firstWaiting += 1
        if firstWaiting > 256, firstWaiting * 2 > waiting.count {
            waiting.removeFirst(firstWaiting)
            firstWaiting = 0
        }
        handler(reply)
    }
}

/// Whether a connection stands, and when the next attempt begins. Pure.
struct ValkeyLinkMachine {
    private var backoff = Backoff(first: 100, cap: 2000)
    private var lastReason = ""
    private(set) var isReady = false

    /// The server takes commands.
    mutating func stands() {
        isReady = true
        lastReason = ""
        backoff.reset()
    }

    /// There is no connection.
    mutating func drops() { isReady = false }

    /// An attempt failed, or a connection ended: milliseconds until the next one, and whether the reason is a new one.
    mutating func lost(_ reason: String, random: UInt64) -> (pause: Int64, isNews: Bool) {
        isReady = false
        let isNews = reason != lastReason
        lastReason = reason
        return (backoff.next(random: random), isNews)
    }
}
