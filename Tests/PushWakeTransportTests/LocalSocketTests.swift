// SPDX-License-Identifier: MIT

import CLinux
import PushWakeSystem
import Testing

@Suite struct `A local socket` {
    @Test func `does not take the place of a file that is none`() throws {
        let path = try TemporaryFile.make(Array("the bindings".utf8))
        defer { TemporaryFile.remove(path) }
        let failure = #expect(throws: LocalSocket.Failure.self) { try LocalSocket.listen(path: path) }
        #expect(failure?.message == "\(path) is there and is not a socket; set engine_socket to another path")
        #expect(try FileContent.read(path) == Array("the bindings".utf8))
    }

    @Test func `says what to do where none can be made`() {
        let path = "/no/such/place/e.sock"
        let failure = #expect(throws: LocalSocket.Failure.self) { try LocalSocket.listen(path: path) }
        #expect(failure?.message.hasPrefix("cannot listen on \(path): No such file or directory; ") == true)
        #expect(failure?.message.hasSuffix("make its directory, or set engine_socket to another path") == true)
    }

    @Test func `takes the place of a dead one`() throws {
        let path = try TemporaryFile.make([])
        defer { TemporaryFile.remove(path) }
        TemporaryFile.remove(path)
        // A second name keeps the file when its listener goes.
        let spare = path + ".spare"
        defer { TemporaryFile.remove(spare) }
        do {
            let first = try LocalSocket.listen(path: path)
            #expect(link(path, spare) == 0)
            _ = first
        }
        #expect(rename(spare, path) == 0)
        #expect(throws: LocalSocket.Failure.self) { try LocalSocket.connect(path: path) }
        let second = try LocalSocket.listen(path: path)
        _ = try LocalSocket.connect(path: path)
        _ = second
    }

    @Test func `that is alive keeps its place, also when nobody else gets in`() throws {
        let path = try TemporaryFile.make([])
        TemporaryFile.remove(path)
        let engine = try LocalSocket.listen(path: path, backlog: 1)
        var waiting: [LocalSocket] = []
        while let one = try? LocalSocket.connect(path: path) { waiting.append(one) }
        let failure = #expect(throws: LocalSocket.Failure.self) { try LocalSocket.listen(path: path) }
        #expect(failure?.message.contains("another engine listens on \(path)") == true, "\(failure?.message ?? "")")
        #expect(FileStamp(path) != nil)
        _ = engine
    }
}

@Suite struct `A file that is read` {
    @Test func `may be a FIFO that nobody writes to`() throws {
        let path = try TemporaryFile.make([])
        defer { TemporaryFile.remove(path) }
        TemporaryFile.remove(path)
        #expect(mkfifo(path, 0o600) == 0)
        #expect(try FileContent.read(path) == [])
    }
}
