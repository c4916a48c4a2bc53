// SPDX-License-Identifier: MIT

/// A TCP connection that speaks in lines, such as FastAGI.
public final class LineConnection: LoopSource {
    private static let longestLine = 8192
    private static let mostUnsent = 256 * 1024
    /// Milliseconds that a reader has for the last lines.
    private static let farewell: Int64 = 10_000

    private let socket: Socket
    private let loop: Loop
    /// Takes each line without its end.
    public var onLine: ((String) -> Void)?
    /// Runs once, when the other end is gone or `close()` has done its work.
    public var onClose: (() -> Void)?
    private var received: [UInt8] = []
    private var unsent: [UInt8] = []
    private var isClosing = false
    private var isClosed = false

    /// Takes over a connected socket and begins to read.
    public init(_ socket: Socket, loop: Loop) throws(SystemError) {
        self.socket = socket
        self.loop = loop
        try loop.watch(socket.descriptor, for: .readable, self)
    }

    /// Sends a line.
    public func send(_ line: String) {
        guard !isClosed, !isClosing else { return }
        unsent.append(contentsOf: line.utf8)
        unsent.append(0x0A)
        if unsent.count > Self.mostUnsent { finish() } else { flush() }
    }

    /// Closes once everything has been sent.
    public func close() {
        guard !isClosing else { return }
        isClosing = true
        if unsent.isEmpty { return finish() }
        loop.schedule(after: Self.farewell) { [weak self] in self?.finish() }
    }

    public func ready(_ readiness: Loop.Readiness) {
        if readiness.contains(.writable) { flush() }
        guard !isClosed, !readiness.isDisjoint(with: [.readable, .failed]) else { return }
        // Once: who sends without end has its next turn behind all others.
        switch socket.receive(into: loop.receiveBuffer) {
        case .bytes(let count): take(UnsafeRawBufferPointer(rebasing: loop.receiveBuffer[..<count]))
        case .wouldBlock: return
        case .closed, .failed: finish()
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        var lines: [String] = []
        for byte in bytes {
            if byte == 0x0A {
                if received.last == 0x0D { received.removeLast() }
                lines.append(String(decoding: received, as: UTF8.self))
                received.removeAll(keepingCapacity: true)
            } else if received.count < Self.longestLine {
                received.append(byte)
            } else {
                return finish()
            }
        }
        for line in lines where !isClosed { onLine?(line) }
    }

    private func flush() {
        while !unsent.isEmpty && !isClosed {
            let transfer = unsent.withUnsafeBytes { socket.send($0) }
            switch transfer {
            case .bytes(let count): unsent.removeFirst(count)
            case .wouldBlock: return loop.rewatch(socket.descriptor, for: [.readable, .writable])
            case .closed, .failed: return finish()
            }
        }
        guard !isClosed else { return }
        loop.rewatch(socket.descriptor, for: .readable)
        if isClosing { finish() }
    }

    private func finish() {
        guard !isClosed else { return }
        isClosed = true
        loop.unwatch(socket.descriptor)
        socket.close()
        let closed = onClose
        (onLine, onClose) = (nil, nil)
        closed?()
    }
}

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
