// SPDX-License-Identifier: MIT

internal import PushWakeCore
package import PushWakeSystem

/// Who has an `OutboundStream`. All is called on the loop, nothing within a call of the stream's own functions.
package protocol OutboundStreamOwner: AnyObject {
    /// The connection stands, TLS included.
    func opened(_ channel: Channel)
    /// Something has come, or the end: the owner reads, and gives how that ended.
    func receive(from channel: Channel) -> Channel.ReadEnd
    /// What was written goes out now; the owner may add to it. True: more waits for room.
    func willSend(on channel: Channel) -> Bool
    /// It could not be made, or has ended: the owner closes it.
    func lost(_ reason: String)
}

/// One connection at a time to a server, over TCP, TLS or a Unix socket: found, made, secured, and sent to once in a turn
/// of the loop. Its owner decides when, how long that may take, and when another attempt is made. An address that takes
/// connections and then says nothing comes last in the next attempt (`AddressOrder`).
package final class OutboundStream: LoopSource, TurnEnding {
    private enum Stage {
        case closed
        case resolving
        case connecting(Connector)
        case securing(Channel)
        case standing(Channel)
    }

    private let loop: Loop
    private let resolver: Resolver
    private let tls: TLSContext?
    private var stage = Stage.closed
    private var addressOrder = AddressOrder()
    /// Where the connection leads, until something has come over it.
    private var unproven: SocketAddress?
    /// Counts connections: what comes of an earlier one is nobody's.
    private var attempt: UInt64 = 0
    /// The name that the certificate must be for.
    private var host = ""
    private var isFlushDue = false
    private var isWatchingWrites = false
    package weak var owner: (any OutboundStreamOwner)?

    /// Does nothing yet. Without `tls` it is not encrypted.
    package init(tls: TLSContext?, loop: Loop) {
        self.tls = tls
        self.loop = loop
        resolver = Resolver(loop: loop, threadLimit: 1)
    }

    /// The connection, while it stands.
    package var channel: Channel? { if case .standing(let channel) = stage { channel } else { nil } }

    /// Connects to a name or an IP literal.
    package func open(host: String, port: UInt16) {
        resolve(host: host, port: port) { [weak self] in self?.open($0, host: host) }
    }

    /// Connects to the first of these addresses that answers.
    package func open(_ addresses: [SocketAddress], host: String = "") {
        attempt &+= 1
        self.host = host
        let choice = addressOrder.choice(of: addresses, now: loop.now)
        stage = .connecting(Connector(loop: loop, addresses: choice) { [weak self] in self?.connected($0) })
    }

    /// Only finds addresses.
    package func resolve(host: String, port: UInt16, then: @escaping ([SocketAddress]) -> Void) {
        attempt &+= 1
        stage = .resolving
        let attempt = attempt
        resolver.resolve(host, port: port) { [weak self] answer in
            guard let self, self.attempt == attempt, case .resolving = stage else { return }
            stage = .closed
            switch answer {
            case .addresses(let found): then(found)
            case .failed(let text): owner?.lost(text)
            }
        }
    }

    /// Ends it, with RST when `aborting`; nobody is told.
    package func close(aborting: Bool) {
        attempt &+= 1
        if let unproven { addressOrder.failed(unproven.description, now: loop.now) }
        unproven = nil
        switch stage {
        case .closed, .resolving: break
        case .connecting(let connector): connector.cancel()
        case .securing(let channel), .standing(let channel):
            loop.unwatch(channel.socket.descriptor)
            channel.close(aborting: aborting)
        }
        stage = .closed
    }

    /// Sends what was written at the end of this turn.
    package func flushSoon() {
        guard !isFlushDue else { return }
        isFlushDue = true
        loop.atEndOfTurn(self)
    }

    // MARK: Connecting

    private func connected(_ result: Result<Socket, SystemError>) {
        let socket: Socket
        switch result {
        case .failure(let error):
            owner?.lost(error.description)
            return
        case .success(let opened): socket = opened
        }
        if case .connecting(let connector) = stage { unproven = connector.reached }
        let channel = Channel(socket: socket, loop: loop)
        stage = .securing(channel)
        isWatchingWrites = false
        do {
            try loop.watch(socket.descriptor, for: .readable, self)
            guard let tls else { return established(channel) }
            try channel.startTLS(tls, host: host)
            handshake(channel)
        } catch {
            owner?.lost("\(error)")
        }
    }

    private func handshake(_ channel: Channel) {
        switch channel.handshake() {
        case .incomplete: flushSoon()
        case .failed(let text):
            // The alert that says why.
            _ = channel.flush()
            owner?.lost("TLS: \(text)")
        case .complete: established(channel)
        }
    }

    private func established(_ channel: Channel) {
        stage = .standing(channel)
        if tls != nil { prove() }
        owner?.opened(channel)
    }

    /// Something has come from there.
    private func prove() {
        if let unproven { addressOrder.served(unproven.description) }
        unproven = nil
    }

    // MARK: Bytes

    package func turnEnds() {
        isFlushDue = false
        var hasMore = false
        if case .standing(let channel) = stage { hasMore = owner?.willSend(on: channel) ?? false }
        // The owner may have ended it.
        switch stage {
        case .securing(let channel), .standing(let channel):
            switch channel.flush() {
            case .sent: watchWrites(channel, hasMore)
            case .blocked: watchWrites(channel, true)
            case .failed(let text): owner?.lost(text)
            }
        case .closed, .resolving, .connecting: break
        }
    }

    private func watchWrites(_ channel: Channel, _ wanted: Bool) {
        guard wanted != isWatchingWrites else { return }
        isWatchingWrites = wanted
        loop.rewatch(channel.socket.descriptor, for: wanted ? [.readable, .writable] : .readable)
    }

    package func ready(_ readiness: Loop.Readiness) {
        if readiness.contains(.writable) { flushSoon() }
        guard !readiness.isDisjoint(with: [.readable, .failed]) else { return }
        if case .securing(let channel) = stage { handshake(channel) }
        guard case .standing(let channel) = stage, let owner else { return }
        let attempt = attempt
        let end = owner.receive(from: channel)
        guard self.attempt == attempt else { return }
        switch end {
        case .drained, .stopped: prove()
        case .closed: owner.lost("the server closed the connection")
        case .failed(let text): owner.lost(text)
        }
    }
}
