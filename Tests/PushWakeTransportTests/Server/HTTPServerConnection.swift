// SPDX-License-Identifier: MIT

import PushWakeCore

@testable import PushWakeSystem
@testable import PushWakeTransport

/// One client's connection to an `HTTPServer`, with the means to serve it well or badly.
final class HTTPServerConnection: LoopSource, TurnEnding {
    private enum Phase {
        case handshake
        case http2(HTTP2ServerSession)
        case http1
        case closed
    }

    /// Counts from 1 per server.
    let id: Int
    /// The client's address.
    let peer: SocketAddress

    private let channel: Channel
    private let server: HTTPServer
    private let loop: Loop
    private var phase = Phase.handshake
    private var parser: HTTP1Parser
    private var closesWhenSent = false
    private var isFlushScheduled = false
    private var isReadingPaused = false
    private var isBlocked = false

    init?(id: Int, socket: Socket, peer: SocketAddress, server: HTTPServer) {
        self.id = id
        self.peer = peer
        self.server = server
        loop = server.loop
        channel = Channel(socket: socket, loop: server.loop)
        parser = HTTP1Parser(
            isClient: false, bodyLimit: server.limits.bodyBytes, headLimit: server.limits.headerBytes)
        if let tls = server.tls {
            guard (try? channel.startTLS(tls, role: .server)) != nil else { return nil }
        } else {
            phase = .http1
        }
        guard (try? loop.watch(socket.descriptor, for: .readable, self)) != nil else { return nil }
        if server.tls == nil { server.handler?.opened(self) }
    }

    // MARK: For the handler

    /// Nothing can be sent any more.
    var isClosed: Bool {
        if case .closed = phase { true } else { false }
    }

    /// The client's certificate, if it sent one.
    var clientCertificate: Certificate? { channel.tls?.peerCertificate }

    /// Requests that have been begun and neither answered nor given up (HTTP/2).
    var openStreams: Int {
        if case .http2(let session) = phase { session.openStreams } else { 0 }
    }

    /// Answers a request of this connection.
    func respond(_ stream: Int32, _ response: HTTPResponse) {
        switch phase {
        case .http2(let session):
            session.respond(stream, response)
            scheduleFlush()
        case .http1:
            var text = "HTTP/1.1 \(response.status) \(response.status < 400 ? "OK" : "Error")\r\n"
            for header in response.headers where header.name != "content-length" {
                text += "\(header.name): \(header.value)\r\n"
            }
            text += "content-length: \(response.body.count)\r\n\r\n"
            send(Array(text.utf8) + response.body)
        case .handshake, .closed: return
        }
    }

    /// Sends bytes as they are, under or instead of HTTP: for tunnels and for misbehaving.
    func send(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { all in
            var offset = 0
            while offset < all.count {
                let end = min(all.count, offset + 16_384)
                if !channel.hasRoom { _ = channel.flush() }
                guard channel.hasRoom, channel.write(UnsafeRawBufferPointer(rebasing: all[offset..<end])) else {
                    return
                }
                offset = end
            }
        }
        scheduleFlush()
    }

    /// Sends GOAWAY; streams above `lastStream` (the last one begun when nil) will not be answered by the protocol.
    func goAway(code: UInt32 = 0, debugData: String = "", lastStream: Int32? = nil) {
        guard case .http2(let session) = phase else { return }
        session.goAway(code: code, debugData: Array(debugData.utf8), lastStream: lastStream)
        scheduleFlush()
    }

    /// Sends RST_STREAM with a code of RFC 9113, 7; 7 refuses the stream as not processed.
    func reset(_ stream: Int32, code: UInt32) {
        guard case .http2(let session) = phase else { return }
        session.reset(stream, code: code)
        scheduleFlush()
    }

    /// Announces another SETTINGS_MAX_CONCURRENT_STREAMS.
    func setMaxConcurrentStreams(_ limit: UInt32) {
        guard case .http2(let session) = phase else { return }
        session.submitSettings(maxConcurrentStreams: limit)
        scheduleFlush()
    }

    /// Reads nothing more: the client's output backs up.
    func pauseReading() {
        isReadingPaused = true
        rewatch()
    }

    /// Sends what waits, then closes with FIN.
    func close() {
        closesWhenSent = true
        scheduleFlush()
    }

    /// Closes with RST, now; what waits is lost.
    func abort() { finish("aborted", aborting: true) }

    // MARK: For the loop

