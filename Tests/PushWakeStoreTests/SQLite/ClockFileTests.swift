// SPDX-License-Identifier: MIT

import Glibc
import Testing

@testable import PushWakeStore

@Suite struct `A note of the clock beside a store` {
    private func write(_ text: String, to path: String) throws {
        let file = try #require(fopen(path, "w"))
        defer { fclose(file) }
        #expect(fputs(text, file) >= 0)
    }

    @Test func `is found by the next engine, which knows whether the machine was started since`() throws {
        try withTemporaryDirectory { directory in
            var file = ClockFile(storePath: directory + "/bindings.db", bootID: "boot-1\n")
            #expect(file.record == nil)
            file.keep(wall: start, running: 100)
            #expect(file.record == ClockFile.Record(boot: start - 100, seen: start))
            #expect(
                ClockFile(storePath: directory + "/bindings.db", bootID: "boot-2").record
                    == ClockFile.Record(boot: nil, seen: start))
            #expect(ClockFile(storePath: directory + "/bindings.db").record?.seen == start)
        }
    }

    @Test func `is written seldom, and when the clock was put right`() throws {
        try withTemporaryDirectory { directory in
            var file = ClockFile(storePath: directory + "/bindings.db", bootID: "b")
            file.keep(wall: start, running: 100)
            file.keep(wall: start + 3599, running: 3699)
            #expect(file.record?.seen == start)
            file.keep(wall: start + 3600, running: 3700)
            #expect(file.record == ClockFile.Record(boot: start - 100, seen: start + 3600))
            file.keep(wall: start - 86_400, running: 3701)
            #expect(file.record == ClockFile.Record(boot: start - 86_400 - 3701, seen: start - 86_400))
            file.keep(wall: .min, running: .max)
            file.keep(wall: .max, running: .min)
        }
    }

    @Test(arguments: ["", "b", "b 1", "b x y", "b 1 2 3", "b 1 99999999999999999999", "\u{0}\u{0}", " \n"])
    func `may hold anything`(text: String) throws {
        try withTemporaryDirectory { directory in
            try write(text, to: directory + "/bindings.db-clock")
            #expect(ClockFile(storePath: directory + "/bindings.db", bootID: "b").record == nil)
        }
    }

    @Test func `that cannot be written stops nobody`() throws {
        var file = ClockFile(storePath: "/nonexistent/bindings.db", bootID: "b")
        file.keep(wall: start, running: 100)
        #expect(file.record == nil)
    }
}
