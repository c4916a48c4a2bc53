// SPDX-License-Identifier: MIT

private import CLinux

/// Small questions about descriptors that somebody else opened.
public enum Descriptor {
    /// Reads what is there and throws it away; true when the other end has closed.
    public static func isAtEnd(_ descriptor: Int32) -> Bool {
        var chunk = [UInt8](repeating: 0, count: 4096)
        let count = chunk.withUnsafeMutableBytes { CLinux.read(descriptor, $0.baseAddress, $0.count) }
        return count == 0 || count < 0 && clinux_errno() != EAGAIN && clinux_errno() != EINTR
    }

    /// Waits until one of two descriptors can be read; a second of -1 is left out.
    public static func waitReadable(_ first: Int32, _ second: Int32) -> (first: Bool, second: Bool) {
        var entries = [
            pollfd(fd: first, events: Int16(POLLIN), revents: 0), pollfd(fd: second, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&entries, 2, -1)
        return (entries[0].revents != 0, entries[1].revents != 0)
    }

    /// Reads what is there, at most 4 kB; empty at the end, nil on an error.
    public static func read(_ descriptor: Int32) -> [UInt8]? {
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = chunk.withUnsafeMutableBytes { CLinux.read(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 { return Array(chunk[..<count]) }
            guard clinux_errno() == EINTR else { return nil }
        }
    }

    /// Writes all bytes, waiting as long as it takes.
    public static func write(_ bytes: [UInt8], to descriptor: Int32) {
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes { CLinux.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && clinux_errno() == EINTR { continue }
            guard count > 0 else { return }
            done += count
        }
    }
}
