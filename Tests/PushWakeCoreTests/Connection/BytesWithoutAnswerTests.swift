// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `Bytes without an answer` {
    private let most = UInt64(BytesWithoutAnswer.allowance + BytesWithoutAnswer.perRequest)

    @Test func `are too many past the allowance, which grows with the requests that wait`() {
        var bytes = BytesWithoutAnswer(now: 0)
        expectEqual(bytes.areTooMany(most, answers: 0, open: 1, now: 0), false)
        expectEqual(bytes.areTooMany(most + 1, answers: 0, open: 1, now: 0), true)
        expectEqual(bytes.areTooMany(most + 1, answers: 0, open: 2, now: 0), false)
    }

    @Test func `are forgotten with an answer`() {
        var bytes = BytesWithoutAnswer(now: 0)
        for answer in 1...100 {
            let isTooMany = bytes.areTooMany(UInt64(answer) * most, answers: answer, open: 1, now: 0)
            #expect(!isTooMany)
        }
        expectEqual(bytes.areTooMany(101 * most + 1, answers: 100, open: 1, now: 0), true)
    }

    /// PINGs on an idle connection, for weeks; and a trickle that is one too many.
    @Test func `are forgotten with time`() {
        var bytes = BytesWithoutAnswer(now: 0)
        for second in 1...100_000 {
            let received = UInt64(second) * UInt64(BytesWithoutAnswer.perSecond)
            let isTooMany = bytes.areTooMany(received, answers: 0, open: 0, now: Int64(second) * 1000)
            #expect(!isTooMany)
        }
        var trickle = BytesWithoutAnswer(now: 0)
        let ends = (1...1000).first { second in
            trickle.areTooMany(
                UInt64(second) * UInt64(BytesWithoutAnswer.perSecond) * 2, answers: 0, open: 0,
                now: Int64(second) * 1000)
        }
        #expect(ends == 32)
    }

    @Test func `survive any numbers`() {
        var bytes = BytesWithoutAnswer(now: .max)
        for received: UInt64 in [0, .max, 1, .max] {
            for now: Int64 in [.min, 0, .max] {
                _ = bytes.areTooMany(received, answers: .max, open: .max, now: now)
                _ = bytes.areTooMany(received, answers: .min, open: .min, now: now)
            }
        }
    }
}
