// SPDX-License-Identifier: MIT

import CSQLite
import Glibc
internal import PushWakeSystem

/// SQLite as a whole process has it.
public enum SQLiteLibrary {
    /// No count of the memory in use, which takes a lock twice for each piece and which nobody asks for. Before the first use
    /// of SQLite and of threads, in a process that is the engine's alone.
    public static func countNoMemory() { _ = csqlite_count_no_memory() }
}

/// One connection to a SQLite file, for one thread at a time.
final class SQLiteDatabase {
    private let handle: OpaquePointer
    private let path: String
    private var statements: [String: SQLiteStatement] = [:]
    /// The one that was asked for last.
    private var last: (sql: String, statement: SQLiteStatement)?
    private let lockWait: LockWait
    /// What was last said of a lock, and when: who holds it is not looked up for each write that meets it.
    private var lockError: (error: StoreError, time: Int64)?

    /// What SQLite asks when it meets a lock of another process.
    private final class LockWait {
        var policy: LockWaitPolicy

        init(limit: Int32) { policy = LockWaitPolicy(limit: Int64(limit)) }

        /// Waits a moment; false: it is of no use to wait any longer.
        func wait(look: Int32) -> Bool {
            guard let pause = policy.pause(look: Int(look), now: SystemClock.monotonicMilliseconds()) else {
                return false
            }
            usleep(UInt32(clamping: pause * 1000))
            return true
        }
    }

    /// How a file is opened.
    enum Access {
        case readWrite
        /// Others may write meanwhile.
        case readOnly
        /// For a directory that may not be written to; only while nobody writes, and with nothing left in the log.
        case immutable
    }

    /// Opens an existing file, empty ones included; a lock of another process is awaited for `busyTimeout` ms, and not at
    /// all for a second after that was in vain (`LockWaitPolicy`).
    init(path: String, access: Access = .readWrite, busyTimeout: Int32) throws(StoreError) {
        self.path = path
        lockWait = LockWait(limit: busyTimeout)
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(Self.name(of: path, access), &opened, Self.flags(access), nil)
        guard let opened, code == SQLITE_OK else {
            // SAFETY: a failed open leaves a handle to close, or nil, which close takes too.
            let number = opened.map { sqlite3_system_errno($0) } ?? 0
            sqlite3_close_v2(opened)
            throw SQLiteFailure(code: code, systemError: number, message: "cannot be opened").error(path: path)
        }
        handle = opened
        sqlite3_extended_result_codes(handle, 1)
        // SAFETY: this object owns the context and outlives the handle.
        sqlite3_busy_handler(
            handle,
            { context, looks in
                guard let context else { return 0 }
                return Unmanaged<LockWait>.fromOpaque(context).takeUnretainedValue().wait(look: looks) ? 1 : 0
            }, Unmanaged.passUnretained(lockWait).toOpaque())
    }

    private static func name(of path: String, _ access: Access) -> String {
        // Names like ":memory:" mean something else to SQLite.
        let name = path.hasPrefix("/") ? path : "./" + path
        guard access == .immutable else { return name }
        let escaped = name.utf8.map { byte in
            byte == UInt8(ascii: "%") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
                ? "%" + String(byte, radix: 16) : String(UnicodeScalar(byte))
        }
        return "file:\(escaped.joined())?immutable=1"
    }

    private static func flags(_ access: Access) -> Int32 {
        switch access {
        case .readWrite: SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX
        case .readOnly: SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX
        case .immutable: SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI
        }
    }

    deinit {
        statements = [:]
        last = nil
        sqlite3_close_v2(handle)
    }

    /// Awaits locks of other processes for so many milliseconds.
    func setBusyTimeout(_ milliseconds: Int32) { lockWait.policy.limit = Int64(milliseconds) }

    /// Rows that the last statement inserted, changed or deleted.
    var changes: Int { Int(sqlite3_changes(handle)) }

