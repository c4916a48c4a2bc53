// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeSystem
import Testing

@testable import PushWakeClient

/// A directory with a place for a file, gone with this object.
final class FilterFile {
    let directory: String
    var path: String { BindingFilterFile.path(besides: socket) }
    var socket: String { directory + "/engine.sock" }
    var store: String { directory + "/bindings.db" }

    init() throws {
        var template = Array("/tmp/pushwake-filter-XXXXXX".utf8CString)
        directory = try #require(mkdtemp(&template).map { String(cString: $0) })
    }

    deinit { _ = system("rm -rf \(directory)") }

    /// Puts a file in place that holds so many users.
    @discardableResult
    func publish(_ aors: [String], seed: UInt64 = 1) throws -> BindingFilterFile {
        let file = try BindingFilterFile(making: path + ".new", users: aors.count, seed: seed)
        for aor in aors { file.insert(aor) }
        file.state = .inUse
        try SharedWords.rename(path + ".new", to: path)
        return file
    }

    func write(_ words: [UInt64], longerBy bytes: Int = 0) throws {
        let file = try #require(fopen(path, "w"))
        defer { fclose(file) }
        #expect(fwrite(words, 8, words.count, file) == words.count)
        for _ in 0..<bytes { fputc(0, file) }
    }
}

extension BindingFilterReader {
    func mayHold(_ aor: String, now: Int64) -> Bool {
        let bytes = Array(aor.utf8)
        return mayHold(bytes.span, now: now)
    }
}

@Suite struct `A file of users with bindings` {
    @Test func `tells a client who has none`() throws {
        let place = try FilterFile()
        try place.publish(["alice", "jürgen"])
        let reader = BindingFilterReader(path: place.path)
        #expect(reader.mayHold("alice", now: 0))
        #expect(reader.mayHold("jürgen", now: 0))
        #expect(!reader.mayHold("bob", now: 0))
        #expect(!reader.mayHold("Alice", now: 0))
        #expect(reader.mayHold("", now: 0))
    }

    @Test func `shows who is put in later at once`() throws {
        let place = try FilterFile()
        let file = try place.publish([])
        let reader = BindingFilterReader(path: place.path)
        #expect(!reader.mayHold("bob", now: 0))
        #expect(file.insert("bob"))
        #expect(!file.insert("bob"))
        #expect(reader.mayHold("bob", now: 0))
    }

    @Test func `says nothing when it is not there, and is found when it comes`() throws {
        let place = try FilterFile()
        let reader = BindingFilterReader(path: place.path)
        #expect(reader.mayHold("bob", now: 0))
        try place.publish([])
        #expect(reader.mayHold("bob", now: 99), "a file that is missing is not looked for at every call")
        #expect(!reader.mayHold("bob", now: 100))
    }

    @Test func `says nothing while it is made`() throws {
        let place = try FilterFile()
        let file = try place.publish([])
        file.state = .making
        #expect(BindingFilterReader(path: place.path).mayHold("bob", now: 0))
    }

    @Test func `says nothing once dead, and the next one is taken at once`() throws {
        let place = try FilterFile()
        let first = try place.publish([])
        let reader = BindingFilterReader(path: place.path)
        #expect(!reader.mayHold("bob", now: 0))
        first.state = .dead
        #expect(reader.mayHold("bob", now: 1))
        let second = try place.publish([], seed: 2)
        #expect(!reader.mayHold("bob", now: 101))
        try place.publish(["bob"], seed: 3)
        second.state = .dead
        #expect(reader.mayHold("bob", now: 102))
        #expect(!reader.mayHold("carol", now: 102), "the new file has the name before the old one dies")
    }

    @Test func `is marked by an engine that has not made it`() throws {
        let place = try FilterFile()
        #expect(BindingFilterFile.kill(place.path), "nothing is there")
        try place.publish([])
        let reader = BindingFilterReader(path: place.path)
        #expect(!reader.mayHold("bob", now: 0))
        #expect(BindingFilterFile.kill(place.path))
        #expect(reader.mayHold("bob", now: 0))
    }

