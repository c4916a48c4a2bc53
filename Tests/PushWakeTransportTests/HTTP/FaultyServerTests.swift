// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import Testing

@testable import PushWakeSimulator
@testable import PushWakeSystem
@testable import PushWakeTransport

@Suite(.serialized) struct `A faulty server` {
    private final class Push: HTTPExchange {
        let path: String
        let isHarmless: Bool
        let text: String
        var result: HTTPResult?
        override var isRepeatable: Bool { isHarmless }

        init(_ path: String, isHarmless: Bool, text: String = "{}", deadline: Int64 = .max) {
            (self.path, self.isHarmless, self.text) = (path, isHarmless, text)
            super.init(deadline: deadline)
        }

        override func write(into request: inout HTTPRequest) throws(PushFailure) {
            request = makeRequest(path, body: text)
        }
        override func ended(_ result: HTTPResult) { self.result = result }
    }

    /// A server that has answered once, so that its client trusts it.
    private func answering(
        protocols: [TLSContext.ApplicationProtocol] = [.http2, .http1],
        configure: (inout HTTPPoolConfiguration) -> Void = { _ in }
    ) throws -> (Workbench, HTTPConnectionPool) {
        let bench = try Workbench().serve()
        let pool = try bench.makePool(protocols: protocols, configure: configure)
        #expect(bench.send(pool)?.response?.status == 200)
        return (bench, pool)
    }

    @Test func `is heard to its last answer, even when its end is noticed while writing`() throws {
        let (bench, pool) = try answering()
        var lost: [String] = []
        var answered = 0
        func send(_ path: String, body: String = "{}") {
            pool.send(makeRequest(path, body: body), deadline: .max) { result in
                if result.response == nil { lost.append(path) } else { answered += 1 }
            }
        }
        var held: [Int32] = []
        bench.script = { request, connection in
            guard connection.id == 1 else { return connection.respond(request.stream, HTTPResponse(status: 200)) }
            held.append(request.stream)
            guard held.count == 50 else { return }
            for stream in held { connection.respond(stream, HTTPResponse(status: 200)) }
            connection.flush()
            connection.abort()
            // More than the client keeps to itself until the end of its turn.
            send("/late", body: String(repeating: "x", count: 60_000))
        }
        for number in 0..<50 { send("/\(number)") }
        bench.run { answered + lost.count == 51 }
        #expect(answered >= 50)
        #expect(lost.filter { $0 != "/late" } == [])
    }

    /// Two texts to one phone are to come in their order.
    @Test(arguments: [true, false]) func `gets what it did not process in the order in which it was sent`(
        goesAway: Bool
    ) throws {
        let (bench, pool) = try answering()
        let paths = (0..<30).map { "/\($0)" }
        var (held, answered): ([Int32], Int) = ([], 0)
        bench.script = { request, connection in
            guard connection.id == 1 else { return connection.respond(request.stream, HTTPResponse(status: 200)) }
            held.append(request.stream)
            // Some in the middle have ended by then.
            if held.count.isMultiple(of: 7) { connection.respond(request.stream, HTTPResponse(status: 200)) }
            guard held.count == paths.count else { return }
            if goesAway { return connection.goAway(lastStream: 1) }
            for (index, stream) in held.enumerated() where !(index + 1).isMultiple(of: 7) {
                connection.reset(stream, code: 7)
            }
            bench.script = { $1.respond($0.stream, HTTPResponse(status: 200)) }
        }
        for path in paths {
            pool.send(makeRequest(path), deadline: .max) { if $0.response != nil { answered += 1 } }
        }
        bench.run { answered == paths.count }
        #expect(answered == paths.count)
        let again = bench.received.dropFirst(1 + paths.count).map(\.path)
        #expect(again == paths.enumerated().filter { !($0.offset + 1).isMultiple(of: 7) }.map(\.element))
    }

