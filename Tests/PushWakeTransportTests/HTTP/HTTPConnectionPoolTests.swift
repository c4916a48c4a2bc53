// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeSimulator
@testable import PushWakeSystem
@testable import PushWakeTransport

@Suite(.serialized) struct `HTTP connection pool` {
    @Test func `gets the answer to a request`() throws {
        let bench = try Workbench().serve()
        let pool = try bench.makePool()
        let response = try #require(bench.send(pool, path: "/one")?.response)
        #expect(response.status == 200)
        #expect(response["x-path"] == "/one")
    }

    @Test func `that was opened before a request is tried until it is reached`() throws {
        let bench = try Workbench()
        let server = try #require(bench.serve().server)
        let pools = try (kept: bench.makePool(), other: bench.makePool())
        server.close()
        bench.loop.turn(waitingUpTo: 0)
        pools.kept.warmUp()
        // Too short for a second attempt, which could be under way when the server comes.
        _ = bench.send(pools.other, within: 1)
        bench.run { !pools.kept.lastProblem.isEmpty && !pools.other.lastProblem.isEmpty }
        try bench.serve(port: server.address.port)
        bench.run { pools.kept.lastProblem.isEmpty }
        #expect(pools.kept.lastProblem.isEmpty && pools.kept.openConnections == 1)
        #expect(!pools.other.lastProblem.isEmpty, "nobody needs it")
    }

    @Test func `carries 10,000 requests over 100 streams of one connection`() throws {
        let bench = try Workbench().serve(maxStreams: 100)
        let pool = try bench.makePool()
        var paths: Set<String> = []
        for number in 0..<10_000 {
            pool.send(makeRequest("/\(number)"), deadline: .max) { result in
                if let path = result.response?["x-path"] { paths.insert(path) }
            }
        }
        bench.run(seconds: 60) { paths.count == 10_000 }
        #expect(paths.count == 10_000)
        #expect(bench.received.count == 10_000)
        #expect(bench.connections.count == 1)
    }

    @Test func `obeys a stream limit that is lowered and raised`() throws {
        let bench = try Workbench().serve(maxStreams: 100)
        let pool = try bench.makePool()
        var most = 0
        var answered = 0
        var held: [(Int32, ServedConnection)] = []
        bench.script = { request, connection in
            held.append((request.stream, connection))
            most = max(most, connection.openStreams)
        }
        func answerAll() {
            for (stream, connection) in held { connection.respond(stream, HTTPResponse(status: 200)) }
            held = []
        }
        func sendMany(_ count: Int) {
            for number in 0..<count {
                pool.send(makeRequest("/\(number)"), deadline: .max) { if $0.response != nil { answered += 1 } }
            }
        }
        sendMany(50)
        bench.run { held.count == 50 }
        #expect(held.count == 50)
        bench.connections.first?.setMaxConcurrentStreams(1)
        answerAll()
        bench.run { answered == 50 }

        most = 0
        sendMany(10)
        bench.run {
            answerAll()
            return answered == 60
        }
        #expect(answered == 60)
        #expect(most == 1)

        bench.connections.first?.setMaxConcurrentStreams(30)
        _ = (0..<5).map { _ in bench.loop.turn(waitingUpTo: 10) }
        sendMany(30)
        bench.run { held.count == 30 }
        #expect(held.count == 30)
        answerAll()
        bench.run { answered == 90 }
        #expect(answered == 90)
        #expect(bench.connections.count == 1)
    }

    @Test func `resends after GOAWAY what was not processed, once, and loses nothing`() throws {
        let bench = try Workbench().serve()
        let pool = try bench.makePool()
        var processed: [String: Int] = [:]
        bench.script = { request, connection in
            if connection.id == 1, request.stream > 41 {
                connection.goAway(debugData: "{\"reason\":\"Shutdown\"}", lastStream: 41)
                return
            }
            processed[request.path, default: 0] += 1
            connection.respond(request.stream, HTTPResponse(status: 200))
        }
        var answered = 0
        var lost = 0
        var notices: [String] = []
        pool.onGoAway = { notices.append($0) }
        for number in 0..<200 {
            pool.send(makeRequest("/\(number)"), deadline: .max) { result in
                if result.response != nil { answered += 1 } else { lost += 1 }
            }
        }
        bench.run { answered + lost == 200 }
        #expect(answered == 200)
        #expect(lost == 0)
        #expect(notices.count == 1)
        #expect(notices.first?.hasSuffix("GOAWAY code 0 {\"reason\":\"Shutdown\"}") == true)
        #expect(processed.count == 200)
        #expect(processed.values.allSatisfy { $0 == 1 })
        #expect(bench.connections.count == 2)
    }

