// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeClient
@testable import PushWakeCore

@Suite struct `Commands of the push hook` {
    @Test(arguments: [
        (["wake", "100"], AGICommand.wake(aor: "100", seconds: 0)),
        (["wake", "100", ""], .wake(aor: "100", seconds: 0)),
        (["wake", "100@example.com", "40"], .wake(aor: "100@example.com", seconds: 40)),
        (["wake", "100", "", "a@b"], .wake(aor: "100", seconds: 0, callID: "a@b")),
        (["wake", "100", "40", ""], .wake(aor: "100", seconds: 40)),
        (["send", "missed", "100"], .send(.missed, aor: "100", text: "")),
        (["send", "chat", "100", "Hello", " you"], .send(.chat, aor: "100", text: "Hello, you")),
        (["bindings", "100"], .bindings(aor: "100")),
        (["wake", " 100", " 40 ", " a@b "], .wake(aor: "100", seconds: 40, callID: "a@b")),
        ([" wake", "100 ", " "], .wake(aor: "100", seconds: 0)),
        (["send", " chat", " 100", " Hello", " you "], .send(.chat, aor: "100", text: " Hello, you ")),
        (["bindings", " 100"], .bindings(aor: "100")),
    ])
    func `are read from the arguments of the script`(_ words: [String], _ expected: AGICommand) throws {
        #expect(try AGICommand(arguments: words) == expected)
    }

    @Test(arguments: [
        ("agi://127.0.0.1/wake?aor=100", [], AGICommand.wake(aor: "100", seconds: 0)),
        ("agi://127.0.0.1:4573/wake?aor=100&timeout=40", [], .wake(aor: "100", seconds: 40)),
        ("agi://[::1]:4573/wake?timeout=1&aor=a%40b.example", [], .wake(aor: "a@b.example", seconds: 1)),
        ("agi://127.0.0.1/wake", ["100", "40"], .wake(aor: "100", seconds: 40)),
        ("agi://127.0.0.1/send", ["chat", "100", "one", "two"], .send(.chat, aor: "100", text: "one,two")),
        ("agi://127.0.0.1/send?event=chat&aor=100&text=100%25+yes%", [], .send(.chat, aor: "100", text: "100% yes%")),
        ("agi://127.0.0.1/send?event=chat&aor=100&text=50%+better", [], .send(.chat, aor: "100", text: "50% better")),
        ("agi://127.0.0.1/bindings?aor=100", [], .bindings(aor: "100")),
        ("agi://127.0.0.1/wake?token=x&timeout=2", ["100"], .wake(aor: "100", seconds: 2)),
        ("agi://127.0.0.1/wake?aor=100", ["2"], .wake(aor: "100", seconds: 2)),
        (
            "agi://127.0.0.1/wake?aor=100&pjsip_call_id=a%2Bb%25%40c", ["2"],
            .wake(aor: "100", seconds: 2, callID: "a+b%@c")
        ),
        ("agi://127.0.0.1/wake?aor=100&pjsip_call_id=", [], .wake(aor: "100", seconds: 0)),
        ("agi://127.0.0.1/wake", ["100", "40", "a+b"], .wake(aor: "100", seconds: 40, callID: "a+b")),
        (
            "agi://127.0.0.1/send?event=chat&pjsip_call_id=a", ["100", "one", "two"],
            .send(.chat, aor: "100", text: "one,two", callID: "a")
        ),
        ("agi://127.0.0.1/send?event=chat", ["100", "one", "two"], .send(.chat, aor: "100", text: "one,two")),
        ("agi://127.0.0.1", ["wake", "100", "40"], .wake(aor: "100", seconds: 40)),
        ("agi://127.0.0.1/", ["wake", "100", "40"], .wake(aor: "100", seconds: 40)),
        ("agi://127.0.0.1/pushwake.agi", ["send", "chat", "100", "wake"], .send(.chat, aor: "100", text: "wake")),
        ("agi://127.0.0.1/wake/", ["100"], .wake(aor: "100", seconds: 0)),
        ("agi://127.0.0.1/wake/?aor=100", [], .wake(aor: "100", seconds: 0)),
        ("agi://127.0.0.1/wake", ["wake", "2"], .wake(aor: "wake", seconds: 2)),
        ("agi://127.0.0.1/wake", [" 100", " 2"], .wake(aor: "100", seconds: 2)),
        ("agi://127.0.0.1", [" wake", " 100"], .wake(aor: "100", seconds: 0)),
        ("agi://127.0.0.1/wake?aor=+100&timeout=+2", [], .wake(aor: "100", seconds: 2)),
    ])
    func `are read from a FastAGI request`(_ request: String, _ words: [String], _ expected: AGICommand) throws {
        #expect(try AGICommand(request: request, arguments: words) == expected)
    }

    @Test(arguments: [
        ([], "write wake, send or bindings"),
        (["wkae", "100"], "\"wkae\"; write wake, send or bindings"),
        (["wake"], "AOR is missing"),
        (["wake", ""], "AOR is missing"),
        (["wake", " "], "AOR is missing"),
        (["wake", "100", "soon"], "\"soon\" does not fit; write 1 to 3600"),
        (["wake", "100", "0"], "write 1 to 3600"),
        (["wake", "100", "3601"], "write 1 to 3600"),
        (["wake", "100", "99999999999999999999"], "write 1 to 3600"),
        (["wake", "100", "40", "a b"], "the pjsip_call_id \"a b\" is not a Call-ID"),
        (["wake", "100", "40", "a\u{e9}"], "write ${CHANNEL(pjsip,call-id)}"),
        (["wake", "100", "40", String(repeating: "x", count: 257)], "at most 256 bytes"),
        (["send"], "EVENT is missing"),
        (["send", "call"], "AOR is missing"),
        (["send", "shout", "100"], "there is no event \"shout\"; write one of call, chat"),
        (["bindings"], "AOR is missing"),
    ])
    func `that are wrong name the remedy`(_ words: [String], _ remedy: String) {
        let mistake = #expect(throws: AGICommand.Mistake.self) { try AGICommand(arguments: words) }
        #expect(mistake?.message.contains(remedy) == true)
    }

    @Test(arguments: [
        "", "agi://", "agi://127.0.0.1", "agi://127.0.0.1/", "agi://127.0.0.1/wake", "agi://127.0.0.1/wake?",
        "agi://127.0.0.1/wake?aor", "agi://127.0.0.1/wake?aor=", "agi://127.0.0.1/wake?aor=1&timeout=-1",
        "agi://127.0.0.1/?aor=100", "agi://127.0.0.1/sleep?aor=100", "agi://127.0.0.1/send?event=call",
        "?=&%", "////",
    ])
    func `that FastAGI cannot mean are refused`(_ request: String) {
        #expect(throws: AGICommand.Mistake.self) { try AGICommand(request: request, arguments: []) }
    }
}
