// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeSystem
import Testing

@testable import PushWakeStore

/// Two MB at once: more than a kernel takes.
@Suite struct `A connection to a server of bindings` {
    private static let questions = (0..<2000).map {
        ["ECHO".word, Array("\($0)".utf8) + [UInt8](repeating: 46, count: 1000)]
    }
    private let server = ValkeyServer()
    private let loop: Loop
    private let link: ValkeyLink

    init() throws {
        loop = try Loop()
        link = try ValkeyLink(server.access(), loop: loop)
    }

    private func wait(until condition: () -> Bool) -> Bool {
        let end = SystemClock.monotonicMilliseconds() + 20_000
        while !condition() {
            guard SystemClock.monotonicMilliseconds() < end else { return false }
            loop.turn(waitingUpTo: 10)
        }
        return true
    }

    /// Asks all, and notes the answers as they come.
    private func ask(_ replies: Replies) {
        for question in Self.questions { link.send(question) { replies.all.append($0) } }
    }

    private final class Replies {
        var all: [ValkeyReply?] = []
    }

    @Test func `sends all in its order when a server that stood still goes on`() {
        link.start()
        #expect(wait { link.isReady })
        server.stop()
        let replies = Replies()
        ask(replies)
        loop.turn(waitingUpTo: 0)
        #expect(replies.all.isEmpty)
        server.goOn()
        #expect(wait { replies.all.count >= Self.questions.count })
        #expect(replies.all == Self.questions.map { .bytes($0[1]) })
    }

    @Test func `stands with all that has waited for it`() {
        link.keepsEarly = true
        let replies = Replies()
        ask(replies)
        link.start()
        #expect(wait { replies.all.count >= Self.questions.count })
        #expect(link.isReady && replies.all == Self.questions.map { .bytes($0[1]) })
        link.end()
    }
}
