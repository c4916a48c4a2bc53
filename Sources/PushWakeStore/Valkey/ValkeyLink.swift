// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// One connection to a server, made again whenever it ends: commands go out together at the end of a turn of the loop,
/// replies come in their order.
///
/// A command that is sent gets exactly one answer: a reply, or nil when the connection ended before it came.
final class ValkeyLink: OutboundStreamOwner {
    typealias Handler = (ValkeyReply?) -> Void

    /// Milliseconds in which a connection must stand, and answer.
    private static let answerTimeout: Int64 = 2000
    /// Milliseconds without a word after which the server is asked for one.
    private static let idle: Int64 = 1000
    /// Bytes that wait for a server that reads slowly.
    private static let mostUnsent = 16 << 20
    /// Bytes that a channel takes at once.
    private static let piece = 16_384

    let access: ValkeyAccess
    private let loop: Loop
    private let stream: OutboundStream
    private var search: ServerSearch<ValkeyAddress.Host>?
    /// Of the connection that stands.
    private var reader: ValkeyReader?
    private var isOpen = false
    private var waiting = RingBuffer<(handler: Handler, sentAt: Int64)>()
    /// Of `waiting`, and not yet with the channel.
    private var unsent: [UInt8] = []
    private var machine = ValkeyLinkMachine()
    private var timer: Loop.TimerID?
    private var isEnded = false
    /// A server that wants no password is well too.
    var isPasswordOptional = false
    /// Sent first on each connection, after what `access` says of user and database.
    var greeting: [(command: [[UInt8]], handler: (ValkeyReply) -> String?)] = []
    /// The connection stands, and the server takes commands.
    var onReady: () -> Void = {}
    /// The connection is gone, or could not be made; said once for each reason.
    var onTrouble: (_ reason: String) -> Void = { _ in }
    /// An attempt failed, or the connection ended.
    var onLost: () -> Void = {}
    /// What is sent before the first connection stands, or fails, waits for it.
    var keepsEarly = false
    private var early: [(command: [[UInt8]], handler: Handler, sentAt: Int64)] = []
    private var hasEnded = false
    /// A message of a channel that was subscribed to; nil on a connection for commands, whose replies may look the same.
    var onMessage: (([UInt8]) -> Void)?

    /// Does nothing yet.
    init(_ access: ValkeyAccess, loop: Loop) throws(StoreError) {
        self.access = access
        self.loop = loop
        do throws(TLSError) {
            let trusted = access.caFile.isEmpty ? nil : access.caFile
            stream = OutboundStream(
                tls: access.address.isTLS ? try TLSContext.client(caFile: trusted, protocols: []) : nil, loop: loop)
        } catch {
            throw StoreError.unusable("\(access.address): \(error.message)")
        }
        stream.owner = self
    }

    deinit { stream.close(aborting: true) }

    /// Connects, and does so again whenever the connection ends.
    func start() {
        guard !isOpen, !isEnded else { return }
        isOpen = true
        setTimer(after: Self.answerTimeout) { [weak self] in self?.lost("no answer within \(Self.answerTimeout) ms") }
        switch access.address.place {
        case .unix(let path):
            guard let address = SocketAddress(unixPath: path) else { return lost("the path is too long") }
            stream.open([address])
        case .tcp(let host, let port, _): stream.open(host: host, port: port)
        case .sentinel(let hosts, let name, _): searchMaster(name, hosts)
        // Its masters are asked one by one (`ClusterServers`).
        case .cluster: lost("a cluster has no one server")
        }
    }

    private func searchMaster(_ name: String, _ sentinels: [ValkeyAddress.Host]) {
        setTimer(after: Self.answerTimeout) { [weak self] in
            guard let self, let search else { return }
            lost(search.lastProblem)
        }
        do throws(StoreError) {
            search = try ServerSearch(.master(named: name), of: sentinels, access, loop: loop) { [weak self] host in
                guard let self, search != nil else { return }
                search = nil
                setTimer(after: Self.answerTimeout) { [weak self] in
                    self?.lost("\(host): no answer within \(Self.answerTimeout) ms")
                }
                stream.open(host: host.name, port: host.port)
            }
        } catch {
            lost(error.description)
        }
    }

    /// Ends it for good; commands that wait get nil.
    func end() {
        isEnded = true
        drop()
        failAll()
    }

    /// The server answers, and has not kept anybody waiting for longer than `limit` milliseconds.
    func isResponsive(within limit: Int64) -> Bool {
        guard machine.isReady else {
            return isExpected && early.first.map { loop.now - $0.sentAt < limit } ?? true
        }
        return waiting.first.map { loop.now - $0.sentAt < limit } ?? true
    }

    var isReady: Bool { machine.isReady }

    /// Commands that wait for their replies, or for the connection.
    var waitingCount: Int { waiting.count + early.count }

    private var isExpected: Bool { keepsEarly && !hasEnded && !isEnded }

