// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

@Suite struct `A peer that does not read` {
    /// Messages that arrive when it reads at last.
    private func arriving(of count: Int, bytes: Int, lost: (() -> Void)? = nil) throws -> Int {
        let connection = try ConnectedPeer()
        let peer = connection.peer
        peer.onLoss = lost
        for _ in 0..<count { peer.send([UInt8](repeating: 1, count: bytes)) }
        var arrived = 0
        while true {
            while connection.hear() != nil { arrived += 1 }
            guard peer.hasBacklog else { return arrived }
            _ = peer.flush()
        }
    }

    @Test func `loses what is past a number of bytes`() throws {
        let bytes = 100_000
        var lost = 0
        let arrived = try arriving(of: 500, bytes: bytes) { lost += 1 }
        #expect(arrived + lost == 500)
        #expect(arrived >= SocketPeer.mostBytes / bytes && arrived < SocketPeer.mostBytes / bytes + 20)
    }

    @Test func `loses what is past a number of messages`() throws {
        var lost = 0
        let arrived = try arriving(of: 3 * SocketPeer.longestBacklog, bytes: 10) { lost += 1 }
        #expect(arrived + lost == 3 * SocketPeer.longestBacklog)
        #expect(arrived >= SocketPeer.longestBacklog && arrived < 3 * SocketPeer.longestBacklog)
    }

    @Test func `is told of in the log, once, and counted`() throws {
        var lines: [String] = []
        let log = EngineLog(threshold: .error) { _, text in lines.append(text) }
        let loop = try Loop()
        let core = EngineCore(
            settings: Settings(), store: MemoryStore(), delivery: Delivery(settings: Settings(), loop: loop, log: log),
            log: log)
        for _ in 0..<3 { core.hosts.messageLost() }
        #expect(lines.count == 1 && lines[0].contains("does not read"))
        #expect(core.context.statistics.rows().first { $0.name == "messages_dropped" }?.value == 3)
    }

    @Test func `gets all that came while there was room`() throws {
        #expect(try arriving(of: 30, bytes: 100_000) == 30)
    }
}
