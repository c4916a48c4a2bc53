// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeStore

@Suite struct `REGISTERs that wait for a store` {
    private typealias Backlog = RegisterBacklog<String>

    private func entries(_ taken: [Backlog.Taken]) -> [String] { taken.map(\.entry) }

    @Test func `come by users, those of one user together and in their order`() {
        var backlog = Backlog(most: 10)
        for (entry, aor) in [("a1", "\u{E9}"), ("b1", "e\u{301}"), ("a2", "\u{E9}")] {
            let isKept = backlog.keep(entry, of: aor)
            #expect(isKept)
        }
        let taken = [entries(backlog.take()), entries(backlog.take()), entries(backlog.take())]
        #expect(taken == [["a1", "a2"], ["b1"], []])
        #expect(backlog.count == 0)
    }

    @Test func `stand where they stood when they are put back, in whatever order, before what came meanwhile`() {
        var backlog = Backlog(most: 10)
        for entry in ["1", "2", "3"] { _ = backlog.keep(entry, of: "a") }
        let taken = backlog.take(of: "a")
        _ = backlog.keep("4", of: "a")
        for one in [taken[1], taken[0], taken[2]] { backlog.putBack(one) }
        #expect(backlog.hasAny(of: "a"))
        let again = entries(backlog.take())
        #expect(again == ["1", "2", "3", "4"])
        #expect(!backlog.hasAny(of: "a"))
    }

    @Test func `are not kept when there is no room for them`() {
        var backlog = Backlog(most: 1)
        let kept = [backlog.keep("1", of: "a"), backlog.keep("2", of: "b")]
        #expect(kept == [true, false])
    }

    @Test func `leave nothing behind when they are tried again and again, and stay in line`() {
        var backlog = Backlog(most: 10)
        for aor in ["a", "b", "c"] { _ = backlog.keep("1\(aor)", of: aor) }
        for _ in 0..<1000 {
            for aor in ["c", "b"] {
                for entry in backlog.take(of: aor) { backlog.putBack(entry) }
            }
        }
        #expect(backlog.queue.count < 30)
        let taken = [entries(backlog.take()), entries(backlog.take()), entries(backlog.take())]
        #expect(taken == [["1a"], ["1b"], ["1c"]])
    }
}
