// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct PrintableTextTests {
    @Test(
        "What a terminal or a log reader obeys is replaced",
        arguments: [
            ("plain", "plain"),
            ("ünïcode ☎ 日本", "ünïcode ☎ 日本"),
            ("f00dab…cdef “a”\u{A0}b \u{206A}", "f00dab…cdef “a”\u{A0}b \u{206A}"),
            ("f00dab…cdef\u{202E}", "f00dab…cdef?"),
            ("x\n 0(1) ALERT: gone\u{1B}[31m", "x? 0(1) ALERT: gone?[31m"),
            ("a\u{7F}b\u{0}c\td", "a?b?c?d"),
            ("a\u{80}b\u{85}c\u{9B}31m\u{9F}", "a?b?c?31m?"),
            ("a\u{2028}b\u{2029}c", "a?b?c"),
            ("a\u{061C}\u{200E}\u{200F}\u{202A}\u{202E}\u{2066}\u{2069}b", "a???????b"),
        ])
    func cleaned(text: String, expected: String) { #expect(PrintableText.cleaned(text) == expected) }

    @Test(
        "A value of a log line forges no other",
        arguments: [
            ("BadDeviceToken", "BadDeviceToken"),
            ("sip:a@b", "sip:a@b"),
            ("", "-"),
            ("x status=200 aor=sip:root@x", "\"x status=200 aor=sip:root@x\""),
            ("say \"hi\\\"", "\"say \\\"hi\\\\\\\"\""),
            ("a\u{A0}b=c", "\"a\u{A0}b=c\""),
            ("a\u{3000}b=c", "\"a\u{3000}b=c\""),
            ("f00dab…cdef", "f00dab…cdef"),
            ("a … b", "\"a … b\""),
            ("a\nb", "a?b"),
        ])
    func value(text: String, expected: String) { #expect(PrintableText.logValue(text) == expected) }

    @Test(
        "A value fits, whatever is in it",
        arguments: ["\"", "\\", "é ", "\u{1F4DE}", "\u{1B}", "x"], [5, 6, 7, 20, 255])
    func bounded(text: String, most: Int) {
        let long = String(repeating: text, count: 300)
        let value = PrintableText.logValue(long, most: most)
        #expect(value.utf8.count <= most && value.contains("…") && PrintableText.cleaned(value) == value)
        #expect(PrintableText.logValue("a b", most: most) == "\"a b\"")
    }

    @Test("A reason is clean from the moment it is part of a verdict")
    func verdict() {
        let verdict = Verdict(.rejected, reason: "x\n 0(1) ALERT: forged\u{1B}[31m\u{9B}\u{202E}")
        #expect(verdict.reason == "x? 0(1) ALERT: forged?[31m??")
    }
}

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
