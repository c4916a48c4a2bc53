// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine
@testable import PushWakeStore

private let day: Int64 = 86_400
private let years: Int64 = 3650 * day

/// A store that cannot be changed for a while.
private final class LockedStore: BindingStore {
    let store = MemoryStore()
    var isLocked = false
    var forgot = 0

    private func change() throws(StoreError) { if isLocked { throw .unusable("locked by another process") } }

    func clockJumped(from old: Int64, to new: Int64) throws(StoreError) {
        try change()
        store.clockJumped(from: old, to: new)
    }
    func forget(now: Int64, limit: Int) throws(StoreError) -> Int {
        try change()
        forgot += 1
        return store.forget(now: now, limit: limit)
    }
    func tryWriting() throws(StoreError) { try change() }
    func keep(_ bindings: [Binding], now: Int64) throws(StoreError) -> KeptRegistration? {
        store.keep(bindings, now: now)
    }
    func users(withTokensOf bindings: [Binding]) throws(StoreError) -> [[String]] {
        store.users(withTokensOf: bindings)
    }
    func remove(
        _ selector: BindingSelector, of aor: String, reason: String, now: Int64
    ) throws(StoreError) -> [Binding] { store.remove(selector, of: aor, reason: reason, now: now) }
    func bindings(of aor: String, now: Int64) throws(StoreError) -> [Binding] { store.bindings(of: aor, now: now) }
    func endRegistrations(_ selector: BindingSelector, of aor: String, now: Int64) throws(StoreError) {}
    func removed(of aor: String) throws(StoreError) -> [RemovedBinding] { [] }
    func restore(
        of aor: String, now: Int64, where isMeant: (RemovedBinding) -> Bool
    ) throws(StoreError) -> [RemovedBinding] { [] }
    func users(
        removedSince time: Int64, after cursor: String, limit: Int
    ) throws(StoreError) -> (aors: [String], next: String?) { ([], nil) }
    func noteAccepted(_ bindings: [Binding], at now: Int64) throws(StoreError) {}
    func ending(
        after cursor: ExpiryCursor, by end: Int64, refreshingThemselves: Bool, limit: Int
    ) throws(StoreError) -> EndingPage { EndingPage(reached: cursor) }
    func aors(after cursor: String, limit: Int, now: Int64) throws(StoreError) -> [String] { [] }
    func purr(of binding: Binding, now: Int64, fresh: () -> PURR) throws(StoreError) -> PURR? { nil }
    func bindings(ofPURR purr: PURR, now: Int64) throws(StoreError) -> [Binding] { [] }
    func count() throws(StoreError) -> Int { store.count() }
}

@Suite struct `An engine whose clock is put right` {
    private final class Bench {
        let store = LockedStore()
        let loop: Loop
        let core: EngineCore
        let wall = SystemClock.wallSeconds()
        let running = SystemClock.runningSeconds()

        init() throws {
            loop = try Loop()
            loop.updateTime()
            var lines: [String] = []
            let log = EngineLog(threshold: .notice) { _, text in lines.append(text) }
            let delivery = Delivery(settings: Settings(), loop: loop, log: log)
            core = EngineCore(settings: Settings(), store: store, delivery: delivery, log: log)
            written = { lines }
            var binding = Binding(aor: "bob", provider: .fcm, app: "p", token: "t", dialect: .rfc8599)
            (binding.registeredAt, binding.expiresAt, binding.forgetAt) = (wall - 60, wall + 3600, wall + 30 * day)
            _ = try store.register([binding], now: wall)
        }

        var written: () -> [String] = { [] }
        /// Monotonic milliseconds at which old bindings may go.
        var late: Int64 { SystemClock.monotonicMilliseconds() + ClockWatch.settling + 1000 }
    }

    @Test func `tells its store, and the log once`() throws {
        let bench = try Bench()
        bench.core.store.lookAtClock(wall: bench.wall + years, running: bench.running)
        bench.core.store.lookAtClock(wall: bench.wall + years, running: bench.running)
        let bindings = try bench.store.bindings(of: "bob", now: bench.wall + years)
        #expect(bindings.map(\.registeredAt) == [bench.wall + years - 60])
        #expect(bench.written().count { $0.contains("put forward by 3650 days") } == 1)
    }

