// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `A PURR` {
    @Test func `is read as it was written`() throws {
        let purr = PURR(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210)
        #expect(purr.text == "0123456789abcdeffedcba9876543210")
        #expect(PURR(purr.text) == purr)
        #expect(PURR(purr.text.uppercased()) == purr)
        #expect(PURR(bytes: purr.bytes) == purr)
        #expect(PURR(high: 0, low: 0).text == String(repeating: "0", count: 32))
    }

    @Test(arguments: [
        "", "0", "0123456789abcdeffedcba987654321", "0123456789abcdeffedcba98765432100",
        "0123456789abcdefFEDCBA987654321g",
        " 123456789abcdeffedcba9876543210", "0123456789abcdeffedcba98765432\u{0}0", "é123456789abcdeffedcba987654321",
        String(repeating: "0", count: 100_000),
    ])
    func `is nothing else`(text: String) {
        #expect(PURR(text) == nil)
    }

    @Test func `has bits that are all drawn`() {
        var system = SystemRandomNumberGenerator()
        let purrs = (0..<200).map { _ in PURR(using: &system) }
        #expect(Set(purrs).count == 200)
        let everySet = purrs.reduce(into: (UInt64(0), UInt64(0))) { $0 = ($0.0 | $1.high, $0.1 | $1.low) }
        #expect(everySet == (.max, .max))
    }

    @Test func `can stand in Feature-Caps`() {
        let caps = FeatureCaps(provider: "apns", purr: PURR(high: 1, low: 2).text)
        #expect(
            caps.line == "Feature-Caps: *;+sip.pns=\"apns\";+sip.pnspurr=\"00000000000000010000000000000002\"\r\n")
    }
}
