// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeClient

@Suite struct `Engine protocol` {
    @Test func `carries text, bytes and numbers unchanged`() throws {
        var writer = MessageWriter()
        writer.begin(.wake, id: 0xDEAD_BEEF)
        writer.put(.aor, "älice@example.com")
        writer.put(.text, [0, 255, 10])
        writer.put(.seconds, Int64.min)
        writer.put(.cseq, Int64(7))
        var reader = try #require(MessageReader(writer.bytes))
        #expect(reader.kind == .wake)
        #expect(reader.id == 0xDEAD_BEEF)
        var seen: [String] = []
        while let field = reader.next() {
            switch field.tag {
            case .aor: seen.append(reader.text(field))
            case .text: seen.append("\(Array(reader.bytes[field.range]))")
            default: seen.append(String(reader.number(field)))
            }
        }
        #expect(seen == ["älice@example.com", "[0, 255, 10]", String(Int64.min), "7"])
    }

    @Test func `refuses a message that is too long instead of cutting it`() {
        var writer = MessageWriter()
        writer.begin(.register, id: 1)
        writer.put(.headerValue, [UInt8](repeating: 65, count: EngineProtocol.longestMessage))
        let (isOverfull, count) = (writer.isOverfull, writer.bytes.count)
        #expect(isOverfull)
        #expect(count == EngineProtocol.headerLength)
        writer.begin(.register, id: 2)
        let isOverfullAgain = writer.isOverfull
        #expect(!isOverfullAgain)
    }

    @Test(arguments: [[UInt8](), [1], [1, 1, 0, 0, 0], [2, 1, 0, 0, 0, 0], [1, 200, 0, 0, 0, 0]])
    func `knows what is not a message of this version`(bytes: [UInt8]) {
        #expect(MessageReader(bytes) == nil)
    }

    @Test func `ends at a length that reaches past the message`() throws {
        var reader = try #require(MessageReader([1, 1, 0, 0, 0, 0, 1, 255, 255, 255, 255, 65]))
        #expect(reader.next() == nil)
        #expect(reader.next() == nil)
    }

    @Test func `survives any bytes`() {
        var random = SplitMix(42)
        for _ in 0..<20_000 {
            var bytes = (0..<Int(random.next() % 80)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            if bytes.count > 1 { (bytes[0], bytes[1]) = (1, UInt8(1 + random.next() % 8)) }
            guard var reader = MessageReader(bytes) else { continue }
            var total = 0
            while let field = reader.next() {
                _ = reader.number(field)
                total += reader.text(field).utf8.count
            }
            #expect(total <= bytes.count * 3)
            _ = WakeMessage(decoding: reader)
            _ = RequestDeadline(decoding: reader).isPast(at: 0)
            _ = PushResult(decoding: reader)
            _ = EngineClient.rows(of: reader)
        }
    }
}
