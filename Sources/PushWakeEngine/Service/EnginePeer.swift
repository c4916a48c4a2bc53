// SPDX-License-Identifier: MIT

internal import PushWakeTransport

/// One connection from a PBX process, shell or waiting channel.
///
/// Nobody may make the engine wait or grow: a peer that does not read loses what comes past a bound.
final class EnginePeer: WakeWaiter {
    static let longestBacklog = 4096

    let socket: LocalSocket
    /// Wants a `result` for every push that ends.
    var isSubscribed = false
    /// The PBX whose supervisor this is; 0 for others.
    var host: UInt64 = 0
    /// Set while a channel waits on this connection for a phone.
    var wait: WakeKey?
    private(set) var isClosed = false
    /// Runs when a message had to be kept: somebody must watch for room.
    var onBacklog: (() -> Void)?
    private var backlog: [[UInt8]] = []

    init(socket: LocalSocket) { self.socket = socket }

    /// Sends now, or keeps the message until the peer reads.
    func send(_ message: [UInt8]) {
        guard !isClosed else { return }
        guard backlog.isEmpty else { return keep(message) }
        switch socket.send(message) {
        case .done: break
        case .wouldBlock: keep(message)
        case .closed: isClosed = true
        }
    }

    /// Sends what was kept; true when there is more.
    func flush() -> Bool {
        var sent = 0
        loop: while sent < backlog.count {
            switch socket.send(backlog[sent]) {
            case .done: sent += 1
            case .wouldBlock: break loop
            case .closed:
                isClosed = true
                break loop
            }
        }
        backlog.removeFirst(sent)
        return !backlog.isEmpty
    }

    var hasBacklog: Bool { !backlog.isEmpty }

    func close() { isClosed = true }

    func tell(_ event: WaitEvent) {
        var writer = MessageWriter()
        writer.begin(.waitEvent, id: 0)
        writer.put(.kind, event.kind.rawValue)
        writer.put(.contactURI, event.contact)
        writer.put(.reason, event.reason)
        send(writer.bytes)
    }

    private func keep(_ message: [UInt8]) {
        guard backlog.count < Self.longestBacklog else { return }
        backlog.append(message)
        if backlog.count == 1 { onBacklog?() }
    }
}
