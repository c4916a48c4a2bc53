// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeClient

@Suite struct `Progress of long work` {
    @Test func `short work shows nothing`() {
        var line = ProgressLine("pushes", of: 10, now: 1000)
        #expect(line.text(done: 9, now: 1499) == nil)
        #expect(line.end() == nil)
    }

    @Test func `long work shows how much is done and what is left`() {
        var line = ProgressLine("pushes", of: 1000, now: 0)
        #expect(line.text(done: 250, now: 500) == "\r250 of 1000 pushes, 25 %, 2s left")
        #expect(line.text(done: 260, now: 699) == nil)
        #expect(line.text(done: 1000, now: 700) == "\r1000 of 1000 pushes, 100 %       ")
        #expect(line.end() == "\r" + String(repeating: " ", count: 26) + "\r")
    }

    @Test func `without a total it counts`() {
        var line = ProgressLine("bindings", now: 0)
        #expect(line.text(done: 5, now: 500) == "\r5 bindings")
    }

    @Test func `nothing traps, whatever the numbers are`() {
        var line = ProgressLine("pushes", of: .max, now: .min)
        #expect(line.text(done: 1, now: .max) != nil)
        var over = ProgressLine("pushes", of: 1, now: 0)
        #expect(over.text(done: .max, now: 600)?.hasSuffix(" of 1 pushes, 100 %") == true)
        var none = ProgressLine("pushes", of: 0, now: 0)
        #expect(none.text(done: 3, now: 600) == "\r3 pushes")
    }
}
