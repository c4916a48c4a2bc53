// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeStore
import PushWakeSystem
import Testing

@testable import PushWakeEngine

@Suite struct `A keeper of upstream registrations` {
    /// A keeper that has found one account, registered for another hour, whose phone has to register itself.
    private func withKeeper(_ body: (_ keeper: UpstreamKeeper, _ account: KeptAccount) throws -> Void) throws {
        let path = "/tmp/pushwake-keeper-\(SystemClock.processID())-\(UInt64.random(in: 0...UInt64.max))"
        defer { for end in ["", "-wal", "-shm"] { unlink(path + end) } }
        let target = UpstreamTarget(
            user: "101", requestURI: "sip:pbx", serverAOR: "sip:101@pbx", nextHop: "sip:192.0.2.1", server: "pbx")
        let file = try UpstreamFile(path: path)
        let wall = SystemClock.wallSeconds()
        try file.write(
            [
                UpstreamRow(
                    target: target, local: "192.0.2.9:5060", callID: "c", fromTag: "t", cseq: 7, username: "101",
                    until: wall + 3600, interval: 3_600_000, aor: "101@pbx", secret: [], algorithm: nil,
                    devices: [(1, wall + 3600)])
            ], removing: [])
        let bench = try CoreBench()
        let keeper = UpstreamKeeper(core: bench.core, settings: bench.core.context.settings, file: file, box: nil)
        keeper.restore()
        try body(keeper, try #require(keeper.accounts[target.name]))
        withExtendedLifetime(bench) {}
    }

    @Test func `sees that time has passed while monotonic time stood still`() throws {
        try withKeeper { (keeper, account) throws in
            let (now, wall) = (SystemClock.monotonicMilliseconds(), SystemClock.wallSeconds())
            let due = account.machine.dueAt
            #expect(due.map { $0 > now } == true)
            keeper.lookAtClock(now: now, wall: wall + 7200)
            let (until, next) = (account.machine.until, account.machine.dueAt)
            #expect(until.map { $0 > now && $0 <= now + 120_000 } == true)
            #expect(next == now)
        }
    }

    @Test func `does nothing for a clock that is put right by little, or back`() throws {
        try withKeeper { (keeper, account) throws in
            let (now, wall) = (SystemClock.monotonicMilliseconds(), SystemClock.wallSeconds())
            let (due, until) = (account.machine.dueAt, account.machine.until)
            for shift in [Int64(3), -40_000, -40_002, -39_999] { keeper.lookAtClock(now: now, wall: wall + shift) }
            let after = (due: account.machine.dueAt, until: account.machine.until)
            #expect(after.due == due && after.until == until)
        }
    }
}
