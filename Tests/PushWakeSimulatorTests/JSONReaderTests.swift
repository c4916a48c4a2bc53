// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeSimulator

@Suite struct `JSON reader` {
    @Test(arguments: [
        #"{"a":[1,-2.5e3,true,false,null,"x"],"b":{}}"#, #"{}"#, "[]", #""text""#, #"{"ü":"€𝄞"}"#,
    ])
    func `reads back what it writes`(text: String) throws {
        let value = try JSONReader.read(Array(text.utf8))
        #expect(try JSONReader.read(JSONText.bytes(value)) == value)
    }

    @Test func `reads escapes and surrogate pairs`() throws {
        let value = try JSONReader.read(Array(#""\u0041\n\"\\\/\ud834\udd1e""#.utf8))
        #expect(value == .string("A\n\"\\/𝄞"))
    }

    @Test(arguments: [
        "", " ", "{", "}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, "[1,]", "01", "1.", "-", "1e", "tru", #""a"#, #""\x""#,
        #""\u12""#, "\"\u{1}\"", "{} {}", "nul", "[1 2]",
        String(repeating: "[", count: 65) + String(repeating: "]", count: 65),
    ])
    func `refuses what RFC 8259 does not allow`(text: String) {
        #expect(throws: JSONReader.Failure.self) { try JSONReader.read(Array(text.utf8)) }
        #expect(!JSONReader.isObject(Array(#"{"a":\#(text)"#.utf8)))
    }

    @Test(
        arguments: [
            [0x22, 0xC0, 0xAF, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xF5, 0x22], [0x22, 0xE2, 0x82],
        ] as [[UInt8]])
    func `refuses broken UTF-8`(bytes: [UInt8]) {
        #expect(throws: JSONReader.Failure.self) { try JSONReader.read(bytes) }
    }

    @Test(arguments: [
        ("{}", true), (#" {"a":{"b":[1,2,{"c":"\n"}]}} "#, true), ("[]", false), ("1", false), ("{}}", false),
    ])
    func `tells an object from other documents`(text: String, isObject: Bool) {
        #expect(JSONReader.isObject(Array(text.utf8)) == isObject)
    }
}
