// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeSimulator
@testable import PushWakeTransport

/// Takes every request and says the same.
private final class SameAnswer: RequestValidator {
    var isFCM: Bool { false }

    func validate(_ request: ReceivedRequest, stream: Int32) -> Reaction {
        Reaction(
            answer: ProviderAnswer(status: 200, headers: [.init("apns-id", "1-2-3")], body: Array("{}".utf8)))
    }
    func answerLeaves(_ reaction: Reaction) {}
    func later(_ milliseconds: Int64, _ action: @escaping () -> Void) {}
    func postpone(_ effect: FaultRule.Effect) {}
    func count(_ change: (inout SimulatorCounters) -> Void) {}
}

@Suite struct `A hostile peer` {
    /// Both ends in memory, one request each way; gives the bytes that the server sent.
    func answerBytes() throws -> [UInt8] {
        let client = try HTTP2ClientSession(limits: HTTPAnswerLimits(), streamCap: 100)
        let validator = SameAnswer()
        let server = try #require(HTTP2Conversation(validator: validator, maxStreams: 1000))
        defer { withExtendedLifetime(validator) {} }
        var exchanges: [HTTPExchange] = []
        var sent: [UInt8] = []
        func pump() throws {
            for _ in 0..<4 {
                try feed(gather { client.gather(into: $0, position: 0) }) { server.receive($0) }
                let bytes = try gather { server.gather(into: $0) }
                sent += bytes
                feed(bytes) { client.receive($0) }
            }
        }
        try pump()
        for number in 0..<8 {
            let exchange = ReadyExchange(makeRequest("/\(number)"), deadline: .max) { _ in }
            exchanges.append(exchange)
            #expect(try client.submit(exchange, now: 0) > 0)
        }
        try pump()
        #expect(exchanges.allSatisfy { $0.end == .answered })
        return sent
    }

