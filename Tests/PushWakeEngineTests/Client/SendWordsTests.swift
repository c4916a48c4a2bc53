// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeClient

@Suite struct `A push by hand in words` {
    private func fields(_ words: [String]) throws(ConsoleCommand.Failure) -> [String] {
        try SendWords(words).fields.map { "\($0.name)=\($0.value)" }
    }

    @Test(arguments: [
        (["call", "alice"], ["event=call", "aor=alice"]),
        (["chat", "alice", "hello", "world"], ["event=chat", "aor=alice", "text=hello world"]),
        (["chat", "alice", "title=News", "2+2=4"], ["event=chat", "aor=alice", "title=News", "text=2+2=4"]),
        (["call", "platform=apns", "token=00aa="], ["event=call", "platform=apns", "token=00aa="]),
        (["chat", "token=00aa", "hello"], ["event=chat", "token=00aa", "text=hello"]),
        (["chat", "hello", "token=00aa"], ["event=chat", "aor=hello", "token=00aa"]),
        (["chat", "aor=alice", "bob"], ["event=chat", "aor=alice", "text=bob"]),
        (["call", "colour=red"], ["event=call", "aor=colour=red"]),
        (["call", "=x"], ["event=call", "aor==x"]),
    ])
    func `is read as people mean it`(_ words: [String], _ expected: [String]) throws {
        #expect(try fields(words) == expected)
    }

    @Test(arguments: [
        ([], "which event?"), ([""], "which event?"), (["call"], "to whom?"), (["call", "token="], "to whom?"),
    ])
    func `without event or receiver says what to write`(_ words: [String], _ begin: String) {
        let mistake = #expect(throws: ConsoleCommand.Failure.self) { try fields(words) }
        guard case .words(let text)? = mistake else { return #expect(Bool(false)) }
        #expect(text.hasPrefix(begin) && text.contains("write EVENT AOR [TEXT]"))
    }

    @Test func `an event that is none is named with those that are`() {
        let text = SendWords.mistake(event: "nonsense\u{1B}")
        #expect(text.hasPrefix("'nonsense") && text.contains("is not an event; write one of call, chat, cancel"))
        #expect(!text.contains("\u{1B}"))
        #expect(SendWords.mistake(event: String(repeating: "x", count: 5000)).utf8.count < 300)
    }
}

@Suite struct `Warnings of an engine that is away` {
    @Test func `come once in ten seconds and say how many were left out`() {
        var warning = EngineWarning()
        #expect(warning.line("gone", now: 1000) == "gone")
        #expect((1...3).allSatisfy { warning.line("gone", now: 1000 + $0 * 3000) == nil })
        #expect(warning.line("gone", now: 11_000) == "gone (3 more since the last such line)")
        #expect(warning.line("gone", now: 20_999) == nil)
        #expect(warning.line("gone", now: 50_000) == "gone (1 more since the last such line)")
        #expect(warning.line("gone", now: 60_000) == "gone")
    }

    @Test func `come at the end of time too`() {
        var warning = EngineWarning()
        #expect(warning.line("gone", now: 1) == "gone")
        #expect(warning.line("gone", now: .max) == "gone")
    }
}
