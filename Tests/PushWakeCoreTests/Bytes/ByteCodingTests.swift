// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `Byte coding` {
    @Test(arguments: [
        ("secret", "secret", true), ("secret", "secreT", false), ("secre", "secret", false), ("", "x", false),
        ("", "", true),
    ])
    func `a secret is that one alone`(a: String, b: String, areEqual: Bool) {
        #expect(ConstantTime.areEqual(Array(a.utf8), Array(b.utf8)) == areEqual)
    }

    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("foobar", "Zm9vYmFy"),
    ])
    func `base64url is that of RFC 4648 without padding`(plain: String, coded: String) {
        #expect(Base64URL.encode(Array(plain.utf8)) == coded)
        #expect(Base64URL.decode(coded) == Array(plain.utf8))
    }

    @Test func `base64url reads a VAPID key and every byte comes back`() {
        let key = "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
        let bytes = Base64URL.decode(key)
        #expect(bytes?.count == 65 && bytes?.first == 4)
        #expect(bytes.map(Base64URL.encode) == key)
        let all = (0...255).map { UInt8($0) }
        #expect(Base64URL.decode(Base64URL.encode(all)) == all)
        #expect(Base64URL.decode("Zm8=") == Array("fo".utf8))
    }

    @Test(arguments: ["Z", "Zm9vY", "Zm+v", "Zm/v", "Zm 9", "Zh", "=", "Zg=", "Zg===", "Z=g=", "Zm9\u{0}"])
    func `base64url refuses what nothing encodes to`(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test(arguments: ["", "alice", "j\u{F6}rg", "\u{1F4DE}"])
    func `UTF-8 is text and goes behind what is there`(text: String) {
        var out: [UInt8] = [0x3E]
        text.utf8.span.append(to: &out)
        #expect(out == [0x3E] + Array(text.utf8))
        let isText = text.utf8.span.isText
        #expect(isText)
    }

    @Test(arguments: [[0xFF], [0x6A, 0xF6, 0x72, 0x67], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80]] as [[UInt8]])
    func `what is no UTF-8 is no text`(bytes: [UInt8]) {
        let isText = bytes.span.isText
        #expect(!isText)
    }

    @Test func `hex goes both ways and refuses the rest`() {
        #expect(Hex.encode([0x00, 0xfc, 0x13]) == "00fc13")
        #expect(Hex.decode("00FC13") == [0x00, 0xfc, 0x13])
        for text in ["0", "0g", "g0", " 0", "0x", "é"] { #expect(Hex.decode(text) == nil) }
    }

    @Test(arguments: [
        ("plain", "plain"), ("a%3Ab", "a:b"), ("%253D", "%3D"), ("%41%42", "AB"), ("caf%C3%A9", "café"), ("", ""),
    ])
    func `percent escapes are resolved once`(raw: String, text: String) throws {
        #expect(try PercentDecoding.decode(raw.utf8.span) == text)
    }

    @Test(arguments: [
        ("%G1", PercentDecoding.Failure.escape), ("x%0", .escape), ("%", .escape), ("%4", .escape), ("%%41", .escape),
        ("%00", .control), ("a%0D%0Ab", .control), ("a\u{0}", .control), ("a\u{7F}", .control), ("%C3", .encoding),
        ("%FF%FE", .encoding),
    ])
    func `percent escapes that make no text are refused`(raw: String, failure: PercentDecoding.Failure) {
        #expect(throws: failure) { try PercentDecoding.decode(raw.utf8.span) }
    }

    @Test func `numbers saturate and take digits only`() {
        #expect("0".utf8.span.decimal() == 0)
        #expect("4294967295".utf8.span.decimal() == .max)
        #expect("99999999999999999999999999".utf8.span.decimal() == .max)
        for text in ["", "-1", "+1", "1 ", "1.0", "0x1"] { #expect(text.utf8.span.decimal() == nil) }
    }

    @Test func `a cursor stays within its range whatever the range says`() {
        let bytes = Array("abc".utf8)
        var wide = Cursor(bytes.span, in: -5..<99)
        #expect(wide.skip { _ in true } == 0..<3)
        var past = Cursor(bytes.span, in: 7..<9)
        #expect(past.isAtEnd && past.peek() == nil && past.skip(to: 0x61).isEmpty)
    }
}

@Suite struct `JSON writer` {
    @Test func `puts commas where they belong`() {
        var writer = JSONWriter()
        writer.object { object in
            object.name("a")
            object.array { array in
                array.integer(-1)
                array.object { _ in }
                array.array { _ in }
                array.null()
            }
            object.name("b")
            object.bool(true)
        }
        #expect(String(decoding: writer.bytes, as: UTF8.self) == #"{"a":[-1,{},[],null],"b":true}"#)
    }

    @Test func `escapes what JSON reserves and mends what is no UTF-8`() {
        var writer = JSONWriter()
        let raw: [UInt8] = [0x22, 0x5C, 0x0A, 0x00, 0x7F, 0x2F, 0xFF, 0xC3, 0xA9]
        writer.string(raw.span)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == #""\"\\\u000a\u0000\u007f/"# + "\u{FFFD}é\"")
    }
}