    func gather(_ fill: (UnsafeMutableRawBufferPointer) -> Int?) throws -> [UInt8] {
        var all: [UInt8] = []
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 1)
        defer { buffer.deallocate() }
        while let count = fill(buffer), count > 0, all.count < 1 << 20 { all += buffer[..<count] }
        return all
    }

    @discardableResult
    func feed(_ bytes: [UInt8], _ take: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        bytes.withUnsafeBytes { $0.isEmpty || take($0) }
    }

    @Test func `ends every request, whatever frames it sends`() throws {
        let good = try answerBytes()
        var random = SplitMix(7)
        for _ in 0..<3000 {
            let client = try HTTP2ClientSession(limits: HTTPAnswerLimits(), streamCap: 100)
            let exchanges = (0..<8).map { ReadyExchange(makeRequest("/\($0)"), deadline: .max) { _ in } }
            for exchange in exchanges { _ = try client.submit(exchange, now: 0) }
            _ = try gather { client.gather(into: $0, position: 10) }
            var bytes = good
            for _ in 0..<Int.random(in: 1...8, using: &random) where bytes.count > 1 {
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: Int.random(in: 0..<bytes.count, using: &random))
                case 2:
                    bytes.insert(
                        UInt8.random(in: 0...255, using: &random), at: Int.random(in: 0..<bytes.count, using: &random))
                default: bytes = Array(bytes.prefix(Int.random(in: 1...bytes.count, using: &random)))
                }
            }
            var offset = 0
            while offset < bytes.count {
                let end = min(bytes.count, offset + Int.random(in: 1...200, using: &random))
                guard feed(Array(bytes[offset..<end]), { client.receive($0) }) else { break }
                _ = try gather { client.gather(into: $0, position: 20) }
                offset = end
            }
            client.connectionLost("over", sent: 1000)
            let ended = client.takeEnded()
            #expect(Set(ended.map(ObjectIdentifier.init)).count == ended.count)
            #expect(exchanges.allSatisfy { $0.end != nil })
            #expect(client.open.isEmpty)
        }
    }

    @Test func `that refuses a request before its body has left, and goes, has answered it`() throws {
        let client = try HTTP2ClientSession(limits: HTTPAnswerLimits(), streamCap: 100)
        // More than a server takes at first.
        let body = String(repeating: "x", count: 100_000)
        let exchanges = ["/refused", "/unsent"].map {
            ReadyExchange(makeRequest($0, body: body), deadline: .max) { _ in }
        }
        for exchange in exchanges { _ = try client.submit(exchange, now: 0) }
        _ = try gather { client.gather(into: $0, position: 10) }
        #expect(exchanges.map(\.isBodyUnsent) == [true, true])
        // SETTINGS; HEADERS with :status 403, which end stream 1.
        let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
        let headers: [UInt8] = [0, 0, 5, 1, 5, 0, 0, 0, 1, 0x08, 3] + Array("403".utf8)
        #expect(feed(settings + headers) { client.receive($0) })
        client.connectionLost("over", sent: 1_000_000)
        #expect(client.takeEnded().count == 2)
        #expect(exchanges.map(\.end) == [.answered, .notProcessed])
        #expect(exchanges[0].response.status == 403)
    }

    /// RST_STREAM with REFUSED_STREAM, and GOAWAY with a last stream of 0: both say that nothing was processed.
    @Test(arguments: [
        [0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 7] as [UInt8], [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ])
    func `that has begun an answer has processed the request`(refusal: [UInt8]) throws {
        let client = try HTTP2ClientSession(limits: HTTPAnswerLimits(), streamCap: 100)
        let exchange = ReadyExchange(makeRequest("/"), deadline: .max) { _ in }
        _ = try client.submit(exchange, now: 0)
        _ = try gather { client.gather(into: $0, position: 10) }
        // SETTINGS; HEADERS with :status 200 on stream 1, which stays open.
        let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
        let headers: [UInt8] = [0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88]
        #expect(feed(settings + headers + refusal) { client.receive($0) })
        _ = try gather { client.gather(into: $0, position: 20) }
        #expect(client.takeEnded().count == 1)
        #expect(exchange.end == .broken("stream ended: REFUSED_STREAM"))
    }

    /// Three digits that no status begins with (RFC 9110, 15), which HTTP/1.1 takes for no answer either.
    @Test func `that answers with an impossible status has answered nothing, and goes on`() throws {
        let client = try HTTP2ClientSession(limits: HTTPAnswerLimits(), streamCap: 100)
        let exchanges = ["/impossible", "/good"].map { ReadyExchange(makeRequest($0), deadline: .max) { _ in } }
        for exchange in exchanges { _ = try client.submit(exchange, now: 0) }
        _ = try gather { client.gather(into: $0, position: 10) }
        // SETTINGS; HEADERS with :status 019 on stream 1 and 200 on stream 3.
        let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
        let impossible: [UInt8] = [0, 0, 5, 1, 5, 0, 0, 0, 1, 0x08, 3] + Array("019".utf8)
        let good: [UInt8] = [0, 0, 1, 1, 5, 0, 0, 0, 3, 0x88]
        #expect(feed(settings + impossible + good) { client.receive($0) })
        _ = try gather { client.gather(into: $0, position: 20) }
        #expect(exchanges.map(\.end) == [.broken("stream ended: INTERNAL_ERROR"), .answered])
        #expect(exchanges.map(\.response.status) == [0, 200])
    }

    /// RFC 9112, 9.6: nothing is sent behind such an answer, however the option is written.
    @Test(arguments: [
        ("Connection: close", true), ("connection: Keep-Alive, Close", true),
        ("Connection: te\r\nConnection: close", true), ("Connection: keep-alive", false), ("X: close", false),
    ])
    func `that closes an HTTP/1.1 connection gets no other request`(line: String, isOver: Bool) throws {
        let client = HTTP1ClientSession(limits: HTTPAnswerLimits(keptHeaders: []))
        let exchange = ReadyExchange(makeRequest("/"), deadline: .max) { _ in }
        #expect(try client.submit(exchange, now: 0) > 0)
        _ = try gather { client.gather(into: $0, position: 0) }
        #expect(feed(Array("HTTP/1.1 200 OK\r\n\(line)\r\ncontent-length: 0\r\n\r\n".utf8)) { client.receive($0) })
        #expect(exchange.end == .answered)
        #expect((client.freeStreams == 0) == isOver)
    }

    @Test func `cannot break the HTTP/1.1 reader`() {
        let seeds = [
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            "POST /x HTTP/1.1\r\nhost: a\r\nContent-Length: 2\r\n\r\n{}",
        ]
        var random = SplitMix(11)
        var messages = 0
        for round in 0..<20_000 {
            var bytes = Array(seeds[round % seeds.count].utf8)
            for _ in 0..<Int.random(in: 0...5, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            var parser = HTTP1Parser(isClient: round % seeds.count != 2, bodyLimit: 100, headLimit: 200)
            let cut = Int.random(in: 0...bytes.count, using: &random)
            for piece in [Array(bytes[..<cut]), Array(bytes[cut...])] {
                piece.withUnsafeBytes { parser.append($0) }
                while let message = try? parser.next() {
                    #expect(message.body.count <= 100)
                    messages += 1
                }
            }
            _ = parser.end()
        }
        #expect(messages > 1000)
    }
}
