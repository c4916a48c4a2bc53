// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeEngine

@Suite struct `Tools of the library` {
    static let load = [
        "provider=apns", "url=https://127.0.0.1:1", "dir=/nonexistent", "count=1", "concurrency=1", "connections=1",
    ]

    @Test(arguments: [
        (Tool.check, []), (.check, ["user=root"]), (.check, ["file=/nonexistent", "no=1"]), (.check, ["file"]),
        (.explain, ["request=/nonexistent"]), (.explain, ["request=/nonexistent", "aor=a", "register=/nonexistent"]),
        (.explain, ["request=/nonexistent", "aor=a", "event=no"]),
        (.explain, ["request=/nonexistent", "aor=a", "push-type=no"]),
        (.load, load + ["url=https://192.0.2.1"]), (.load, load + ["url=https://127.example.com"]),
        (.load, ["count=1"]),
        (.load, load + ["count=0"]), (.load, load + ["count=many"]), (.load, load + ["provider=webpush"]),
    ])
    func `an option that is wrong or missing runs nothing`(_ tool: Tool, _ words: [String]) {
        #expect(tool.run(words, settings: Settings()) == nil)
    }

    @Test(arguments: [
        (Tool.check, ["file=/nonexistent"]), (.load, load),
        (.explain, ["register=/nonexistent", "request=/nonexistent", "event=chat", "push-type=voip"]),
    ])
    func `what cannot be read is code 2`(_ tool: Tool, _ words: [String]) {
        #expect(tool.run(words, settings: Settings()) == 2)
    }

    @Test func `a value may be empty, hold equals signs and be repeated`() throws {
        let options = try #require(ToolOptions(["file=a=b", "define=", "define=C=\u{301}d", "user=x"], of: .check))
        #expect(options["file"] == "a=b")
        #expect(options.all("define") == ["", "C=\u{301}d"])
        #expect(options["user"] == "x")
        #expect(options.all("nothing").isEmpty)
    }
}
