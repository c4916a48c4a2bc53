// SPDX-License-Identifier: MIT

internal import CLinux
internal import PushWakeCore
internal import PushWakeSystem

/// One connection of a pool: TCP, perhaps a proxy's tunnel, TLS, and HTTP/2 or HTTP/1.1 on top.
///
/// `ConnectionStateMachine` decides; this class does. Everything written in a turn is flushed once, at its end.
final class HTTPConnection: LoopSource, TurnEnding {
    /// Bytes of requests after which a burst's first part is sent: about three full records.
    private static let earlyFlush = 40_000
    /// Bytes that are read in one turn of the loop; other connections have theirs before this one goes on.
    private static let bytesPerTurn = 65_536
    /// Milliseconds after which an answer's Date is of interest again.
    private static let datePause: Int64 = 60_000

    let id: Int
    private(set) var machine: ConnectionStateMachine
    /// Where TCP was established, with the server or its proxy; nil until then.
    private(set) var address: String?
    let loop: Loop
    private let tls: TLSContext
    let origin: HTTPOrigin
    let configuration: HTTPPoolConfiguration
    /// Strong until the end, which breaks the cycle: a weak reference would make every retain of the owner slow.
    private var owner: (any HTTPConnectionOwner)?
    // ORDER: connecting as soon as this object can be captured, in init.
    private var stage = Stage.closed(hasServed: false, certificateProblem: nil)
    /// The one thing that is waited for: a connection, an answer, the end of being idle.
    let timer: DueTimer
    private var isFlushScheduled = false
    private(set) var isBlocked = false

    init(
        id: Int, origin: HTTPOrigin, addresses: AddressOrder.Choice<SocketAddress>, tls: TLSContext,
        configuration: HTTPPoolConfiguration, loop: Loop, owner: any HTTPConnectionOwner
    ) {
        self.id = id
        self.origin = origin
        self.tls = tls
        self.configuration = configuration
        self.loop = loop
        self.owner = owner
        timer = DueTimer(loop: loop)
        machine = ConnectionStateMachine(pingAfter: configuration.pingAfter, now: loop.now)
        stage = .connecting(Connector(loop: loop, addresses: addresses) { self.connected($0) })
        timer.set(at: loop.now + configuration.connectTimeout) {
            self.close("no connection to \(origin.authority) within \(configuration.connectTimeout) ms")
        }
    }

    // MARK: For the pool

    var isClosed: Bool { if case .closed = stage { true } else { false } }

    /// Nil before TLS stands, and after the end.
    var established: Established? { if case .established(let established) = stage { established } else { nil } }

    /// The server has taken requests as it should, and has answered one at least.
    var hasServed: Bool {
        switch stage {
        case .established(let established): established.hasServed
        case .closed(let hasServed, _): hasServed
        case .connecting, .tunnelling, .securing: false
        }
    }

    /// How the server refused our certificate, once that has ended the connection.
    var certificateProblem: String? { if case .closed(_, let problem) = stage { problem } else { nil } }

    /// Streams that can be opened now.
    var freeStreams: Int {
        guard case .established(let established) = stage else { return 0 }
        return freeStreams(of: established.session)
    }

    @inline(__always)
    private func freeStreams(of session: Session) -> Int {
        let (free, peerLimit) = session.room
        return min(free, machine.allowance(peerLimit: peerLimit))
    }

    var openStreams: Int { established?.session.open.count ?? 0 }

    /// What became of an exchange that was handed to a connection.
    enum Submission {
        case sent
        /// No stream is free; nothing has happened.
        case noStream
        /// No stream can be opened any more: the connection is to be drained.
        case exhausted
        /// It would not write its request; nothing has happened.
        case refused(PushFailure)
    }

    /// Opens a stream for the request. Whatever comes of it, the connection does not end meanwhile.
    func submit(_ exchange: HTTPExchange) -> Submission {
        guard case .established(let established) = stage else { return .noStream }
        // SAFETY: the stage keeps it, and stays as it is; no reference is counted for each request.
        return Unmanaged.passUnretained(established)._withUnsafeGuaranteedRef { submit(exchange, on: $0) }
    }

