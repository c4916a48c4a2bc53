// SPDX-License-Identifier: MIT

private import CLinux

/// 64-bit words in a file that several processes of one host have mapped; one of them writes.
///
/// Nothing is kept open: the mapping outlives the descriptor, and a fork. A file never changes its size while it is
/// mapped, since whoever reads behind the end of one gets SIGBUS: `create` makes all of its blocks, and only the owner
/// may write.
public final class SharedWords {
    private static let bytesPerWord = 8

    /// Number of words.
    public let count: Int
    private let start: UnsafeMutableRawPointer
    private let device: UInt64
    private let inode: UInt64
    private let isWritable: Bool

    private init(_ start: UnsafeMutableRawPointer, _ status: stat, isWritable: Bool) {
        self.start = start
        self.isWritable = isWritable
        count = Int(status.st_size) / Self.bytesPerWord
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
    }

    deinit { munmap(start, count * Self.bytesPerWord) }

    /// Makes a file of zeros in place of what bears that name; the owner may write, the group may read.
    public static func create(_ path: String, count: Int) throws(SystemError) -> SharedWords {
        let what = "make \(path)"
        guard count > 0, count <= Int(Int32.max) else { throw SystemError(what, code: EINVAL) }
        unlink(path)
        let descriptor = clinux_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o640)
        guard descriptor >= 0 else { throw SystemError.last(what) }
        defer { _ = close(descriptor) }
        // Whatever the umask says. All blocks are made now: a full file system must not be met by a reader.
        let denied = fchmod(descriptor, 0o640) != 0 ? clinux_errno() : 0
        let code = denied != 0 ? denied : posix_fallocate(descriptor, 0, off_t(count * bytesPerWord))
        guard code == 0, let words = map(descriptor, isWritable: true) else {
            let error = SystemError(what, code: code != 0 ? code : clinux_errno())
            unlink(path)
            throw error
        }
        return words
    }

    /// Maps a file as it is; nil when there is none, when it is not a file of whole words, or when it may not be opened.
    public static func open(_ path: String, writable isWritable: Bool = false) -> SharedWords? {
        // Not blocking: whatever bears the name must not stop who asks.
        let access = isWritable ? O_RDWR : O_RDONLY
        let descriptor = clinux_open(path, access | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return nil }
        defer { _ = close(descriptor) }
        return map(descriptor, isWritable: isWritable)
    }

    private static func map(_ descriptor: Int32, isWritable: Bool) -> SharedWords? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & 0o170000 == 0o100000 else { return nil }
        let size = Int(status.st_size)
        guard size > 0, size <= Int(Int32.max) * bytesPerWord, size % bytesPerWord == 0,
            let start = clinux_map(descriptor, size, isWritable ? 1 : 0)
        else { return nil }
        return SharedWords(start, status, isWritable: isWritable)
    }

    /// Whether a path still names this very file.
    public func isNamed(_ path: String) -> Bool {
        var status = stat()
        // As an argument it would be copied first.
        let isThere = path.withCString { clinux_lstat($0, &status) } == 0
        return isThere && UInt64(status.st_dev) == device && UInt64(status.st_ino) == inode
    }

    /// Gives the file another name, in place of what bears it.
    public static func rename(_ path: String, to other: String) throws(SystemError) {
        guard CLinux.rename(path, other) == 0 else { throw SystemError.last("rename \(path) to \(other)") }
    }

    /// Takes the name away; who has the file mapped keeps it.
    public static func unlink(_ path: String) { _ = CLinux.unlink(path) }

    /// Reads a word; nil behind the end.
    public func load(_ index: Int) -> UInt64? {
        guard let word = address(index) else { return nil }
        return clinux_load_relaxed(word)
    }

    /// Reads a word and sees all that was written before it was stored; nil behind the end.
    public func loadAcquiring(_ index: Int) -> UInt64? {
        guard let word = address(index) else { return nil }
        return clinux_load_acquire(word)
    }

    /// Writes a word after all that was written before; does nothing to what was opened for reading.
    public func storeReleasing(_ index: Int, _ value: UInt64) {
        guard isWritable, let word = address(index) else { return }
        clinux_store_release(word, value)
    }

    /// Sets bits of a word and gives what it was before; nil where nothing can be written.
    @discardableResult
    public func set(_ index: Int, _ bits: UInt64) -> UInt64? {
        guard isWritable, let word = address(index) else { return nil }
        return clinux_fetch_or(word, bits)
    }

    private func address(_ index: Int) -> UnsafeMutableRawPointer? {
        guard index >= 0, index < count else { return nil }
        return start + index * Self.bytesPerWord
    }
}
