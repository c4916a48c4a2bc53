// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeStore

@Suite struct `A command for Valkey` {
    @Test func `is an array of bulks`() {
        #expect(text(["GET", "pw:{:bob}"]) == "*2\r\n$3\r\nGET\r\n$9\r\npw:{:bob}\r\n")
    }

    @Test(arguments: [0, 1, 9, 10, 99, 100, 12_345])
    func `says the length of each word`(length: Int) {
        let word = String(repeating: "a", count: length)
        #expect(text([word]) == "*1\r\n$\(length)\r\n\(word)\r\n")
    }

    @Test func `may have many words`() {
        let words = (0..<123).map { _ in "" }
        #expect(text(words) == "*123\r\n" + words.map { _ in "$0\r\n\r\n" }.joined())
    }

    @Test func `carries any bytes`() {
        let bytes: [UInt8] = [0, 0x0D, 0x0A, 0xFF]
        #expect(ValkeyCommand.bytes([bytes]) == Array("*1\r\n$4\r\n".utf8) + bytes + [0x0D, 0x0A])
    }

    private func text(_ words: [String]) -> String {
        String(decoding: ValkeyCommand.bytes(words.map { Array($0.utf8) }), as: UTF8.self)
    }
}
