// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `A kamailio.cfg` {
    @Test func `is read with what it includes`() {
        let configuration = KamailioConfiguration("include_file \"a.cfg\"\nloadmodule \"tm.so\"\n", file: "k.cfg") {
            $0 == "a.cfg" ? "loadmodule \"sl.so\"\n" : nil
        }
        #expect(configuration.modules.map(\.name) == ["sl", "tm"])
        #expect(configuration.modules.map(\.location.file) == ["a.cfg", "k.cfg"])
    }

    @Test(.timeLimit(.minutes(1))) func `that includes itself many times comes to an end`() {
        let text = String(repeating: "include_file \"k.cfg\"\n", count: 80)
        var reads = 0
        let configuration = KamailioConfiguration(text + "loadmodule \"tm.so\"\n", file: "k.cfg") { _ in
            reads += 1
            return reads > 10_000 ? nil : text
        }
        #expect(configuration.modules.map(\.name) == ["tm"])
        #expect(reads <= 500)
    }
}
