// SPDX-License-Identifier: MIT

private import CLinux

/// Small files: keys, certificates, templates.
public enum FileContent {
    /// Bytes of a file that `read` takes: 1 MB.
    public static let longest = 1 << 20

    /// All bytes of a file; one longer than `longest` is refused.
    public static func read(_ path: String) throws(SystemError) -> [UInt8] {
        let descriptor = clinux_open_for_reading(path)
        guard descriptor >= 0 else { throw SystemError.last("read \(path)") }
        defer { _ = close(descriptor) }
        return try readAll(descriptor, of: path, longest: longest)
    }

    /// All bytes behind a descriptor; more than `longest` are refused.
    fileprivate static func readAll(
        _ descriptor: Int32, of path: String, longest: Int
    ) throws(SystemError) -> [UInt8] {
        var all: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        // Of a file with a key nothing shall stay in memory that is free.
        defer { wipe(&chunk) }
        while true {
            let count = chunk.withUnsafeMutableBytes { CLinux.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && clinux_errno() == EINTR { continue }
            guard count >= 0 else { throw SystemError.last("read \(path)") }
            if count == 0 { return all }
            all.append(contentsOf: chunk[..<count])
            guard all.count <= longest else { throw SystemError("read \(path)", code: EFBIG) }
        }
    }

    /// Overwrites what was read and is of no more use: a key in the memory that this gives back would go into a core file.
    public static func wipe(_ bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes { buffer in
            if let base = buffer.baseAddress { clinux_wipe(base, buffer.count) }
        }
    }

    /// Text without the byte order mark (UTF-8) that some editors begin a file with: it is no part of what was written.
    public static func withoutMark(_ bytes: [UInt8]) -> [UInt8] {
        bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    }

    /// Whether text begins with the mark of UTF-16, which some editors of Windows write.
    public static func isUTF16(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF])
    }

    /// The first line of a file, without what editors add: a byte order mark, and a line end of any system.
    public static func firstLine(of bytes: [UInt8]) -> [UInt8] {
        Array(withoutMark(bytes).prefix { $0 != 0x0A && $0 != 0x0D })
    }

    /// Writes a file anew that anybody may read; a link is not followed.
    public static func replace(_ path: String, with bytes: [UInt8]) throws(SystemError) {
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let descriptor = clinux_open(path, flags, 0o644)
        guard descriptor >= 0 else { throw SystemError.last("write \(path)") }
        defer { _ = close(descriptor) }
        let count = bytes.withUnsafeBytes { CLinux.write(descriptor, $0.baseAddress, $0.count) }
        guard count == bytes.count else { throw SystemError.last("write \(path)") }
    }

    /// Takes a file away, if it is there.
    public static func remove(_ path: String) { _ = unlink(path) }

    /// The first bytes of a file of any length.
    public static func read(_ path: String, atMost count: Int) throws(SystemError) -> [UInt8] {
        let descriptor = clinux_open_for_reading(path)
        guard descriptor >= 0 else { throw SystemError.last("read \(path)") }
        defer { _ = close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: count)
        let got = bytes.withUnsafeMutableBytes { CLinux.read(descriptor, $0.baseAddress, $0.count) }
        guard got >= 0 else { throw SystemError.last("read \(path)") }
        return Array(bytes[..<got])
    }

    /// Where a symbolic link leads; nil when it is none.
    public static func target(ofLink path: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { text in
            guard let base = text.baseAddress else { return nil }
            let count = readlink(path, base, text.count)
            guard count > 0 else { return nil }
            return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    /// Names in a directory that end with a suffix, sorted.
    public static func names(in directory: String, ending suffix: String) throws(SystemError) -> [String] {
        guard let handle = opendir(directory) else { throw SystemError.last("list \(directory)") }
        defer { closedir(handle) }
        var names: [String] = []
        while let entry = readdir(handle) {
            let name = String(cString: clinux_entry_name(entry))
            if name.hasSuffix(suffix) { names.append(name) }
        }
        return names.sorted()
    }
}

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

    /// The same file, whatever has become of its content.
    public func isSameFile(as other: FileStamp) -> Bool { device == other.device && inode == other.inode }

    /// Whether this process may make files in a directory.
    public static func isWritable(_ directory: String) -> Bool { access(directory, W_OK | X_OK) == 0 }

    /// Whether this process may read a file.
    public static func isReadable(_ path: String) -> Bool { access(path, R_OK) == 0 }

    /// Whether this process' user has made a file, or was given it.
    public static func isOfThisUser(_ path: String) -> Bool {
        var status = stat()
        return clinux_stat(path, &status) == 0 && status.st_uid == geteuid()
    }

    /// Whether it is a file, and no directory, device, pipe or socket.
    public static func isRegular(_ path: String) -> Bool {
        var status = stat()
        return clinux_stat(path, &status) == 0 && status.st_mode & 0o170000 == 0o100000
    }

    /// The permissions of a path; nil when there is nothing.
    public static func mode(of path: String) -> UInt32? {
        var status = stat()
        return clinux_stat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }
}

/// Directories that a file of ours needs.
public enum Directory {
    /// Makes the directory of a file when it is missing; the parent must exist. Only owner and group see what is in it.
    public static func makeParent(of path: String) {
        let directory = parent(of: path)
        // Others may pass, to a file that lets them.
        if !directory.isEmpty { _ = mkdir(directory, 0o751) }
    }

    /// The directory of a file; empty for a name alone.
    public static func parent(of path: String) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    }
}

/// Whole files that somebody names on a command line.
public enum TextFile {
    /// Bytes that are read at most: 16 MB.
    public static let longest = 16 * 1024 * 1024

    /// The text of a file, or of standard input for `-`.
    public static func read(_ path: String) throws(SystemError) -> String {
        String(decoding: try readBytes(path), as: UTF8.self)
    }

    /// The bytes of a file, or of standard input for `-`; one that is longer than 16 MB is refused.
    public static func readBytes(_ path: String) throws(SystemError) -> [UInt8] {
        let descriptor = path == "-" ? Descriptor.standardInput : clinux_open(path, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw SystemError.last("read \(path)") }
        defer { if descriptor != Descriptor.standardInput { _ = close(descriptor) } }
        return try FileContent.readAll(descriptor, of: path, longest: longest)
    }
}
