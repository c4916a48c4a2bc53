// SPDX-License-Identifier: MIT

import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

@Suite struct `A peer that does not read` {
    /// Messages that arrive when it reads at last.
    private func arriving(of count: Int, bytes: Int) throws -> Int {
        let path = "/tmp/pushwake-unread-\(SystemClock.processID())-\(UInt64.random(in: 0...UInt64.max)).sock"
        let listener = try LocalSocket.listen(path: path)
        let client = try LocalSocket.connect(path: path)
        let peer = SocketPeer(socket: try #require(listener.accept()))
        for _ in 0..<count { peer.send([UInt8](repeating: 1, count: bytes)) }
        var buffer = [UInt8](repeating: 0, count: EngineProtocol.longestMessage)
        var arrived = 0
        while true {
            while case .message = client.receive(into: &buffer) { arrived += 1 }
            guard peer.hasBacklog else { return arrived }
            _ = peer.flush()
        }
    }

    @Test func `loses what is past a number of bytes`() throws {
        let bytes = 100_000
        let arrived = try arriving(of: 500, bytes: bytes)
        #expect(arrived >= SocketPeer.mostBytes / bytes && arrived < SocketPeer.mostBytes / bytes + 20)
    }

    @Test func `loses what is past a number of messages`() throws {
        let arrived = try arriving(of: 3 * SocketPeer.longestBacklog, bytes: 10)
        #expect(arrived >= SocketPeer.longestBacklog && arrived < 3 * SocketPeer.longestBacklog)
    }

    @Test func `gets all that came while there was room`() throws {
        #expect(try arriving(of: 30, bytes: 100_000) == 30)
    }
}