    /// The prepared form of `sql`, made once.
    func statement(_ sql: String) throws(StoreError) -> SQLiteStatement {
        // The one before, as a rule: a long text is hashed for nothing.
        if let last, last.sql == sql { return last.statement }
        if let known = statements[sql] {
            last = (sql, known)
            return known
        }
        var prepared: OpaquePointer?
        try check(sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil))
        guard let prepared else { throw StoreError.unusable("\(path): an empty statement cannot be run") }
        let statement = SQLiteStatement(prepared, of: self)
        statements[sql] = statement
        return statement
    }

    /// Runs statements that give no rows.
    func execute(_ sql: String) throws(StoreError) { try check(sqlite3_exec(handle, sql, nil, nil, nil)) }

    /// Reads one number, such as a pragma; nil without a row.
    func number(_ sql: String) throws(StoreError) -> Int64? {
        let statement = try statement(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.number(0) : nil
    }

    /// Reads one text; nil without a row.
    func text(_ sql: String) throws(StoreError) -> String? {
        let statement = try statement(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.text(0) : nil
    }

    /// Runs `body` as one transaction: all of it is stored, or nothing.
    func write<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        // IMMEDIATE: a lock of another process is met here, and never in the middle.
        try statement("BEGIN IMMEDIATE").run()
        do throws(StoreError) {
            let result = try body()
            try statement("COMMIT").run()
            return result
        } catch {
            rollBack()
            throw error
        }
    }

    /// Runs `body` on one state of the file.
    func read<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        try statement("BEGIN").run()
        defer { rollBack() }
        return try body()
    }

    private func rollBack() {
        // SQLite itself may have rolled back already (full disk): then there is nothing to do.
        guard sqlite3_get_autocommit(handle) == 0 else { return }
        sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
    }

    /// Moves what it can from the log to the file without waiting for anybody; pages left in the log.
    func checkpoint() throws(StoreError) -> Int {
        var inLog: Int32 = 0
        var moved: Int32 = 0
        let code = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, &inLog, &moved)
        if code & 0xFF != SQLITE_BUSY { try check(code) }
        return max(0, Int(inLog) - Int(moved))
    }

    /// Throws when `code` says that something failed.
    func check(_ code: Int32) throws(StoreError) {
        guard code != SQLITE_OK else { return }
        throw error(for: code)
    }

    /// What the last failure on this connection means.
    func error(for code: Int32) -> StoreError {
        let now = SystemClock.monotonicMilliseconds()
        let isLock = code & 0xFF == SQLITE_BUSY
        if isLock, let lockError, now - lockError.time < LockWaitPolicy.cooldown { return lockError.error }
        let message = sqlite3_errmsg(handle).map { String(cString: $0) } ?? "unknown error"
        let error = SQLiteFailure(code: code, systemError: sqlite3_system_errno(handle), message: message).error(
            path: path)
        if isLock { lockError = (error, now) }
        return error
    }
}

/// A result code of SQLite with what was said about it.
struct SQLiteFailure {
    let code: Int32
    /// `errno` of the call that failed, or 0.
    let systemError: Int32
    let message: String

    /// Says what happened to the file and what to do about it.
    func error(path: String) -> StoreError {
        let reason = systemError == 0 ? message : "\(message): \(SystemErrorText.of(systemError))"
        switch code & 0xFF {
        case SQLITE_FULL:
            return .full("\(path): no space left (\(reason)); free space on that file system")
        case SQLITE_IOERR where [ENOSPC, EDQUOT, EFBIG].contains(systemError):
            return .full("\(path): no space left (\(reason)); free space on that file system")
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            return .corrupt(
                "\(path) is damaged or not a SQLite database (\(reason)); it is left as it is: move it away, with "
                    + "\(path)-wal and \(path)-shm, and a new one fills up as the phones register")
        case SQLITE_IOERR where Self.locking.contains(code >> 8) && systemError != EINTR:
            return Self.lack("lock files", of: path, systemError)
        case SQLITE_IOERR where Self.mapping.contains(code >> 8) && systemError != ENOMEM:
            return Self.lack("share memory (mmap)", of: path, systemError)
        case SQLITE_BUSY, SQLITE_LOCKED:
            // POSIX locks, which /proc knows: of the log's index, or of the file itself.
            let holders = FileUsers.locking([path + "-shm", path])
            // SQLite takes ENOLCK for a lock that somebody has.
            if holders.isEmpty, let number = StoreShare.lockError(storePath: path) {
                return Self.lack("lock files", of: path, number)
            }
            let who = holders.isEmpty ? "another process" : "process \(holders.joined(separator: ", "))"
            let remedy = holders.isEmpty ? "; end that process, see `fuser \(path)`" : "; end it, or wait for it"
            return .unusable("\(path) is locked by \(who) (\(reason))\(remedy)")
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
            return .unusable(
                "\(path) cannot be written by user \(ProcessUser.currentName) (\(reason)); \(SystemErrorText.ownerRemedy(path))"
            )
        case SQLITE_CANTOPEN:
            return .unusable(
                "\(path) cannot be opened by user \(ProcessUser.currentName) (\(reason)); \(SystemErrorText.remedy(systemError, path))"
            )
        case SQLITE_IOERR:
            return .unusable("\(path): reading or writing failed (\(reason)); see the kernel log for the disk")
        default:
            return .unusable("\(path): \(reason) (SQLite code \(code))")
        }
    }
}

