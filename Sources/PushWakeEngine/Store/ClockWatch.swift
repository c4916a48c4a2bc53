// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// What the engine makes of the wall clock: when it was put right, and whether what is over by it may go for good.
struct ClockWatch {
    /// Milliseconds after the start for which nothing goes: a machine that has just started may have its time still to ask.
    static let settling: Int64 = 600_000
    /// The same when the store was not in use for a day by this clock, which may be years ahead, and nobody says what time
    /// it is.
    static let doubt: Int64 = 86_400_000

    private var clock: WallClock
    /// What the store has not been told yet.
    private(set) var pending: WallClock.Jump?
    private let startedAt: Int64
    /// When the store was in use last, where that is long ago by this clock.
    private let doubted: Int64?

    /// `record` is what an earlier engine has noted; `wall` and `running` in seconds, `now` in monotonic milliseconds.
    init(_ record: ClockFile.Record?, wall: Int64, running: Int64, now: Int64) {
        clock = record?.boot.map { WallClock(wall: $0, running: 0) } ?? WallClock(wall: wall, running: running)
        let unused = record.map { wall.subtractingReportingOverflow($0.seen) }
        let isDoubtful = unused.map { $0.overflow || $0.partialValue > WallClock.least } ?? false
        doubted = isDoubtful ? record?.seen : nil
        startedAt = now
    }

    /// Looks at both clocks; a jump is pending until `settle()`.
    mutating func look(wall: Int64, running: Int64) -> WallClock.Jump? {
        guard let jump = clock.look(wall: wall, running: running) else { return nil }
        pending = pending.map(jump.following) ?? jump
        return jump
    }

    /// The store has been told of all jumps.
    mutating func settle() { pending = nil }

    /// Whether what is over by this clock may be dropped. `reading` is what a push service says about it.
    func mayForget(now: Int64, _ reading: ClockReading?) -> Bool {
        guard pending == nil, now &- startedAt >= Self.settling else { return false }
        if let reading { return reading.distance < WallClock.least }
        return doubted == nil || now &- startedAt >= Self.doubt
    }

    /// When the store was in use last by a clock that is in no doubt; nil: now. The next engine doubts it like this one.
    func lastSeen(wall: Int64, now: Int64, _ reading: ClockReading?) -> Int64? {
        guard let doubted, now &- startedAt < Self.doubt, reading.map({ $0.distance >= WallClock.least }) ?? true
        else { return nil }
        let unused = wall.subtractingReportingOverflow(doubted)
        return unused.overflow || unused.partialValue > WallClock.least ? doubted : nil
    }
}

extension StoreAccess {
    /// Asks whether the clock was put right, before anything is done by it.
    func lookAtClock(wall: Int64 = SystemClock.wallSeconds(), running: Int64 = SystemClock.runningSeconds()) {
        guard let jump = clock.look(wall: wall, running: running) else { return }
        let days = (jump.new &- jump.old) / 86_400
        context.log(
            .warning,
            "the clock was put \(days > 0 ? "forward" : "back") by \(days.magnitude) days; bindings keep their age"
        )
        if let shared {
            clock.settle()
            lastJump = jump
            return move(shared, by: jump) { [self] in if let failure = $0 { say(failure) } }
        }
        if let failure = tellOfJump() { say(failure) }
    }

    /// Tells the store of a jump that it could not be told of before: a backup or a second process may have held its lock.
    func retryClockJump() {
        guard clock.pending != nil, tellOfJump() == nil else { return }
        context.log(.notice, "bindings have the time of the new clock now")
    }

    private func tellOfJump() -> StoreError? {
        guard let jump = clock.pending else { return nil }
        do throws(StoreError) {
            try own.clockJumped(from: jump.old, to: jump.new)
            clock.settle()
            return nil
        } catch {
            failed(error)
            return error
        }
    }

    private func say(_ failure: StoreError) {
        context.log(.error, "bindings could not be given the time of the new clock yet: \(failure)")
    }

    /// Again and again until no user is left out: a store that nodes share may come after the clock. Whoever has been moved
    /// is not moved again.
    private func move(_ shared: any SharedStore, by jump: WallClock.Jump, _ done: @escaping (StoreError?) -> Void) {
        guard lastJump == jump else { return }
        shared.forEachUser(
            now: jump.new,
            { (_, store) throws(StoreError) in
                try store.clockJumped(from: jump.old, to: jump.new)
            }
        ) { [weak self] failure in
            done(failure)
            guard let self, failure != nil else { return }
            context.loop.schedule(after: 10_000) { [weak self] in self?.move(shared, by: jump) { _ in } }
        }
    }

    /// Drops some of what is over in the store of this process; true when there is more. `reading` is what a push service
    /// says about the clock.
    func forgetSome(now: Int64, wall: Int64, _ reading: ClockReading?) throws(StoreError) -> Bool {
        // A server that nodes share forgets by itself.
        guard shared == nil, clock.mayForget(now: now, reading) else { return false }
        return try own.forget(now: wall, limit: 200) == 200
    }
}
