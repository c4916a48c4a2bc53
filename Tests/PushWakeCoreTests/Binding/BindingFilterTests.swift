// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `A filter of users with bindings` {
    /// The words of a filter, in memory.
    private struct Words {
        let filter: BindingFilter
        private var words: [UInt64]

        init(_ filter: BindingFilter) {
            self.filter = filter
            words = Array(repeating: 0, count: filter.wordCount)
        }

        mutating func insert(_ aor: String) {
            let probe = filter.probe(for: aor)
            words[probe.word] |= probe.mask
        }

        func mayContain(_ aor: String) -> Bool {
            let probe = filter.probe(for: aor)
            return words[probe.word] & probe.mask == probe.mask
        }
    }

    @Test(arguments: [0, 1, 4096, 4097, 50_000])
    func `finds everybody who is in`(users: Int) {
        var words = Words(BindingFilter(users: users, seed: 7))
        for user in 0..<users { words.insert("user\(user)@example.com") }
        #expect((0..<users).allSatisfy { words.mayContain("user\($0)@example.com") })
    }

    @Test(arguments: [UInt64(0), 1, 0x9E37_79B9_7F4A_7C15, .max])
    func `takes few others for one who is in`(seed: UInt64) throws {
        let filter = BindingFilter(users: 30_000, seed: seed)
        var words = Words(filter)
        func mistakes() -> Int { (0..<30_000).count { words.mayContain("+4930\(1_000_000 + $0)@sip.example.net") } }
        #expect(mistakes() == 0)
        for user in 0..<30_000 { words.insert("user\(user)@example.com") }
        #expect(mistakes() < 60, "more than 0.2 % with room for as many again")
        for user in 30_000..<(try #require(filter.capacity)) { words.insert("user\(user)@example.com") }
        #expect(mistakes() < 300, "more than 1 % when it is left for a larger one")
    }

    @Test func `tells users apart that differ in one character`() {
        var words = Words(BindingFilter(users: 4096, seed: 1))
        for user in 0..<100 { words.insert("\(1000 + user)") }
        #expect((1100..<10_000).count { words.mayContain("\($0)") } < 10)
        let probes = ["alice", "Alice", "alicf", "alice ", "alic", ""].map { words.filter.probe(for: $0) }
        #expect(Set(probes.map { "\($0)" }).count == probes.count)
    }

    @Test func `has room for twice the users it was made for, up to the largest`() {
        #expect(BindingFilter(users: 0, seed: 0).wordCount == BindingFilter.fewestWords)
        #expect(BindingFilter(users: .min, seed: 0).wordCount == BindingFilter.fewestWords)
        for users in [4096, 4097, 1_000_000, 10_000_000] {
            let filter = BindingFilter(users: users, seed: 0)
            #expect(filter.wordCount * 64 >= users * 32)
            #expect(filter.capacity.map { $0 >= 2 * users } == true)
        }
        // 4 MB for a million users.
        #expect(BindingFilter(users: 1_000_000, seed: 0).wordCount * 8 == 4 << 20)
        #expect(BindingFilter(users: .max, seed: 0).wordCount == BindingFilter.mostWords)
        #expect(BindingFilter(users: .max, seed: 0).capacity == nil)
    }

    @Test(arguments: [Int.min, -1, 0, 3, 2047, (1 << 24) + 1, 1 << 25, .max])
    func `is none with a size that cannot be`(words: Int) {
        #expect(BindingFilter(wordCount: words, seed: 0) == nil)
    }

    @Test func `is the same again from its size and seed`() throws {
        let made = BindingFilter(users: 20_000, seed: 99)
        #expect(BindingFilter(wordCount: made.wordCount, seed: 99) == made)
    }

    @Test(arguments: [
        "alice", "", "jürgen@example.com", "e\u{301}", "\u{e9}", "a\u{0}b", String(repeating: "x", count: 10_000),
    ])
    func `finds a user by bytes as by text`(aor: String) {
        let filter = BindingFilter(users: 0, seed: 3)
        let bytes = Array(aor.utf8)
        #expect(filter.probe(for: bytes.span) == filter.probe(for: aor))
        #expect(filter.probe(for: aor).word < filter.wordCount)
    }

    /// What the engine reads out of a message, and stores, is mended.
    @Test(arguments: [[0xFF], [0x61, 0xC3], [0xC3, 0xA9, 0x80], [0xF0, 0x9F, 0x98], [0xED, 0xA0, 0x80]])
    func `finds a user whose name is no text`(bytes: [UInt8]) {
        let filter = BindingFilter(users: 0, seed: 3)
        #expect(filter.probe(for: bytes.span) == filter.probe(for: String(decoding: bytes, as: UTF8.self)))
    }
}