    @Test func `tells it again when it was locked, and drops nothing before`() throws {
        let bench = try Bench()
        bench.store.isLocked = true
        bench.core.store.lookAtClock(wall: bench.wall + years, running: bench.running)
        #expect(bench.core.store.clock.pending != nil && bench.core.store.refusal != nil)
        #expect(try bench.core.store.forgetSome(now: bench.late, wall: bench.wall + years, nil) == false)
        bench.core.registrations.lookAtStore()
        bench.store.isLocked = false
        #expect(try bench.core.store.forgetSome(now: bench.late, wall: bench.wall + years, nil) == false)
        #expect(bench.store.forgot == 0)
        bench.core.registrations.lookAtStore()
        #expect(bench.core.store.clock.pending == nil && bench.core.store.refusal == nil)
        #expect(try bench.store.bindings(of: "bob", now: bench.wall + years).count == 1)
        _ = try bench.core.store.forgetSome(now: bench.late, wall: bench.wall + years, nil)
        #expect(bench.store.forgot == 1 && bench.store.store.count() == 1)
        #expect(bench.written().count { $0.contains("could not be given") } == 1)
    }

    @Test func `leaves all as it is when the clock is right again before the store was told`() throws {
        let bench = try Bench()
        bench.store.isLocked = true
        bench.core.store.lookAtClock(wall: bench.wall + years, running: bench.running)
        bench.core.store.lookAtClock(wall: bench.wall + 5, running: bench.running + 5)
        bench.store.isLocked = false
        bench.core.registrations.lookAtStore()
        #expect(try bench.store.bindings(of: "bob", now: bench.wall + 5).map(\.registeredAt) == [bench.wall - 60])
    }

    @Test func `drops nothing at its start, when the clock may be years ahead`() throws {
        let bench = try Bench()
        let wrong = bench.wall + years
        bench.core.store.clock = ClockWatch(
            ClockFile.Record(boot: nil, seen: bench.wall), wall: wrong, running: 20, now: bench.loop.now)
        for minutes in [0, 5, 11, 600] as [Int64] {
            #expect(
                try !bench.core.store.forgetSome(
                    now: bench.loop.now + minutes * 60_000, wall: wrong + minutes * 60, nil))
        }
        #expect(bench.store.forgot == 0)
        // It is put right.
        bench.core.store.lookAtClock(wall: bench.wall + 700, running: 720)
        #expect(try bench.store.bindings(of: "bob", now: bench.wall + 700).map(\.registeredAt) == [bench.wall - 60])
    }
}

@Suite struct `What is over by the clock` {
    private let start: Int64 = 1_790_000_000
    private let right = ClockReading(host: "fcm.googleapis.com", ahead: 3)

    private func watch(seen: Int64?) -> ClockWatch {
        ClockWatch(seen.map { ClockFile.Record(boot: nil, seen: $0) }, wall: start, running: 50, now: 1000)
    }

    @Test func `goes ten minutes after the start`() {
        for seen in [nil, start - 60, start - day, start + years] {
            let watch = watch(seen: seen)
            #expect(!watch.mayForget(now: 600_999, nil) && watch.mayForget(now: 601_000, nil))
            #expect(!watch.mayForget(now: 1000, right))
        }
    }

    @Test(arguments: [1_789_913_599, 0, Int64.min] as [Int64])
    func `goes a day later when the store was not in use for long, or when somebody says what time it is`(seen: Int64) {
        let watch = watch(seen: seen)
        #expect(!watch.mayForget(now: 601_000, nil) && watch.mayForget(now: 601_000, right))
        #expect(watch.mayForget(now: 1000 + 86_400_000, nil))
    }

    @Test func `is in doubt for the next engine, too, until a push service agrees or a day has passed`() {
        let watch = watch(seen: start - years)
        #expect(watch.lastSeen(wall: start, now: 1000, nil) == start - years)
        #expect(watch.lastSeen(wall: start, now: 1000, ClockReading(host: "h", ahead: years)) == start - years)
        #expect(watch.lastSeen(wall: start, now: 1000, right) == nil)
        #expect(watch.lastSeen(wall: start, now: 1000 + 86_400_000, nil) == nil)
        // The clock was put back.
        #expect(watch.lastSeen(wall: start - years + 60, now: 2000, nil) == nil)
        #expect(self.watch(seen: start - 60).lastSeen(wall: start, now: 1000, nil) == nil)
    }

    @Test func `stays while a push service says that the clock is wrong`() {
        for ahead in [day, -day, .min, .max] {
            #expect(!watch(seen: nil).mayForget(now: .max, ClockReading(host: "h", ahead: ahead)))
        }
    }

    @Test func `stays over a clock that was put right while no engine ran`() {
        var watch = ClockWatch(
            ClockFile.Record(boot: start - years - 50, seen: start - years), wall: start, running: 60, now: 1000)
        let jump = watch.look(wall: start, running: 60)
        #expect(jump.map { [$0.old, $0.new] } == [start - years + 10, start])
        #expect(!watch.mayForget(now: .max, right))
        watch.settle()
        #expect(watch.mayForget(now: 601_000, right))
    }
}