    /// Sends a command; nil comes back at once where no connection stands.
    func send(_ command: [[UInt8]], _ handler: @escaping Handler) {
        if isExpected, !machine.isReady { return early.append((command, handler, loop.now)) }
        guard machine.isReady, stream.channel != nil else { return handler(nil) }
        write(command, handler)
    }

    /// Leaves a server that will not do, such as a replica that takes no writes, and looks for another.
    func leave(_ reason: String) { lost(reason) }

    // MARK: Connecting

    /// Says who this is, and gets ready; any error ends the connection.
    func opened(_ channel: Channel) {
        reader = ValkeyReader()
        for (command, handler) in access.greeting(isPasswordOptional: isPasswordOptional) + greeting {
            write(command) { [weak self] reply in
                guard let self, let reply, stream.channel != nil else { return }
                if let problem = handler(reply) { refused(problem) }
            }
        }
        write([Array("PING".utf8)]) { [weak self] reply in
            guard let self, let reply, stream.channel != nil else { return }
            if case .error(let text) = reply, text.hasPrefix("LOADING") || text.hasPrefix("NOAUTH") {
                return refused(text)
            }
            established()
        }
    }

    private func refused(_ text: String) {
        lost(text.hasPrefix("NOAUTH") ? "NOAUTH: it wants a password; set store_password_file to a file with it" : text)
    }

    private func established() {
        machine.established()
        hasEnded = false
        let first = early
        early = []
        for (command, handler, _) in first { send(command, handler) }
        watchSilence()
        onReady()
    }

    private func watchSilence() {
        setTimer(after: Self.idle) { [weak self] in
            guard let self else { return }
            if let oldest = waiting.first {
                if loop.now - oldest.sentAt >= Self.answerTimeout {
                    return lost("no answer within \(Self.answerTimeout) ms")
                }
            } else {
                write([Array("PING".utf8)]) { _ in }
            }
            watchSilence()
        }
    }

    /// The connection is gone: another follows after a pause.
    func lost(_ reason: String) {
        guard !isEnded else { return }
        drop()
        hasEnded = true
        let text = "\(access.address): \(reason)"
        let (pause, isNews) = machine.lost(text, random: UInt64.random(in: 0...UInt64.max))
        if isNews { onTrouble(text) }
        setTimer(after: pause) { [weak self] in self?.start() }
        failAll()
        onLost()
    }

    private func drop() {
        if let timer { loop.cancel(timer) }
        timer = nil
        search?.end()
        search = nil
        stream.close(aborting: true)
        isOpen = false
        reader = nil
        unsent = []
        machine.drops()
    }

    /// ORDER: handlers may send anew, which has to fail at once: the connection is away by now.
    private func failAll() {
        let unanswered = waiting.elements.map(\.handler) + early.map(\.handler)
        (waiting, early) = (RingBuffer(), [])
        for handler in unanswered { handler(nil) }
    }

    private func setTimer(after pause: Int64, _ action: @escaping () -> Void) {
        if let timer { loop.cancel(timer) }
        timer = loop.schedule(after: pause) { [weak self] in
            self?.timer = nil
            action()
        }
    }

    // MARK: Bytes

    /// ORDER: ends no connection, since its callers go on with the one that they know.
    private func write(_ command: [[UInt8]], _ handler: @escaping Handler) {
        waiting.append((handler, loop.now))
        unsent += ValkeyCommand.bytes(command)
        stream.flushSoon()
    }

    func willSend(on channel: Channel) -> Bool {
        var sent = 0
        while sent < unsent.count, channel.hasRoom {
            let piece = unsent[sent..<min(sent + Self.piece, unsent.count)]
            guard piece.withUnsafeBytes({ channel.write($0) }) else {
                lost("TLS failed")
                return false
            }
            sent += piece.count
        }
        if sent == unsent.count {
            unsent.removeAll(keepingCapacity: unsent.capacity <= 4 * Self.piece)
        } else {
            unsent.removeFirst(sent)
        }
        if unsent.count > Self.mostUnsent { lost("it reads too slowly") }
        return !unsent.isEmpty
    }

    func receive(from channel: Channel) -> Channel.ReadEnd {
        let reader = reader
        var replies: [ValkeyReply] = []
        var broken: String?
        let end = channel.read { bytes in
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
        for reply in replies {
            // A handler may have left this connection.
            guard self.reader === reader else { return .stopped }
            take(reply)
        }
        guard self.reader === reader, let broken else { return end }
        lost(broken)
        return .stopped
    }

    private func take(_ reply: ValkeyReply) {
        if let onMessage {
            let elements = reply.elements
            if elements.count == 3, elements[0].text == "message" || elements[0].text == "smessage" {
                if let bytes = elements[2].bulk { onMessage(bytes) }
                return
            }
        }
        guard let first = waiting.popFirst() else { return lost("unexpected reply") }
        first.handler(reply)
    }
}

/// Whether a connection stands, and when the next attempt begins. Pure.
struct ValkeyLinkMachine {
    private var backoff = Backoff(first: 100, cap: 2000)
    private var lastReason = ""
    private(set) var isReady = false

    /// The server takes commands.
    mutating func established() {
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