    @Test func `loses and doubles nothing over many GOAWAYs and refusals`() throws {
        let bench = try Workbench().serve(maxStreams: 100)
        let pool = try bench.makePool { $0.maxConnections = 2 }
        var processed: [String: Int] = [:]
        bench.script = { request, connection in
            if request.stream > 601 {
                connection.goAway(lastStream: 601)
            } else if request.stream % 67 == 0 {
                connection.reset(request.stream, code: 7)
            } else {
                processed[request.path, default: 0] += 1
                connection.respond(request.stream, HTTPResponse(status: 200))
            }
        }
        var answered = 0
        var problems: [String] = []
        for number in 0..<6000 {
            pool.send(makeRequest("/\(number)"), deadline: .max) { result in
                if result.response != nil { answered += 1 } else { problems.append(result.problem) }
            }
        }
        bench.run(seconds: 30) { answered + problems.count == 6000 }
        #expect(answered == 6000)
        #expect(problems.isEmpty)
        #expect(processed.count == 6000)
        #expect(processed.values.allSatisfy { $0 == 1 })
        #expect(bench.connections.count >= 20)
    }

    @Test func `sends a refused stream again`() throws {
        let bench = try Workbench().serve()
        let pool = try bench.makePool()
        bench.script = { request, connection in
            if bench.received.count == 1 {
                connection.reset(request.stream, code: 7)
            } else {
                connection.respond(request.stream, HTTPResponse(status: 200))
            }
        }
        #expect(bench.send(pool)?.response?.status == 200)
        #expect(pool.statistics.requestsResent == 1)
        #expect(bench.connections.count == 1)
    }

    @Test(arguments: [UInt32(2), 8, 11])
    func `tells that a reset request may have been processed`(code: UInt32) throws {
        let bench = try Workbench().serve()
        let pool = try bench.makePool()
        bench.script = { request, connection in connection.reset(request.stream, code: code) }
        guard case .lost = bench.send(pool) else {
            Issue.record("not lost")
            return
        }
        #expect(bench.received.count == 1)
    }

    @Test(arguments: [true, false])
    func `tells that requests are lost when the server goes without a word`(isReset: Bool) throws {
        let bench = try Workbench().serve()
        let pool = try bench.makePool()
        bench.script = { request, connection in
            guard request.path == "/last" else { return }
            if isReset { connection.abort() } else { connection.close() }
        }
        var results: [HTTPResult] = []
        for path in ["/a", "/b", "/last"] { pool.send(makeRequest(path), deadline: .max) { results.append($0) } }
        bench.run { results.count == 3 }
        #expect(results.count == 3)
        for result in results {
            guard case .lost = result else {
                Issue.record("not lost: \(result)")
                continue
            }
        }
        bench.script = { request, connection in connection.respond(request.stream, HTTPResponse(status: 200)) }
        #expect(bench.send(pool)?.response?.status == 200)
    }

    @Test func `gives up an answer that does not come, and keeps the connection for others`() throws {
        let bench = try Workbench().serve()
        let pool = try bench.makePool { $0.answerTimeout = 200 }
        bench.script = { request, connection in
            if request.path == "/fast" { connection.respond(request.stream, HTTPResponse(status: 200)) }
        }
        var slow: HTTPResult?
        pool.send(makeRequest("/slow"), deadline: .max) { slow = $0 }
        for _ in 0..<4 {
            let wake = SystemClock.monotonicMilliseconds() + 60
            bench.run { SystemClock.monotonicMilliseconds() > wake }
            #expect(bench.send(pool, path: "/fast")?.response?.status == 200)
        }
        bench.run { slow != nil }
        #expect(slow?.problem.contains("did not answer within 200 ms") == true)
        #expect(bench.connections.count == 1)
    }

