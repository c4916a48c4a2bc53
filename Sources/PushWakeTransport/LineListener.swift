// SPDX-License-Identifier: MIT

/// Takes TCP connections.
public final class LineListener: LoopSource {
    private let socket: Socket
    private let loop: Loop
    private let onAccept: (LineConnection, SocketAddress) -> Void

    /// Listens on an address; `onAccept` gets each connection and the peer's address.
    public init(
        _ address: SocketAddress, loop: Loop, onAccept: @escaping (LineConnection, SocketAddress) -> Void
    ) throws(SystemError) {
        socket = try Socket.listen(on: address)
        self.loop = loop
        self.onAccept = onAccept
        try loop.watch(socket.descriptor, for: .readable, self)
    }

    public func ready(_ readiness: Loop.Readiness) {
        while let (accepted, peer) = socket.accept() {
            if let connection = try? LineConnection(accepted, loop: loop) { onAccept(connection, peer) }
        }
    }
}
