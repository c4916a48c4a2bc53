// SPDX-License-Identifier: MIT

internal import CLinux
internal import PushWakeCore
internal import PushWakeSystem

/// One connection of a pool: TCP, perhaps a proxy's tunnel, TLS, and HTTP/2 or HTTP/1.1 on top.
///
/// `ConnectionStateMachine` decides; this class does. Everything written in a turn is flushed once, at its end.
final class HTTPConnection: LoopSource, TurnEnding {
    enum Session {
        case http2(HTTP2ClientSession)
        case http1(HTTP1ClientSession)
    }

    /// How far it is, with what it has by then.
    private enum Stage {
        case connecting(Connector)
        /// TCP to the proxy stands.
        case tunnelling(Channel, ProxyTunnel)
        /// In TLS's handshake.
        case securing(Channel)
        case established(Channel, Session)
        case closed

        var channel: Channel? {
            switch self {
            case .connecting, .closed: nil
            case .tunnelling(let channel, _), .securing(let channel), .established(let channel, _): channel
            }
        }
    }

    /// Bytes of requests after which a burst's first part is sent: about three full records.
    private static let earlyFlush = 40_000

    let id: Int
    private(set) var machine: ConnectionStateMachine
    /// Requests that were answered here.
    private(set) var answers = 0
    /// The server has taken requests as it should: none of its answers so far says the contrary.
    private(set) var hasServed = false
    /// Where TCP has stood, with the server or its proxy; nil until then.
    private(set) var address: String?
    /// How the server refused our certificate, once that has ended the connection.
    private(set) var refusal: String?
    let loop: Loop
    private let tls: TLSContext
    let origin: HTTPOrigin
    let configuration: HTTPPoolConfiguration
    /// Strong until the end, which breaks the cycle: a weak reference would make every retain of the owner slow.
    private var owner: (any HTTPConnectionOwner)?
    // ORDER: connecting as soon as this object can be captured, in init.
    private var stage = Stage.closed
    var timer: Loop.TimerID?
    var timerEnd = Int64.max
    private var isFlushScheduled = false
    private(set) var isBlocked = false
    /// When the first request went out of which, and since which, nothing has been heard.
    var unheardSince = Int64.max
    /// Since then a PING is on its way, where one can be sent, and so many bytes had been handed to the kernel.
    var isAsked = false
    var askedPosition: UInt64 = 0
    var lastAnswer: Int64
    /// Milliseconds after which an answer's Date is of interest again, and when one was last.
    private static let datePause: Int64 = 60_000
    private var datedAt: Int64
    /// Set while a silent connection has its last chance.
    var suspectedUntil: Int64?
    /// Bytes submitted since the last gathering, before compression.
    private var unsentBytes = 0
    /// Why an early flush failed.
    private var failure: String?

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
        lastAnswer = loop.now
        datedAt = loop.now
        machine = ConnectionStateMachine(
            pingAfter: configuration.pingAfter, now: loop.now)
        stage = .connecting(Connector(loop: loop, addresses: addresses) { self.connected($0) })
        timer = loop.schedule(after: configuration.connectTimeout) {
            self.close("no connection to \(origin.authority) within \(configuration.connectTimeout) ms")
        }
    }

    // MARK: For the pool

    var isClosed: Bool { if case .closed = stage { true } else { false } }

    /// Nil before TLS stands, and after the end.
    var session: Session? { if case .established(_, let session) = stage { session } else { nil } }

    /// What it goes over; nil before TCP stands, and after the end.
    var channel: Channel? { stage.channel }

    /// Streams that can be opened now.
    var freeStreams: Int {
        switch stage {
        case .established(_, .http2(let session)): freeStreams(of: session)
        case .established(_, .http1(let session)): freeStreams(of: session)
        case .connecting, .tunnelling, .securing, .closed: 0
        }
    }

    @inline(__always)
    private func freeStreams(of session: HTTP2ClientSession) -> Int {
        min(session.freeStreams, machine.allowance(peerLimit: session.peerLimit))
    }

    @inline(__always)
    private func freeStreams(of session: HTTP1ClientSession) -> Int {
        min(session.freeStreams, machine.allowance(peerLimit: 1))
    }

    var openStreams: Int {
        switch session {
        case .http2(let session): session.open.count
        case .http1(let session): session.open.count
        case nil: 0
        }
    }

    /// What became of an exchange that was handed to a connection.
    enum Submission {
        case sent
        /// No stream is free; nothing has happened.
        case noStream
        /// It would not write its request; nothing has happened.
        case refused(PushRefusal)
    }

    /// Opens a stream for the request.
    func submit(_ exchange: HTTPExchange) -> Submission {
        let bytes: Int
        let isAlone: Bool
        do throws(PushRefusal) {
            switch stage {
            case .established(_, .http2(let session)):
                guard freeStreams(of: session) > 0, isTrusted(session) else { return .noStream }
                bytes = try session.submit(exchange, now: loop.now)
                isAlone = session.open.count == 1
            case .established(_, .http1(let session)):
                guard freeStreams(of: session) > 0 else { return .noStream }
                bytes = try session.submit(exchange, now: loop.now)
                isAlone = session.open.count == 1
            case .connecting, .tunnelling, .securing, .closed: return .noStream
            }
        } catch {
            return .refused(error)
        }
        guard bytes > 0 else {
            drain()
            return .noStream
        }
        machine.streamOpened()
        watchForAnswer(to: exchange, isAlone: isAlone)
        scheduleFlush()
        unsentBytes += bytes
        if unsentBytes >= Self.earlyFlush { flushEarly() }
        return .sent
    }

    /// Whether the connection may be used at once; when not, a PING is on its way.
    private func isTrusted(_ session: HTTP2ClientSession) -> Bool {
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
        case .complete: return stand(channel)
        }
    }

    private func stand(_ channel: Channel) -> Bool {
        if channel.tls?.applicationProtocol == .http2 {
            guard let made = try? HTTP2ClientSession(limits: configuration.limits, streamCap: configuration.maxStreams)
            else {
                finish("no memory for an HTTP/2 session", isOrderly: false)
                return false
            }
            stage = .established(channel, .http2(made))
        } else {
            stage = .established(channel, .http1(HTTP1ClientSession(limits: configuration.limits)))
        }
        cancelTimer()
        scheduleFlush()
        if machine.secured(now: loop.now) == .offerStreams { owner?.connectionStands(self) }
        return !isClosed
    }

    // MARK: For the loop

    func ready(_ readiness: Loop.Readiness) {
        if readiness.contains(.writable) { scheduleFlush() }
        guard !readiness.isDisjoint(with: [.readable, .failed]) else { return }
        switch stage {
        case .connecting, .closed: return
        case .tunnelling(let channel, let tunnel): readTunnel(channel, tunnel)
        case .securing(let channel): if continueHandshake(channel), let session { read(channel, session) }
        case .established(let channel, let session): read(channel, session)
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

    private func read(_ channel: Channel, _ session: Session) {
        var isBroken = false
        let end = channel.read { bytes in
            switch session {
            case .http2(let session): isBroken = !session.receive(bytes)
            case .http1(let session): isBroken = !session.receive(bytes)
            }
            return !isBroken
        }
        unheardSince = .max
        isAsked = false
        suspectedUntil = nil
        machine.heard(now: loop.now)
        if case .http1(let session) = session, end == .closed { session.receivedEnd() }
        deliver()
        guard !isClosed else { return }
        scheduleFlush()
        if isBroken { return finish("\(origin.authority) broke the protocol", isOrderly: true) }
        switch end {
        case .drained, .stopped: return
        case .closed: finish("\(origin.authority) closed the connection", isOrderly: false)
        case .failed(let text): finish("\(origin.authority): \(text)", isOrderly: false)
        }
    }

    /// Hands on what the session has understood.
    private func deliver() {
        switch session {
        case nil: return
        case .http2(let session):
            report(session.takeEnded())
            if session.takePong(), machine.pong(now: loop.now) == .offerStreams {
                cancelTimer()
                owner?.connectionStands(self)
            }
            if let goAway = session.goAway { goAwayReceived(goAway) }
            if session.goAway != nil || session.isExhausted { drain() }
            guard !isClosed else { return }
            // SETTINGS may have raised the limit, or left nothing of it.
            if freeStreams > 0 {
                owner?.connection(self, ended: [])
            } else if timer == nil, openStreams == 0 {
                setTimer(after: idleTime)
            }
        case .http1(let session):
            report(session.takeEnded())
            if session.isExhausted { drain() }
        }
    }

    private func goAwayReceived(_ goAway: HTTP2ClientSession.GoAway) {
        guard machine.isUsable, goAway.code != 0 || !goAway.debugData.isEmpty else { return }
        let words = goAway.debugData.map { $0 < 0x20 || $0 >= 0x7F ? 0x2E : $0 }
        owner?.connection(
            self, hasReceivedGoAway: "code \(goAway.code) \(String(decoding: words.prefix(200), as: UTF8.self))")
    }

    private func report(_ exchanges: [HTTPExchange]) {
        guard !exchanges.isEmpty else { return }
        var mustClose = false
        for exchange in exchanges {
            let status = exchange.response.status
            if exchange.end == .answered && status < 500 && ![401, 403, 429].contains(status) { hasServed = true }
            if exchange.end == .answered {
                answers += 1
                lastAnswer = loop.now
            }
            if machine.streamEnded() == .close { mustClose = true }
        }
        if loop.now &- datedAt > Self.datePause, case .http2(let session) = session {
            (session.wantsDate, datedAt) = (true, loop.now)
        }
        owner?.connection(self, ended: exchanges)
        if openStreams == 0 { setTimer(after: idleTime) }
        if mustClose { close("retired") }
    }

    func turnEnds() {
        isFlushScheduled = false
        guard let channel = stage.channel else { return }
        if let reason = failure ?? gather(channel) { return finish(reason, isOrderly: false) }
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
        guard case .http2(let session) = session else { return }
        // Cancelled streams end when their RST_STREAM has been gathered.
        report(session.takeEnded())
        // After a mistake of the peer nghttp2 says goodbye and is deaf from then on.
        if !isBlocked, session.isOver { finish("\(origin.authority) broke the protocol", isOrderly: true) }
    }

    /// Sends the first part of a burst while the rest is still being made, so that the server need not wait for all.
    /// A failure is kept for the end of the turn: whoever submits must not see the connection end meanwhile.
    private func flushEarly() {
        unsentBytes = 0
        guard !isBlocked, failure == nil, let channel = stage.channel else { return }
        failure = gather(channel)
        if failure == nil, case .failed(let text) = channel.flush() { failure = "\(origin.authority): \(text)" }
    }

    /// Turns frames into records while there is room; says why when that failed.
    private func gather(_ channel: Channel) -> String? {
        unsentBytes = 0
        while true {
            if !channel.hasRoom {
                if case .failed(let text) = channel.flush() { return "\(origin.authority): \(text)" }
                guard channel.hasRoom else { return nil }
            }
            let count: Int? =
                switch session {
                case nil: 0
                case .http2(let session):
                    session.gather(into: loop.recordBuffer, position: channel.outputPosition)
                case .http1(let session):
                    session.gather(into: loop.recordBuffer, position: channel.outputPosition)
                }
            guard let count else { return "HTTP/2 session is broken" }
            guard count > 0 else { return nil }
            guard channel.write(UnsafeRawBufferPointer(rebasing: loop.recordBuffer[..<count])) else {
                return "TLS session is broken"
            }
        }
    }

    var openExchanges: [HTTPExchange] {
        switch session {
        case nil: []
        case .http2(let session): session.open
        case .http1(let session): session.open
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
        if isOrderly, case .established(let channel, .http2(let session)) = stage {
            session.terminate()
            if gather(channel) == nil { _ = channel.flush() }
        }
        if !isOrderly { readLastAnswers() }
        // ORDER: before the requests are reported, or what their completions send would be placed here.
        let last = stage
        stage = .closed
        _ = machine.closed()
        cancelTimer()
        if case .connecting(let connector) = last { connector.cancel() }
        // Who has answered has admitted us; what it refuses later the next connection will find out.
        let ended = endExchanges(of: last, reason)
        answers += ended?.count { $0.end == .answered } ?? 0
        if answers == 0, let alert = last.channel?.tls?.alert {
            refusal = "\(origin.authority) refuses the client certificate: \(alert.name)"
        }
        if let ended { owner?.connection(self, ended: ended) }
        if let channel = last.channel {
            loop.unwatch(channel.socket.descriptor)
            channel.close(aborting: false)
        }
        owner?.connectionClosed(self, reason: refusal ?? reason)
        owner = nil
    }

    /// The requests that were open, each with its end; nil when there was no session yet.
    private func endExchanges(of stage: Stage, _ reason: String) -> [HTTPExchange]? {
        guard case .established(let channel, let session) = stage else { return nil }
        switch session {
        case .http2(let session):
            session.connectionLost(reason, sent: channel.bytesDelivered)
            return session.takeEnded()
        case .http1(let session):
            session.connectionLost(reason, sent: channel.bytesDelivered)
            return session.takeEnded()
        }
    }

    /// Takes what came before the end: where that is noticed while writing, answers lie unread.
    private func readLastAnswers() {
        switch stage {
        case .established(let channel, .http2(let session)): _ = channel.read { session.receive($0) }
        case .established(let channel, .http1(let session)): _ = channel.read { session.receive($0) }
        case .connecting, .tunnelling, .securing, .closed: return
        }
    }
}

/// What a connection tells the pool that owns it.
protocol HTTPConnectionOwner: AnyObject {
    /// It can take requests now.
    func connectionStands(_ connection: HTTPConnection)
    /// Requests have ended, each with its `end`; streams may be free.
    func connection(_ connection: HTTPConnection, ended exchanges: [HTTPExchange])
    /// The server said why it sends this client away.
    func connection(_ connection: HTTPConnection, hasReceivedGoAway reason: String)
    /// It takes no more requests. Those that are open may still be answered.
    func connectionDrains(_ connection: HTTPConnection)
    /// It is over; all its requests have been reported before.
    func connectionClosed(_ connection: HTTPConnection, reason: String)
}
