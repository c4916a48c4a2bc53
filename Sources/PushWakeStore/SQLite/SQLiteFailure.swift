// SPDX-License-Identifier: MIT

import CSQLite
import Glibc

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
        case SQLITE_BUSY, SQLITE_LOCKED:
            // POSIX locks, which /proc knows: of the log's index, or of the file itself.
            let holders = FileUsers.locking([path + "-shm", path])
            let who = holders.isEmpty ? "another process" : "process \(holders.joined(separator: ", "))"
            let remedy = holders.isEmpty ? "; end that process, see `fuser \(path)`" : "; end it, or wait for it"
            return .unusable("\(path) is locked by \(who) (\(reason))\(remedy)")
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
            return .unusable(
                "\(path) cannot be written by user \(geteuid()) (\(reason)); \(SystemErrorText.ownerRemedy(path))")
        case SQLITE_CANTOPEN:
            return .unusable(
                "\(path) cannot be opened by user \(geteuid()) (\(reason)); \(SystemErrorText.ownerRemedy(path)), its directory too"
            )
        case SQLITE_IOERR:
            return .unusable("\(path): reading or writing failed (\(reason)); see the kernel log for the disk")
        default:
            return .unusable("\(path): \(reason) (SQLite code \(code))")
        }
    }
}
