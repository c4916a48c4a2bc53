// SPDX-License-Identifier: MIT

internal import CLinux
internal import PushWakeSystem

/// Whole small files in one directory.
struct FileStore {
    /// What failed and why, in the system's words.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Absolute.
    private(set) var directory: String

    /// Opens a directory; makes it and its parents where they are missing.
    init(making directory: String) throws(Failure) {
        self.directory = directory
        try makeDirectory()
        guard let whole = realpath(directory, nil) else { throw failure("find directory", directory) }
        defer { free(whole) }
        self.directory = String(cString: whole)
    }

    private func makeDirectory() throws(Failure) {
        var path = directory.hasPrefix("/") ? "/" : ""
        for part in directory.split(separator: "/") {
            path += path.isEmpty || path == "/" ? String(part) : "/\(part)"
            if mkdir(path, 0o755) != 0, clinux_errno() != EEXIST { throw failure("make directory", path) }
        }
    }

    /// The path of a file.
    func path(_ name: String) -> String { "\(directory)/\(name)" }

    /// The bytes of a file; nil when there is none.
    func read(_ name: String) throws(SystemError) -> [UInt8]? {
        do throws(SystemError) {
            return try FileContent.read(path(name))
        } catch {
            guard error.code == ENOENT else { throw error }
            return nil
        }
    }

    /// Writes a file under another name first, so that no reader sees half of it.
    func write(_ name: String, _ bytes: [UInt8], mode: mode_t) throws(Failure) {
        let temporary = path(".\(name).new")
        _ = unlink(temporary)
        let descriptor = clinux_open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw failure("write", path(name)) }
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes { CLinux.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else {
                _ = close(descriptor)
                throw failure("write", path(name))
            }
            done += count
        }
        _ = close(descriptor)
        guard rename(temporary, path(name)) == 0 else { throw failure("write", path(name)) }
    }

    private func failure(_ action: String, _ path: String) -> Failure {
        Failure(description: "cannot \(action) \(path): \(String(cString: strerror(clinux_errno())))")
    }
}
