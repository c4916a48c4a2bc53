// SPDX-License-Identifier: MIT

internal import CLinux
package import PushWakeCore

/// Opens one TCP connection to the first of several addresses that answers (Happy Eyeballs, RFC 8305): IPv6 and IPv4
/// in turn, a new attempt every 250 ms or as soon as one fails. Addresses that are not trusted to serve wait until the
/// others have failed, or for two seconds.
package final class Connector {
    static let stagger: Int64 = 250
    /// Milliseconds for which the others have the way to themselves: longer than a handshake over a slow path takes, and
    /// short beside the time that a connection has.
    static let connectTimeout: Int64 = 2000

    private let loop: Loop
    private var addresses: [SocketAddress]
    /// So many of the addresses are the last resort, and until when they wait for the others.
    private let lastResort: Int
    private let lastResortAt: Int64
    private var attempts: [Attempt] = []
    private var timer: Loop.TimerID?
    /// The address whose connection is the result; nil before.
    package private(set) var reached: SocketAddress?
    private var completion: ((Result<Socket, SystemError>) -> Void)?
    private var lastError = SystemError("connect", code: EHOSTUNREACH)

    /// One socket on its way.
    private final class Attempt: LoopSource {
        let socket: Socket
        let address: SocketAddress
        unowned let connector: Connector

        init(socket: Socket, address: SocketAddress, connector: Connector) {
            self.socket = socket
            self.address = address
            self.connector = connector
        }

        func ready(_ readiness: Loop.Readiness) { connector.finished(self) }
    }

    /// Calls `completion` once, later, unless `cancel()` comes first. The owner keeps the connector until then.
    package convenience init(
        loop: Loop, addresses: [SocketAddress], completion: @escaping (Result<Socket, SystemError>) -> Void
    ) {
        self.init(loop: loop, addresses: .init(first: addresses, later: []), completion: completion)
    }

    /// The same with addresses of which some are the last resort.
    package init(
        loop: Loop, addresses: AddressOrder.Choice<SocketAddress>,
        completion: @escaping (Result<Socket, SystemError>) -> Void
    ) {
        self.loop = loop
        self.addresses = Self.interleave(addresses.first) + addresses.later
        lastResort = addresses.later.count
        lastResortAt = loop.now + Self.connectTimeout
        self.completion = completion
        loop.atEndOfTurn { self.startNext() }
    }

    deinit { cancel() }

    /// Gives up; `completion` is not called.
    package func cancel() {
        completion = nil
        if let timer { loop.cancel(timer) }
        timer = nil
        for attempt in attempts { loop.unwatch(attempt.socket.descriptor) }
        attempts = []
    }

    /// The families in turn, each in its own order, beginning with the first address's.
    static func interleave(_ addresses: [SocketAddress]) -> [SocketAddress] {
        guard let first = addresses.first else { return [] }
        var same = addresses.filter { $0.isIPv6 == first.isIPv6 }[...]
        var other = addresses.filter { $0.isIPv6 != first.isIPv6 }[...]
        var result: [SocketAddress] = []
        while !same.isEmpty || !other.isEmpty {
            if let next = same.popFirst() { result.append(next) }
            if let next = other.popFirst() { result.append(next) }
        }
        return result
    }

    private func startNext() {
        if let timer { loop.cancel(timer) }
        timer = nil
        while completion != nil, !addresses.isEmpty {
            if addresses.count <= lastResort, !attempts.isEmpty, loop.now < lastResortAt {
                timer = loop.schedule(at: lastResortAt) { self.startNext() }
                return
            }
            let address = addresses.removeFirst()
            do throws(SystemError) {
                let socket = try Socket.connect(to: address)
                let attempt = Attempt(socket: socket, address: address, connector: self)
                try loop.watch(socket.descriptor, for: .writable, attempt)
                attempts.append(attempt)
                if !addresses.isEmpty {
                    timer = loop.schedule(after: Self.stagger) { self.startNext() }
                }
                return
            } catch {
                lastError = error
            }
        }
        if attempts.isEmpty { complete(.failure(lastError)) }
    }

    private func finished(_ attempt: Attempt) {
        loop.unwatch(attempt.socket.descriptor)
        attempts.removeAll { $0 === attempt }
        let code = attempt.socket.connectResult()
        guard code != 0 else {
            reached = attempt.address
            return complete(.success(attempt.socket))
        }
        lastError = SystemError("connect to \(attempt.address)", code: code)
        startNext()
    }

    private func complete(_ result: Result<Socket, SystemError>) {
        let completion = completion
        cancel()
        completion?(result)
    }
}
