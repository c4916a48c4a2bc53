// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeSystem
import Testing

@testable import PushWakeStore

@Suite struct UpstreamFileTests {
    private func row(_ user: String, cseq: UInt32 = 7) -> UpstreamRow {
        let target = UpstreamTarget(
            user: user, requestURI: "sip:pbx", serverAOR: "sip:\(user)@pbx", nextHop: "sip:192.0.2.1", server: "pbx")
        return UpstreamRow(
            target: target, local: "192.0.2.9:5060", callID: "c", fromTag: "t", cseq: cseq, username: user,
            until: 1_800_000_000, interval: 3_600_000, aor: "\(user)@pbx", secret: [1, 0, 255], algorithm: .sha256,
            devices: [(.max, 1_800_000_001), (0, -1)])
    }

    @Test func `rows come back as they were, after the file was opened anew`() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/upstream.db"
            let file = try UpstreamFile(path: path)
            try file.write([row("101"), row("102")], removing: [])
            try file.write([row("101", cseq: 8)], removing: [row("102").target.name])
            #expect(try UpstreamFile(path: path).rows() == [row("101", cseq: 8)])
        }
    }

    @Test func `an empty row is one`() throws {
        try withTemporaryDirectory { directory in
            let file = try UpstreamFile(path: directory + "/upstream.db")
            var empty = row("103")
            (empty.secret, empty.algorithm, empty.devices, empty.until) = ([], nil, [], 0)
            try file.write([empty], removing: [])
            #expect(try file.rows() == [empty])
        }
    }

    @Test func `does not wait long for a lock`() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/upstream.db"
            let file = try UpstreamFile(path: path)
            let other = try SQLiteDatabase(path: path, busyTimeout: 0)
            try other.execute("BEGIN IMMEDIATE")
            let begin = SystemClock.monotonicMilliseconds()
            #expect(throws: StoreError.self) { try file.write([row("101")], removing: []) }
            #expect(SystemClock.monotonicMilliseconds() - begin < 1000)
            try other.execute("ROLLBACK")
            try file.write([row("101")], removing: [])
        }
    }

    @Test func `the file of the bindings is refused`() throws {
        try withDatabasePath { path in
            _ = try SQLiteStore(path: path)
            #expect(throws: StoreError.self) { try UpstreamFile(path: path) }
        }
    }
}
