// SPDX-License-Identifier: MIT

/// Takes TCP connections.
public final class LineListener: LoopSource {
    private let socket: Socket
    private let loop: Loop
    private let onAccept: (LineConnection, SocketAddress) -> Void
    private let gate: AcceptGate

    /// Listens on an address; `onAccept` gets each connection and the peer's address, `onFull` runs whenever somebody
    /// has to wait for a descriptor.
    public init(
        _ address: SocketAddress, loop: Loop, onFull: @escaping (_ limit: Int) -> Void,
        onAccept: @escaping (LineConnection, SocketAddress) -> Void
    ) throws(SystemError) {
        socket = try Socket.listen(on: address)
        gate = AcceptGate(socket.descriptor, loop: loop, onFull: onFull)
        self.loop = loop
        self.onAccept = onAccept
        try loop.watch(socket.descriptor, for: .readable, self)
    }

    public func ready(_ readiness: Loop.Readiness) {
        while true {
            let taken = socket.accept()
            if gate.isShut(after: taken?.socket.descriptor ?? -1) { return }
            guard let (accepted, peer) = taken else { return }
            if let connection = try? LineConnection(accepted, loop: loop) { onAccept(connection, peer) }
        }
    }
}
