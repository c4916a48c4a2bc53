// SPDX-License-Identifier: MIT

internal import CLinux
internal import COpenSSL
import PushWakeSystem
import PushWakeTransport

/// One TLS connection to a server, from accept to close.
final class ServedConnection: LoopSource {
    private enum Phase { case handshake, talking, draining, closed }

    /// Milliseconds that a closing connection waits for the other end.
    private static let drainTime: Int64 = 3_000
    private static let recordSize = 16_384

    private let socket: Socket
    private let tls: OpaquePointer
    private unowned let server: any ConnectionServer
    private var phase = Phase.handshake
    private(set) var memory: ConnectionMemory
    /// What the client showed in the handshake.
    private(set) var certificate: Certificate?
    private var conversation: (any Conversation)?
    private var effects: [FaultRule.Effect] = []
    private var isPaused = false
    private var wantsToWrite = false
    private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: recordSize, alignment: 16)
    private var unsent = 0..<0

    /// Takes an accepted socket; nil when memory is short.
    init?(_ socket: Socket, number: Int, context: ServerContext, server: any ConnectionServer) {
        guard let tls = SSL_new(context.handle) else { return nil }
        self.socket = socket
        self.tls = tls
        self.server = server
        memory = ConnectionMemory(number: number)
        SSL_set_fd(tls, socket.descriptor)
        SSL_set_accept_state(tls)
    }

    deinit {
        SSL_free(tls)
        output.deallocate()
    }

    func ready(_ readiness: Loop.Readiness) {
        server.updateTime()
        // Hang-up is reported even to those who do not listen.
        if isPaused, readiness.contains(.failed) { return close() }
        switch phase {
        case .handshake: shakeHands()
        case .talking: talk()
        case .draining: drain()
        case .closed: break
        }
    }

    /// From now on nothing is answered; the socket goes when the client goes.
    func stall() { phase = .draining }

    /// Nothing can be sent any more.
    var isClosed: Bool { phase == .draining || phase == .closed }

    /// Requests that have begun and are neither answered nor given up.
    var openStreams: Int { conversation?.openStreams ?? 0 }

    /// Answers a request that got no answer when it came; a stream that is gone is no error.
    func answer(_ stream: Int32, _ answer: ProviderAnswer) {
        conversation?.answer(Reaction(answer: answer), stream: stream)
        server.loop.atEndOfTurn { [weak self] in self?.flush() }
    }

    /// Does something to a stream or the connection that no rule asked for.
    func perform(_ effect: FaultRule.Effect, stream: Int32 = 0) {
        guard phase == .talking, let conversation else { return }
        conversation.begin(effect, stream: stream)
        guard effects.isEmpty else { return performEffects(conversation) }
        server.loop.atEndOfTurn { [weak self] in self?.flush() }
    }

    private func shakeHands() {
        ERR_clear_error()
        let result = SSL_do_handshake(tls)
        guard result != 1 else { return beginTalking() }
        switch SSL_get_error(tls, result) {
        case SSL_ERROR_WANT_READ: watch(writing: false)
        case SSL_ERROR_WANT_WRITE: watch(writing: true)
        default:
            server.count { $0.handshakeFailures += 1 }
            close()
        }
    }

    private func beginTalking() {
        phase = .talking
        watch(writing: false)
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(tls, &name, &count)
        certificate = shownCertificate()
        memory.apns.certificate = certificate.map(server.clientCertificate)
        if count > 0 {
            conversation = begin(isHTTP2: UnsafeBufferPointer(start: name, count: Int(count)).elementsEqual("h2".utf8))
            guard conversation != nil else { return close() }
        }
        server.began(self)
        talk()
    }

    private func begin(isHTTP2: Bool) -> (any Conversation)? {
        guard isHTTP2 else { return HTTP1Conversation(validator: self) }
        return HTTP2Conversation(validator: self, maxStreams: server.maxStreams(memory))
    }

    /// A client that did not say what it speaks, as some of Apple's do, is told by how it begins (RFC 9113, 3.4).
    private func begin(with bytes: UnsafeRawBufferPointer) -> (any Conversation)? {
        conversation = begin(isHTTP2: bytes.starts(with: "PRI".utf8))
        return conversation
    }

    private func shownCertificate() -> Certificate? {
        guard let shown = SSL_get0_peer_certificate(tls) else { return nil }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = Int(i2d_X509(shown, &bytes))
        defer { CRYPTO_free(bytes, nil, 0) }
        return count > 0 ? Certificate(der: Array(UnsafeBufferPointer(start: bytes, count: count))) : nil
    }

    /// Reads all there is, and answers in between so that answers of many requests leave together.
    private func talk() {
        while !isPaused, phase == .talking {
            ERR_clear_error()
            let buffer = server.receiveBuffer
            let count = SSL_read(tls, buffer.baseAddress, Int32(clamping: buffer.count))
            guard count > 0 else {
                let error = SSL_get_error(tls, count)
                flush()
                guard phase == .talking else { return }
                if error != SSL_ERROR_WANT_READ, error != SSL_ERROR_WANT_WRITE { close() }
                return
            }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<Int(count)])
            guard let conversation = conversation ?? begin(with: bytes) else { return close() }
            let isFine = conversation.receive(bytes)
            if effects.isEmpty == false { performEffects(conversation) }
            server.received(from: self)
            if !isFine { return shutDown() }
        }
        flush()
    }

    /// Sends the answers that came before, then does to the connection what the script wants.
    private func performEffects(_ conversation: any Conversation) {
        flush()
        let waiting = effects
        effects = []
        for effect in waiting where phase == .talking {
            switch effect {
            case .close(let isAbrupt):
                server.count { $0.closes += 1 }
                if isAbrupt { abort() } else { shutDown() }
            case .pauseReading(let time):
                isPaused = true
                watch(writing: wantsToWrite)
                later(time) { [weak self] in
                    guard let self, phase == .talking else { return }
                    isPaused = false
                    watch(writing: wantsToWrite)
                    talk()
                }
            default: conversation.perform(effect)
            }
        }
        flush()
    }

    /// Sends until there is nothing more or the socket is full.
    func flush() {
        guard phase == .talking || phase == .draining, let conversation else { return }
        server.willAnswer()
        while true {
            if unsent.isEmpty {
                unsent = 0..<conversation.gather(into: output)
                if unsent.isEmpty { break }
            }
            ERR_clear_error()
            let count = SSL_write(tls, output.baseAddress.map { $0 + unsent.lowerBound }, Int32(clamping: unsent.count))
            guard count > 0 else {
                if SSL_get_error(tls, count) == SSL_ERROR_WANT_WRITE { watch(writing: true) } else { close() }
                return
            }
            unsent = (unsent.lowerBound + Int(count))..<unsent.upperBound
        }
        if wantsToWrite { watch(writing: false) }
        if phase == .talking, conversation.isFinished { shutDown() }
    }

    // MARK: The end

    /// Ends in order: close_notify, FIN, and then waits for the other end, because closing a socket with
    /// unread bytes would send RST and take answers away that are still under way.
    private func shutDown() {
        guard phase == .talking else { return }
        phase = .draining
        flush()
        guard phase == .draining else { return }
        ERR_clear_error()
        SSL_shutdown(tls)
        _ = shutdown(socket.descriptor, Int32(SHUT_WR))
        watch(writing: false)
        server.loop.schedule(after: Self.drainTime) { [weak self] in self?.close() }
    }

    private func drain() {
        while true {
            switch socket.receive(into: server.receiveBuffer) {
            case .bytes: continue
            case .wouldBlock: return
            case .closed, .failed: return close()
            }
        }
    }

    private func close() {
        guard leave() else { return }
        socket.close()
    }

    private func abort() {
        guard leave() else { return }
        socket.abort()
    }

    private func leave() -> Bool {
        guard phase != .closed else { return false }
        phase = .closed
        server.loop.unwatch(socket.descriptor)
        conversation = nil
        server.ended(self)
        return true
    }

    private func watch(writing: Bool) {
        wantsToWrite = writing
        var readiness: Loop.Readiness = isPaused ? [] : .readable
        if writing { readiness.insert(.writable) }
        server.loop.rewatch(socket.descriptor, for: readiness)
    }
}