    private func submit(_ exchange: HTTPExchange, on established: Established) -> Submission {
        let session = established.session
        guard freeStreams(of: session) > 0, isTrusted(session) else { return .noStream }
        let bytes: Int
        do throws(PushFailure) {
            bytes = try session.submit(exchange, now: loop.now)
        } catch {
            return .refused(error)
        }
        guard bytes > 0 else { return .exhausted }
        machine.streamOpened()
        watchForAnswer(to: exchange, on: established)
        scheduleFlush()
        established.unsentBytes += bytes
        if established.unsentBytes >= Self.earlyFlush { flushEarly(established) }
        return .sent
    }

    /// Whether the connection may be used at once; when not, a PING is on its way.
    @inline(__always)
    private func isTrusted(_ session: Session) -> Bool {
        guard case .http2(let session) = session else { return true }
        switch machine.wanted(now: loop.now) {
        case .use: return true
        case .wait: return false
        case .ping:
            session.ping()
            scheduleFlush()
            setTimer(after: min(configuration.silence, configuration.answerTimeout))
            return false
        }
    }

    /// Opens no more streams; closes when those that are open have ended.
    func drain() {
        switch machine.drain() {
        case .close: close("retired")
        case .drain: owner?.connectionDrains(self)
        case .none: return
        }
    }

    /// Ends it now.
    func close(_ reason: String) { finish(reason, isOrderly: true) }

    // MARK: Connecting

    private func connected(_ result: Result<Socket, SystemError>) {
        let socket: Socket
        switch result {
        case .failure(let error): return finish(error.description, isOrderly: false)
        case .success(let opened): socket = opened
        }
        if case .connecting(let connector) = stage { address = connector.reached?.description }
        let channel = Channel(socket: socket, loop: loop)
        let tunnel = configuration.proxy.map { ProxyTunnel(to: origin, proxy: $0) }
        stage = tunnel.map { .tunnelling(channel, $0) } ?? .securing(channel)
        do throws(SystemError) {
            try loop.watch(socket.descriptor, for: .readable, self)
        } catch {
            return finish(error.description, isOrderly: false)
        }
        guard machine.connected() == .startHandshake else { return }
        if let tunnel {
            _ = tunnel.request.withUnsafeBytes { channel.write($0) }
            scheduleFlush()
        } else {
            startTLS(channel)
        }
    }

    private func startTLS(_ channel: Channel) {
        stage = .securing(channel)
        do throws(TLSError) {
            try channel.startTLS(tls, role: .client(host: origin.host))
        } catch {
            return finish(error.message, isOrderly: false)
        }
        continueHandshake(channel)
    }

    /// True when the session stands and more may have come with the last bytes.
    @discardableResult
    private func continueHandshake(_ channel: Channel) -> Bool {
        switch channel.handshake() {
        case .incomplete:
            scheduleFlush()
            return false
        case .failed(let text):
            _ = channel.flush()
            finish("\(origin.authority): \(text)", isOrderly: false)
            return false
        case .complete: return established(channel)
        }
    }

    private func established(_ channel: Channel) -> Bool {
        let session: Session
        if channel.tls?.applicationProtocol == .http2 {
            guard let made = try? HTTP2ClientSession(limits: configuration.limits, streamCap: configuration.maxStreams)
            else {
                finish("no memory for an HTTP/2 session", isOrderly: false)
                return false
            }
            session = .http2(made)
        } else if configuration.needsHTTP2 {
            finish(
                "\(origin.authority) offers no HTTP/2 (ALPN h2): is TLS inspected on the way? Let \(origin.host) pass uninspected",
                isOrderly: true)
            return false
        } else {
            session = .http1(HTTP1ClientSession(limits: configuration.limits))
        }
        stage = .established(Established(channel, session, now: loop.now))
        timer.cancel()
        scheduleFlush()
        if machine.secured(now: loop.now) == .offerStreams { owner?.connectionEstablished(self) }
        return !isClosed
    }

    // MARK: For the loop

    func ready(_ readiness: Loop.Readiness) {
        if readiness.contains(.writable) { scheduleFlush() }
        guard !readiness.isDisjoint(with: [.readable, .failed]) else { return }
        switch stage {
        case .connecting, .closed: return
        case .tunnelling(let channel, let tunnel): readTunnel(channel, tunnel)
        case .securing(let channel): if continueHandshake(channel), let established { read(established) }
        case .established(let established): read(established)
        }
    }

