// SPDX-License-Identifier: MIT

import Glibc
internal import PushWakeSystem

/// The file of a store: made with the right modes, or refused with a reason.
enum SQLiteFile {
    private static let fileMode: mode_t = 0o600
    private static let othersMode: mode_t = 0o007
    private static let directoryMode: mode_t = 0o750

    /// Makes file and directory where they are missing and looks at them where they are not.
    static func prepare(path: String) throws(StoreError) {
        guard !path.isEmpty, !path.utf8.contains(0), !path.hasSuffix("/") else {
            throw .unusable(
                "\"\(path)\" names no file; set store_path to a file, such as /var/lib/pushwake/bindings.db")
        }
        try makeDirectory(of: path)
        var status = stat()
        if stat(path, &status) == 0 {
            try check(status, path: path)
            return try checkRights(path: path, beside: ofSQLite)
        }
        guard errno == ENOENT else { throw failure("cannot be looked at", path, number: errno) }
        // EXCL: an existing file is never opened here, since closing it would drop SQLite's locks on it.
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, fileMode)
        if descriptor >= 0 {
            close(descriptor)
        } else if errno != EEXIST {
            throw failure("cannot be made", path, number: errno)
        }
    }

    /// What SQLite has beside a file that somebody writes. It says of them only that the file cannot be opened.
    static let ofSQLite = ["-wal", "-shm"]
    /// What the engine has beside it.
    static let ofStore = ["-refreshes", "-times"]

    /// Why a file beside the store could not be opened.
    static func error(opening path: String) -> StoreError {
        guard access(path, R_OK | W_OK) != 0 else { return .unusable("\(path) is not a regular file; move it away") }
        return failure("cannot be used", path, number: errno)
    }

    /// Refuses what this user may not read and write beside the store, or is no file, by its own name; one that is missing will do.
    static func checkRights(path: String, beside endings: [String]) throws(StoreError) {
        for name in endings.map({ path + $0 }) {
            var status = stat()
            guard stat(name, &status) == 0 else { continue }
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw .unusable("\(name) is not a regular file; move it away")
            }
            guard access(name, R_OK | W_OK) == 0 else { throw failure("cannot be used", name, number: errno) }
        }
    }

    /// Refuses what is not a file; makes nothing.
    static func checkPresence(path: String) throws(StoreError) {
        var status = stat()
        guard !path.utf8.contains(0), stat(path, &status) == 0 else {
            throw .unusable("there is no \(path); set store_path to the file of the engine")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .unusable("\(path) is not a regular file; move it away, or set store_path to another place")
        }
        guard access(path, R_OK) == 0 else { throw failure("cannot be read", path, number: errno) }
    }

    /// Whether something stands in the log beside the file that is not in the file yet.
    static func hasLog(path: String) -> Bool {
        var status = stat()
        return stat(path + "-wal", &status) == 0 && status.st_size > 0
    }

    private static func makeDirectory(of path: String) throws(StoreError) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash != path.startIndex else { return }
        let directory = String(path[..<slash])
        var status = stat()
        if stat(directory, &status) == 0 { return }
        guard mkdir(directory, directoryMode) != 0, errno != EEXIST else { return }
        throw failure("cannot be made: its directory is missing and cannot be made", path, number: errno)
    }

    private static func check(_ status: stat, path: String) throws(StoreError) {
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .unusable("\(path) is not a regular file; move it away, or set store_path to another place")
        }
        guard access(path, R_OK | W_OK) == 0 else { throw failure("cannot be used", path, number: errno) }
        // Made by hand, perhaps: tokens are nobody else's. SQLite gives the log the mode of the file.
        if status.st_mode & othersMode != 0, status.st_uid == geteuid() {
            chmod(path, status.st_mode & 0o777 & ~othersMode)
        }
    }

    private static func failure(_ what: String, _ path: String, number: Int32) -> StoreError {
        let text = "\(path) \(what) by user \(ProcessUser.currentName): \(SystemErrorText.of(number))"
        switch number {
        case ENOSPC, EDQUOT: return .full("\(text); free space on that file system")
        case ENOENT, ENOTDIR: return .unusable("\(text); make the directory above it")
        case EROFS:
            return .unusable(
                "\(text); mount its file system for writing (for systemd: ReadWritePaths=), or set store_path to another place"
            )
        default: return .unusable("\(text); \(SystemErrorText.ownerRemedy(path))")
        }
    }
}
