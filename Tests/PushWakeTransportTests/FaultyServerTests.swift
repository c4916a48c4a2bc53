// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeTransport

@Suite(.serialized) struct `A faulty server` {
    @Test func `is heard to its last answer, even when its end is noticed while writing`() throws {
        let bench = try Workbench()
        try bench.serve()
        let pool = try bench.makePool()
        #expect(bench.send(pool)?.response?.status == 200)
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
            connection.turnEnds()
            connection.abort()
            // More than the client keeps to itself until the end of its turn.
            send("/late", body: String(repeating: "x", count: 60_000))
        }
        for number in 0..<50 { send("/\(number)") }
        bench.run { answered + lost.count == 51 }
        #expect(answered >= 50)
        #expect(lost.filter { $0 != "/late" } == [])
    }

    @Test func `is left when it allows no stream for long`() throws {
        let bench = try Workbench()
        try bench.serve()
        let pool = try bench.makePool { $0.answerTimeout = 200 }
        #expect(bench.send(pool)?.response?.status == 200)
        bench.connections.first?.setMaxConcurrentStreams(0)
        _ = (0..<5).map { _ in bench.loop.turn(waitingUpTo: 10) }
        #expect(bench.send(pool, path: "/later")?.response?.status == 200)
        #expect(bench.connections.count == 2)
    }

    @Test func `is left when it gives signs of life but no answers`() throws {
        let bench = try Workbench()
        try bench.serve()
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
}
