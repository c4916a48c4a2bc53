// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeTransport

@Suite struct `JSON parser` {
    @Test func `keeps the order of members and all kinds of values`() throws {
        let value = try JSONParser.parse(#"{"b":[1,-2.5,true,null],"a":{"x":"é\u0000\n"},"c":false}"#)
        #expect(
            value
                == .object([
                    .init("b", .array([.integer(1), .number(-2.5), .bool(true), .null])),
                    .init("a", .object([.init("x", .string("é\0\n"))])), .init("c", .bool(false)),
                ]))
    }

    @Test func `reads what stands beside an integer that is too large`() throws {
        let value = try JSONParser.parse(#"{"reason":"BadDeviceToken","timestamp":99999999999999999999,"code":410}"#)
        #expect(value["reason"]?.string == "BadDeviceToken")
        #expect(value["code"]?.integer == 410)
        #expect(value["timestamp"]?.integer == nil)
    }

    @Test(arguments: ["42", "\"text\"", "null", " [] "])
    func `reads any value at the top`(text: String) throws {
        _ = try JSONParser.parse(text)
    }

    @Test(arguments: [
        ("", 1), ("{", 1), ("{\"a\":1,}", 1), ("{\n\"a\": 1\n\"b\": 2}", 3), ("{} x", 1), ("{\"a\":1,\"a\":2}", 1),
        ("nul", 1),
    ])
    func `says where a text goes wrong`(text: String, line: Int) {
        #expect {
            try JSONParser.parse(text)
        } throws: {
            ($0 as? JSONParser.Failure)?.line == line
        }
    }

    @Test func `refuses what is too long, too deep or not UTF-8`() {
        #expect(throws: JSONParser.Failure.self) {
            try JSONParser.parse([UInt8](repeating: 0x20, count: 100), limit: 99)
        }
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse([UInt8](repeating: 0x5B, count: 100_000)) }
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse([0x22, 0xFF, 0x22]) }
    }
}
