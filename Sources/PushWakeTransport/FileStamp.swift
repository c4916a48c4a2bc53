// SPDX-License-Identifier: MIT

private import CLinux

/// What a file system knows about a file, without reading it: differs after every replacement and change.
public struct FileStamp: Equatable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    /// Nanoseconds of the last change of content, and of the last change of anything (rename, owner, mode).
    private let times: [Int64]
    /// Whether it is a directory; then the stamp changes with the names in it, not with their content.
    public let isDirectory: Bool

    /// Looks at a path, following links; nil when there is nothing.
    public init?(_ path: String) {
        var status = stat()
        guard clinux_stat(path, &status) == 0 else { return nil }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        times = [status.st_mtim, status.st_ctim].map { Int64($0.tv_sec) &* 1_000_000_000 &+ Int64($0.tv_nsec) }
        isDirectory = status.st_mode & 0o170000 == 0o040000
    }

    /// Whether this process may make files in a directory.
    public static func isWritable(_ directory: String) -> Bool { access(directory, W_OK | X_OK) == 0 }

    /// The permissions of a path; nil when there is nothing.
    public static func mode(of path: String) -> UInt32? {
        var status = stat()
        return clinux_stat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }
}