extension ServedConnection: RequestValidator {
    var isFCM: Bool { memory.provider == .fcm }

    func validate(_ request: ReceivedRequest, stream: Int32) -> Reaction {
        server.react(to: request, stream: stream, memory: &memory)
    }

    func answerLeaves(_ reaction: Reaction) { server.answerLeaves(reaction) }

    func later(_ milliseconds: Int64, _ action: @escaping () -> Void) {
        server.loop.schedule(after: milliseconds) { [weak self] in
            guard let self, phase == .talking else { return }
            server.updateTime()
            action()
            guard let conversation, !effects.isEmpty else { return flush() }
            performEffects(conversation)
        }
    }

    func postpone(_ effect: FaultRule.Effect) { effects.append(effect) }

    func count(_ change: (inout SimulatorCounters) -> Void) { server.count(change) }
}

/// What accepts connections and knows what to say on them: the simulator, or a test's script.
protocol ConnectionServer: AnyObject {
    var loop: Loop { get }
    /// What is read goes there first, of all connections.
    var receiveBuffer: UnsafeMutableRawBufferPointer { get }
    /// Before anything is done on a connection.
    func updateTime()
    /// What the client's certificate is worth.
    func clientCertificate(_ shown: Certificate) -> ClientCertificate
    /// SETTINGS_MAX_CONCURRENT_STREAMS at first.
    func maxStreams(_ memory: ConnectionMemory) -> UInt32
    /// What to do about a request that has come whole; without an answer it may be answered later.
    func react(to request: ReceivedRequest, stream: Int32, memory: inout ConnectionMemory) -> Reaction
    /// An answer is put into the output.
    func answerLeaves(_ reaction: Reaction)
    func count(_ change: (inout SimulatorCounters) -> Void)
    /// The handshake is done, and nothing is read yet.
    func began(_ connection: ServedConnection)
    /// What has come was read, and its requests were reacted to.
    func received(from connection: ServedConnection)
    /// Before output is written.
    func willAnswer()
    /// The connection is closed.
    func ended(_ connection: ServedConnection)
}

