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

    private func lines(_ report: ConsoleReport, _ rows: [[EngineField]]) -> [String] {
        var lines = ReportLines(report)
        return rows.flatMap { lines.take($0) } + lines.end()
    }

    @Test func `have counters in two columns`() {
        let row = [number("pushes", 12), text("version", "0.1\u{7}"), number(String(repeating: "x", count: 40), 1)]
        let all = lines(.stats, [row])
        #expect(all.count == 3)
        #expect(all[0] == "pushes" + String(repeating: " ", count: 27) + "12")
        #expect(all[1].hasPrefix("version ") && !all[1].contains("\u{7}"))
        #expect(all[2] == String(repeating: "x", count: 40) + " 1")
    }

    @Test(arguments: [0, 1, 255, 256, 257, 1000])
    func `have each binding once, under one title`(_ count: Int) {
        let rows = (0..<count).map {
            [text("aor", "user\($0)"), text("provider", "apns"), number("registered_ago", 7)]
        }
        let all = lines(.bindings, rows)
        #expect(all.count == (count == 0 ? 0 : count + 1))
        #expect(all.filter { $0.hasPrefix("aor ") }.count == (count == 0 ? 0 : 1))
        #expect(all.dropFirst().enumerated().allSatisfy { $1.hasPrefix("user\($0) ") })
    }

    @Test func `hold back no more than one block of a table`() {
        var lines = ReportLines(.bindings)
        let row = [text("aor", "alice")]
        let given = (1...1000).map { _ in lines.take(row).count }.reduce(0, +)
        #expect(1 + 1000 - given <= ReportLines.block)
    }

    @Test func `part the details of bindings by an empty line`() {
        let all = lines(.details, [[text("aor", "alice")], [text("aor", "bob"), text("app", "phone")]])
        #expect(all == ["aor  alice", "", "aor  bob", "app  phone", ""])
    }

    @Test func `tell the trace of a request, or that there was none`() {
        #expect(lines(.trace, []) == ["there was no request yet"])
        let all = lines(
            .trace,
            [
                [
                    text("method", "INVITE"), text("aor", "bob"), number("started_ago", 3),
                    text("summary", "phone 1 rings"),
                ],
                [number("at_ms", 5), text("text", "phone 1 rings (180)")],
            ])
        #expect(all.count == 4 && all[0].hasPrefix("INVITE to bob, 3 s ago") && all[3].hasSuffix("phone 1 rings (180)"))
    }
}
