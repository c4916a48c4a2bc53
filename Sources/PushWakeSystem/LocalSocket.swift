// SPDX-License-Identifier: MIT

private import CLinux

/// A Unix SOCK_SEQPACKET socket: whole messages between processes of one host.
///
/// Never blocks except in `waitReadable(milliseconds:)`. Closes its descriptor when it goes.
public final class LocalSocket {
    /// Why a socket could not be made.
    public struct Failure: Error, Equatable, Sendable {
        /// The system's error number.
        public let code: Int32
        /// What was tried, on which path, and the system's words.
        public let message: String
    }

    /// Result of a step that does not wait.
    public enum Step: Equatable, Sendable {
        case done
        case wouldBlock
        /// The other end is gone.
        case closed
    }

    /// For polling; -1 when closed, which it is with this object at the latest.
    public private(set) var descriptor: Int32
    /// Where it listens, and the file that it has made there.
    private var place: (path: String, file: FileStamp?)?

    private init(descriptor: Int32) { self.descriptor = descriptor }

    deinit {
        // Somebody else's stays.
        if let place, isInPlace { _ = unlink(place.path) }
        close()
    }

    /// Whether the path at which it listens still leads to it.
    public var isInPlace: Bool {
        guard let place, let file = place.file else { return false }
        return FileStamp(place.path)?.isSameFile(as: file) == true
    }

    /// Closes it now, whoever still has this object: the other end reads an end. Unwatch it first.
    public func close() {
        guard descriptor >= 0 else { return }
        _ = CLinux.close(descriptor)
        descriptor = -1
    }

    /// Connects to a listening socket; a full backlog counts as a failure.
    public static func connect(path: String) throws(Failure) -> LocalSocket {
        let socket = LocalSocket(descriptor: try makeDescriptor(path))
        guard try withAddress(path, { clinux_connect(socket.descriptor, $0, $1) }) == 0 else {
            let problem = failure("connect to", path)
            guard problem.code == EACCES else { throw problem }
            let remedy = "run as the user of the engine, or in its group"
            throw Failure(code: EACCES, message: "\(problem.message) for user \(ProcessUser.currentName); \(remedy)")
        }
        return socket
    }

    /// Listens on a path, replacing the socket of a listener that is gone and nothing else; only owner and group
    /// may connect.
    public static func listen(path: String, backlog: Int32 = 512) throws(Failure) -> LocalSocket {
        let descriptor = try makeDescriptor(path)
        do throws(Failure) {
            try clear(path)
        } catch {
            _ = CLinux.close(descriptor)
            throw error
        }
        let bound = try withAddress(path) { clinux_bind(descriptor, $0, $1) }
        guard bound == 0 else {
            let problem = failure("listen on", path)
            _ = CLinux.close(descriptor)
            throw Failure(code: problem.code, message: "\(problem.message); \(remedy(problem.code))")
        }
        let socket = LocalSocket(descriptor: descriptor)
        socket.place = (path, FileStamp(path))
        _ = chmod(path, 0o660)
        guard CLinux.listen(descriptor, backlog) == 0 else { throw failure("listen on", path) }
        return socket
    }

    /// The number of a group that is named by name or number; nil when there is none.
    public static func group(named name: String) -> UInt32? { gid_t(name) ?? getgrnam(name).map { $0.pointee.gr_gid } }

    /// Lets the members of a group, by name or number, connect as well as the owner.
    public static func admit(group name: String, to path: String) throws(Failure) {
        guard let group = group(named: name) else {
            throw Failure(code: ENOENT, message: "there is no group \(name); make it, or name another")
        }
        guard chown(path, uid_t.max, group) == 0 else {
            let code = clinux_errno()
            throw Failure(code: code, message: "group \(name) cannot connect: \(refusal(code, of: name, group))")
        }
        let directory = Directory.parent(of: path)
        guard !directory.isEmpty, let mode = FileStamp.mode(of: directory), mode & 0o001 == 0 else { return }
        throw Failure(
            code: EACCES,
            message: "group \(name) may not reach \(path); chmod o+x \(directory)")
    }

    /// Why this process may not give its socket to a group, and what to do.
    private static func refusal(_ code: Int32, of name: String, _ group: UInt32) -> String {
        let user = ProcessUser.currentName
        guard code == EPERM else { return SystemError("give it the socket", code: code).description }
        guard ProcessUser.isIn(group: group) else {
            return "user \(user) is not in it; usermod -a -G \(name) \(user), then start again"
        }
        return "user \(user) is in it, and this process may not use chown; let its service (SystemCallFilter=@chown)"
    }

