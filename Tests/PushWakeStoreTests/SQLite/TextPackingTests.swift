// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeStore

@Suite struct `Packed text` {
    @Test(arguments: [
        ("", 0), ("alice", 5), (String(repeating: "0123456789abcdef", count: 4), 34),
        (String(repeating: "0123456789ABCDEF", count: 4), 34), ("f81d4fae-7dec-11d0-a765-00a0c91e6bf6", 17),
        ("F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6", 17), ("<urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6>", 19),
        ("f81d4fae-7dec-11d0-A765-00a0c91e6bf6", 29), ("dGhpcyBpcyBhIHRva2Vu", 17), ("deadbee", 7), ("deadbeef", 6),
        ("deadbeef0", 7), (String(repeating: "f", count: 511), 258), (String(repeating: "Z", count: 256), 195),
        ("\u{0}", 2), ("\u{1f}\u{7f}", 3), ("sip:sip:sips:", 3), ("sip", 3), ("🐘", 4),
    ])
    func `has its length and comes back`(text: String, length: Int) {
        let packing = TextPacking()
        let packed = packing.pack(text)
        #expect(packed.count == length)
        #expect(packing.unpack(packed.span).map { Array($0.utf8) } == Array(text.utf8))
    }

    @Test func `names what other columns hold`() {
        let packing = TextPacking(references: ["aToken", "com.example", "", "al", "alice"])
        let contact = "sip:alice@h;pn-provider=apns;pn-param=TEAM.com.example.voip;pn-prid=aToken"
        let packed = packing.pack(contact)
        #expect(packed.count == 15)
        #expect(packing.unpack(packed.span) == contact)
        #expect(TextPacking().unpack(packed.span) == nil)
    }

    @Test(
        arguments: [
            [0], [1], [1, 2, 0], [2, 255], [3, 0, 0], [5], [5, 12, 1, 2], [6], [10], [0x80], [0xC3], [0x41, 0xFF],
        ] as [[UInt8]])
    func `refuses damaged bytes`(bytes: [UInt8]) {
        #expect(TextPacking().unpack(bytes.span) == nil)
    }

    @Test func `comes back whatever it is made of`() {
        let pieces = [
            "a", "0", "f", "F", "Z", "-", "_", ":", "\u{0}", "\u{5}", "é", "deadbeef", "DEADBEEF", "aToken", "sip:",
            "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", ";pn-prid=", String(repeating: "9", count: 255),
        ]
        let packing = TextPacking(references: ["aToken", "deadbeefdead", "é0"])
        var random = SampleBindings(kind: .apns)
        for _ in 0..<5000 {
            let text = (0..<random.number(below: 12)).map { _ in pieces[random.number(below: pieces.count)] }.joined()
            #expect(packing.unpack(packing.pack(text).span).map { Array($0.utf8) } == Array(text.utf8))
        }
    }

    @Test func `never traps on random bytes`() {
        let packing = TextPacking(references: ["aToken"])
        var random = SampleBindings(kind: .fcm)
        var readable = 0
        for _ in 0..<20_000 {
            let bytes = (0..<random.number(below: 24)).map { _ in UInt8(random.number(below: 256)) }
            readable += packing.unpack(bytes.span) == nil ? 0 : 1
            readable += BindingExtra(reading: bytes) == nil ? 0 : 1
        }
        #expect(readable > 0)
    }
}
