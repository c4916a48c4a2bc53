// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeSystem
import Synchronization
import Testing

@testable import PushWakeClient

@Suite struct `A supervisor of somebody else's engine` {
    @Test func `says once that none answers`() throws {
        let path = "/tmp/pushwake-supervisor-\(SystemClock.processID()).sock"
        var settings = Settings()
        try settings.set("engine_mode", to: "external")
        try settings.set("engine_socket", to: path)
        try settings.set("store", to: "memory")
        let heard = Heard()
        let supervisor = EngineSupervisor(
            settings: settings, onResult: { _ in }, onLog: { heard.lines.append(($0, $1)) })
        try run(supervisor) { !heard.lines.isEmpty }
        for _ in 0..<20 { supervisor.process() }
        #expect(heard.lines.map(\.0) == [.warning])
        #expect(heard.lines.first?.1.hasPrefix("no engine answers: cannot connect to \(path): ") == true)
    }
}

@Suite struct `A supervisor of its own engine` {
    @Test func `hands over the settings of a thousand accounts`() throws {
        let folder = "/tmp/" + String(repeating: "a", count: 400)
        let program = try Program(
            "n=0; while IFS= read -r x && [ -n \"$x\" ]; do n=$((n+1)); done; echo \"4 took $n\" >&2")
        defer { program.remove() }
        var settings = try program.settings()
        for number in 1...1000 {
            try settings.set("fcm_app\(number)", to: "com.example.app\(number)")
            try settings.set("fcm_key\(number)", to: "\(folder)\(number).json")
        }
        let text = settings.lines()
        #expect(text.utf8.count > 400_000)
        let heard = Heard()
        let supervisor = EngineSupervisor(
            settings: settings, onResult: { _ in }, onLog: { heard.lines.append(($0, $1)) })
        try run(supervisor) { !heard.lines.isEmpty }
        #expect(heard.lines.first?.1 == "took \(text.utf8.count { $0 == 0x0A })")
        supervisor.stop()
    }

    @Test func `says once that it is silent`() throws {
        let program = try Program("exec cat")
        defer { program.remove() }
        let heard = Heard()
        let supervisor = EngineSupervisor(
            settings: try program.settings(), onResult: { _ in }, onLog: { heard.lines.append(($0, $1)) })
        supervisor.grace = 100
        try run(supervisor) { !heard.lines.isEmpty }
        let pid = supervisor.enginePID
        for _ in 0..<20 { supervisor.process() }
        supervisor.stop()
        #expect(heard.lines.map(\.0) == [.warning])
        let line = "the engine (process \(pid)) runs, but has not answered for 100 ms: "
        #expect(heard.lines.first?.1.hasPrefix(line) == true)
    }

    @Test func `says that it is back after it has ended`() throws {
        let program = try Program("[ -e $0.ran ] && exec cat; touch $0.ran; exit 3")
        defer { program.remove() }
        let settings = try program.settings()
        let heard = Heard()
        let supervisor = EngineSupervisor(
            settings: settings, onResult: { _ in }, onLog: { heard.lines.append(($0, $1)) })
        try run(supervisor) { heard.lines.count == 1 }
        #expect(heard.lines.first?.1.hasPrefix("the engine ended (exit code 3)") == true)
        let engine = try AnsweringEngine(settings.text(.engineSocket))
        try run(supervisor) { heard.lines.count == 2 }
        for _ in 0..<20 { supervisor.process() }
        supervisor.stop()
        engine.end()
        #expect(heard.lines.map(\.0) == [.error, .notice])
        #expect(heard.lines.last?.1 == "the engine answers")
    }

    @Test func `outlives one that dies before it has read its settings`() throws {
        let program = try Program("exit 3")
        defer { program.remove() }
        var settings = try program.settings()
        try settings.set("fcm_key1", to: "/tmp/" + String(repeating: "a", count: 4000))
        for number in 2...300 { try settings.set("fcm_key\(number)", to: settings.text(named: "fcm_key1") ?? "") }
        let heard = Heard()
        let supervisor = EngineSupervisor(
            settings: settings, onResult: { _ in }, onLog: { heard.lines.append(($0, $1)) })
        try run(supervisor) { heard.lines.count == 2 }
        #expect(heard.lines.allSatisfy { $0.1.hasPrefix("the engine ended (exit code 3)") })
        supervisor.stop()
    }
}

/// A shell script in place of the engine.
private final class Program {
    private let path = "/tmp/pushwake-engine-\(SystemClock.processID())-\(UInt64.random(in: 0...UInt64.max))"

    init(_ script: String) throws {
        let file = try #require(fopen(path, "we"))
        fputs("#!/bin/sh\n\(script)\n", file)
        fclose(file)
        try #require(chmod(path, 0o700) == 0)
    }

    func remove() { for end in ["", ".ran", ".sock"] { unlink(path + end) } }

    func settings() throws -> Settings {
        var settings = Settings()
        try settings.set("engine_path", to: path)
        try settings.set("engine_socket", to: path + ".sock")
        return settings
    }
}

/// Replies to the first question of each connection, on a thread of its own.
private final class AnsweringEngine {
    private final class Work: Sendable {
        let path: String
        let isOver = Atomic(false)

        init(_ path: String) { self.path = path }

        func run() {
            guard let listener = try? LocalSocket.listen(path: path) else { return }
            var buffer = [UInt8](repeating: 0, count: EngineProtocol.longestMessage)
            var peers: [LocalSocket] = []
            while !isOver.load(ordering: .relaxed) {
                var entry = pollfd(fd: peers.last?.descriptor ?? listener.descriptor, events: 1, revents: 0)
                _ = poll(&entry, 1, 20)
                while let peer = listener.accept() { peers.append(peer) }
                for peer in peers {
                    guard case .message(let count) = peer.receive(into: &buffer),
                        let message = MessageReader(Array(buffer[..<count]))
                    else { continue }
                    var writer = MessageWriter()
                    writer.begin(.reply, id: message.id)
                    _ = peer.send(writer.bytes)
                }
            }
        }
    }

    private let work: Work
    private var thread = pthread_t()

    init(_ path: String) throws {
        work = Work(path)
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, Unmanaged.passRetained(work).toOpaque())
        try #require(code == 0)
    }

    func end() {
        work.isOver.store(true, ordering: .relaxed)
        pthread_join(thread, nil)
    }
}

private final class Heard {
    var lines: [(LogLevel, String)] = []
}

private func run(_ supervisor: EngineSupervisor, until isDone: () -> Bool) throws {
    let end = SystemClock.monotonicMilliseconds() + 30_000
    while !isDone() {
        try #require(SystemClock.monotonicMilliseconds() < end)
        supervisor.process()
        var entry = pollfd(fd: supervisor.descriptor, events: 1, revents: 0)
        _ = poll(&entry, 1, min(max(supervisor.timeoutMilliseconds(), 1), 100))
    }
}
