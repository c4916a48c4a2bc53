// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem

/// One connection of a client, from accept to close. Nothing in it waits: a client that is slow keeps its own bytes
/// waiting, and is closed when `ServerConnectionTimes` says so.
final class HTTPListenerConnection: LoopSource, ListenerSessionOwner {
    private enum Phase { case handshake, open, finishing, closed }

    /// How a client of HTTP/2 begins (RFC 9113, 3.4).
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    /// Milliseconds for the client to read the last answer and close.
    private static let farewell: Int64 = 2000
    /// Bytes taken from one client in a turn.
    private static let bytesPerTurn = 65_536

    private let channel: Channel
    private let loop: Loop
    private weak var listener: HTTPListener?
    private let peer: SocketAddress
    private let isEncrypted: Bool
    private var phase: Phase
    private var times: ServerConnectionTimes
    private var session: (any ListenerSession)?
    /// First bytes that do not yet tell the version.
    private var opening: [UInt8] = []
    private var openingSince: Int64?
    private var watched = Loop.Readiness.readable
    private var isBlocked = false
    private var isPeerDone = false
    private var isBroken = false
    private var isBusy = false

    init(
        _ socket: Socket, _ peer: SocketAddress, tls: TLSContext?, limits: ServerConnectionTimes.Limits, loop: Loop,
        listener: HTTPListener
    ) throws(TLSError) {
        channel = Channel(socket: socket, loop: loop)
        if let tls { try channel.startTLS(tls, role: .server) }
        self.loop = loop
        self.peer = peer
        self.listener = listener
        isEncrypted = tls != nil
        phase = tls == nil ? .open : .handshake
        times = ServerConnectionTimes(limits: limits, isTLS: tls != nil, now: loop.now)
    }

    var descriptor: Int32 { channel.socket.descriptor }
    var now: Int64 { loop.now }
    var wallSeconds: Int64 { loop.wallSeconds }
    /// It reads an answer that goes on.
    var isStreaming: Bool { session?.isStreaming == true }
    /// Since when it has done nothing useful; nil while it is answered.
    var unproductiveSince: Int64? { times.unproductiveSince }

    func ready(_ readiness: Loop.Readiness) {
        // Whoever is not listened to can still be gone.
        if readiness.contains(.failed), !watched.contains(.readable) { return close(aborting: true) }
        let canRead = !readiness.isDisjoint(with: [.readable, .failed])
        switch phase {
        case .handshake: shakeHands()
        case .open: if canRead { read() }
        case .finishing: if canRead { discard() }
        case .closed: return
        }
        sendAndWatch()
    }

    /// The loop's clock asks.
    func look(now: Int64) {
        guard let overdue = times.overdue(now: now) else { return }
        listener?.note(overdue, peer)
        // An answer that is not read is lost either way; with RST the kernel keeps nothing of it.
        close(aborting: overdue != .idle)
    }

    // MARK: In

    private func shakeHands() {
        switch channel.handshake() {
        case .incomplete: return
        case .failed: return finish()
        case .complete:
            phase = .open
            times.shookHands(now: now)
            if channel.tls?.applicationProtocol == .http2 { open(isHTTP2: true) }
            read()
        }
    }

