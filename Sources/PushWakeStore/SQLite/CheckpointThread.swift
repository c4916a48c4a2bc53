// SPDX-License-Identifier: MIT

import Glibc
import Synchronization

/// A thread that checkpoints a SQLite store every few seconds, so that the loop never waits for the disk.
///
/// It takes no signals and ends with its owner. It must not be made before a `fork()` whose child goes on.
public final class CheckpointThread {
    private let work: Work
    private let handle: Int32
    private var thread = pthread_t()
    private var isRunning = false

    /// Starts the thread on the file that a `SQLiteStore` has made.
    public init(path: String, everyMilliseconds: Int32 = 5000) throws(StoreError) {
        let checkpointer = try SQLiteCheckpointer(path: path)
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let failure = socketpair(AF_UNIX, type, 0, &ends)
        handle = ends[0]
        work = Work(checkpointer: checkpointer, pause: everyMilliseconds, end: ends[1])
        guard failure == 0, start() == 0 else {
            throw .unusable("\(path): no thread for checkpoints can be started; raise the limits of this process")
        }
    }

    deinit {
        // The other end tells the thread that this one is gone.
        if handle >= 0 { close(handle) }
        if isRunning { pthread_join(thread, nil) }
    }

    /// What went wrong since the last call, once per new failure. The bindings stay in the log until it works again.
    public func takeFailure() -> StoreError? {
        work.failure.withLock { failure in
            defer { failure = nil }
            return failure
        }
    }

    private func start() -> Int32 {
        // A thread has the mask of its maker: signals are for the loop.
        var all = sigset_t()
        var mine = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &mine)
        defer { pthread_sigmask(SIG_SETMASK, &mine, nil) }
        // SAFETY: the thread takes over this reference to the work.
        let context = Unmanaged.passRetained(work)
        let failure = pthread_create(&thread, nil, runCheckpoints, context.toOpaque())
        if failure != 0 { context.release() } else { isRunning = true }
        return failure
    }

    /// What the thread works on; all but `failure` is for the thread alone.
    fileprivate final class Work {
        let failure = Mutex<StoreError?>(nil)
        private let end: Int32
        private let checkpointer: SQLiteCheckpointer
        private let pause: Int32

        init(checkpointer: SQLiteCheckpointer, pause: Int32, end: Int32) {
            self.checkpointer = checkpointer
            self.pause = pause
            self.end = end
        }

        deinit { if end >= 0 { close(end) } }

        /// Runs until the other end is closed.
        func run() {
            var last: StoreError?
            while !isToEnd() {
                do throws(StoreError) {
                    _ = try checkpointer.run()
                    last = nil
                } catch {
                    if error != last { failure.withLock { $0 = error } }
                    last = error
                }
            }
        }

        private func isToEnd() -> Bool {
            var event = pollfd(fd: end, events: Int16(POLLIN), revents: 0)
            return poll(&event, 1, pause) > 0
        }
    }
}

private func runCheckpoints(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    // SAFETY: `start` has left one reference to the work for this thread.
    Unmanaged<CheckpointThread.Work>.fromOpaque(context).takeRetainedValue().run()
    return nil
}

/// Moves the log of a store into its file, over a connection of its own.
///
/// Made on any thread and used by one other: that is what keeps the disk's pace away from the loop.
public final class SQLiteCheckpointer: @unchecked Sendable {
    private let database: SQLiteDatabase

    /// Opens the file that a `SQLiteStore` has made.
    public init(path: String) throws(StoreError) {
        database = try SQLiteDatabase(path: path, busyTimeout: 0)
        // A connection that has read nothing does not know of the log and would have nothing to move.
        _ = try database.number("SELECT count(*) FROM sqlite_schema")
    }

    /// Moves all that no reader holds back, without keeping any reader or writer waiting; pages left in the log.
    public func run() throws(StoreError) -> Int { try database.checkpoint() }
}
