// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeSystem
import Testing

@testable import PushWakeClient

/// An engine that says only what the test lets it say.
private final class MuteEngine {
    let path = "/tmp/pushwake-mute-\(SystemClock.processID())-\(UInt64.random(in: 0...UInt64.max)).sock"
    private let listener: LocalSocket
    private(set) var peer: LocalSocket?
    private var buffer = [UInt8](repeating: 0, count: EngineProtocol.longestMessage)

    init() throws { listener = try LocalSocket.listen(path: path) }

    func client(timeout: Int = 60, links: EngineLinks? = nil) throws -> EngineClient {
        var settings = Settings()
        try settings.set(.engineSocket, to: path)
        try settings.set(.engineTimeout, to: "\(timeout)")
        return EngineClient(settings: settings, links: links)
    }

    /// Connections that were made since it was last asked.
    func accepted() -> [LocalSocket] {
        var new: [LocalSocket] = []
        while let socket = listener.accept() { new.append(socket) }
        return new
    }

    /// What has come over one of them.
    func messages(of socket: LocalSocket) -> [MessageReader] {
        var found: [MessageReader] = []
        while case .message(let count) = socket.receive(into: &buffer) {
            if let message = MessageReader(Array(buffer[..<count])) { found.append(message) }
        }
        return found
    }

    /// Requests that have come, of the connection that was made last.
    func requests() -> [MessageReader] {
        while let accepted = listener.accept() { peer = accepted }
        var found: [MessageReader] = []
        while let peer, case .message(let count) = peer.receive(into: &buffer) {
            if let message = MessageReader(Array(buffer[..<count])) { found.append(message) }
        }
        return found
    }

    func reply(to request: MessageReader) {
        var writer = MessageWriter()
        writer.begin(.reply, id: request.id)
        _ = peer?.send(writer.bytes)
    }

    func hangUp() { peer = nil }
}

extension EngineClient {
    /// How a request ended; nil when it was answered.
    fileprivate func ask(milliseconds: Int64? = nil) -> ClientError? {
        begin(.wake)
        do throws(ClientError) {
            _ = try call(milliseconds: milliseconds)
            return nil
        } catch {
            return error
        }
    }
}

@Suite struct `A client of an engine that hangs` {
    /// How so many requests end, and the milliseconds that they take together.
    private func ask(_ client: EngineClient, times: Int) -> (ends: [ClientError?], milliseconds: Int64) {
        let begin = SystemClock.monotonicMicroseconds()
        let ends = (0..<times).map { _ in client.ask() }
        return (ends, (SystemClock.monotonicMicroseconds() - begin) / 1000)
    }

    @Test func `waits once, and then sends nothing and fails at once with the same error`() throws {
        let engine = try MuteEngine()
        let client = try engine.client(timeout: 400)
        let first = ask(client, times: 1)
        #expect(first.ends == [.timeout])
        #expect(first.milliseconds >= 390)
        let others = ask(client, times: 20)
        #expect(others.ends == Array(repeating: .timeout, count: 20))
        #expect(others.milliseconds < 400)
        #expect(engine.requests().count == 1)
    }

    @Test func `says with each request when it was sent and how long it waits`() throws {
        let engine = try MuteEngine()
        let client = try engine.client()
        let begin = SystemClock.monotonicMilliseconds()
        #expect(client.ask() == .timeout)
        #expect(client.ask(milliseconds: 30) == .timeout)
        let (sent, end) = (engine.requests(), SystemClock.monotonicMilliseconds())
        #expect(sent.map { EngineClient.number(.senderTimeout, in: $0) } == [60, 30])
        #expect(sent.allSatisfy { (begin...end).contains(EngineClient.number(.sentAt, in: $0)) })
        #expect(sent.allSatisfy { RequestDeadline(decoding: $0).isPast(at: end + 100) })
    }

    @Test func `asks again as soon as a late reply has come`() throws {
        let engine = try MuteEngine()
        let client = try engine.client()
        #expect(client.ask() == .timeout)
        let first = try #require(engine.requests().first)
        #expect(client.ask() == .timeout)
        #expect(engine.requests().isEmpty)
        engine.reply(to: first)
        #expect(client.ask() == .timeout)
        #expect(engine.requests().count == 1, "the late reply did not close the circuit")
    }

