// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// A chunk as the document has it: vendor, type, length with these six bytes, content.
private struct Chunk: Equatable {
    let vendor: Int
    let type: Int
    let content: [UInt8]

    /// Reads all chunks; nil when a length does not fit.
    static func all(_ packet: [UInt8]) -> [Chunk]? {
        guard packet.starts(with: Array("HEP3".utf8)), packet.count >= 6, number(packet[4..<6]) == packet.count else {
            return nil
        }
        var rest = packet[6...]
        var chunks: [Chunk] = []
        while !rest.isEmpty {
            let head = rest.prefix(6)
            guard head.count == 6 else { return nil }
            let start = head.startIndex
            let length = number(head[(start + 4)...])
            guard length >= 6, length <= rest.count else { return nil }
            chunks.append(
                Chunk(
                    vendor: number(head[start..<start + 2]), type: number(head[start + 2..<start + 4]),
                    content: Array(rest.prefix(length).dropFirst(6))))
            rest = rest.dropFirst(length)
        }
        return chunks
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
}

private let four = HEPPacket.End(host: [192, 0, 2, 1], port: 40_000)
private let fourServer = HEPPacket.End(host: [192, 0, 2, 9], port: 9060)
private let six = HEPPacket.End(host: Array(repeating: 0, count: 15) + [1], port: 40_000)

private func packet(id: String = "call@pbx", line: String = "phone 1 rings", json: [UInt8] = []) -> HEPPacket {
    HEPPacket(time: 1_700_000_000_123_456, agent: 2599, correlationID: id, line: line, json: json)
}

@Suite struct `HEP packet` {
    @Test func `has the chunks of a log line in the order of siptrace`() throws {
        let bytes = packet().bytes(from: four, to: fourServer, isUDP: true)
        let chunks = try #require(Chunk.all(bytes))
        #expect(chunks.map(\.type) == [1, 2, 7, 8, 9, 10, 11, 12, 3, 4, 15, 17])
        #expect(chunks.allSatisfy { $0.vendor == 0 })
        #expect(
            chunks.map(\.content) == [
                [2], [17], [0x9C, 0x40], [0x23, 0x64], [0x65, 0x53, 0xF1, 0x00], [0, 1, 0xE2, 0x40], [100],
                [0, 0, 0x0A, 0x27], [192, 0, 2, 1], [192, 0, 2, 9], Array("phone 1 rings".utf8), Array("call@pbx".utf8),
            ])
    }

    @Test func `names TCP and IPv6 ends`() throws {
        let chunks = try #require(Chunk.all(packet().bytes(from: six, to: six, isUDP: false)))
        #expect(chunks.map(\.type) == [1, 2, 7, 8, 9, 10, 11, 12, 5, 6, 15, 17])
        #expect(chunks[0].content == [10] && chunks[1].content == [6] && chunks[8].content == six.host)
    }

    @Test func `carries JSON under a vendor and a type of its own`() throws {
        let chunks = try #require(
            Chunk.all(packet(json: Array("{}".utf8)).bytes(from: four, to: fourServer, isUDP: true)))
        #expect(chunks.last == Chunk(vendor: 0x5057, type: 0x4A53, content: Array("{}".utf8)))
        // A reader that looks at types alone must take it for none of those that there are.
        #expect(HEPPacket.jsonType > 0x0100)
    }

    @Test func `fits a datagram whatever it is about`() throws {
        let long = String(repeating: "ä", count: 40_000)
        let packet = packet(id: long, line: long, json: Array(repeating: 0x20, count: 32_768))
        let bytes = packet.bytes(from: four, to: fourServer, isUDP: true)
        let chunks = try #require(Chunk.all(bytes))
        #expect(bytes.count <= 65_507)
        #expect(chunks[10].content.count == 8192 && chunks[11].content.count == 1024)
        for chunk in chunks[10...11] { #expect(String(validating: chunk.content, as: UTF8.self) != nil) }
    }

    @Test func `leaves out JSON that is too long, and an empty Call-ID`() throws {
        let packet = packet(id: "", json: Array(repeating: 0x20, count: 32_769))
        let chunks = try #require(Chunk.all(packet.bytes(from: four, to: fourServer, isUDP: true)))
        #expect(chunks.map(\.type) == [1, 2, 7, 8, 9, 10, 11, 12, 3, 4, 15])
    }

    @Test(arguments: [1, 2, 3]) func `cuts a text between characters`(_ width: Int) throws {
        let text = String(repeating: "x", count: width) + String(repeating: "€", count: 3000)
        let chunks = try #require(Chunk.all(packet(line: text).bytes(from: four, to: fourServer, isUDP: true)))
        let line = try #require(String(validating: chunks[10].content, as: UTF8.self))
        #expect(text.hasPrefix(line) && line.utf8.count > 8189)
    }

    @Test(arguments: [Int64.min, -1, 0, .max]) func `survives a clock that is wrong`(_ time: Int64) {
        var packet = packet()
        packet.time = time
        #expect(Chunk.all(packet.bytes(from: four, to: six, isUDP: true)) != nil)
    }
}

@Suite struct `The clock of a capture` {
    @Test func `keeps the order of steps whatever comes between two readings`() {
        var clock = CaptureClock()
        let first = clock.offset(wall: 1_790_000_000_000_000, monotonic: 5_000_000)
        #expect(first == 1_789_999_995_000_000)
        #expect(clock.offset(wall: 1_790_000_000_010_000, monotonic: 5_010_072) == first)
        #expect(clock.offset(wall: 1_790_000_000_030_900, monotonic: 5_030_000) == first)
    }

    @Test func `follows a clock that is set`() {
        var clock = CaptureClock()
        _ = clock.offset(wall: 1_790_000_000_000_000, monotonic: 5_000_000)
        #expect(clock.offset(wall: 1_790_000_003_000_000, monotonic: 6_000_000) == 1_789_999_997_000_000)
        #expect(clock.offset(wall: 12, monotonic: 7_000_000) == -6_999_988)
    }
}