    @Test func `waits for no answer that would come too late, and leaves a connection that gives none`() throws {
        let bench = try Workbench().serve()
        let pool = try bench.makePool { $0.answerTimeout = 20_000 }
        #expect(bench.send(pool)?.response?.status == 200)
        bench.script = { request, connection in
            if connection.id > 1 { connection.respond(request.stream, HTTPResponse(status: 200)) }
        }
        let begin = SystemClock.monotonicMilliseconds()
        var result: HTTPResult?
        pool.send(makeRequest("/late"), deadline: begin + 300) { result = $0 }
        bench.run { result != nil }
        #expect(result?.problem.contains("did not answer in time") == true)
        #expect(SystemClock.monotonicMilliseconds() - begin < 10_000)
        #expect(bench.send(pool, path: "/next")?.response?.status == 200)
        #expect(bench.connections.count == 2)
    }

    @Test func `leaves a connection that is silent for longer than an answer may take`() throws {
        let bench = try Workbench().serve()
        let pool = try bench.makePool { $0.answerTimeout = 150 }
        #expect(bench.send(pool)?.response != nil)
        bench.connections.first?.pauseReading()
        guard case .lost = bench.send(pool) else {
            Issue.record("not lost")
            return
        }
        #expect(bench.send(pool)?.response?.status == 200)
        #expect(bench.connections.count == 2)
    }

    @Test func `places nothing on a connection while it reports what it lost`() throws {
        let bench = try Workbench().serve()
        let pool = try bench.makePool()
        bench.script = { request, connection in
            if connection.id == 1 {
                if bench.received.count == 50 { connection.abort() }
            } else {
                connection.respond(request.stream, HTTPResponse(status: 200))
            }
        }
        var answered = 0
        func sendUntilAnswered(_ path: String) {
            pool.send(makeRequest(path), deadline: .max) { result in
                if result.response == nil { sendUntilAnswered(path) } else { answered += 1 }
            }
        }
        for number in 0..<50 { sendUntilAnswered("/\(number)") }
        bench.run { answered == 50 }
        #expect(answered == 50)
    }

    @Test func `sends again what never left, and reports the rest as lost`() throws {
        let bench = try Workbench().serve()
        let pool = try bench.makePool()
        bench.onOpened = { if $0.id == 1 { $0.pauseReading() } }
        let body = String(repeating: "x", count: 60_000)
        var lost: Set<String> = []
        var answered: Set<String> = []
        // The server reads nothing: the kernel takes some megabytes, the rest stays here. Streams beyond the first
        // wait for SETTINGS, which came before.
        for number in 0..<400 {
            pool.send(makeRequest("/\(number)", body: body), deadline: .max) { result in
                if result.response != nil { answered.insert("/\(number)") } else { lost.insert("/\(number)") }
            }
        }
        bench.run(seconds: 1) { pool.waitingCount == 0 && pool.inFlightCount > 100 }
        for _ in 0..<10 { bench.loop.turn(waitingUpTo: 10) }
        bench.connections.first?.abort()
        bench.run(seconds: 20) { lost.count + answered.count == 400 }
        #expect(lost.count + answered.count == 400)
        #expect(lost.isDisjoint(with: bench.received.map(\.path)))
        #expect(bench.received.count == answered.count)
    }

    @Test func `asks an idle connection for a sign of life before it is used`() throws {
        let bench = try Workbench().serve()
        let pool = try bench.makePool {
            $0.pingAfter = 50
            $0.answerTimeout = 200
        }
        #expect(bench.send(pool)?.response != nil)
        let wake = SystemClock.monotonicMilliseconds() + 70
        bench.run { SystemClock.monotonicMilliseconds() > wake }
        #expect(bench.send(pool)?.response != nil)
        #expect(bench.connections.count == 1)
        // Now it is half dead: the request goes over a new connection and reaches the server once.
        bench.connections.first?.pauseReading()
        let later = SystemClock.monotonicMilliseconds() + 70
        bench.run { SystemClock.monotonicMilliseconds() > later }
        #expect(bench.send(pool, path: "/safe")?.response != nil)
        #expect(bench.connections.count == 2)
        #expect(bench.received.count { $0.path == "/safe" } == 1)
    }