    @Test func `asks again as soon as the connection has ended`() throws {
        let engine = try MuteEngine()
        let client = try engine.client()
        #expect(client.ask() == .timeout)
        #expect(engine.requests().count == 1)
        engine.hangUp()
        #expect(client.ask() == .timeout)
        #expect(engine.requests().count == 1, "the new engine was not asked")
    }

    @Test func `stops nobody who has said how long he waits, and hears by him that the engine is back`() throws {
        let engine = try MuteEngine()
        let client = try engine.client()
        #expect(client.ask() == .timeout)
        #expect(client.ask(milliseconds: 20) == .timeout)
        let sent = engine.requests()
        #expect(sent.count == 2)
        // Both are late; the patient one reads them while it waits for its own.
        for request in sent { engine.reply(to: request) }
        #expect(client.ask(milliseconds: 20) == .timeout)
        #expect(client.ask() == .timeout)
        #expect(engine.requests().count == 2)
    }

    @Test func `waits for what one user has no longer than for a call`() throws {
        let engine = try MuteEngine()
        let client = try engine.client()
        func ask() -> ClientError? {
            do throws(ClientError) {
                _ = try client.query(.bindings, argument: "alice", isPrompt: true) { _ in true }
                return nil
            } catch {
                return error
            }
        }
        let begin = SystemClock.monotonicMilliseconds()
        #expect((0..<20).map { _ in ask() } == Array(repeating: .timeout, count: 20))
        #expect(SystemClock.monotonicMilliseconds() - begin < 1000)
        #expect(engine.requests().count == 1)
    }
}

@Suite struct `Clients of several threads` {
    private func report(_ client: EngineClient, _ leg: Int64) throws {
        client.begin(.progressed)
        client.put(.leg, leg)
        try client.post()
    }

    @Test func `use one connection one after the other, and another one for what has no answer`() throws {
        let engine = try MuteEngine()
        let links = EngineLinks()
        let (client, other) = (try engine.client(links: links), try engine.client(links: links))
        #expect(client.ask(milliseconds: 10) == .timeout)
        #expect(other.ask(milliseconds: 10) == .timeout)
        try report(client, 1)
        try report(other, 2)
        try report(client, 3)
        let sockets = engine.accepted()
        try #require(sockets.count == 2)
        #expect(engine.messages(of: sockets[0]).map(\.kind) == [.wake, .wake])
        #expect(engine.messages(of: sockets[1]).map { EngineClient.number(.leg, in: $0) } == [1, 2, 3])
    }

    @Test func `take no late reply to another's question for their own`() throws {
        let engine = try MuteEngine()
        let links = EngineLinks()
        let (client, other) = (try engine.client(links: links), try engine.client(links: links))
        #expect(client.ask(milliseconds: 10) == .timeout)
        engine.reply(to: try #require(engine.requests().first))
        #expect(other.ask(milliseconds: 30) == .timeout)
        let sent = try #require(engine.requests().first)
        #expect(sent.id != 1)
    }

    @Test func `learn from each other that the engine hangs, and that it is back`() throws {
        let engine = try MuteEngine()
        let links = EngineLinks()
        let (client, other) = (try engine.client(links: links), try engine.client(links: links))
        #expect(client.ask() == .timeout)
        let first = try #require(engine.requests().first)
        #expect(other.ask() == .timeout)
        #expect(engine.requests().isEmpty)
        engine.reply(to: first)
        #expect(other.ask() == .timeout)
        #expect(engine.requests().count == 1, "the late reply did not close the circuit")
    }

    @Test func `await an engine no longer than they say`() throws {
        let engine = try MuteEngine()
        let client = try engine.client(links: EngineLinks())
        let begin = SystemClock.monotonicMilliseconds()
        #expect(!client.awaitEngine(milliseconds: 80))
        #expect((70..<2000).contains(SystemClock.monotonicMilliseconds() - begin))
    }
}
