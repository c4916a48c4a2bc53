// SPDX-License-Identifier: MIT

import CLinux
import Glibc
import PushWakeSystem
import Testing

@Suite struct `Words that processes share` {
    private func withPath(_ body: (String) throws -> Void) throws {
        let path = try TemporaryFile.make([])
        TemporaryFile.remove(path)
        defer { TemporaryFile.remove(path) }
        try body(path)
    }

    @Test func `are seen by whoever has the file mapped`() throws {
        try withPath { path in
            let writer = try SharedWords.create(path, count: 1000)
            let reader = try #require(SharedWords.open(path))
            #expect(reader.count == 1000)
            #expect((0..<1000).allSatisfy { reader.load($0) == 0 })
            #expect(writer.set(999, 0b101) == 0)
            #expect(writer.set(999, 0b110) == 0b101)
            writer.storeReleasing(0, .max)
            #expect(reader.load(999) == 0b111)
            #expect(reader.loadAcquiring(0) == .max)
        }
    }

    @Test func `outlive their name, and the name tells whether it is still theirs`() throws {
        try withPath { path in
            let first = try SharedWords.create(path, count: 8)
            let reader = try #require(SharedWords.open(path))
            #expect(reader.isNamed(path))
            let second = try SharedWords.create(path, count: 8)
            first.storeReleasing(3, 5)
            #expect(reader.load(3) == 5)
            #expect(!reader.isNamed(path))
            #expect(second.isNamed(path))
            #expect(second.load(3) == 0)
            SharedWords.unlink(path)
            #expect(!second.isNamed(path))
        }
    }

    @Test func `are the owner's to write and the group's to read, whatever the umask`() async {
        await #expect(processExitsWith: .success) {
            let path = "/tmp/pushwake-words-\(SystemClock.processID())"
            defer { TemporaryFile.remove(path) }
            umask(0o777)
            _ = try SharedWords.create(path, count: 8)
            var status = stat()
            #expect(clinux_stat(path, &status) == 0)
            #expect(status.st_mode & 0o7777 == 0o640)
            // All of it is there: no reader meets a full file system.
            #expect(status.st_blocks > 0)
        }
    }

    @Test func `are refused where the file system has no room for them`() async {
        await #expect(processExitsWith: .success) {
            let path = "/tmp/pushwake-words-\(SystemClock.processID())"
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 4096, rlim_max: 1 << 20)
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
            #expect(throws: SystemError.self) { try SharedWords.create(path, count: 1 << 16) }
            #expect(FileStamp(path) == nil)
        }
    }

    @Test func `are not written by a reader, and never outside of the file`() throws {
        try withPath { path in
            let writer = try SharedWords.create(path, count: 8)
            let reader = try #require(SharedWords.open(path))
            #expect(reader.set(1, 1) == nil)
            reader.storeReleasing(1, 1)
            #expect(writer.load(1) == 0)
            for index in [Int.min, -1, 8, Int.max] {
                #expect(writer.load(index) == nil)
                #expect(writer.loadAcquiring(index) == nil)
                #expect(writer.set(index, 1) == nil)
                writer.storeReleasing(index, 1)
            }
        }
    }

    @Test func `are no words where there is no such file`() throws {
        #expect(SharedWords.open("/no/such/file") == nil)
        #expect(SharedWords.open("/tmp") == nil)
        #expect(SharedWords.open("/dev/zero") == nil)
        #expect(throws: SystemError.self) { try SharedWords.create("/no/such/file", count: 8) }
        for count in [0, -1, Int.max] {
            #expect(throws: SystemError.self) { try SharedWords.create("/tmp/pushwake-no-words", count: count) }
        }
        try withPath { path in
            #expect(mkfifo(path, 0o600) == 0)
            #expect(SharedWords.open(path) == nil)
        }
        try withPath { path in
            #expect(symlink("/etc/passwd", path) == 0)
            #expect(SharedWords.open(path) == nil)
        }
        for odd in [0, 1, 7, 9, 4097] {
            let path = try TemporaryFile.make(Array(repeating: 1, count: odd))
            #expect(SharedWords.open(path) == nil)
            TemporaryFile.remove(path)
        }
    }
}