/// One HTTP/2 stream of a connection. The object outlives the stream and serves the next one.
final class ServedStream {
    /// 0 when free.
    var id: Int32 = 0
    var request = ReceivedRequest()
    /// Answer body and how much of it has left.
    var body: [UInt8] = []
    var sent = 0
}

/// An HTTP version as the connection sees it: bytes in, bytes out.
protocol Conversation: AnyObject {
    /// Takes received bytes; false when the peer broke the protocol beyond repair.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool
    /// Fills the buffer with bytes to send and returns how many.
    func gather(into buffer: UnsafeMutableRawBufferPointer) -> Int
    /// Nothing more will be read or sent.
    var isFinished: Bool { get }
    /// Does what a script wants done to the connection, after the answers before it have left.
    func perform(_ effect: FaultRule.Effect)
    /// Requests that have begun and are neither answered nor given up.
    var openStreams: Int { get }
    /// Answers a request that waits for it.
    func answer(_ reaction: Reaction, stream: Int32)
    /// Does something to a stream; what is done to the whole connection it postpones.
    func begin(_ effect: FaultRule.Effect, stream: Int32)
}

/// Checks requests for a conversation.
protocol RequestValidator: AnyObject {
    /// Checks and logs a whole request.
    func validate(_ request: ReceivedRequest, stream: Int32) -> Reaction
    /// Counts an answer that leaves now.
    func answerLeaves(_ reaction: Reaction)
    /// Runs an action later, if the connection still stands.
    func later(_ milliseconds: Int64, _ action: @escaping () -> Void)
    /// Keeps an effect on the connection until the answers before it have left.
    func postpone(_ effect: FaultRule.Effect)
    /// The first request of the connection was for FCM.
    var isFCM: Bool { get }
    /// Changes the counters.
    func count(_ change: (inout SimulatorCounters) -> Void)
}
