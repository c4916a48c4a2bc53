// SPDX-License-Identifier: MIT

private import CLinux

/// Tells the service manager that started this process how it is: sd_notify(3) without its library.
///
/// Never waits: a manager that does not read costs the message and no time.
public final class SystemdNotifier {
    /// What there is to tell.
    public enum State: String, Sendable {
        case ready = "READY=1"
        case stopping = "STOPPING=1"
        case alive = "WATCHDOG=1"
    }

    /// Milliseconds within which the manager wants to hear `alive`; nil when it does not.
    public let watchdog: Int64?
    private let descriptor: Int32
    private var address = sockaddr_un()
    private let length: socklen_t

    /// - Parameter socket: a path, or `@name` for an abstract socket; nil when it is neither.
    public init?(socket: String, watchdog: Int64? = nil) {
        let name = Array(socket.utf8)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard name.first == UInt8(ascii: "/") || name.first == UInt8(ascii: "@"), name.count > 1, name.count < room
        else { return nil }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { field in
            for (index, byte) in name.enumerated() { field[index] = byte }
            if name[0] == UInt8(ascii: "@") { field[0] = 0 }
        }
        // An abstract name ends where its address ends: it has no zero behind it.
        length = socklen_t((MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2) + name.count)
        descriptor = clinux_datagram_socket()
        guard descriptor >= 0 else { return nil }
        self.watchdog = watchdog
    }

    deinit { if descriptor >= 0 { _ = close(descriptor) } }

    /// What the manager has put into the environment (NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID); nil when nobody
    /// wants to be told.
    public static func ofEnvironment() -> SystemdNotifier? {
        guard let socket = environmentVariable("NOTIFY_SOCKET") else { return nil }
        let isForUs = environmentVariable("WATCHDOG_PID").map { $0 == "\(getpid())" } ?? true
        let microseconds = isForUs ? environmentVariable("WATCHDOG_USEC").flatMap { Int64($0) } : nil
        return SystemdNotifier(socket: socket, watchdog: microseconds.flatMap { $0 >= 1000 ? $0 / 1000 : nil })
    }

    /// Whether the manager has it now.
    @discardableResult
    public func tell(_ state: State) -> Bool {
        let text = Array(state.rawValue.utf8)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                text.withUnsafeBytes { clinux_send_to(descriptor, $0.baseAddress, $0.count, address, length) >= 0 }
            }
        }
    }
}
