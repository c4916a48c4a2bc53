// SPDX-License-Identifier: MIT

import PushWakeCore

@testable import PushWakeSystem
@testable import PushWakeTransport

/// A small CONNECT proxy: one plain HTTP/1.1 head, then bytes both ways.
final class ForwardProxy: LoopSource {
    private let loop: Loop
    private let listener: Socket
    private var relays: [Relay] = []
    var refuses = false
    /// The only value of `proxy-authorization` that opens a tunnel; empty: any.
    var demands = ""
    /// Ends the first tunnel after so many bytes from the server, without a word; 0: before the answer to CONNECT.
    var breaksAfter: Int?
    var asked: [String] = []
    var authorization = ""

    var port: UInt16 { listener.localAddress.port }

    init(loop: Loop) throws {
        self.loop = loop
        guard let address = SocketAddress(ip: "127.0.0.1", port: 0) else { throw SystemError("address", code: 22) }
        listener = try Socket.listen(on: address)
        try loop.watch(listener.descriptor, for: .readable, self)
    }

    func ready(_ readiness: Loop.Readiness) {
        guard let (socket, _) = listener.accept() else { return }
        let relay = Relay(loop: loop, proxy: self, client: socket)
        relays.append(relay)
        try? loop.watch(socket.descriptor, for: .readable, relay)
    }

    final class Relay: LoopSource {
        private let loop: Loop
        private unowned let proxy: ForwardProxy
        private let client: Socket
        private var server: Socket?
        private var isOver = false
        private var parser = HTTP1Parser(isClient: false, bodyLimit: 0, headLimit: 4096)

        init(loop: Loop, proxy: ForwardProxy, client: Socket) {
            (self.loop, self.proxy, self.client) = (loop, proxy, client)
        }

        func ready(_ readiness: Loop.Readiness) {
            guard let server else { return isOver ? () : readHeaderBlock() }
            copy(from: client, to: server)
            if !isOver { copy(from: server, to: client) }
        }

        private func readHeaderBlock() {
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 1)
            defer { buffer.deallocate() }
            guard case .bytes(let count) = client.receive(into: buffer) else { return }
            parser.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            guard let head = try? parser.next() else { return }
            let target = head.startLine.split(separator: " ").dropFirst().first.map(String.init) ?? ""
            proxy.asked.append(target)
            proxy.authorization = head["proxy-authorization"] ?? ""
            if proxy.breaksAfter == 0 { return end() }
            if !proxy.demands.isEmpty, proxy.demands != proxy.authorization {
                return answer("HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
            }
            let port = UInt16(target.split(separator: ":").last ?? "") ?? 0
            guard !proxy.refuses, let address = SocketAddress(ip: "127.0.0.1", port: port),
                let server = try? Socket.connect(to: address)
            else { return answer("HTTP/1.1 407 Error\r\ncontent-length: 0\r\n\r\n") }
            self.server = server
            try? loop.watch(server.descriptor, for: .readable, self)
            answer("HTTP/1.1 200 OK\r\n\r\n")
        }

        private func end() {
            proxy.breaksAfter = nil
            for socket in [client, server].compactMap({ $0 }) { loop.unwatch(socket.descriptor) }
            (server, isOver) = (nil, true)
            client.close()
        }

        private func answer(_ text: String) {
            _ = Array(text.utf8).withUnsafeBytes { client.send($0) }
        }

        private func copy(from source: Socket, to target: Socket) {
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 1)
            defer { buffer.deallocate() }
            guard case .bytes(let count) = source.receive(into: buffer) else { return }
            if let rest = proxy.breaksAfter, source === server {
                proxy.breaksAfter = rest - count
                if rest <= count { return end() }
            }
            _ = target.send(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }
}
