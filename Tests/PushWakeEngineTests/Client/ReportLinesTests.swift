// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeClient

@Suite struct `Lines for a console` {
    private func text(_ name: String, _ value: String) -> EngineField {
        EngineField(name: name, text: value, number: 0)
    }
    private func number(_ name: String, _ value: Int64) -> EngineField {
        EngineField(name: name, text: nil, number: value)
    }

    private func lines(_ words: [String], _ rows: [[EngineField]], _ number: Int = 0) throws -> [String] {
        var lines = ReportLines(try ConsoleCommand(words))
        return rows.flatMap { lines.take($0) } + lines.end(number)
    }

    @Test func `have counters in two columns`() throws {
        let row = [number("pushes", 12), text("version", "0.1\u{7}"), number(String(repeating: "x", count: 40), 1)]
        let all = try lines(["stats"], [row])
        #expect(all.count == 3)
        #expect(all[0] == "pushes" + String(repeating: " ", count: 27) + "12")
        #expect(all[1].hasPrefix("version ") && !all[1].contains("\u{7}"))
        #expect(all[2] == String(repeating: "x", count: 40) + " 1")
    }

    @Test(arguments: [0, 1, 255, 256, 257, 1000])
    func `have each binding once, under one title`(_ count: Int) throws {
        let rows = (0..<count).map {
            [text("aor", "user\($0)"), text("provider", "apns"), number("registered_ago", 7)]
        }
        var all = try lines(["list"], rows)
        #expect(all.removeLast() == "\(count) binding\(count == 1 ? "" : "s")")
        #expect(all.count == (count == 0 ? 0 : count + 1))
        #expect(all.filter { $0.hasPrefix("aor ") }.count == (count == 0 ? 0 : 1))
        #expect(all.dropFirst().enumerated().allSatisfy { $1.hasPrefix("user\($0) ") })
    }

    @Test func `hold back no more than one block of a table`() throws {
        var lines = ReportLines(try ConsoleCommand(["list"]))
        let row = [text("aor", "alice")]
        let given = (1...1000).map { _ in lines.take(row).count }.reduce(0, +)
        #expect(1 + 1000 - given <= ReportLines.block)
    }

    @Test func `part the details of bindings by an empty line`() throws {
        let all = try lines(["show", "alice"], [[text("aor", "alice")], [text("aor", "bob"), text("app", "phone")]])
        #expect(all == ["aor  alice", "", "aor  bob", "app  phone", ""])
        #expect(try lines(["show", "nobody\u{7}"], []) == ["nobody? has no such push binding"])
    }

    @Test func `tell the trace of a request, or that there was none`() throws {
        #expect(try lines(["trace"], []) == ["there was no request yet"])
        let all = try lines(
            ["trace"],
            [
                [
                    text("method", "INVITE"), text("aor", "bob"), number("started_ago", 3),
                    text("summary", "phone 1 rings"),
                ],
                [number("at_ms", 5), text("text", "phone 1 rings (180)")],
            ])
        #expect(all.count == 4 && all[0].hasPrefix("INVITE to bob, 3 s ago") && all[3].hasSuffix("phone 1 rings (180)"))
    }

    @Test(arguments: [
        (["remove", "bob"], 1, "removed 1 binding"), (["remove", "bob"], 0, "removed 0 bindings"),
        (["send", "call", "bob"], 1, "1 push queued"), (["send", "call", "bob"], 2, "2 pushes queued"),
    ])
    func `tell what came of a command`(_ words: [String], _ number: Int, _ line: String) throws {
        #expect(try lines(words, [[self.number("removed", 7)]], number) == [line])
    }

    @Test(arguments: [[], ["wake"], ["List"]])
    func `are for commands that there are`(_ words: [String]) {
        #expect(throws: ConsoleCommand.Failure.self) { try ConsoleCommand(words) }
    }
}