extension SQLiteFailure {
    /// Which call failed, in an extended code of SQLITE_IOERR: UNLOCK, RDLOCK, CHECKRESERVEDLOCK, LOCK, SHMLOCK.
    private static let locking: [Int32] = [8, 9, 14, 15, 20]
    /// The same: SHMOPEN, SHMMAP, MMAP.
    private static let mapping: [Int32] = [18, 21, 24]

    /// Some network and container file systems cannot do what a database needs.
    private static func lack(_ ability: String, of path: String, _ number: Int32) -> StoreError {
        .unusable(
            "\(path): its file system cannot \(ability) (\(SystemErrorText.of(number))); move it to a local disk, such as ext4 or xfs"
        )
    }
}

/// Words for what the operating system says.
enum SystemErrorText {
    /// The text of an `errno`.
    static func of(_ number: Int32) -> String { strerror(number).map { String(cString: $0) } ?? "error \(number)" }

    /// What to do about a file that cannot be opened, by its `errno`; 0 when none is known.
    static func remedy(_ number: Int32, _ path: String) -> String {
        switch number {
        case EMFILE, ENFILE: "let more files be open (LimitNOFILE= of the service, `ulimit -n`)"
        case EISDIR: "move it away"
        default: ownerRemedy(path) + ", its directory too"
        }
    }

    /// The way to give a file to the user this process runs as, or the directory when there is no such file yet.
    static func ownerRemedy(_ path: String) -> String {
        if access(path, F_OK) == 0 {
            if access(path, W_OK) != 0, errno == EROFS { return "mount its file system for writing" }
            return FileStamp.isOfThisUser(path)
                ? "look at its mode and at `lsattr \(path)`"
                : "`chown \(ProcessUser.currentName) \(path)` and mode 0600 let it in"
        }
        let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        return
            "`chown \(ProcessUser.currentName) \(directory.isEmpty ? "/" : directory)` lets it in, or set another path"
    }
}

/// Decides how long to wait for a lock of another process: `limit` milliseconds at first, and not at all for a while after
/// that was in vain.
///
/// Whoever holds the file holds it for many writes in a row, and each of them would wait anew on the loop on which calls
/// wait as well. A write that does not wait succeeds as soon as the lock is gone. Pure: times are milliseconds on one
/// clock.
struct LockWaitPolicy {
    /// Milliseconds without waiting after a wait in vain: at a limit of 50 ms the loop waits a twentieth of the time.
    static let cooldown: Int64 = 1000
    /// Milliseconds between two looks whether the lock is gone, as SQLite has them, the last one again and again.
    private static let pauses: [Int64] = [1, 2, 5, 10, 15, 20, 25]

    /// Milliseconds of a wait.
    var limit: Int64
    private var begin: Int64 = 0
    private var cooldownEnd = Int64.min

    init(limit: Int64) { self.limit = limit }

    /// The last wait was in vain, a moment ago.
    func isCoolingDown(now: Int64) -> Bool { now < cooldownEnd }

    /// How long to wait before the next look; nil: give up. `look` counts the looks of one wait from 0.
    mutating func pause(look: Int, now: Int64) -> Int64? {
        guard limit > 0, !isCoolingDown(now: now) else { return nil }
        if look == 0 { begin = now }
        let left = begin + limit - now
        guard left > 0 else {
            cooldownEnd = now + Self.cooldown
            return nil
        }
        return min(Self.pauses[min(max(look, 0), Self.pauses.count - 1)], left)
    }
}