    /// Makes room at `path`: what a dead listener left goes, anything else is refused.
    private static func clear(_ path: String) throws(Failure) {
        var status = stat()
        guard clinux_lstat(path, &status) == 0 else { return }
        guard status.st_mode & 0o170000 == 0o140000 else {
            throw Failure(
                code: EEXIST, message: "\(path) is there and is not a socket; set engine_socket to another path")
        }
        do throws(Failure) {
            _ = try connect(path: path)
        } catch  where error.code == ECONNREFUSED || error.code == ENOENT {
            _ = unlink(path)
            return
        } catch  where error.code == EACCES {
            throw Failure(
                code: EACCES,
                message:
                    "\(path) belongs to another user, whose engine may run; stop it and remove the file, or set engine_socket"
            )
        } catch {
            // A backlog that is full has a listener, too.
        }
        throw Failure(code: EADDRINUSE, message: "another engine listens on \(path); stop it or set engine_socket")
    }

    /// Takes one waiting connection; nil when there is none.
    public func accept() -> LocalSocket? {
        let accepted = clinux_accept(descriptor)
        guard accepted >= 0 else { return nil }
        let socket = LocalSocket(descriptor: accepted)
        socket.widenBuffer()
        return socket
    }

    /// Sends one whole message.
    public func send(_ message: [UInt8]) -> Step {
        while true {
            let sent = message.withUnsafeBytes {
                clinux_send(descriptor, $0.baseAddress, $0.count)
            }
            if sent >= 0 { return .done }
            switch clinux_errno() {
            case EINTR: continue
            case EAGAIN, ENOBUFS: return .wouldBlock
            default: return .closed
            }
        }
    }

    /// What `receive(into:)` found.
    public enum Arrival: Equatable, Sendable {
        /// So many bytes are at the start of the buffer.
        case message(Int)
        case wouldBlock
        /// The other end is gone, or sent more than the buffer holds, which cannot be one of our messages.
        case closed
    }

    /// Receives one whole message into the buffer as it is; its size is the longest message.
    public func receive(into buffer: inout [UInt8]) -> Arrival {
        while true {
            let limit = buffer.count
            let received = buffer.withUnsafeMutableBytes { clinux_receive(descriptor, $0.baseAddress, limit) }
            if received > limit || received == 0 { return .closed }
            if received > 0 { return .message(received) }
            switch clinux_errno() {
            case EINTR: continue
            case EAGAIN: return .wouldBlock
            default: return .closed
            }
        }
    }

    /// Waits until there is something to receive; false when the time is up.
    public func waitReadable(milliseconds: Int32) -> Bool {
        var entry = pollfd(descriptor: descriptor, for: Int16(POLLIN))
        return poll(&entry, 1, milliseconds) > 0
    }

    private func widenBuffer() {
        var size: Int32 = 512 * 1024
        _ = setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func makeDescriptor(_ path: String) throws(Failure) -> Int32 {
        guard !path.isEmpty, path.utf8.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path) else {
            throw Failure(code: ENAMETOOLONG, message: "the socket path \"\(path)\" is empty or longer than 107 bytes")
        }
        let descriptor = clinux_local_socket()
        guard descriptor >= 0 else { throw failure("make a socket for", path) }
        var size: Int32 = 512 * 1024
        _ = setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        return descriptor
    }

    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws(Failure) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { field in
            for (index, byte) in path.utf8.enumerated() where index < field.count - 1 { field[index] = byte }
        }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// What to do where a socket cannot be made.
    private static func remedy(_ code: Int32) -> String {
        let other = "or set engine_socket to another path"
        switch code {
        case ENOENT, ENOTDIR: return "make its directory, \(other)"
        case EACCES, EPERM: return "let user \(ProcessUser.currentName) write to its directory, \(other)"
        default: return "set engine_socket to another path"
        }
    }

    private static func failure(_ what: String, _ path: String) -> Failure {
        let code = clinux_errno()
        return Failure(code: code, message: "cannot \(what) \(path): \(String(cString: strerror(code)))")
    }
}

extension pollfd {
    fileprivate init(descriptor: Int32, for events: Int16) {
        self.init(fd: descriptor, events: events, revents: 0)
    }
}
