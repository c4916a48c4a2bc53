// SPDX-License-Identifier: MIT

internal import CLinux

/// One epoll loop: events, then timers, then what other threads posted, then the end-of-turn work.
///
/// All of it runs on the thread that calls `run()`. Time is read once per turn; everything in a turn sees the
/// same `now`. The loop keeps a source alive from `watch` to `unwatch`.
public final class Loop {
    /// What a descriptor is good for now.
    public struct Readiness: OptionSet, Sendable {
        /// Bits of epoll.
        public let rawValue: UInt32
        /// Takes bits of epoll.
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// There is something to read, or the end.
        public static let readable = Readiness(rawValue: 1)
        /// There is room to write, or a connect has ended.
        public static let writable = Readiness(rawValue: 4)
        /// Error or hang-up; reading tells which.
        public static let failed = Readiness(rawValue: 8)
    }

    /// Names a timer, so that it can be cancelled.
    public struct TimerID: Equatable, Sendable {
        let slot: Int
        let serial: UInt64
    }

    private struct Watch {
        let source: any LoopSource
        let generation: UInt32
    }

    /// Turns so far.
    public private(set) var turns: UInt64 = 0
    /// Milliseconds, monotonic.
    public private(set) var now: Int64 = 0
    /// Microseconds, monotonic.
    public private(set) var microseconds: Int64 = 0
    /// Seconds since 1970.
    public private(set) var wallSeconds: Int64 = 0

