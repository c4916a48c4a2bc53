// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct CallFailuresTests {
    @Test(
        arguments: [("0", "0", nil), ("1", "0", 5), ("2", "0", 2), ("7", "0", 7), ("0", "1", 1), ("7", "1", 1)]
            as [(String, String, Int?)])
    func `settings say how many failures take a binding`(calls: String, answers: String, threshold: Int?) throws {
        var settings = Settings()
        try settings.set(.removeOnCallfail, to: calls)
        try settings.set(.removeOnNoanswer, to: answers)
        #expect(CallFailures.threshold(settings) == threshold)
    }

    @Test func `failures count within eighteen hours, until the phone comes`() {
        var failures = CallFailures()
        var counts = [0, 3600, 18 * 3600].map { failures.add("t", now: $0) }
        #expect(counts == [1, 2, 3])
        counts = [failures.add("t", now: 18 * 3600 + 1), failures.add("u", now: 0)]
        #expect(counts == [1, 1])
        failures.forget("t")
        counts = [failures.add("t", now: 20 * 3600)]
        #expect(counts == [1])
    }

    @Test func `a flood of tokens fills no memory`() {
        var failures = CallFailures()
        for number in 0..<CallFailures.most { _ = failures.add("\(number)", now: 0) }
        let count = failures.add("0", now: 0)
        #expect(count == 1)
    }
}