    private func read() {
        guard session?.wantsInput != false, !isPeerDone, !isBroken else { return }
        let end = channel.read(limit: Self.bytesPerTurn) { bytes in
            isBroken = !take(bytes)
            return !isBroken
        }
        switch end {
        case .drained, .stopped: break
        case .closed: isPeerDone = true
        case .failed: close(aborting: true)
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if let session { return session.receive(bytes) }
        opening.append(contentsOf: bytes)
        openingSince = openingSince ?? now
        let known = min(opening.count, Self.preface.count)
        let isHTTP2 = opening.prefix(known).elementsEqual(Self.preface.prefix(known))
        if isHTTP2, known < Self.preface.count { return true }
        open(isHTTP2: isHTTP2)
        let first = opening
        (opening, openingSince) = ([], nil)
        return first.withUnsafeBytes { session?.receive($0) ?? false }
    }

    private func open(isHTTP2: Bool) {
        let limits = listener?.requestLimits ?? HTTP1RequestReader.Limits()
        session =
            isHTTP2
            ? HTTP2ListenerSession(owner: self, limits: limits) : HTTP1ListenerSession(owner: self, limits: limits)
    }

    func serve(_ request: ServedRequest, stream: Int32) {
        guard let session, let listener else { return }
        listener.serve(request, AnswerSlot(session, stream: stream, peer: peer, isEncrypted: isEncrypted))
    }

    /// What comes behind the last answer is thrown away until the client closes: closing before it does would take the
    /// answer from it (RFC 9112, 9.6). Once in a turn, as all reading, and for the time of `farewell`.
    private func discard() {
        switch channel.socket.receive(into: loop.receiveBuffer) {
        case .bytes, .wouldBlock: return
        case .closed, .failed: close(aborting: false)
        }
    }

    // MARK: Out

    func hasOutput() {
        guard phase == .open, !isBusy else { return }
        isBusy = true
        loop.atEndOfTurn { [weak self] in
            self?.isBusy = false
            self?.sendAndWatch()
        }
    }

    /// Sends what there is, and decides what to wait for.
    private func sendAndWatch() {
        guard phase == .open || phase == .handshake else { return }
        guard pump() else { return close(aborting: true) }
        if phase == .open {
            let isDone = session.map { $0.isFinished || isBroken && !$0.hasUnsent } ?? isBroken
            if !isBlocked, isDone { return finish() }
            // Requests that wait for another turn stood before the client's end.
            let isWaitedFor =
                isBlocked || session.map { $0.answeringSince != nil || $0.hasUnsent || $0.hasBacklog } ?? false
            if isPeerDone, !isWaitedFor { return close(aborting: false) }
            // What is not read stops what is begun; room to write begins anew.
            if !isBlocked, session?.hasBacklog == true { goOn() }
        }
        times.update(
            readingSince: session.map(\.readingSince) ?? openingSince, answeringSince: session?.answeringSince,
            hasOutput: isBlocked || session?.hasUnsent == true, isStreaming: isStreaming, now: now)
        watch()
    }

    /// Another turn for what the client has sent behind its first requests.
    private func goOn() {
        guard !isBusy else { return }
        isBusy = true
        loop.atEndOfTurn { [weak self] in
            guard let self else { return }
            isBusy = false
            session?.resume()
            sendAndWatch()
        }
    }

    /// False when the connection is lost.
    private func pump() -> Bool {
        isBlocked = false
        while true {
            var hasMore = false
            if phase == .open, let session {
                while channel.hasRoom {
                    guard let count = session.gather(into: loop.recordBuffer) else { return false }
                    if count == 0 { break }
                    guard channel.write(UnsafeRawBufferPointer(rebasing: loop.recordBuffer[..<count])) else {
                        return false
                    }
                    hasMore = true
                }
            }
            switch channel.flush() {
            case .sent: if !hasMore { return true }
            case .blocked:
                isBlocked = true
                return true
            case .failed: return false
            }
        }
    }

    private func watch() {
        var wanted: Loop.Readiness = []
        if !isPeerDone, !isBroken, session?.wantsInput != false { wanted.insert(.readable) }
        if isBlocked { wanted.insert(.writable) }
        guard wanted != watched else { return }
        watched = wanted
        loop.rewatch(descriptor, for: wanted)
    }

    // MARK: End

    /// Says that nothing more comes, and waits a moment for the client to read it.
    private func finish() {
        guard phase == .open || phase == .handshake else { return }
        guard !isPeerDone, channel.finish() else { return close(aborting: false) }
        phase = .finishing
        session = nil
        watched = .readable
        loop.rewatch(descriptor, for: .readable)
        loop.schedule(after: Self.farewell) { [weak self] in self?.close(aborting: true) }
    }

    /// The engine ends: what is answered leaves as far as the kernel takes it.
    func end() {
        if phase == .open { _ = pump() }
        close(aborting: false)
    }

    func close(aborting: Bool) {
        guard phase != .closed else { return }
        phase = .closed
        loop.unwatch(descriptor)
        listener?.forget(self)
        // ORDER: nghttp2 may be on the stack, and an answer may come in this turn; the session goes at its end, and with it
        // this connection, which it calls.
        if let session { loop.atEndOfTurn { withExtendedLifetime((session, self)) {} } }
        session = nil
        channel.close(aborting: aborting)
    }
}