    /// Scratch space for received bytes, 64 kB: valid until the next read of any source.
    package let receiveBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
    /// Scratch space for one decrypted or not yet encrypted record, 16 kB.
    package let recordBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 16)

    private let epoll: Int32
    private let mailbox: Mailbox
    private var watches: [Watch?] = []
    private var lastGeneration: UInt32 = 0
    private(set) var timers = TimerHeap()
    private var turnEndings: [any TurnEnding] = []
    private var deferred: [() -> Void] = []
    private var isStopped = false
    private let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: 256)

    /// Makes the epoll and event descriptors.
    public init() throws(SystemError) {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw SystemError.last("make an epoll descriptor") }
        let wakeUp = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard wakeUp >= 0 else {
            let error = SystemError.last("make an event descriptor")
            _ = close(epoll)
            throw error
        }
        mailbox = Mailbox(descriptor: wakeUp)
        _ = clinux_epoll_set(epoll, EPOLL_CTL_ADD, wakeUp, Readiness.readable.rawValue, UInt64(UInt32.max))
        updateTime()
    }

    deinit {
        _ = close(epoll)
        receiveBuffer.deallocate()
        recordBuffer.deallocate()
        events.deallocate()
    }

    // MARK: Descriptors

    /// Begins to watch a descriptor; the source stays alive until `unwatch`.
    public func watch(_ descriptor: Int32, for readiness: Readiness, _ source: any LoopSource) throws(SystemError) {
        guard let index = Int(exactly: descriptor), index >= 0 else { throw SystemError("watch", code: EBADF) }
        lastGeneration &+= 1
        let tag = UInt64(lastGeneration) << 32 | UInt64(UInt32(descriptor))
        guard clinux_epoll_set(epoll, EPOLL_CTL_ADD, descriptor, readiness.rawValue, tag) == 0 else {
            throw SystemError.last("watch a descriptor")
        }
        while watches.count <= index { watches.append(nil) }
        watches[index] = Watch(source: source, generation: lastGeneration)
    }

    /// Changes what a watched descriptor is watched for.
    public func rewatch(_ descriptor: Int32, for readiness: Readiness) {
        guard let watch = entry(descriptor) else { return }
        let tag = UInt64(watch.generation) << 32 | UInt64(UInt32(descriptor))
        _ = clinux_epoll_set(epoll, EPOLL_CTL_MOD, descriptor, readiness.rawValue, tag)
    }

    /// Ends watching; call it before the descriptor is closed. Events already collected are dropped.
    public func unwatch(_ descriptor: Int32) {
        guard entry(descriptor) != nil else { return }
        _ = clinux_epoll_set(epoll, EPOLL_CTL_DEL, descriptor, 0, 0)
        watches[Int(descriptor)] = nil
    }

    // MARK: Timers and work

    /// Runs the action once, no sooner than `delay` milliseconds after the `now` of this turn.
    @discardableResult
    public func schedule(after delay: Int64, _ action: @escaping () -> Void) -> TimerID {
        let (sum, overflow) = now.addingReportingOverflow(max(0, delay))
        return timers.insert(deadline: overflow ? .max : sum, action: action)
    }

    /// Runs the action once, no sooner than `deadline` (milliseconds, monotonic). One that is over already stands behind all
    /// that are due: whoever sets one again and again keeps no other from its turn.
    @discardableResult
    public func schedule(at deadline: Int64, _ action: @escaping () -> Void) -> TimerID {
        timers.insert(deadline: max(deadline, now), action: action)
    }

    /// Takes back a timer; one that has fired is none.
    public func cancel(_ timer: TimerID) { timers.cancel(timer) }

    /// Calls `turnEnds()` once at the end of this turn. The caller sees to it that it asks once per turn.
    public func atEndOfTurn(_ work: any TurnEnding) { turnEndings.append(work) }

    /// Runs the action at the end of this turn.
    public func atEndOfTurn(_ action: @escaping () -> Void) { deferred.append(action) }

    /// The one thing of a loop that other threads may use; stays valid after the loop has gone.
    public var poster: Poster { Poster(mailbox: mailbox) }

    /// Posts to a loop from any thread.
    public struct Poster: Sendable {
        fileprivate let mailbox: Mailbox

        /// Runs the action on the loop's thread, soon; never if the loop has gone.
        public func post(_ action: @escaping @Sendable () -> Void) { mailbox.post(action) }
    }

    // MARK: Running

    /// Turns until `stop()`.
    public func run() {
        isStopped = false
        while !isStopped { turn() }
    }

    /// Makes `run()` return at the end of this turn.
    public func stop() { isStopped = true }

    /// Reads the clocks; the loop does so itself at every turn.
    public func updateTime() {
        microseconds = SystemClock.monotonicMicroseconds()
        now = microseconds / 1000
        wallSeconds = SystemClock.wallSeconds()
    }

    /// One turn; waits for the first event or timer, at most `limit` milliseconds.
    public func turn(waitingUpTo limit: Int64 = 60_000) {
        let count = epoll_wait(epoll, events, 256, timeout(limit))
        updateTime()
        turns &+= 1
        if count > 0 { for index in 0..<Int(count) { dispatch(events + index) } }
        // One that a timer sets for now waits for the next turn, so that a turn always ends.
        let latest = timers.lastSerial
        while let action = timers.popDue(now: now, upTo: latest) { action() }
        endTurn()
    }

    private func timeout(_ limit: Int64) -> Int32 {
        guard turnEndings.isEmpty, deferred.isEmpty, !isStopped else { return 0 }
        var wait = max(0, min(limit, 60_000))
        if let deadline = timers.nextDeadline() {
            wait = max(0, min(wait, deadline &- SystemClock.monotonicMilliseconds()))
        }
        return Int32(truncatingIfNeeded: wait)
    }

    private func dispatch(_ event: UnsafeMutablePointer<epoll_event>) {
        let tag = clinux_epoll_tag(event)
        let index = Int(tag & 0xFFFF_FFFF)
        if index == Int(UInt32.max) {
            for action in mailbox.take() { action() }
            return
        }
        // A source that an earlier event of this turn has removed or replaced hears nothing.
        guard index < watches.count, let watch = watches[index], watch.generation == UInt32(tag >> 32) else { return }
        let bits = event.pointee.events
        var readiness = Readiness(rawValue: bits & (Readiness.readable.rawValue | Readiness.writable.rawValue))
        if bits & ~(1 | 4) != 0 { readiness.insert(.failed) }
        watch.source.ready(readiness)
    }

    /// What end-of-turn work asks for anew waits for the next turn, so that a turn always ends.
    private func endTurn() {
        if !deferred.isEmpty {
            let actions = deferred
            deferred = []
            for action in actions { action() }
        }
        if !turnEndings.isEmpty {
            let works = turnEndings
            turnEndings = []
            for work in works { work.turnEnds() }
        }
    }

    private func entry(_ descriptor: Int32) -> Watch? {
        guard let index = Int(exactly: descriptor), index >= 0, index < watches.count else { return nil }
        return watches[index]
    }
}

/// Actions from other threads, and the descriptor that wakes the loop for them.
private final class Mailbox: @unchecked Sendable {
    private let descriptor: Int32
    /// Guards `actions`. At a fixed address, as mutexes want it.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var actions: [@Sendable () -> Void] = []

    init(descriptor: Int32) {
        self.descriptor = descriptor
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        _ = close(descriptor)
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    func post(_ action: @escaping @Sendable () -> Void) {
        pthread_mutex_lock(mutex)
        actions.append(action)
        pthread_mutex_unlock(mutex)
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }

    func take() -> [@Sendable () -> Void] {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        let taken = actions
        actions = []
        return taken
    }
}

/// Something that owns a descriptor and wants to hear of it.
public protocol LoopSource: AnyObject {
    /// The descriptor can be read or written, or the other end is gone.
    func ready(_ readiness: Loop.Readiness)
}

/// Something that gathers work during a turn and does it once, at its end.
public protocol TurnEnding: AnyObject {
    /// Runs once after all events and timers of the turn.
    func turnEnds()
}
