// SPDX-License-Identifier: MIT

internal import CLinux

/// A UDP socket that sends to one address and never blocks. Closes its descriptor when it goes.
public final class DatagramSocket {
    /// -1 when closed.
    public private(set) var descriptor: Int32

    /// Where it sends to.
    public let peer: SocketAddress

    /// Makes it; nothing is sent.
    public init(to address: SocketAddress) throws(SystemError) {
        peer = address
        descriptor = clinux_udp_socket(address.family)
        guard descriptor >= 0 else { throw SystemError.last("make a socket") }
        guard address.withPointer({ clinux_connect(descriptor, $0, $1) }) == 0 else {
            let error = SystemError.last("send to \(address)")
            close()
            throw error
        }
    }

    deinit { close() }

    /// Address of this end.
    public var localAddress: SocketAddress {
        var storage = sockaddr_storage()
        var length = socklen_t(0)
        clinux_local_address(descriptor, &storage, &length)
        return SocketAddress(storage: storage, length: length)
    }

    /// Sends one datagram. `failed` may be about the one before: a host that takes none says so later.
    public func send(_ bytes: [UInt8]) -> Socket.Transfer {
        while true {
            let count = bytes.withUnsafeBytes { clinux_send(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 { return .bytes(count) }
            let code = clinux_errno()
            if code == EAGAIN || code == ENOBUFS { return .wouldBlock }
            if code != EINTR { return .failed(code) }
        }
    }

    /// Takes one datagram; `failed` when the other end takes none.
    public func receive(into buffer: UnsafeMutableRawBufferPointer) -> Socket.Transfer {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count >= 0 { return .bytes(count) }
            let code = clinux_errno()
            if code == EAGAIN { return .wouldBlock }
            if code != EINTR { return .failed(code) }
        }
    }

    /// Closes it.
    public func close() {
        guard descriptor >= 0 else { return }
        _ = CLinux.close(descriptor)
        descriptor = -1
    }
}