    @Test func `is left when it allows no stream for long`() throws {
        let (bench, pool) = try answering { ($0.silence, $0.answerTimeout) = (200, 20_000) }
        bench.connections.first?.setMaxConcurrentStreams(0)
        _ = (0..<5).map { _ in bench.loop.turn(waitingUpTo: 10) }
        #expect(bench.send(pool, path: "/later")?.response?.status == 200)
        #expect(bench.connections.count == 2)
    }

    @Test func `that has closed before a request came loses none`() throws {
        let bench = try Workbench().serve()
        let pool = try bench.makePool()
        var results: [HTTPResult] = []
        for number in 0..<5 {
            pool.send(makeRequest("/first\(number)"), deadline: .max) { _ in
                // The server's end is on its way while the client writes.
                if let connection = bench.connections.last, !connection.isClosed {
                    connection.close()
                    connection.flush()
                }
                pool.send(makeRequest("/second\(number)"), deadline: .max) { results.append($0) }
            }
            bench.run { results.count == number + 1 }
        }
        #expect(results.map { $0.response?.status } == Array(repeating: 200, count: 5))
        #expect(Set(bench.received.map(\.path)).count == bench.received.count)
        #expect(pool.statistics.requestsLost == 0)
    }

    @Test func `that falls silent is left soon, with what may be repeated`() throws {
        let (bench, pool) = try answering { ($0.silence, $0.answerTimeout) = (300, 3000) }
        bench.connections.first?.pauseReading()
        let (call, message) = (Push("/call", isHarmless: true), Push("/message", isHarmless: false))
        let time = bench.time(pool, sending: [call, message]) { call.result != nil }
        #expect(call.result?.response?.status == 200)
        #expect((250..<1500).contains(time))
        #expect(bench.send(pool, path: "/next", within: 1000)?.response?.status == 200)
        #expect(message.result == nil)
        bench.run { message.result != nil }
        #expect(message.result?.problem.isEmpty == false)
        #expect(bench.connections.count == 2)
        #expect(bench.received.map(\.path) == ["/3/device/a", "/call", "/next"])
    }

    @Test func `that falls silent after its GOAWAY is left as soon`() throws {
        let (bench, pool) = try answering { ($0.silence, $0.answerTimeout) = (300, 5000) }
        bench.script = { request, connection in
            guard connection.id == 1 else { return connection.respond(request.stream, HTTPResponse(status: 200)) }
            guard request.path == "/message" else { return }
            connection.goAway(lastStream: request.stream)
            connection.pauseReading()
        }
        let (call, message) = (Push("/call", isHarmless: true), Push("/message", isHarmless: false))
        let time = bench.time(pool, sending: [call, message]) { call.result != nil }
        #expect(call.result?.response?.status == 200)
        #expect((250..<2500).contains(time))
        #expect(message.result == nil)
        bench.run { message.result != nil }
        #expect(message.result?.problem.isEmpty == false)
        #expect(bench.received.map(\.path) == ["/3/device/a", "/call", "/message", "/call"])
    }

    @Test func `that says nothing from the first request on is left as soon`() throws {
        let bench = try Workbench().serve()
        let pool = try bench.makePool { ($0.silence, $0.answerTimeout) = (300, 5000) }
        bench.script = { request, connection in
            guard connection.id == 1 else { return connection.respond(request.stream, HTTPResponse(status: 200)) }
            connection.pauseReading()
        }
        let call = Push("/call", isHarmless: true)
        let time = bench.time(pool, sending: [call]) { call.result != nil }
        #expect(call.result?.response?.status == 200)
        #expect((250..<2500).contains(time))
        #expect(bench.connections.count == 2)
    }

    @Test func `that says nothing on any connection is named when the time is over`() throws {
        let bench = try Workbench().serve()
        bench.script = { _, connection in connection.pauseReading() }
        let pool = try bench.makePool { ($0.silence, $0.answerTimeout, $0.firstPause) = (200, 5000, 6000) }
        bench.loop.updateTime()
        let call = Push("/call", isHarmless: true, deadline: bench.loop.now + 1500)
        pool.send(call)
        bench.run { call.result != nil }
        #expect(call.result?.problem.contains("silent") == true)
    }

