// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeSystem
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

    func remove() { unlink(path) }

    func settings() throws -> Settings {
        var settings = Settings()
        try settings.set("engine_path", to: path)
        try settings.set("engine_socket", to: path + ".sock")
        return settings
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
