// SPDX-License-Identifier: MIT

import Glibc

/// By which clock the bindings of a store were stamped last, in a file beside the store: a clock that is put right while no
/// engine runs is noticed by the next one.
///
/// One line: the machine's boot id, the wall clock at that boot, and the wall clock when the line was written, both in
/// seconds since 1970. Whatever is wrong with the file, it says nothing.
public struct ClockFile {
    /// What an earlier engine noted.
    public struct Record: Equatable, Sendable {
        /// The wall clock when the machine started, as that engine saw it; nil when that was another start.
        public let boot: Int64?
        /// The wall clock when the store was in use last.
        public let seen: Int64
    }

    /// Seconds by which a number has to differ to be written.
    private static let step: Int64 = 3600
    private static let longestLine = 128

    private let path: String
    private let storePath: String
    private let bootID: String
    private var written: (boot: Int64, seen: Int64)?

    public init(storePath: String) {
        self.init(storePath: storePath, bootID: Self.text(of: "/proc/sys/kernel/random/boot_id"))
    }

    init(storePath: String, bootID: String) {
        self.storePath = storePath
        path = storePath + "-clock"
        self.bootID = bootID.split(whereSeparator: \.isWhitespace).first.map(String.init) ?? "-"
    }

    /// Nil where there is none.
    public var record: Record? {
        let words = Self.text(of: path).split(whereSeparator: \.isWhitespace)
        guard words.count == 3, let boot = Int64(words[1]), let seen = Int64(words[2]) else { return nil }
        return Record(boot: words[0] == bootID && bootID != "-" ? boot : nil, seen: seen)
    }

    /// Notes the clock; writes seldom. `running` in seconds since the machine started. `seen` is when the store was in use
    /// last, if that is not now: a clock that is in doubt says nothing about it.
    public mutating func keep(wall: Int64, running: Int64, seen: Int64? = nil) {
        let (boot, seen) = (wall &- running, seen ?? wall)
        if let written, (written.boot &- boot).magnitude < Self.step, (written.seen &- seen).magnitude < Self.step {
            return
        }
        written = (boot, seen)
        let line = Array("\(bootID) \(boot) \(seen)\n".utf8)
        let draft = path + ".new"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        // As for the store's other files: who starts an engine as root once must not lock out the one of every day.
        var status = stat()
        if geteuid() == 0, stat(storePath, &status) == 0 { _ = fchown(descriptor, status.st_uid, status.st_gid) }
        let isWhole = write(descriptor, line, line.count) == line.count
        close(descriptor)
        if isWhole { _ = rename(draft, path) }
    }

    private static func text(of path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: longestLine)
        let count = read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes[..<max(count, 0)], as: UTF8.self)
    }
}
