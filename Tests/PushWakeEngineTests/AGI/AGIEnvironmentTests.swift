// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeClient

@Suite struct `What Asterisk says first` {
    private func environment(_ lines: String...) -> AGIEnvironment {
        var made = AGIEnvironment()
        for line in lines { made.line(line) }
        return made
    }

    @Test func `ends with an empty line`() {
        #expect(!environment("agi_request: x").isComplete)
        #expect(environment("agi_request: x", "").isComplete)
    }

    @Test func `keeps colons in a value`() {
        #expect(environment("agi_request: agi://127.0.0.1:4573/wake")["agi_request"] == "agi://127.0.0.1:4573/wake")
    }

    @Test func `reads unknown and missing as empty`() {
        let made = environment("agi_callerid: unknown", "no colon")
        #expect(made["agi_callerid"] == "")
        #expect(made["agi_calleridname"] == "")
    }

    @Test(arguments: [("0", false), ("3", false), ("32", true), ("35", true), ("67", true), ("", false), ("x", false)])
    func `knows a caller who withholds the number`(presentation: String, withholds: Bool) {
        #expect(environment("agi_callingpres: \(presentation)").withholdsCaller == withholds)
        #expect(!environment().withholdsCaller)
    }

    @Test func `has the arguments up to a gap`() {
        #expect(environment("agi_arg_1: 100", "agi_arg_2: ", "agi_arg_4: x").arguments == ["100", ""])
        #expect(environment().arguments == [])
    }

    @Test func `does not grow without end`() {
        var made = AGIEnvironment()
        for number in 1...256 { made.line("agi_arg_\(number): x") }
        #expect(made.arguments.count == 32 && !made.isOverfull)
        for number in 257...10_000 { made.line("agi_arg_\(number): x") }
        #expect(made.isOverfull)
        #expect(made["agi_arg_256"] == "x")
        #expect(made["agi_arg_257"] == "")
    }

    @Test func `has no more bytes than Asterisk could need`() {
        var made = AGIEnvironment()
        for _ in 1...9 { made.line("agi_calleridname: " + String(repeating: "x", count: 8000)) }
        #expect(made.isOverfull)
    }
}
