// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeSystem
import Testing

@testable import PushWakeTransport

private func packet(_ number: Int, line: String = "a phone rings") -> HEPPacket {
    HEPPacket(time: Int64(number), agent: 1, correlationID: "c\(number)", line: line)
}

/// A server on loopback that takes connections.
private struct Server {
    let socket: Socket
    let address: CaptureAddress

    init(_ transport: String) throws {
        socket = try Socket.listen(on: try #require(SocketAddress(ip: "127.0.0.1", port: 0)))
        address = try CaptureAddress("\(transport):127.0.0.1:\(socket.localAddress.port)")
    }

    /// The connection, when the link has made it.
    func accept(_ loop: Loop) throws -> Socket {
        for _ in 0..<500 {
            if let found = socket.accept() { return found.socket }
            loop.turn(waitingUpTo: 10)
        }
        return try #require(nil, "no connection came")
    }
}

@Suite struct `Link to a capture server` {
    @Test func `keeps the newest packets while the server is away, and counts those that gave way`() throws {
        let loop = try Loop()
        let link = try CaptureLink(CaptureAddress("tcp:127.0.0.1:1"), caFile: "", loop: loop)
        for number in 0..<3000 { link.send(packet(number)) }
        #expect(link.sent == 0 && link.dropped == Int64(3000 - CaptureLink.mostWaiting))
        link.end()
        #expect(link.dropped == 3000)
    }

    /// More in a turn than a channel takes, and less.
    @Test(arguments: [13, 1000])
    func `sends what waited when the server is there, the oldest of them first`(length: Int) throws {
        let loop = try Loop()
        let server = try Server("tcp")
        let link = try CaptureLink(server.address, caFile: "", loop: loop)
        let line = String(repeating: "x", count: length)
        for number in 0..<2050 { link.send(packet(number, line: line)) }
        link.start()
        let connection = try server.accept(loop)
        var bytes: [UInt8] = []
        for _ in 0..<2000 where link.sent < 2048 || !bytes.suffix(5).elementsEqual(Array("c2049".utf8)) {
            loop.turn(waitingUpTo: 5)
            while case .bytes(let count) = connection.receive(into: loop.receiveBuffer) {
                bytes += UnsafeRawBufferPointer(rebasing: loop.receiveBuffer[..<count])
            }
        }
        #expect(link.sent == 2048 && link.dropped == 2)
        // The Call-ID is the last chunk.
        let packets = String(decoding: bytes, as: UTF8.self).split(separator: "HEP3")
        #expect(packets.count == 2048)
        #expect(packets.first?.hasSuffix("c2") == true && packets.last?.hasSuffix("c2049") == true)
        link.end()
    }

    @Test func `waits for nobody who reads nothing`() throws {
        let loop = try Loop()
        let server = try Server("tcp")
        let link = try CaptureLink(server.address, caFile: "", loop: loop)
        link.start()
        let connection = try server.accept(loop)
        let line = String(repeating: "x", count: 8000)
        for number in 0..<4500 {
            link.send(packet(number, line: line))
            if number % 100 == 0 { loop.turn(waitingUpTo: 0) }
        }
        for _ in 0..<100 { loop.turn(waitingUpTo: 0) }
        #expect(link.dropped > 0 && link.sent > 0)
        #expect(link.sent + link.dropped + Int64(CaptureLink.mostWaiting) >= 4500)
        connection.abort()
        link.end()
        #expect(link.sent + link.dropped == 4500)
    }

    @Test func `says once why it cannot connect, and goes on trying`() throws {
        let loop = try Loop()
        let server = try Server("tcp")
        server.socket.close()
        let link = try CaptureLink(server.address, caFile: "", loop: loop)
        var reasons: [String] = []
        link.onTrouble = { reasons.append($0) }
        link.start()
        let end = loop.now + 1000
        while loop.now < end { loop.turn(waitingUpTo: 50) }
        #expect(reasons.count == 1 && reasons.first?.hasPrefix("tcp:127.0.0.1:") == true)
        link.end()
    }
}
