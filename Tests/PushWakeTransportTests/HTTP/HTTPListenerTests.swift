// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeSystem
@testable import PushWakeTransport

/// A listener on loopback and one client of it, in one thread.
final class ListenerBench {
    enum Version: CaseIterable { case http1, http2 }

    let loop: Loop
    private let listener: HTTPListener
    private let client: Socket
    private(set) var slot: AnswerSlot?

    /// The client has sent a request, and the listener has handed it out.
    init(_ version: Version) throws {
        loop = try Loop()
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        listener = try HTTPListener(address, tls: nil, loop: loop, onFull: { _ in })
        client = try Socket.connect(to: listener.address)
        listener.onRequest = { [unowned self] _, slot in self.slot = slot }
        run { listener.count == 1 }
        Self.request(version).withUnsafeBytes { bytes in
            #expect(client.send(bytes) == .bytes(bytes.count))
        }
        run { slot != nil }
    }

    var openConnections: Int { listener.count }

    func run(until condition: () -> Bool) {
        let end = SystemClock.monotonicMilliseconds() + 5000
        while !condition(), SystemClock.monotonicMilliseconds() < end { loop.turn(waitingUpTo: 20) }
    }

    enum Leaving: CaseIterable { case closing, aborting }

    /// The client goes, and in the turn in which the listener notices `action` runs behind that.
    func leave(_ leaving: Leaving, then action: @escaping () -> Void) {
        switch leaving {
        case .closing: client.close()
        case .aborting: client.abort()
        }
        loop.schedule(after: 0, action)
        loop.turn(waitingUpTo: 1000)
    }

    private static func request(_ version: Version) -> [UInt8] {
        switch version {
        case .http1: Array("GET / HTTP/1.1\r\nhost: x\r\n\r\n".utf8)
        case .http2:
            // SETTINGS, and HEADERS with END_STREAM and END_HEADERS: GET, /, http, and the authority "x".
            Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
                + [0, 0, 6, 1, 5, 0, 0, 0, 1] + [0x82, 0x84, 0x86, 0x41, 1, 0x78]
        }
    }
}

@Suite struct `An HTTP listener` {
    @Test(arguments: ListenerBench.Version.allCases)
    func `takes an answer in the turn in which its client has gone`(version: ListenerBench.Version) throws {
        let bench = try ListenerBench(version)
        let slot = try #require(bench.slot)
        bench.leave(.aborting) { slot.answer(.text(200, "too late")) }
        #expect(bench.openConnections == 0)
        #expect(slot.isGone)
    }

    @Test(arguments: ListenerBench.Version.allCases, ListenerBench.Leaving.allCases)
    func `takes a piece of an answer that goes on in the turn in which its client has gone`(
        version: ListenerBench.Version, leaving: ListenerBench.Leaving
    ) throws {
        let bench = try ListenerBench(version)
        let stream = try #require(bench.slot?.open(ServedAnswer(200, type: "text/event-stream")))
        bench.run { stream.state == .taken }
        bench.leave(leaving) { stream.send(Array("data: too late\n\n".utf8)) }
        bench.run { bench.openConnections == 0 }
        #expect(bench.openConnections == 0)
        #expect(stream.state == .gone)
    }

    /// More than begin in one turn, at once or later; the client says with the last one that it sends no more.
    @Test(arguments: [1, 8, 9, 40], [false, true])
    func `answers all requests that stand before close_notify`(count: Int, isLater: Bool) throws {
        let loop = try Loop()
        let authority = try CertificateAuthority()
        let issued = try authority.issueServer()
        let identity = try TLSIdentity(certificatePEM: issued.certificatePEM, keyPEM: issued.keyPEM)
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        let listener = try HTTPListener(address, tls: .serving(identity), loop: loop, onFull: { _ in })
        var served: [String] = []
        listener.onRequest = { request, slot in
            served.append(request.path)
            guard isLater else { return slot.answer(.text(200, request.path)) }
            loop.schedule(after: 1) { slot.answer(.text(200, request.path)) }
        }
        let file = try TemporaryFile.make(authority.pem())
        defer { TemporaryFile.remove(file) }
        let client = Channel(socket: try Socket.connect(to: listener.address), loop: loop)
        try client.startTLS(TLSContext.client(caFile: file, protocols: [.http1]), host: "127.0.0.1")
        let end = SystemClock.monotonicMilliseconds() + 5000
        while client.handshake() != .complete, SystemClock.monotonicMilliseconds() < end {
            _ = client.flush()
            loop.turn(waitingUpTo: 20)
        }
        let requests = (0..<count).map { "GET /\($0) HTTP/1.1\r\nhost: x\r\n\r\n" }.joined()
        #expect(Array(requests.utf8).withUnsafeBytes { client.write($0) })
        // In one piece, so that both are read at once.
        #expect(client.finish())
        var answers = ""
        var isOver = false
        while !isOver, SystemClock.monotonicMilliseconds() < end {
            loop.turn(waitingUpTo: 20)
            let reading = client.read {
                answers += String(decoding: $0, as: UTF8.self)
                return true
            }
            isOver = reading != .drained
        }
        #expect(served == (0..<count).map { "/\($0)" })
        #expect(answers.split(separator: "HTTP/1.1 200").count == count)
    }
}