    @Test func `opens a new connection when one is retired, and finishes what is open on the old`() throws {
        let bench = try Workbench().serve()
        let pool = try bench.makePool()
        var held: [(Int32, ServedConnection)] = []
        bench.script = { request, connection in
            if request.path == "/old" {
                held.append((request.stream, connection))
            } else {
                connection.respond(request.stream, HTTPResponse(status: 200))
            }
        }
        var old: HTTPResult?
        pool.send(makeRequest("/old"), deadline: .max) { old = $0 }
        bench.run { held.count == 1 }
        pool.retireConnections()
        #expect(bench.send(pool, path: "/new")?.response?.status == 200)
        #expect(old == nil)
        held[0].1.respond(held[0].0, HTTPResponse(status: 200))
        bench.run { old != nil }
        #expect(old?.response?.status == 200)
        #expect(bench.received.map(\.connection) == [1, 2])
        bench.run { bench.closed == 1 }
        #expect(bench.closed == 1)
    }

    @Test func `opens more connections when the first is full`() throws {
        let bench = try Workbench().serve(maxStreams: 2)
        let pool = try bench.makePool { $0.maxConnections = 3 }
        bench.script = { _, _ in }
        for number in 0..<10 { pool.send(makeRequest("/\(number)"), deadline: .max) { _ in } }
        bench.run { bench.received.count == 6 }
        for _ in 0..<5 { bench.loop.turn(waitingUpTo: 10) }
        #expect(bench.received.count == 6)
        #expect(bench.connections.count == 3)
        #expect(pool.waitingCount == 4)
    }

    @Test func `says why nobody could be reached, when the deadline leaves no other try`() throws {
        let bench = try Workbench()
        let server = try #require(bench.serve().server)
        let pool = try bench.makePool()
        server.close()
        bench.loop.turn(waitingUpTo: 0)
        let result = bench.send(pool, within: 100)
        #expect(result?.problem.contains("Connection refused") == true)
        guard case .unreachable = result else {
            Issue.record("not unreachable")
            return
        }
    }

    @Test func `tries again until the server is back`() throws {
        let bench = try Workbench()
        let server = try #require(bench.serve().server)
        let port = server.address.port
        let pool = try bench.makePool()
        server.close()
        bench.loop.turn(waitingUpTo: 0)
        var result: HTTPResult?
        pool.send(makeRequest("/patient"), deadline: .max) { result = $0 }
        bench.run { pool.statistics.connectionsFailed >= 2 }
        #expect(result == nil)
        try bench.serve(port: port)
        bench.run { result != nil }
        #expect(result?.response?.status == 200)
    }

    @Test func `drops a request whose deadline passes while it waits`() throws {
        let bench = try Workbench().serve(maxStreams: 1)
        let pool = try bench.makePool()
        bench.script = { _, _ in }
        pool.send(makeRequest("/first"), deadline: .max) { _ in }
        bench.run { bench.received.count == 1 }
        #expect(bench.send(pool, path: "/second", within: 60) == .expired)
        #expect(bench.received.count == 1)
    }

    @Test func `speaks HTTP/1.1 when the server does not know better`() throws {
        let bench = try Workbench().serve(protocols: ["http/1.1"])
        let pool = try bench.makePool()
        bench.script = { request, connection in
            connection.respond(
                request.stream,
                HTTPResponse(
                    status: 200, headers: [.init(name: "x-topic", value: request["apns-topic"] ?? "")],
                    body: request.body))
        }
        for number in 0..<3 {
            let response = try #require(bench.send(pool, path: "/\(number)", body: "number \(number)")?.response)
            #expect(response.body == Array("number \(number)".utf8))
            #expect(response["x-topic"] == "com.example.phone.voip")
        }
        #expect(bench.connections.count == 1)
    }

    @Test func `cuts an answer that is too long`() throws {
        let bench = try Workbench().serve()
        let pool = try bench.makePool()
        bench.script = { request, connection in
            let headers = (0..<400).map {
                HTTPResponse.Header(name: "x-\($0)", value: String(repeating: "v", count: 40))
            }
            connection.respond(
                request.stream,
                HTTPResponse(status: 200, headers: headers, body: [UInt8](repeating: 65, count: 300_000)))
        }
        let response = try #require(bench.send(pool)?.response)
        #expect(response.status == 200)
        #expect(response.body.count == 16_384)
        #expect(response.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count } <= 8192)
    }
}
