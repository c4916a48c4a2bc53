// SPDX-License-Identifier: MIT

import Glibc
import PushWakeClient
import PushWakeCore
import PushWakeSystem
import Testing

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
}
