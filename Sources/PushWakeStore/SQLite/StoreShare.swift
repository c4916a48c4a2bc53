// SPDX-License-Identifier: MIT

import Glibc

/// Tells a process whether it is the only one that writes to a store's file, and lets it say that it relies on that.
///
/// Two bytes of a file beside the store are locked, by open file descriptions: the kernel lets go of them when their
/// process ends, however it ends.
///
///     byte 0  shared, by every process that writes to the store
///     byte 1  exclusive, by one that relies on being alone
///
/// Each side takes its lock first and looks at the other's byte then, so that of two at least one sees the other.
public final class StoreShare {
    private enum Byte: off_t {
        case writer = 0
        case alone = 1
    }

    private let descriptor: Int32
    private var isRelying = false

    /// Says that this process writes to the store at `path`; nil where files cannot be locked.
    public init?(storePath path: String) {
        descriptor = Self.open(storePath: path)
        guard descriptor >= 0 else { return nil }
        // As SQLite does with its own: who starts an engine as root once must not lock out the one of every day.
        var status = stat()
        if geteuid() == 0, stat(path, &status) == 0 { _ = fchown(descriptor, status.st_uid, status.st_gid) }
        guard Self.lock(descriptor, .writer, F_RDLCK) else {
            close(descriptor)
            return nil
        }
    }

    deinit { close(descriptor) }

    /// Whether another process writes to the store.
    public var hasOthers: Bool { isLockedByOthers(.writer) }

    /// Whether another process relies on being alone.
    public var isReliedOn: Bool { isLockedByOthers(.alone) }

    /// Relies on being alone from now on; false, and nothing is held, when others write or rely already. Who does so already
    /// goes on, whoever has come since.
    public func rely() -> Bool {
        if isRelying { return true }
        // ORDER: the lock first.
        guard Self.lock(descriptor, .alone, F_WRLCK) else { return false }
        isRelying = true
        guard hasOthers else { return true }
        relyNoMore()
        return false
    }

    /// Others may write from now on.
    public func relyNoMore() {
        isRelying = false
        _ = Self.lock(descriptor, .alone, F_UNLCK)
    }

    /// Why no file can be locked where the store is (`errno`); nil where one can, and where nobody knows.
    static func lockError(storePath path: String) -> Int32? {
        let descriptor = open(storePath: path)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard !lock(descriptor, .writer, F_RDLCK) else { return nil }
        let number = errno
        return [EAGAIN, EACCES, EINTR].contains(number) ? nil : number
    }

    private static func open(storePath path: String) -> Int32 {
        Glibc.open(path + "-lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    }

    private func isLockedByOthers(_ byte: Byte) -> Bool {
        var range = Self.range(byte, F_WRLCK)
        // What cannot be found out is the worse.
        return fcntl(descriptor, F_OFD_GETLK, &range) != 0 || Int32(range.l_type) != F_UNLCK
    }

    private static func lock(_ descriptor: Int32, _ byte: Byte, _ type: Int32) -> Bool {
        var range = range(byte, type)
        return fcntl(descriptor, F_OFD_SETLK, &range) == 0
    }

    private static func range(_ byte: Byte, _ type: Int32) -> flock {
        flock(l_type: Int16(type), l_whence: Int16(SEEK_SET), l_start: byte.rawValue, l_len: 1, l_pid: 0)
    }
}

/// Who else uses a file, as far as this user may know: for words to an operator.
public enum FileUsers {
    private static let most = 5

    /// Processes that hold a lock on one of the files for writing, such as `1234 (sqlite3)`; empty when nobody is seen.
    static func locking(_ paths: [String]) -> [String] {
        let files = paths.compactMap(inode)
        guard !files.isEmpty else { return [] }
        var found: [String] = []
        // 1: POSIX ADVISORY WRITE 1234 fd:00:5678 120 120
        for line in read("/proc/locks").split(separator: "\n") where found.count < most {
            let words = line.split(separator: " ")
            guard words.count >= 6, words[3] == "WRITE", let pid = Int32(words[4]), pid != getpid(), pid > 0,
                let number = words[5].split(separator: ":").last, files.contains(String(number))
            else { continue }
            let name = name(of: pid)
            if !found.contains(name) { found.append(name) }
        }
        return found
    }

    /// Processes that have the file open.
    public static func having(_ path: String) -> [String] {
        guard let real = realpath(path, nil) else { return [] }
        defer { free(real) }
        let target = String(cString: real)
        var found: [String] = []
        for pid in names(in: "/proc").compactMap({ Int32($0) }) where pid != getpid() && found.count < most {
            let directory = "/proc/\(pid)/fd"
            guard names(in: directory).contains(where: { link("\(directory)/\($0)") == target }) else { continue }
            found.append(name(of: pid))
        }
        return found
    }

    private static func name(of pid: Int32) -> String {
        let command = read("/proc/\(pid)/comm").split(separator: "\n").first ?? "?"
        return "\(pid) (\(command))"
    }

    private static func inode(_ path: String) -> String? {
        var status = stat()
        return stat(path, &status) == 0 ? String(status.st_ino) : nil
    }

    private static func names(in path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    private static func link(_ path: String) -> String? {
        var target = [CChar](repeating: 0, count: 4096)
        let count = readlink(path, &target, target.count)
        return count > 0 ? String(decoding: target[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
    }

    private static func read(_ path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while bytes.count < 1 << 20 {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