    private func readTunnel(_ channel: Channel, _ tunnel: ProxyTunnel) {
        let end = channel.read { bytes in
            tunnel.receive(bytes)
            return true
        }
        switch tunnel.state {
        case .refused(let text): finish(text, isOrderly: false)
        case .open: startTLS(channel)
        case .waiting: if end != .drained { finish("the proxy closed the connection", isOrderly: false) }
        }
    }

    private func read(_ established: Established) {
        let session = established.session
        var isBroken = false
        let end = established.channel.read(limit: Self.bytesPerTurn) { bytes in
            isBroken = !session.receive(bytes)
            return !isBroken
        }
        // The requests that are left wait on.
        established.silence = session.open.isEmpty ? .heard : .waiting(since: loop.now)
        machine.received(now: loop.now)
        if case .http1(let session) = session, end == .closed { session.receivedEnd() }
        deliver(established)
        guard !isClosed else { return }
        scheduleFlush()
        if isBroken { return finish("\(origin.authority) broke the protocol", isOrderly: true) }
        if established.sendsWithoutAnswering(now: loop.now) { return endWithoutAnswer(established) }
        switch end {
        case .drained, .stopped: return
        case .closed: finish("\(origin.authority) closed the connection", isOrderly: false)
        case .failed(let text): finish("\(origin.authority): \(text)", isOrderly: false)
        }
    }

    /// A server that sends without answering is left; its requests have been there.
    private func endWithoutAnswer(_ established: Established) {
        if case .http2(let session) = established.session { session.terminate(sentTooMuch: true) }
        established.hasServed = false
        finish("\(origin.authority) sends and answers nothing", isOrderly: true)
    }

    /// Hands on what the session has understood.
    private func deliver(_ established: Established) {
        report(established.session.takeEnded(), of: established)
        switch established.session {
        case .http2(let session):
            if session.takePong(), machine.pong(now: loop.now) == .offerStreams {
                timer.cancel()
                owner?.connectionEstablished(self)
            }
            if let goAway = session.goAway { goAwayReceived(goAway) }
            if session.goAway != nil || session.isExhausted { drain() }
            guard !isClosed else { return }
            // SETTINGS may have raised the limit, or left nothing of it.
            if freeStreams > 0 {
                owner?.connection(self, ended: [])
            } else if !timer.isSet, openStreams == 0 {
                setTimer(after: idleTime)
            }
        case .http1(let session): if session.isExhausted { drain() }
        }
    }

    private func goAwayReceived(_ goAway: HTTP2ClientSession.GoAway) {
        guard machine.isUsable, goAway.code != 0 || !goAway.debugData.isEmpty else { return }
        let words = goAway.debugData.map { $0 < 0x20 || $0 >= 0x7F ? 0x2E : $0 }
        owner?.connection(
            self, hasReceivedGoAway: "code \(goAway.code) \(String(decoding: words.prefix(200), as: UTF8.self))")
    }

    private func report(_ exchanges: [HTTPExchange], of established: Established) {
        guard !exchanges.isEmpty else { return }
        var mustClose = false
        for exchange in exchanges {
            established.note(exchange, now: loop.now)
            if machine.streamEnded() == .close { mustClose = true }
        }
        if loop.now &- established.datedAt > Self.datePause, case .http2(let session) = established.session {
            (session.wantsDate, established.datedAt) = (true, loop.now)
        }
        owner?.connection(self, ended: exchanges)
        if openStreams == 0 { setTimer(after: idleTime) }
        if mustClose { close("retired") }
    }

    func turnEnds() {
        isFlushScheduled = false
        guard let channel = stage.channel else { return }
        if let established, let reason = established.failure ?? gather(established) {
            return finish(reason, isOrderly: false)
        }
        switch channel.flush() {
        case .sent:
            if isBlocked {
                isBlocked = false
                loop.rewatch(channel.socket.descriptor, for: .readable)
            }
        case .blocked:
            if !isBlocked { loop.rewatch(channel.socket.descriptor, for: [.readable, .writable]) }
            isBlocked = true
        case .failed(let text): return finish("\(origin.authority): \(text)", isOrderly: false)
        }
        guard let established, case .http2(let session) = established.session else { return }
        // Cancelled streams end when their RST_STREAM has been gathered.
        report(session.takeEnded(), of: established)
        // After a mistake of the peer nghttp2 says goodbye and is deaf from then on.
        if !isBlocked, session.isOver { finish("\(origin.authority) broke the protocol", isOrderly: true) }
    }

