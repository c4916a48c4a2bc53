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
        let deep = String(repeating: "[", count: 2049) + String(repeating: "]", count: 2049)
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(deep) }
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse([0x22, 0xFF, 0x22]) }
    }

    @Test(arguments: [
        "", " ", "{", "}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, "[1,]", "01", "1.", "-", "1e", "tru", #""a"#, #""\x""#,
        #""\u12""#, "\"\u{1}\"", "{} {}", "nul", "[1 2]", #"{"a":1,"a":1}"#, #""\ud834""#,
    ])
    func `refuses what RFC 8259 does not allow, and what readers disagree about`(text: String) {
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(text) }
        #expect(!JSONParser.isObject(Array(#"{"a":\#(text)"#.utf8)))
    }

    @Test(
        arguments: [
            [0x22, 0xC0, 0xAF, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xF5, 0x22], [0x22, 0xE2, 0x82],
        ] as [[UInt8]])
    func `refuses broken UTF-8`(bytes: [UInt8]) {
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(bytes) }
    }

    @Test func `reads escapes and surrogate pairs`() throws {
        #expect(try JSONParser.parse(#""\u0041\n\"\\\/\ud834\udd1e""#) == .string("A\n\"\\/𝄞"))
    }

    @Test(arguments: [
        ("{}", true), (#" {"a":{"b":[1,2,{"c":"\n"}]}} "#, true), ("[]", false), ("1", false), ("{}}", false),
        (#"{"a":99999999999999999999}"#, true), ("", false),
    ])
    func `tells an object from other documents`(text: String, isObject: Bool) {
        #expect(JSONParser.isObject(Array(text.utf8)) == isObject)
    }

    @Test(arguments: [
        (#"{"a":1} x"#, 0, 7), (#"{"a":12,"b":2}"#, 5, 7), (#"["x" ,2]"#, 1, 4), ("true,", 0, 4), ("]", 0, nil),
        ("", 0, nil),
        ("1", 7, nil),
    ])
    func `says where a value within a text ends`(text: String, start: Int, end: Int?) {
        #expect(JSONParser.end(ofValueAt: start, in: Array(text.utf8)) == end)
    }
}
