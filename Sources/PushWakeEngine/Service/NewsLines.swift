// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeSystem

/// Connections over which hosts say what nobody waits for: a leg rings, a call is over.
///
/// To be woken for a message costs more than to read it. While many come, nothing wakes the engine for them: it reads what
/// has come when somebody asks it something, and at the latest after `NewsPace.pause`. What has come is handled in the
/// order in which it was said, before whatever was said later over other connections.
final class NewsLines {
    private let loop: Loop
    private let handle: (MessageReader, SocketPeer) -> Void
    /// Runs when a host has closed a line.
    var onEnd: (SocketPeer) -> Void = { _ in }
    private let members = DescriptorSet()
    private var lines: [Int32: SocketPeer] = [:]
    private var pace = NewsPace()
    private var buffer: [UInt8] = []
    private var lastLook: UInt64?
    /// While nothing else wakes the engine for news.
    private var timer: Loop.TimerID?
    /// Read and not yet handled, the oldest first.
    private var waiting: [(begunAt: Int64, message: MessageReader, peer: SocketPeer)] = []
    private var handled = 0
    /// Messages of one line, and looks at all lines, in one turn.
    private static let (longestRead, mostLooks) = (64, 32)

    /// `handle` takes one message; it must not call back.
    init(loop: Loop, handle: @escaping (MessageReader, SocketPeer) -> Void) {
        self.loop = loop
        self.handle = handle
    }

    /// A host says its news over this connection from now on.
    func add(_ peer: SocketPeer) throws(SystemError) {
        if buffer.isEmpty {
            try loop.watch(members.descriptor, for: .readable, Wake(self))
            buffer = [UInt8](repeating: 0, count: EngineProtocol.longestMessage)
        }
        lines[peer.socket.descriptor] = peer
        members.add(peer.socket.descriptor)
    }

    /// Handles what was said before this message; all of it, where that does not say when.
    func handle(before message: MessageReader) {
        guard !lines.isEmpty else { return }
        look()
        if handled < waiting.count { handleWaiting(until: message.begunAt ?? .max) }
    }

    /// Reads what has come, once in a turn, or once more where it `isDue`; what is not handled before the turn ends is
    /// handled then.
    private func look(isDue: Bool = false) {
        guard isDue || lastLook != loop.turns else { return }
        lastLook = loop.turns
        waiting.removeFirst(handled)
        handled = 0
        readAll()
        if !waiting.isEmpty { loop.atEndOfTurn(self) }
        follow(pace.looked(hasFound: !waiting.isEmpty, now: loop.now))
    }

    private func handleWaiting(until time: Int64) {
        while handled < waiting.count, waiting[handled].begunAt <= time {
            let (_, message, peer) = waiting[handled]
            handled += 1
            handle(message, peer)
        }
    }

    private func readAll() {
        for _ in 0..<Self.mostLooks {
            let ready = members.ready()
            for descriptor in ready { if let peer = lines[descriptor] { read(peer) } }
            guard ready.count == DescriptorSet.mostReady else { break }
        }
        // What one host says within a microsecond stays in its order: `sort` is stable.
        if waiting.count > 1 { waiting.sort { $0.begunAt < $1.begunAt } }
    }

    private func read(_ peer: SocketPeer) {
        for _ in 0..<Self.longestRead {
            switch peer.socket.receive(into: &buffer) {
            case .wouldBlock: return
            case .message(let count):
                guard let message = MessageReader(Array(buffer[..<count])) else { return end(peer) }
                waiting.append((message.begunAt ?? 0, message, peer))
            case .closed: return end(peer)
            }
        }
    }

    private func end(_ peer: SocketPeer) {
        members.remove(peer.socket.descriptor)
        lines[peer.socket.descriptor] = nil
        peer.socket.close()
        onEnd(peer)
    }

    private func follow(_ change: NewsPace.Change?) {
        guard let change else { return }
        if let timer { loop.cancel(timer) }
        timer = nil
        switch change {
        case .watch: loop.rewatch(members.descriptor, for: .readable)
        case .leave(let until, let isFirst):
            if isFirst { loop.rewatch(members.descriptor, for: []) }
            timer = loop.schedule(at: until) { [weak self] in self?.look(isDue: true) }
        }
    }

    /// Hears of news while it wakes the engine.
    private final class Wake: LoopSource {
        weak var lines: NewsLines?

        init(_ lines: NewsLines) { self.lines = lines }

        func ready(_ readiness: Loop.Readiness) { lines?.look() }
    }
}

extension NewsLines: TurnEnding {
    func turnEnds() {
        handleWaiting(until: .max)
        waiting.removeAll(keepingCapacity: true)
        handled = 0
    }
}

/// When news wakes the engine, and when it waits for a turn. Times are monotonic milliseconds.
///
///     watched --news soon after other news--> left alone
///        ^                                        |
///        +----- a pause in which none came -------+
struct NewsPace: Equatable {
    /// How long news waits at most.
    static let pause: Int64 = 10

    enum Change: Equatable {
        /// News wakes the engine from now on.
        case watch
        /// It does not, and somebody must look at this time at the latest; `isFirst`: it has until now.
        case leave(until: Int64, isFirst: Bool)
    }

    private var lastNews: Int64?
    private var isLeft = false

    /// The lines have been read.
    mutating func looked(hasFound: Bool, now: Int64) -> Change? {
        let before = lastNews
        if hasFound { lastNews = now }
        guard isLeft else {
            guard hasFound, let before, now - before <= 2 * Self.pause else { return nil }
            isLeft = true
            return .leave(until: now + Self.pause, isFirst: true)
        }
        isLeft = lastNews.map { now - $0 <= Self.pause } ?? false
        return isLeft ? .leave(until: now + Self.pause, isFirst: false) : .watch
    }
}
