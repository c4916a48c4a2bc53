// SPDX-License-Identifier: MIT

import Glibc
import PushWakeSystem
import Testing

@Suite struct `A log that nobody reads` {
    @Test(arguments: [false, true])
    func `loses lines and costs no time`(isSocket: Bool) throws {
        var ends: [Int32] = [0, 0]
        #expect((isSocket ? socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) : pipe(&ends)) == 0)
        defer { ends.forEach { close($0) } }
        let flags = fcntl(ends[1], F_GETFL)
        let output = LogOutput(ends[1])
        let begin = SystemClock.monotonicMilliseconds()
        for number in 0..<20_000 {
            output.write("line \(number) \(String(repeating: "x", count: 80))") { "lost \($0)" }
        }
        #expect(SystemClock.monotonicMilliseconds() - begin < 5000)
        let lost = output.lost
        #expect(lost > 0)
        // Others may have the same pipe, and may count on it to block.
        #expect(fcntl(ends[1], F_GETFL) == flags)

        let first = read(all: ends[0])
        output.write("again") { "lost \($0)" }
        let lines = Self.lines(first + read(all: ends[0]))
        #expect(lines.suffix(2) == ["lost \(lost)", "again"])
        #expect(lines.count - 2 + lost == 20_000)
        #expect(lines.dropLast(2).allSatisfy { $0.hasPrefix("line ") && $0.hasSuffix("xxx") })
    }

    @Test func `has all lines in a file`() throws {
        var template = Array("/tmp/pushwake-log-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        defer { close(descriptor) }
        let output = LogOutput(descriptor)
        for number in 0..<1000 { output.write("line \(number)") { "lost \($0)" } }
        #expect(lseek(descriptor, 0, SEEK_SET) == 0)
        #expect(Self.lines(read(all: descriptor)).count == 1000)
        unlink(&template)
    }

    @Test(arguments: 0..<4)
    func `cuts a long line between two characters`(offset: Int) throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { ends.forEach { close($0) } }
        let line = String(repeating: "x", count: offset) + String(repeating: "\u{1F600}", count: 2000)
        LogOutput(ends[1]).write(line) { "lost \($0)" }
        let written = read(all: ends[0])
        #expect(written.count > 4080 && written.count <= 4096 && written.last == 0x0A)
        #expect(String(validating: written.dropLast(), as: UTF8.self).map { line.hasPrefix($0) } == true)
    }

    private static func lines(_ bytes: [UInt8]) -> [String] {
        String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func read(all descriptor: Int32) -> [UInt8] {
        var text: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&entry, 1, 0) > 0 {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            guard count > 0 else { break }
            text += chunk[..<count]
        }
        return text
    }
}
