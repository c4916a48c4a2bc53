// SPDX-License-Identifier: MIT

import Glibc
import PushWakeSystem

/// A directory with a file for each day's bindings, of which the newest are kept. A file is there as a whole or not at all.
final class BackupDirectory {
    private static let prefix = "bindings-"
    private static let suffix = ".jsonl"

    private let path: String
    private let name: String
    private let descriptor: Int32
    private var buffer: [UInt8] = []

    /// Why there is no backup, and what to do about it.
    struct Failure: Error {
        let message: String
    }

    /// Begins the file of today, which nobody else may read.
    init(_ directory: String) throws(Failure) {
        path = directory
        var (now, parts) = (time(nil), tm())
        localtime_r(&now, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        name = "\(Self.prefix)\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))\(Self.suffix)"
        descriptor = open("\(directory)/.\(name).new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw Failure(
                message:
                    "\(directory): \(String(cString: strerror(errno))); give a directory that this user may write to")
        }
    }

    deinit {
        close(descriptor)
        // What was not put in place is no backup.
        unlink(newPath)
    }

    private var newPath: String { "\(path)/.\(name).new" }

    /// Adds a line.
    func add(_ line: String) throws(Failure) {
        buffer += line.utf8
        buffer.append(0x0A)
        if buffer.count >= 65_536 { try flush() }
    }

    private func flush() throws(Failure) {
        let error = Descriptor.write(buffer, to: descriptor)
        buffer.removeAll(keepingCapacity: true)
        if let error { throw Failure(message: "\(newPath): \(error); the earlier backups are as they were") }
    }

    /// Puts the file in place of one of the same day; gives its path.
    func commit() throws(Failure) -> String {
        try flush()
        let place = "\(path)/\(name)"
        guard fsync(descriptor) == 0, rename(newPath, place) == 0 else {
            throw Failure(
                message: "\(place): \(String(cString: strerror(errno))); the earlier backups are as they were")
        }
        return place
    }

    /// Takes away all but the newest files.
    func keep(newest count: Int) {
        let length = name.utf8.count
        let names = (try? FileContent.names(in: path, ending: Self.suffix)) ?? []
        let own = names.filter { $0.hasPrefix(Self.prefix) && $0.utf8.count == length }
        for old in own.dropLast(max(count, 1)) { unlink("\(path)/\(old)") }
    }
}
