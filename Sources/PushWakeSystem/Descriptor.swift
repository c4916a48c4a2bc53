// SPDX-License-Identifier: MIT

internal import CLinux

/// Small questions about descriptors that somebody else opened.
public enum Descriptor {
    public static let standardInput: Int32 = 0
    public static let standardOutput: Int32 = 1
    public static let standardError: Int32 = 2

    /// Opens /dev/null in place of standard input, output and error that are closed. Else the next file, socket or timer
    /// would have their numbers, and be given what is written there.
    public static func fillStandard() {
        for number in standardInput...standardError where clinux_is_open(number) == 0 {
            // The lowest free number is this one. Not close-on-exec: children have standard descriptors, too.
            _ = clinux_open("/dev/null", O_RDWR, 0)
        }
    }

    /// The next byte, waited for; nil at the end.
    public static func readByte(_ descriptor: Int32) -> UInt8? {
        var byte: UInt8 = 0
        while true {
            let count = CLinux.read(descriptor, &byte, 1)
            if count < 0 && clinux_errno() == EINTR { continue }
            return count == 1 ? byte : nil
        }
    }

    /// Reads what is there and throws it away; true when the other end has closed.
    public static func isAtEnd(_ descriptor: Int32) -> Bool {
        var chunk = [UInt8](repeating: 0, count: 4096)
        let count = chunk.withUnsafeMutableBytes { CLinux.read(descriptor, $0.baseAddress, $0.count) }
        return count == 0 || count < 0 && clinux_errno() != EAGAIN && clinux_errno() != EINTR
    }

    /// Waits until one of two descriptors can be read; a second of -1 is left out.
    public static func waitReadable(_ first: Int32, _ second: Int32, milliseconds: Int32 = -1) -> (
        first: Bool, second: Bool
    ) {
        var entries = [
            pollfd(fd: first, events: Int16(POLLIN), revents: 0), pollfd(fd: second, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&entries, 2, milliseconds)
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

    /// Whether somebody sits there.
    public static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Writes all bytes, waiting as long as it takes; what kept it from that, or nil.
    @discardableResult
    public static func write(_ bytes: [UInt8], to descriptor: Int32) -> SystemError? {
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes { CLinux.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && clinux_errno() == EINTR { continue }
            guard count > 0 else { return SystemError.last("write") }
            done += count
        }
        return nil
    }
}

/// Several descriptors that can be polled as one: readable when any of them is ready.
public final class DescriptorSet {
    /// Poll this one for reading.
    public let descriptor: Int32

    /// An empty set; its descriptor is -1 when the process has none left.
    public init() { descriptor = epoll_create1(Int32(EPOLL_CLOEXEC)) }

    deinit { if descriptor >= 0 { _ = close(descriptor) } }

    /// Polls a descriptor from now on; -1 is ignored.
    public func add(_ member: Int32, for readiness: Loop.Readiness = .readable) {
        guard member >= 0 else { return }
        var event = epoll_event()
        event.events = readiness.rawValue
        event.data.fd = member
        _ = epoll_ctl(descriptor, EPOLL_CTL_ADD, member, &event)
    }

    /// Members that are ready or at their end now, at most eight; does not wait.
    public func ready() -> [Int32] {
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 8) { events in
            let count = epoll_wait(descriptor, events.baseAddress, 8, 0)
            return (0..<max(0, Int(count))).map { Int32(truncatingIfNeeded: events[$0].data.fd) }
        }
    }

    /// Takes a member out; one that was closed has left by itself.
    public func remove(_ member: Int32) {
        guard member >= 0 else { return }
        var event = epoll_event()
        _ = epoll_ctl(descriptor, EPOLL_CTL_DEL, member, &event)
    }
}

/// A system call that failed: what was tried and the system's words.
public struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What was tried, and on what.
    public let operation: String
    /// The system's error number.
    public let code: Int32

    /// Names a failure that has been seen elsewhere.
    public init(_ operation: String, code: Int32) {
        self.operation = operation
        self.code = code
    }

    /// Reads like `connect to 127.0.0.1:443: Connection refused`.
    public var description: String { "\(operation): \(String(cString: strerror(code)))" }

    /// A file is longer than what is read of it.
    public var isTooLong: Bool { code == EFBIG }

    static func last(_ operation: String) -> SystemError { SystemError(operation, code: clinux_errno()) }
}
