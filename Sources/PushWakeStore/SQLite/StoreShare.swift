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

    /// Says that this process writes to the store at `path`; nil where files cannot be locked.
    public init?(storePath path: String) {
        descriptor = open(path + "-lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
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

    /// Relies on being alone from now on; false, and nothing is held, when others write or rely already.
    public func rely() -> Bool {
        // ORDER: the lock first.
        guard Self.lock(descriptor, .alone, F_WRLCK) else { return false }
        guard hasOthers else { return true }
        relyNoMore()
        return false
    }

    /// Others may write from now on.
    public func relyNoMore() { _ = Self.lock(descriptor, .alone, F_UNLCK) }

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