    @Test func `is believed no longer than a moment when somebody has removed it`() throws {
        let place = try FilterFile()
        try place.publish([])
        let reader = BindingFilterReader(path: place.path)
        #expect(!reader.mayHold("bob", now: 0))
        unlink(place.path)
        #expect(reader.mayHold("bob", now: 100))
        try place.publish(["carol"])
        #expect(!reader.mayHold("bob", now: 200))
        #expect(reader.mayHold("carol", now: 200))
    }

    @Test func `survives any time`() throws {
        let place = try FilterFile()
        try place.publish([])
        let reader = BindingFilterReader(path: place.path)
        for now in [Int64.min, -1, 0, .max, .max - 1, .min] { #expect(!reader.mayHold("bob", now: now)) }
    }

    private static let good =
        [BindingFilterFile.magic, 2, 1, 2048, 0, 0, 0, 0] + Array(repeating: UInt64(0), count: 2048)

    @Test func `of this form is believed`() throws {
        let place = try FilterFile()
        try place.write(Self.good)
        #expect(!BindingFilterReader(path: place.path).mayHold("bob", now: 0))
    }

    @Test(
        arguments: [
            (0, BindingFilterFile.magic + 1), (0, 0), (1, 0), (1, 1), (1, 3), (1, .max), (3, 0), (3, 1), (3, 2047),
            (3, 2049), (3, 4096), (3, 1 << 24), (3, 1 << 63), (3, .max),
        ] as [(Int, UInt64)])
    func `with a wrong header says nothing`(index: Int, word: UInt64) throws {
        let place = try FilterFile()
        var words = Self.good
        words[index] = word
        try place.write(words)
        #expect(BindingFilterReader(path: place.path).mayHold("bob", now: 0))
    }

    @Test(arguments: [0, 1, 4, 7, 8, 9, 2055, 2057, 5000])
    func `of a wrong size says nothing`(count: Int) throws {
        let place = try FilterFile()
        try place.write(Array((Self.good + Self.good + Self.good).prefix(count)))
        #expect(BindingFilterReader(path: place.path).mayHold("bob", now: 0))
        try place.write(Self.good, longerBy: 1)
        #expect(BindingFilterReader(path: place.path).mayHold("bob", now: 0))
    }

    @Test func `of any content does no harm`() throws {
        let place = try FilterFile()
        var random = SplitMix(5)
        for _ in 0..<300 {
            var words = (0..<Int(random.next() % 64)).map { _ in random.next() }
            if words.count > 8, random.next() % 2 == 0 {
                words.replaceSubrange(0..<8, with: Self.good.prefix(8))
                words[3] = random.next() % 2 == 0 ? UInt64(words.count - 8) : random.next() % 70
            }
            try place.write(words, longerBy: Int(random.next() % 3))
            let reader = BindingFilterReader(path: place.path)
            for user in 0..<20 { _ = reader.mayHold("user\(user)", now: 0) }
            _ = BindingFilterFile.kill(place.path)
            #expect(reader.mayHold("bob", now: 0) || words.count < 9)
        }
    }

    @Test func `that is not a file says nothing, and stops nobody`() throws {
        let place = try FilterFile()
        #expect(mkfifo(place.path, 0o600) == 0)
        #expect(BindingFilterReader(path: place.path).mayHold("bob", now: 0))
        #expect(!BindingFilterFile.kill(place.path))
        unlink(place.path)
        #expect(mkdir(place.path, 0o700) == 0)
        #expect(BindingFilterReader(path: place.path).mayHold("bob", now: 0))
    }

    @Test func `of somebody else is not written to`() throws {
        let place = try FilterFile()
        try place.write(Array(repeating: 7, count: 100))
        #expect(!BindingFilterFile.kill(place.path))
        #expect(SharedWords.open(place.path)?.load(1) == 7)
    }
}
