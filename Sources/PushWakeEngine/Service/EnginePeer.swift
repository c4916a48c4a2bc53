// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem

/// Somebody who asks the engine in its own language: a PBX process, a shell, a waiting channel, or HTTP.
class EnginePeer: WakeWaiter {
    /// Wants a `result` for every push that ends.
    var isSubscribed = false
    /// The PBX whose supervisor this is; 0 for others.
    var host: UInt64 = 0
    /// Sends REGISTERs of the gateway.
    var sendsUpstream = false
    /// Set while a channel waits on this connection for a phone.
    var wait: WakeKey?
    var waitTimer: Loop.TimerID?
    fileprivate(set) var isClosed = false
    /// Messages begun, in order.
    private var drafts: [[UInt8]] = []
    /// Somebody sends them at the end of this turn, or in a moment.
    private var isDue = false
    private var isTimed = false
    private static let mostDrafts = 64

    /// Begins a message that verbs may join until it goes.
    final func begin(draft message: [UInt8]) {
        if drafts.count == Self.mostDrafts { sendDrafts() }
        drafts.append(message)
    }

    /// Adds fields to the message that was begun last; false when there is none, or no room.
    final func join(_ fields: ArraySlice<UInt8>) -> Bool {
        guard let last = drafts.indices.last, drafts[last].count + fields.count <= EngineProtocol.longestMessage else {
            return false
        }
        drafts[last] += fields
        return true
    }

    /// True when somebody has to call `sendDrafts`: `isUrgent` at the end of this turn, else in a moment.
    final func needsSending(isUrgent: Bool) -> Bool {
        guard !isDue, isUrgent || !isTimed else { return false }
        if isUrgent { isDue = true } else { isTimed = true }
        return true
    }

    /// Sends what was begun; whoever was to do it later finds nothing.
    final func sendDrafts() {
        (isDue, isTimed) = (false, false)
        let messages = drafts
        drafts = []
        for message in messages where !isClosed { deliver(message) }
    }

    /// Sends now, after what was begun.
    final func send(_ message: [UInt8]) {
        if !drafts.isEmpty { sendDrafts() }
        if !isClosed { deliver(message) }
    }

    /// Brings one message to its place.
    func deliver(_ message: [UInt8]) {}

    final func close() { isClosed = true }

    final func tell(_ event: WaitEvent) {
        var writer = MessageWriter()
        writer.begin(.waitEvent, id: 0)
        writer.put(.kind, event.kind.rawValue)
        writer.put(.contactURI, event.contact)
        writer.put(.reason, event.reason)
        send(writer.bytes)
    }
}

/// A peer behind the Unix socket.
///
/// Nobody may make the engine wait or grow: a peer that does not read loses what comes past a bound.
final class SocketPeer: EnginePeer {
    static let longestBacklog = 4096
    /// Bytes of all kept messages.
    static let mostBytes = 4 << 20

    let socket: LocalSocket
    /// Runs when a message had to be kept: somebody must watch for room.
    var onBacklog: (() -> Void)?
    /// Runs for each message that is lost.
    var onLoss: (() -> Void)?
    private var backlog: [[UInt8]] = []
    private var backlogBytes = 0

    init(socket: LocalSocket) { self.socket = socket }

    /// Sends, or keeps the message until the peer reads.
    override func deliver(_ message: [UInt8]) {
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
        for message in backlog[..<sent] { backlogBytes -= message.count }
        backlog.removeFirst(sent)
        return !backlog.isEmpty
    }

    var hasBacklog: Bool { !backlog.isEmpty }

    private func keep(_ message: [UInt8]) {
        guard backlog.count < Self.longestBacklog, backlogBytes + message.count <= Self.mostBytes else {
            onLoss?()
            return
        }
        backlog.append(message)
        backlogBytes += message.count
        if backlog.count == 1 { onBacklog?() }
    }
}

/// A peer within the engine: what HTTP asks is what shell and PBX ask, and is answered by the same rules.
final class InnerPeer: EnginePeer {
    private var onMessage: ((MessageReader) -> Void)?

    /// `onMessage` must not call back into the core: it is in the middle of its answer.
    init(onMessage: @escaping (MessageReader) -> Void) { self.onMessage = onMessage }

    override func deliver(_ message: [UInt8]) {
        if let reader = MessageReader(message) { onMessage?(reader) }
    }

    /// Nothing more is to be heard; whoever hears may hold this peer.
    func end() { onMessage = nil }
}

/// Pages of long listings that somebody waits for: one at a turn of the loop, behind all requests of that turn.
///
/// A page takes a millisecond or so, and however many list at once, a REGISTER waits for one of them at most.
final class PageQueue {
    private let loop: Loop
    private var waiting = RingBuffer<() -> Void>()

    init(loop: Loop) { self.loop = loop }

    /// Makes a page when its turn comes.
    func add(_ page: @escaping () -> Void) {
        waiting.append(page)
        if waiting.count == 1 { arm() }
    }

    private func arm() { loop.atEndOfTurn { [weak self] in self?.makeOne() } }

    private func makeOne() {
        guard let page = waiting.first else { return }
        // It stands in the queue meanwhile, so that a page which is added does not arm a second time.
        page()
        _ = waiting.popFirst()
        if !waiting.isEmpty { arm() }
    }
}