    /// Reads what has come.
    func ready(_ readiness: Loop.Readiness) {
        if readiness.contains(.writable) { scheduleFlush() }
        guard !readiness.isDisjoint(with: [.readable, .failed]) else { return }
        if case .handshake = phase {
            guard continueHandshake() else { return }
        }
        read()
    }

    /// Sends what the turn has gathered.
    func turnEnds() {
        isFlushScheduled = false
        gather()
        guard !isClosed else { return }
        switch channel.flush() {
        case .sent:
            isBlocked = false
            if case .http2(let session) = phase, session.isOver { closesWhenSent = true }
            if closesWhenSent { return finish("", aborting: false) }
        case .blocked: isBlocked = true
        case .failed(let text): return finish(text, aborting: false)
        }
        rewatch()
    }

    private func continueHandshake() -> Bool {
        let step = channel.handshake()
        switch step {
        case .incomplete:
            scheduleFlush()
            return false
        case .failed(let text):
            _ = channel.flush()
            finish(text, aborting: false)
            return false
        case .complete: break
        }
        if channel.tls?.applicationProtocol == .http2 {
            guard let session = try? HTTP2ServerSession(limits: server.limits) else {
                finish("no memory", aborting: true)
                return false
            }
            phase = .http2(session)
        } else {
            phase = .http1
        }
        scheduleFlush()
        server.handler?.opened(self)
        return !isClosed
    }

    private func read() {
        var isBroken = false
        let end = channel.read { [phase] bytes in
            switch phase {
            case .http2(let session):
                isBroken = !session.receive(bytes)
                return !isBroken
            case .http1:
                parser.append(bytes)
                return true
            case .handshake, .closed: return false
            }
        }
        deliver()
        guard !isClosed else { return }
        scheduleFlush()
        if isBroken { return close() }
        switch end {
        case .drained, .stopped: return
        case .closed: finish("", aborting: false)
        case .failed(let text): finish(text, aborting: false)
        }
    }

    private func deliver() {
        switch phase {
        case .http2(let session):
            for request in session.takeComplete() where !isClosed { server.handler?.received(request, on: self) }
            for stream in session.takeCancelled() where !isClosed {
                server.handler?.cancelled(stream: stream, on: self)
            }
        case .http1:
            do throws(HTTP1Parser.Failure) {
                while !isClosed, let message = try parser.next() {
                    server.handler?.received(HTTPServerRequest(message), on: self)
                }
            } catch {
                respond(0, HTTPResponse(status: 400))
                close()
            }
        case .handshake, .closed: return
        }
    }

    private func gather() {
        guard case .http2(let session) = phase else { return }
        while true {
            if !channel.hasRoom {
                if case .failed(let text) = channel.flush() { return finish(text, aborting: false) }
                guard channel.hasRoom else { return }
            }
            guard let count = session.gather(into: loop.recordBuffer) else {
                return finish("HTTP/2 session is broken", aborting: false)
            }
            guard count > 0 else { return }
            guard channel.write(UnsafeRawBufferPointer(rebasing: loop.recordBuffer[..<count])) else {
                return finish("TLS session is broken", aborting: true)
            }
        }
    }

    private func scheduleFlush() {
        guard !isFlushScheduled, !isClosed else { return }
        isFlushScheduled = true
        loop.atEndOfTurn(self)
    }

    private func rewatch() {
        guard !isClosed else { return }
        var readiness = Loop.Readiness()
        if !isReadingPaused { readiness.insert(.readable) }
        if isBlocked { readiness.insert(.writable) }
        loop.rewatch(channel.socket.descriptor, for: readiness)
    }

    private func finish(_ reason: String, aborting: Bool) {
        guard !isClosed else { return }
        phase = .closed
        loop.unwatch(channel.socket.descriptor)
        channel.close(aborting: aborting)
        server.forget(self)
        server.handler?.closed(self, reason: reason)
    }
}

extension HTTPServerRequest {
    /// An HTTP/1.1 request under the names of HTTP/2.
    init(_ message: HTTP1Parser.Message) {
        self.init(stream: 0)
        let words = message.startLine.split(separator: " ", maxSplits: 2)
        headers = [
            HTTPResponse.Header(name: ":method", value: words.first.map(String.init) ?? ""),
            HTTPResponse.Header(name: ":path", value: words.count > 1 ? String(words[1]) : ""),
        ]
        if let host = message["host"] { headers.append(HTTPResponse.Header(name: ":authority", value: host)) }
        headers.append(contentsOf: message.headers)
        body = message.body
        isTruncated = message.isTruncated
    }
}
