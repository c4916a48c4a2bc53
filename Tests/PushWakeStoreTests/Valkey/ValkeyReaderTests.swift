// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeStore

@Suite struct `Replies of a server` {
    private func isBroken(_ reader: ValkeyReader, by text: String) -> Bool {
        guard Array(text.utf8).withUnsafeBytes({ reader.feed($0) }) else { return true }
        while true {
            switch reader.next() {
            case .reply: continue
            case .incomplete: return false
            case .broken: return true
            }
        }
    }

    @Test(arguments: ["*2000000\r\n", "*1\r\n*100000000\r\n:1\r\n", "*3\r\n:1\r\n:2\r\n*2147483647\r\n"])
    func `take no room for more elements than any answer has`(text: String) throws {
        #expect(isBroken(try #require(ValkeyReader()), by: text))
    }

    @Test func `may have as many elements as slots of a cluster, each a range of its own`() throws {
        let reader = try #require(ValkeyReader())
        #expect(!isBroken(reader, by: "*16384\r\n" + String(repeating: "*1\r\n:7\r\n", count: 16_383)))
        #expect(Array("*1\r\n:7\r\n".utf8).withUnsafeBytes { reader.feed($0) })
        guard case .reply(.array(let elements)) = reader.next() else {
            Issue.record("no reply")
            return
        }
        #expect(elements.count == 16_384 && elements.allSatisfy { $0 == .array([.integer(7)]) })
    }

    @Test func `end when one of them does not end`() throws {
        let reader = try #require(ValkeyReader())
        let piece = String(repeating: "a", count: 1 << 20)
        var isRefused = isBroken(reader, by: "$500000000\r\n")
        #expect(!isRefused)
        for _ in 0..<40 where !isRefused { isRefused = isBroken(reader, by: piece) }
        #expect(isRefused)
    }
}