    /// Sends the first part of a burst while the rest is still being made, so that the server need not wait for all.
    /// A failure is kept for the end of the turn: whoever submits must not see the connection end meanwhile.
    private func flushEarly(_ established: Established) {
        established.unsentBytes = 0
        guard !isBlocked, established.failure == nil else { return }
        established.failure = gather(established)
        if established.failure == nil, case .failed(let text) = established.channel.flush() {
            established.failure = "\(origin.authority): \(text)"
        }
    }

    /// Turns frames into records while there is room; says why when that failed.
    private func gather(_ established: Established) -> String? {
        let channel = established.channel
        established.unsentBytes = 0
        while true {
            if !channel.hasRoom {
                if case .failed(let text) = channel.flush() { return "\(origin.authority): \(text)" }
                guard channel.hasRoom else { return nil }
            }
            guard
                let count = established.session.gather(into: loop.recordBuffer, position: channel.outputPosition)
            else { return "HTTP/2 session is broken" }
            guard count > 0 else { return nil }
            guard channel.write(UnsafeRawBufferPointer(rebasing: loop.recordBuffer[..<count])) else {
                return "TLS session is broken"
            }
        }
    }

    func scheduleFlush() {
        guard !isFlushScheduled, !isClosed else { return }
        isFlushScheduled = true
        loop.atEndOfTurn(self)
    }

    /// The only way out. `isOrderly`: the peer is there and gets a goodbye.
    func finish(_ reason: String, isOrderly: Bool) {
        guard !isClosed else { return }
        if isOrderly, let established, case .http2(let session) = established.session {
            session.terminate()
            if gather(established) == nil { _ = established.channel.flush() }
        }
        // Where the end is noticed while writing, answers lie unread.
        if !isOrderly, let established {
            _ = established.channel.read(limit: Self.bytesPerTurn) { established.session.receive($0) }
        }
        let last = stage
        let certificateProblem = end(last, reason)
        if let channel = last.channel {
            loop.unwatch(channel.socket.descriptor)
            channel.close(aborting: false)
        }
        owner?.connectionClosed(self, reason: certificateProblem ?? reason)
        owner = nil
    }

    /// Closes, and reports the requests that were open; gives the alert by which the server refused our certificate.
    private func end(_ last: Stage, _ reason: String) -> String? {
        // ORDER: before the requests are reported, or what their completions send would be placed here.
        let hasServed = hasServed
        stage = .closed(hasServed: hasServed, certificateProblem: nil)
        _ = machine.closed()
        timer.cancel()
        if case .connecting(let connector) = last { connector.cancel() }
        var (answers, ended): (Int, [HTTPExchange]?) = (0, nil)
        if case .established(let established) = last {
            established.session.connectionLost(reason, sent: established.channel.bytesDelivered)
            let exchanges = established.session.takeEnded()
            (answers, ended) = (established.answers + exchanges.count { $0.end == .answered }, exchanges)
        }
        // Who has answered has admitted us; what it refuses later the next connection will find out.
        var certificateProblem: String?
        if answers == 0, let alert = last.channel?.tls?.alert {
            certificateProblem = "\(origin.authority) refuses the client certificate: \(alert.name)"
            stage = .closed(hasServed: hasServed, certificateProblem: certificateProblem)
        }
        if let ended { owner?.connection(self, ended: ended) }
        return certificateProblem
    }
}

/// What a connection tells the pool that owns it.
protocol HTTPConnectionOwner: AnyObject {
    /// It can take requests now.
    func connectionEstablished(_ connection: HTTPConnection)
    /// Requests have ended, each with its `end`; streams may be free.
    func connection(_ connection: HTTPConnection, ended exchanges: [HTTPExchange])
    /// The server said why it sends this client away.
    func connection(_ connection: HTTPConnection, hasReceivedGoAway reason: String)
    /// It takes no more requests. Those that are open may still be answered.
    func connectionDrains(_ connection: HTTPConnection)
    /// It is over; all its requests have been reported before.
    func connectionClosed(_ connection: HTTPConnection, reason: String)
}
