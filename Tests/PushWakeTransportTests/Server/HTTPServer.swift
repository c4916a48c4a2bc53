// SPDX-License-Identifier: MIT

import PushWakeCore

@testable import PushWakeSystem
@testable import PushWakeTransport

/// What a server does with its connections and requests. All calls come on the loop's thread.
protocol HTTPServerHandler: AnyObject {
    /// A client has connected and, with TLS, has completed the handshake.
    func opened(_ connection: HTTPServerConnection)
    /// A whole request has come: answer it with `respond`, now or later, or never.
    func received(_ request: HTTPServerRequest, on connection: HTTPServerConnection)
    /// The client gave up a request, or reset it.
    func cancelled(stream: Int32, on connection: HTTPServerConnection)
    /// The connection is over; `reason` says why, empty for an orderly end.
    func closed(_ connection: HTTPServerConnection, reason: String)
}

extension HTTPServerHandler {
    func opened(_ connection: HTTPServerConnection) {}
    func cancelled(stream: Int32, on connection: HTTPServerConnection) {}
    func closed(_ connection: HTTPServerConnection, reason: String) {}
}

/// Listens and serves HTTP/2 and HTTP/1.1, with TLS as ALPN says, or plain HTTP/1.1 without a TLS context.
///
/// Lives until `close()`; the handler is not kept alive.
final class HTTPServer: LoopSource {
    /// Where it listens, with the real port.
    let address: SocketAddress
    let loop: Loop
    let tls: TLSContext?
    let limits: HTTPServerLimits
    weak var handler: (any HTTPServerHandler)?
    private let socket: Socket
    private var connections: [Int: HTTPServerConnection] = [:]
    private var lastID = 0
    /// New connections are closed with RST before a TLS byte is said, while this is true.
    var refusesConnections = false

    /// Listens at once.
    init(
        loop: Loop, listening address: SocketAddress, tls: TLSContext?, limits: HTTPServerLimits = HTTPServerLimits(),
        handler: any HTTPServerHandler
    ) throws(SystemError) {
        self.loop = loop
        self.tls = tls
        self.limits = limits
        self.handler = handler
        socket = try Socket.listen(on: address)
        self.address = socket.localAddress
        try loop.watch(socket.descriptor, for: .readable, self)
    }

    /// Connections that stand now.
    var openConnections: [HTTPServerConnection] { connections.values.sorted { $0.id < $1.id } }

    /// Stops listening and closes all connections, with GOAWAY where there is HTTP/2.
    func close() {
        loop.unwatch(socket.descriptor)
        socket.close()
        for connection in openConnections { connection.close() }
    }

    /// Takes waiting connections.
    func ready(_ readiness: Loop.Readiness) {
        for _ in 0..<64 {
            guard let (accepted, peer) = socket.accept() else { return }
            guard !refusesConnections else {
                accepted.abort()
                continue
            }
            lastID += 1
            if let connection = HTTPServerConnection(id: lastID, socket: accepted, peer: peer, server: self) {
                connections[lastID] = connection
            }
        }
    }

    func forget(_ connection: HTTPServerConnection) { connections[connection.id] = nil }
}
