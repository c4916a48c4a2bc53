// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeStore
import Testing

@Suite struct `A killed process` {
    @Test func `leaves behind what register had stored`() async throws {
        let directory = try makeTemporaryDirectory()
        defer { removeDirectory(directory) }
        let path = directory + "/bindings.db"
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let store = try SQLiteStore(path: path)
            _ = try store.register([makeBinding()], now: start)
            kill(getpid(), SIGKILL)
        }
        #expect(try SQLiteStore(path: path).bindings(of: "alice@example.com", now: start) == [makeBinding()])
    }

    /// The child notes each stored user in a second file until a timer ends it, at any point after the first.
    @Test(arguments: [10, 20, 40]) func `loses nothing wherever it is stopped`(milliseconds: Int) async throws {
        let directory = try makeTemporaryDirectory()
        defer { removeDirectory(directory) }
        await #expect(processExitsWith: .signal(SIGALRM)) {
            [directory = directory as String, milliseconds = milliseconds as Int] in
            let store = try SQLiteStore(path: directory + "/bindings.db", options: .init(logLimit: 16))
            let notes = open(directory + "/notes", O_WRONLY | O_CREAT, 0o600)
            signal(SIGALRM, SIG_DFL)
            var timer = itimerval()
            timer.it_value.tv_usec = milliseconds * 1000
            for index in 0..<1_000_000 {
                _ = try store.register([makeBinding(aor: "user\(index)", token: "token \(index)")], now: start)
                write(notes, "x", 1)
                // Not before: on a busy machine the first one may take longer than the timer runs.
                if index == 0 { setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &timer, nil) }
            }
        }
        var status = stat()
        #expect(stat(directory + "/notes", &status) == 0)
        let stored = Int(status.st_size)
        #expect(stored > 0)
        let store = try SQLiteStore(path: directory + "/bindings.db")
        #expect([stored, stored + 1].contains(try store.count()))
        for index in 0..<stored {
            #expect(try store.bindings(of: "user\(index)", now: start).map(\.token) == ["token \(index)"])
        }
    }
}
