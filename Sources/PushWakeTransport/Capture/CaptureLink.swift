// SPDX-License-Identifier: MIT

internal import CLinux
package import PushWakeCore
package import PushWakeSystem

/// Sends HEP packets to one server, and connects again whenever it cannot. Nobody ever waits for it: while the server is
/// away or slow a bounded number of packets waits, and the oldest give way.
package final class CaptureLink: TurnEnding, OutboundStreamOwner {
    /// Packets that wait at most; one has some 700 bytes.
    package static let mostWaiting = 2048
    /// Packets that go out in one turn of the loop.
    private static let mostPerTurn = 128
    /// Milliseconds in which a connection must stand.
    private static let connectTimeout: Int64 = 5000
    /// Milliseconds until a kernel without room is asked again.
    private static let pause: Int64 = 10

    private let address: CaptureAddress
    private let loop: Loop
    private let stream: OutboundStream
    /// Over UDP, in place of the stream.
    private var datagrams: DatagramSocket?
    private var isOpen = false
    private var waiting = RingBuffer<HEPPacket>()
    private var backoff = Backoff(first: 200, cap: 10_000)
    private var lastReason = ""
    /// When the connection was established, in milliseconds.
    private var establishedAt: Int64 = 0
    private var timer: Loop.TimerID?
    private var isDue = false
    private var isEnded = false
    /// Packets that were handed to the kernel or to TLS.
    package private(set) var sent: Int64 = 0
    /// Packets that gave way, or that the kernel refused.
    package private(set) var dropped: Int64 = 0
    /// The server cannot be reached, or its connection has ended; said once for each reason.
    package var onTrouble: (_ reason: String) -> Void = { _ in }

    /// Does nothing yet. An empty `caFile` trusts what the system does.
    package init(_ address: CaptureAddress, caFile: String, loop: Loop) throws(TLSError) {
        self.address = address
        self.loop = loop
        let isTLS = address.transport == .tls
        stream = OutboundStream(
            tls: isTLS ? try TLSContext.client(caFile: caFile.isEmpty ? nil : caFile, protocols: []) : nil, loop: loop)
        stream.owner = self
    }

    deinit { stream.close(aborting: true) }

    /// Connects, and does so again whenever that is lost.
    package func start() {
        guard !isOpen, !isEnded else { return }
        isOpen = true
        setTimer(after: Self.connectTimeout) { [weak self] in
            self?.lost("no connection within \(Self.connectTimeout) ms")
        }
        guard address.transport == .udp else { return stream.open(host: address.host, port: address.port) }
        stream.resolve(host: address.host, port: address.port) { [weak self] in self?.openDatagrams($0) }
    }

    /// Sends a packet at the end of this turn, or when the server can be reached.
    package func send(_ packet: HEPPacket) {
        guard !isEnded else { return }
        if waiting.count >= Self.mostWaiting, waiting.popFirst() != nil { dropped += 1 }
        waiting.append(packet)
        flushSoon()
    }

    /// Sends what the kernel takes now, and ends.
    package func end() {
        address.transport == .udp ? turnEnds() : stream.turnEnds()
        isEnded = true
        drop(aborting: false)
        while waiting.popFirst() != nil { dropped += 1 }
    }

    // MARK: Connecting

    /// UDP: the first address that there is a way to.
    private func openDatagrams(_ addresses: [SocketAddress]) {
        var failure = "there is no address"
        for address in addresses {
            do throws(SystemError) {
                datagrams = try DatagramSocket(to: address)
                return established()
            } catch {
                failure = error.description
            }
        }
        lost(failure)
    }

    package func opened(_ channel: Channel) { established() }

    private func established() {
        establishedAt = loop.now
        cancelTimer()
        flushSoon()
    }

    /// There is no way to the server: another attempt follows after a pause.
    package func lost(_ reason: String) {
        guard !isEnded else { return }
        drop(aborting: true)
        if reason != lastReason { onTrouble("\(address): \(reason)") }
        lastReason = reason
        setTimer(after: backoff.next(random: UInt64.random(in: 0...UInt64.max))) { [weak self] in self?.start() }
    }

    private func drop(aborting: Bool) {
        cancelTimer()
        stream.close(aborting: aborting)
        datagrams?.close()
        datagrams = nil
        isOpen = false
    }

    private func setTimer(after pause: Int64, _ action: @escaping () -> Void) {
        cancelTimer()
        timer = loop.schedule(after: pause) { [weak self] in
            self?.timer = nil
            action()
        }
    }

    private func cancelTimer() {
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    // MARK: Packets

    private func flushSoon() {
        guard address.transport == .udp else { return stream.flushSoon() }
        guard !isDue else { return }
        isDue = true
        loop.atEndOfTurn(self)
    }

    package func turnEnds() {
        isDue = false
        if let datagrams { write(to: datagrams) }
    }

    package func willSend(on channel: Channel) -> Bool {
        write(to: channel)
        return !waiting.isEmpty
    }

    /// Servers have nothing to say but that they end.
    package func receive(from channel: Channel) -> Channel.ReadEnd {
        let end = channel.read { _ in true }
        if end == .drained || end == .stopped { flushSoon() }
        return end
    }

    private func write(to socket: DatagramSocket) {
        let (source, destination) = (Self.end(socket.localAddress), Self.end(socket.peer))
        for _ in 0..<Self.mostPerTurn {
            guard let packet = waiting.popFirst() else { return }
            switch socket.send(packet.bytes(from: source, to: destination, isUDP: true)) {
            case .bytes: count()
            case .wouldBlock:
                waiting.prepend(packet)
                return setTimer(after: Self.pause) { [weak self] in self?.flushSoon() }
            case .closed, .failed(EMSGSIZE): dropped += 1
            case .failed(let code):
                // It was this one or the one before that nobody took.
                dropped += 1
                return lost(SystemError("send", code: code).description)
            }
        }
        flushSoon()
    }

    private func write(to channel: Channel) {
        let source = Self.end(channel.socket.localAddress)
        let destination = HEPPacket.End(host: channel.socket.peerAddress.hostBytes, port: address.port)
        for _ in 0..<Self.mostPerTurn {
            guard channel.hasRoom, let packet = waiting.popFirst() else { return }
            for piece in Self.pieces(packet.bytes(from: source, to: destination, isUDP: false)) {
                guard piece.withUnsafeBytes({ channel.write($0) }) else { return lost("TLS failed") }
            }
            count()
        }
    }

    /// What a channel takes at once.
    private static func pieces(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        stride(from: 0, to: bytes.count, by: 16_384).map { bytes[$0..<min($0 + 16_384, bytes.count)] }
    }

    private static func end(_ address: SocketAddress) -> HEPPacket.End {
        HEPPacket.End(host: address.hostBytes, port: address.port)
    }

    /// A server that has taken packets for a while is there, whatever it said before.
    private func count() {
        sent += 1
        guard loop.now - establishedAt >= Self.connectTimeout else { return }
        backoff.reset()
        lastReason = ""
    }
}
