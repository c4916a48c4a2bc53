// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `A text in a text` {
    @Test(arguments: [
        ("https://a", "://", 5), ("aab", "ab", 1), ("ababac", "abac", 2), ("a", "", 0), ("", "", 0), ("é=1", "=", 2),
        ("=\u{301}", "=", 0), ("a\r\nb", "\nb", 2),
    ])
    func `is found where it stands first`(_ text: String, _ wanted: String, _ offset: Int) throws {
        let found = try #require(text.firstRange(of: wanted))
        #expect(text.utf8.distance(from: text.startIndex, to: found.lowerBound) == offset)
        #expect(text.utf8.distance(from: found.lowerBound, to: found.upperBound) == wanted.utf8.count)
        let part = "x\(text)".utf8.dropFirst()
        #expect(Substring(part).firstRange(of: wanted) != nil)
    }

    @Test(arguments: [("", "a"), ("ab", "abc"), ("aba", "bb"), ("e\u{301}", "é")])
    func `is not found`(_ text: String, _ wanted: String) {
        #expect(text.firstRange(of: wanted) == nil)
        #expect(!text.contains(wanted))
    }
}
