// SPDX-License-Identifier: MIT

internal import CLinux

/// A TCP socket that never blocks. Closes its descriptor when it goes.
public final class Socket {
    /// What came of one system call.
    public enum Transfer: Equatable, Sendable {
        case bytes(Int)
        case wouldBlock
        /// The other end has closed in order.
        case closed
        /// The system's error number.
        case failed(Int32)
    }

    /// -1 when closed.
    public private(set) var descriptor: Int32

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close() }

    /// Begins to connect; writable when that has ended, `connectResult()` tells how.
    ///
    /// `userTimeout` (milliseconds) is how long sent bytes may stay unacknowledged before the kernel gives up.
    public static func connect(to address: SocketAddress, userTimeout: Int32 = 20_000) throws(SystemError) -> Socket {
        let socket = Socket(clinux_tcp_socket(address.family))
        guard socket.descriptor >= 0 else { throw SystemError.last("make a socket") }
        socket.configure()
        _ = clinux_set_option(socket.descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, userTimeout)
        let result = address.withPointer { clinux_connect(socket.descriptor, $0, $1) }
        if result != 0, clinux_errno() != EINPROGRESS { throw SystemError.last("connect to \(address)") }
        return socket
    }

    /// Listens; port 0 picks a free one (`localAddress` tells it).
    public static func listen(on address: SocketAddress, backlog: Int32 = 1024) throws(SystemError) -> Socket {
        let socket = Socket(clinux_tcp_socket(address.family))
        guard socket.descriptor >= 0 else { throw SystemError.last("make a socket") }
        _ = clinux_set_option(socket.descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
        guard address.withPointer({ clinux_bind(socket.descriptor, $0, $1) }) == 0,
            CLinux.listen(socket.descriptor, backlog) == 0
        else { throw SystemError.last("listen on \(address)") }
        return socket
    }

    /// Takes one waiting connection; nil when there is none. A peer that came by IPv4 has an IPv4 address, whatever is
    /// listened on.
    public func accept() -> (socket: Socket, peer: SocketAddress)? {
        var storage = sockaddr_storage()
        var length = socklen_t(0)
        let accepted = clinux_accept_from(descriptor, &storage, &length)
        guard accepted >= 0 else { return nil }
        let socket = Socket(accepted)
        socket.configure()
        return (socket, SocketAddress(storage: storage, length: length).unmapped)
    }

    /// Waits until it is writable, as it is when the attempt to connect has ended; false when the time is up.
    public func waitWritable(milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&entry, 1, milliseconds) > 0
    }

    /// 0 when the connection stands, else the system's error number.
    public func connectResult() -> Int32 { clinux_socket_error(descriptor) }

    /// Bytes that were sent and that the other end's kernel has not confirmed.
    package var unacknowledged: Int { Int(clinux_unacknowledged(descriptor)) }

    /// Address of this end.
    public var localAddress: SocketAddress {
        var storage = sockaddr_storage()
        var length = socklen_t(0)
        clinux_local_address(descriptor, &storage, &length)
        return SocketAddress(storage: storage, length: length)
    }

    /// Address of the other end.
    public var peerAddress: SocketAddress {
        var storage = sockaddr_storage()
        var length = socklen_t(0)
        clinux_peer_address(descriptor, &storage, &length)
        return SocketAddress(storage: storage, length: length)
    }

    /// One recv.
    public func receive(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .closed }
            let code = clinux_errno()
            if code == EAGAIN { return .wouldBlock }
            if code != EINTR { return .failed(code) }
        }
    }

    /// One send; never raises SIGPIPE.
    public func send(_ buffer: UnsafeRawBufferPointer) -> Transfer {
        while true {
            let count = clinux_send(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return .bytes(count) }
            let code = clinux_errno()
            if code == EAGAIN { return .wouldBlock }
            if code != EINTR { return .failed(code) }
        }
    }

    /// Closes with FIN. Unwatch it first.
    public func close() {
        guard descriptor >= 0 else { return }
        _ = CLinux.close(descriptor)
        descriptor = -1
    }

    /// Closes with RST. Unwatch it first.
    public func abort() {
        guard descriptor >= 0 else { return }
        clinux_linger_reset(descriptor)
        close()
    }

    private func configure() {
        _ = clinux_set_option(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        // An idle connection stays known to NATs and firewalls, which forget it after four minutes or more, and one that
        // they have forgotten ends before anybody needs it: the kernel's own first probe comes after two hours.
        _ = clinux_set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
        _ = clinux_set_option(descriptor, Int32(IPPROTO_TCP), TCP_KEEPIDLE, 60)
        _ = clinux_set_option(descriptor, Int32(IPPROTO_TCP), TCP_KEEPINTVL, 10)
        _ = clinux_set_option(descriptor, Int32(IPPROTO_TCP), TCP_KEEPCNT, 3)
    }
}
