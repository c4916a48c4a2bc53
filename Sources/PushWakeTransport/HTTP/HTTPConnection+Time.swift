// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem

/// What ends a connection, or a request on it, when nothing comes.
extension HTTPConnection {
    /// Milliseconds past a push's deadline within which its answer is still worth knowing.
    private static let grace: Int64 = 1000
    /// Milliseconds within which a stream that was given up must have been let go: its RST_STREAM leaves at once, unless the
    /// server reads nothing.
    private static let farewell: Int64 = 1000

    func setTimer(after delay: Int64?) {
        timer.cancel()
        guard let delay, !isClosed else { return }
        timer.set(at: loop.now + delay) { self.timeIsUp() }
    }

    private func timeIsUp() {
        if machine.isWaitingForPong { return finish("\(origin.authority) does not answer a ping", isOrderly: true) }
        guard let established, openStreams > 0 else { return idleTime == nil ? () : drain() }
        if loop.now >= silenceEnd(of: established) {
            if case .asked(_, let position) = established.silence {
                leave(established, position)
            } else {
                ask(established)
            }
        }
        if !isClosed { expireAnswers(established) }
    }

    /// Sees to it that the request does not wait for an answer longer than the answer is of use.
    func watchForAnswer(to exchange: HTTPExchange, on established: Established) {
        let now = loop.now
        let rest = min(max(exchange.deadline, now) - now, configuration.answerTimeout) + Self.grace
        exchange.answerBy = now + min(rest, configuration.answerTimeout)
        let isOnly = established.session.open.count == 1
        // What was waited for before may have been given up.
        if isOnly { established.silence = .waiting(since: now) }
        let due = min(exchange.answerBy, silenceEnd(of: established))
        if isOnly || due < timer.due { setTimer(after: due - now) }
    }

    /// When a connection has been silent for too long although a request waits; `.max` while there is no such time.
    private func silenceEnd(of established: Established) -> Int64 {
        switch established.silence {
        case .heard, .left, .lastChance: .max
        case .waiting(let since): since + configuration.silence / 2
        case .asked(let since, _): since + configuration.silence
        }
    }

    /// Who lives answers this, however long the request takes.
    private func ask(_ established: Established) {
        established.silence = .asked(since: established.silence.since, position: established.channel.bytesSent)
        ping(established)
    }

    private func ping(_ established: Established) {
        guard configuration.pingAfter != nil, case .http2(let session) = established.session else { return }
        session.ping()
        scheduleFlush()
    }

    /// No PING can ask, but the other end's kernel has confirmed all that had been sent when one would have asked: the way
    /// is there, and the server slow. A way that died confirms nothing.
    private func isConfirmed(_ established: Established, _ position: UInt64) -> Bool {
        if configuration.pingAfter != nil, case .http2 = established.session { return false }
        return established.channel.bytesConfirmed >= position
    }

    /// Nothing comes any more. Others go over another connection from now on, and so does what may be repeated; the
    /// rest waits for an answer here.
    private func leave(_ established: Established, _ askedPosition: UInt64) {
        guard !isConfirmed(established, askedPosition) else {
            established.silence = .waiting(since: loop.now)
            return
        }
        established.silence = .left(since: established.silence.since)
        let reason = "\(origin.authority) has been silent for \(configuration.silence) ms"
        // One request is all: what may come twice goes elsewhere with the connection's end, the other may yet be read here.
        if case .http1(let session) = established.session {
            guard session.open.allSatisfy(\.isRepeatable) else { return drain() }
            for exchange in session.open { exchange.isTakenBack = true }
        }
        // The kernel is full: nothing can be taken back one by one.
        guard case .http2(let session) = established.session, !isBlocked else {
            return finish(reason, isOrderly: true)
        }
        for exchange in session.open where exchange.isRepeatable && exchange.cancelReason == nil {
            exchange.isTakenBack = true
            giveUp(exchange, session, reason)
        }
        scheduleFlush()
        drain()
    }

    private func giveUp(_ exchange: HTTPExchange, _ session: HTTP2ClientSession, _ reason: String) {
        exchange.answerBy = loop.now + Self.farewell
        session.cancel(exchange, reason)
    }

    /// Gives up requests whose answer is late. A connection that was silent all the time is dead.
    private func expireAnswers(_ established: Established) {
        let now = loop.now
        let late = now - configuration.answerTimeout
        var next = Int64.max
        var overdue: [HTTPExchange] = []
        for exchange in established.session.open {
            if exchange.answerBy <= now { overdue.append(exchange) } else { next = min(next, exchange.answerBy) }
        }
        next = min(next, silenceEnd(of: established))
        guard !overdue.isEmpty else { return setTimer(after: max(1, next - now)) }
        let reason = "\(origin.authority) did not answer within \(configuration.answerTimeout) ms"
        let isSilent = established.silence.since <= late
        if isSilent {
            if established.silence.lastChanceEnd == nil { suspect(established) }
            if let end = established.silence.lastChanceEnd, now >= end { return finish(reason, isOrderly: true) }
        }
        // The last chance of a silent connection is of no use to a push whose time is over.
        if isSilent { overdue.removeAll { $0.deadline > now } }
        switch established.session {
        case .http1: if !overdue.isEmpty { return finish(reason, isOrderly: true) }
        case .http2(let session):
            // What nghttp2 has not let out for so long cannot be taken back one by one, nor what was given up before.
            if overdue.contains(where: { $0.position == .max && $0.submittedAt <= late || $0.cancelReason != nil }) {
                return finish(reason, isOrderly: true)
            }
            for exchange in overdue {
                let isOld = exchange.submittedAt <= late
                giveUp(exchange, session, isOld ? reason : "\(origin.authority) did not answer in time")
            }
            next = min(next, now + Self.farewell)
            // Signs of life are no answers: a server that gives only those is left.
            if let oldest = overdue.map(\.submittedAt).min(), established.lastAnswer <= oldest { drain() }
            scheduleFlush()
        }
        next = min(next, established.silence.lastChanceEnd ?? .max)
        setTimer(after: next == .max ? configuration.answerTimeout : max(1, next - now))
    }

    /// How long the connection is kept without a request; a server that allows none for longer than it may be silent is left:
    /// none is for short durations only (RFC 9113, 6.5.2).
    var idleTime: Int64? {
        guard case .http2(let session)? = established?.session, session.peerLimit == 0 else {
            return configuration.closeAfter
        }
        return min(configuration.silence, configuration.answerTimeout)
    }

    /// Gives a silent connection a last chance: it may have been this process that slept.
    private func suspect(_ established: Established) {
        let end = loop.now + min(2000, configuration.answerTimeout)
        established.silence = .lastChance(since: established.silence.since, until: end)
        ping(established)
    }
}