    @Test func `that answers one request and no more is left as soon for the other`() throws {
        let (bench, pool) = try answering { ($0.silence, $0.answerTimeout) = (300, 5000) }
        bench.script = { request, connection in
            guard connection.id == 1, request.path != "/first" else {
                return connection.respond(request.stream, HTTPResponse(status: 200))
            }
            connection.pauseReading()
        }
        let (first, second) = (Push("/first", isHarmless: true), Push("/second", isHarmless: true))
        let time = bench.time(pool, sending: [first, second]) { first.result != nil && second.result != nil }
        #expect(first.result?.response?.status == 200)
        #expect(second.result?.response?.status == 200)
        #expect((250..<2500).contains(time))
        #expect(bench.connections.count == 2)
    }

    /// Google wants no PINGs, and HTTP/1.1 has none.
    @Test(arguments: [TLSContext.ApplicationProtocol.http2, .http1], [true, false])
    func `that cannot be asked is waited for while its kernel confirms what came`(
        version: TLSContext.ApplicationProtocol, isHarmless: Bool
    ) throws {
        let (bench, pool) = try answering(protocols: [version]) {
            ($0.silence, $0.answerTimeout, $0.pingAfter) = (200, 3000, version == .http1 ? 60_000 : nil)
        }
        var held: Int32?
        bench.script = { request, _ in held = request.stream }
        let push = Push("/push", isHarmless: isHarmless)
        pool.send(push)
        let end = SystemClock.monotonicMilliseconds() + 900
        bench.run { SystemClock.monotonicMilliseconds() > end }
        #expect(push.result == nil)
        bench.connections.first?.respond(try #require(held), HTTPResponse(status: 200))
        bench.run { push.result != nil }
        #expect(push.result?.response?.status == 200)
        #expect(bench.connections.count == 1 && bench.received.count == 2)
    }

    @Test func `that cannot be asked is left soon when nothing is confirmed`() throws {
        let (bench, pool) = try answering { ($0.silence, $0.answerTimeout, $0.pingAfter) = (300, 20_000, nil) }
        // Its kernel takes some megabytes and then no more, as one that is gone takes nothing.
        bench.connections.first?.pauseReading()
        let body = String(repeating: "x", count: 60_000)
        let pushes = (0..<400).map { Push("/\($0)", isHarmless: true, text: body) }
        #expect(bench.time(pool, sending: pushes) { bench.connections.count == 2 } < 5000)
        #expect(bench.connections.count == 2)
        pool.close()
    }

    /// Over HTTP/1.1, for so many milliseconds.
    @Test(arguments: [(true, Int64(60_000), 2), (false, 1200, 1)])
    func `that confirms nothing keeps a request only when it may not be repeated`(
        isHarmless: Bool, pause: Int64, connections: Int
    ) throws {
        let (bench, pool) = try answering(protocols: [.http1]) { ($0.silence, $0.answerTimeout) = (300, 20_000) }
        bench.connections.first?.perform(.pauseReading(pause))
        // More than the other end's kernel takes while nobody reads, and than the server takes in all.
        let push = Push("/push", isHarmless: isHarmless, text: String(repeating: "x", count: 8_000_000))
        pool.send(push)
        bench.run { push.result != nil }
        #expect(push.result?.response?.status == 413)
        #expect(bench.connections.count == connections)
    }

    @Test func `that is slow and alive is waited for`() throws {
        let (bench, pool) = try answering { ($0.silence, $0.answerTimeout) = (200, 3000) }
        var held: Int32?
        bench.script = { request, _ in held = request.stream }
        let call = Push("/call", isHarmless: true)
        pool.send(call)
        let end = SystemClock.monotonicMilliseconds() + 700
        bench.run { SystemClock.monotonicMilliseconds() > end }
        bench.connections.first?.respond(try #require(held), HTTPResponse(status: 200))
        bench.run { call.result != nil }
        #expect(call.result?.response?.status == 200)
        #expect(bench.connections.count == 1)
    }

    @Test func `is left when it gives signs of life but no answers`() throws {
        let bench = try Workbench().serve()
        let pool = try bench.makePool { $0.answerTimeout = 200 }
        bench.script = { request, connection in
            if connection.id > 1 { connection.respond(request.stream, HTTPResponse(status: 200)) }
        }
        var lost = 0
        for number in 0..<3 { pool.send(makeRequest("/\(number)"), deadline: .max) { _ in lost += 1 } }
        bench.run {
            bench.connections.first?.setMaxConcurrentStreams(UInt32.random(in: 10...99))
            return lost == 3
        }
        #expect(lost == 3)
        #expect(bench.send(pool, path: "/again")?.response?.status == 200)
        #expect(bench.connections.count == 2)
    }

    /// The windows of HTTP/2 are wide open and its kernel takes little: what takes requests back does not leave either.
    @Test func `that never reads keeps no request past its time`() throws {
        let bench = try Workbench()
        let server = try UnreadingServer(bench.authority, loop: bench.loop)
        let pool = try bench.makePool(port: server.port) { ($0.answerTimeout, $0.maxStreams) = (30_000, 10_000) }
        var latest: Int64 = 0
        var ended = 0
        pool.warmUp()
        bench.run { pool.freeStreams > 1 }
        let begin = SystemClock.monotonicMilliseconds()
        let body = String(repeating: "x", count: 60_000)
        for number in 0..<500 {
            pool.send(makeRequest("/\(number)", body: body), deadline: begin + 1500) { _ in
                ended += 1
                latest = SystemClock.monotonicMilliseconds() - begin
            }
        }
        bench.run(seconds: 40) { ended == 500 }
        #expect(ended == 500)
        #expect((1500...8000).contains(latest), "\(latest)")
        pool.close()
    }
}

/// Says in HTTP/2 that it takes everything, and reads nothing.
private final class UnreadingServer: LoopSource {
    private let socket: Socket
    private let context: TLSContext
    private let loop: Loop
    private var connections: [Greeting] = []

    var port: UInt16 { socket.localAddress.port }

    init(_ authority: CertificateAuthority, loop: Loop) throws {
        let issued = try authority.issueServer()
        context = try .serving(TLSIdentity(certificatePEM: issued.certificatePEM, keyPEM: issued.keyPEM))
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        socket = try Socket.listen(on: address)
        self.loop = loop
        var size: Int32 = 4096
        setsockopt(socket.descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        try loop.watch(socket.descriptor, for: .readable, self)
    }

    func ready(_ readiness: Loop.Readiness) {
        while let (accepted, _) = socket.accept() {
            let connection = Greeting(Channel(socket: accepted, loop: loop), loop)
            guard (try? connection.channel.startTLS(context, role: .server)) != nil else { continue }
            connections.append(connection)
            try? loop.watch(accepted.descriptor, for: .readable, connection)
        }
    }

    /// One connection, up to its SETTINGS.
    private final class Greeting: LoopSource {
        let channel: Channel
        private let loop: Loop

        init(_ channel: Channel, _ loop: Loop) {
            self.channel = channel
            self.loop = loop
        }

        func ready(_ readiness: Loop.Readiness) {
            let step = channel.handshake()
            _ = channel.flush()
            guard step == .complete else { return }
            loop.unwatch(channel.socket.descriptor)
            // SETTINGS: 10,000 streams, windows of 2^31 - 1; WINDOW_UPDATE of the connection.
            let greeting: [UInt8] =
                [0, 0, 12, 4, 0, 0, 0, 0, 0] + [0, 3, 0, 0, 0x27, 0x10] + [0, 4, 0x7F, 0xFF, 0xFF, 0xFF]
                + [0, 0, 4, 8, 0, 0, 0, 0, 0] + [0x7F, 0, 0, 0]
            _ = greeting.withUnsafeBytes { channel.write($0) }
            _ = channel.flush()
        }
    }
}
