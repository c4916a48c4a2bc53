// SPDX-License-Identifier: MIT

private import CLinux

/// Lines for a log that somebody else reads. A line leaves at once or not at all: whoever does not read costs lines
/// and never time.
public final class LogOutput {
    /// A line longer than this is cut: a pipe takes as much in one piece or nothing (POSIX, PIPE_BUF).
    private static let longestLine = 4096

    /// How the kernel is kept from making us wait.
    private enum Kind {
        /// A file: it takes all.
        case file
        /// Opened for ourselves alone, not blocking.
        case own
        case socket
        /// Shared with others and not to be opened anew: asked for room first.
        case shared
    }

    private let descriptor: Int32
    private let kind: Kind
    /// The rest of a line that left in part.
    private var rest: ArraySlice<UInt8> = []
    /// Lines that did not leave since one did.
    public private(set) var lost = 0

    /// Writes to what this descriptor leads to, which stays open and as it is.
    public init(_ descriptor: Int32) {
        var status = stat()
        let type = clinux_fstat(descriptor, &status) == 0 ? status.st_mode & 0o170000 : 0
        let own = type == 0o010000 || type == 0o020000 ? clinux_reopen_for_writing(descriptor) : -1
        self.descriptor = own >= 0 ? own : descriptor
        kind =
            switch type {
            case 0o100000: .file
            case 0o140000: .socket
            default: own >= 0 ? .own : .shared
            }
    }

    deinit { if kind == .own { _ = close(descriptor) } }

    /// Whether this descriptor leads to the system's journal, as its variable says (systemd.exec(5), JOURNAL_STREAM).
    public static func isJournal(_ descriptor: Int32) -> Bool {
        var status = stat()
        guard let name = getenv("JOURNAL_STREAM"), clinux_fstat(descriptor, &status) == 0 else { return false }
        return String(cString: name) == "\(status.st_dev):\(status.st_ino)"
    }

    /// Writes a line, its end not included; `note` is the line that says how many are missing before it.
    public func write(_ line: String, note: (Int) -> String) {
        // In one piece: the note alone would fit where no line does.
        let text = lost == 0 ? line : note(lost) + "\n" + line
        if finishRest(), put(text) { lost = 0 } else { lost += 1 }
    }

    private func finishRest() -> Bool {
        while !rest.isEmpty {
            let count = send(rest)
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private func put(_ line: String) -> Bool {
        var bytes = Array(line.utf8.prefix(Self.longestLine - 1))
        if bytes.count < line.utf8.count { Self.removeLastCharacter(of: &bytes) }
        bytes.append(0x0A)
        let count = send(bytes[...])
        guard count > 0 else { return false }
        rest = bytes.dropFirst(count)
        return true
    }

    /// The cut may have gone through it, and journald shows of a line that is not UTF-8 how many bytes it has.
    private static func removeLastCharacter(of bytes: inout [UInt8]) {
        while let last = bytes.popLast(), last & 0xC0 == 0x80 {}
    }

    /// Bytes that were taken; 0 when none were.
    private func send(_ bytes: ArraySlice<UInt8>) -> Int {
        while true {
            if kind == .shared, !hasRoom { return 0 }
            let count = bytes.withUnsafeBytes {
                kind == .socket
                    ? clinux_send(descriptor, $0.baseAddress, $0.count)
                    : CLinux.write(descriptor, $0.baseAddress, $0.count)
            }
            if count >= 0 { return count }
            guard clinux_errno() == EINTR else { return 0 }
        }
    }

    private var hasRoom: Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&entry, 1, 0) > 0
    }
}
