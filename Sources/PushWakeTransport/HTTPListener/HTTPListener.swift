// SPDX-License-Identifier: MIT

internal import CLinux
public import PushWakeCore
public import PushWakeSystem

/// Takes HTTP connections and hands out their requests, on the loop of its owner.
public final class HTTPListener: LoopSource {
    /// How much it takes on.
    public struct Limits: Sendable {
        /// Connections at a time. Past them the one that has done nothing useful for longest makes room, and where all do
        /// something, one that reads an answer without end.
        public var connections = 200
        /// Connections that are taken in one turn of the loop: each may cost a TLS handshake.
        public var acceptsPerTurn = 4
        public var request = HTTP1RequestReader.Limits()
        public var times = ServerConnectionTimes.Limits()

        /// The limits that are shipped.
        public init() {}
    }

    /// Milliseconds between two looks for clients that took too long.
    private static let lookPause: Int64 = 1000

    private let socket: Socket
    private let loop: Loop
    private let limits: Limits
    /// What new connections are encrypted with; nil for none. Another certificate takes its place here.
    public var tls: TLSContext?
    private let gate: AcceptGate
    private var connections: [ObjectIdentifier: HTTPListenerConnection] = [:]
    private var isLooking = false
    /// Takes each request with where its answer goes.
    public var onRequest: ((ServedRequest, AnswerSlot) -> Void)?
    /// Says whether somebody may connect now.
    public var admits: ((SocketAddress) -> Bool)?
    /// Clients that were closed because they took too long.
    public private(set) var overdue = 0
    /// Connections that were turned away or made room for others.
    public private(set) var turnedAway = 0

    /// Listens; `onFull` runs whenever somebody has to wait for a descriptor.
    public init(
        _ address: SocketAddress, tls: TLSContext?, limits: Limits = Limits(), loop: Loop,
        onFull: @escaping (_ limit: Int) -> Void
    ) throws(SystemError) {
        socket = try Socket.listen(on: address)
        gate = AcceptGate(socket.descriptor, loop: loop, onFull: onFull)
        self.tls = tls
        self.limits = limits
        self.loop = loop
        try loop.watch(socket.descriptor, for: .readable, self)
    }

    /// Where it listens, with the port that was picked.
    public var address: SocketAddress { socket.localAddress }
    /// Connections that are open.
    public var count: Int { connections.count }

    var requestLimits: HTTP1RequestReader.Limits { limits.request }

    /// Listens no more and ends all connections, behind the answers that they have.
    public func close() {
        loop.unwatch(socket.descriptor)
        for connection in Array(connections.values) { connection.end() }
        socket.close()
    }

    public func ready(_ readiness: Loop.Readiness) {
        for _ in 0..<limits.acceptsPerTurn {
            let taken = socket.accept()
            guard !gate.isShut(after: taken?.socket.descriptor ?? -1), let (accepted, peer) = taken else { return }
            guard admits?(peer) != false, makeRoom() else {
                turnedAway += 1
                accepted.abort()
                continue
            }
            take(accepted, peer)
        }
    }

    private func take(_ accepted: Socket, _ peer: SocketAddress) {
        do {
            let connection = try HTTPListenerConnection(
                accepted, peer, tls: tls, limits: limits.times, loop: loop, listener: self)
            try loop.watch(accepted.descriptor, for: .readable, connection)
            connections[ObjectIdentifier(connection)] = connection
        } catch {
            // Memory is short: the descriptor closes with its socket.
            turnedAway += 1
            return
        }
        look()
    }

    private func makeRoom() -> Bool {
        guard connections.count >= limits.connections else { return true }
        let idle = connections.values.filter { $0.unproductiveSince != nil }
        let longest = idle.min { ($0.unproductiveSince ?? .max) < ($1.unproductiveSince ?? .max) }
        guard let longest = longest ?? connections.values.first(where: \.isStreaming) else { return false }
        turnedAway += 1
        longest.close(aborting: true)
        return true
    }

    /// Looks every second while somebody is connected.
    private func look() {
        guard !isLooking, !connections.isEmpty else { return }
        isLooking = true
        loop.schedule(after: Self.lookPause) { [weak self] in
            guard let self else { return }
            isLooking = false
            for connection in Array(connections.values) { connection.look(now: loop.now) }
            look()
        }
    }

    func serve(_ request: ServedRequest, _ slot: AnswerSlot) {
        guard let onRequest else { return slot.answer(.problem(503, "the engine is not ready")) }
        onRequest(request, slot)
    }

    func note(_ reason: ServerConnectionTimes.Overdue, _ peer: SocketAddress) {
        if reason != .idle { overdue += 1 }
    }

    func forget(_ connection: HTTPListenerConnection) { connections[ObjectIdentifier(connection)] = nil }
}
