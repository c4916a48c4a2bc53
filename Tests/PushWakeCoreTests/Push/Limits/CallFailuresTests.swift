// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct CallFailuresTests {
    @Test(
        arguments: [
            ("0", "", nil), ("1", "", 5), ("2", "", 2), ("7", "pbx.example.com", 7), ("1", "pbx.example.com", 5),
            ("-1", "", 5), ("-1", "pbx.example.com", nil),
        ] as [(String, String, Int?)])
    func `settings say how many calls take the binding of a phone that does not come`(
        calls: String, servers: String, threshold: Int?
    ) throws {
        var settings = Settings()
        try settings.set(.removeOnCallfail, to: calls)
        try settings.set(.upperServers, to: servers)
        #expect(CallFailures.threshold(settings) == threshold)
    }

    @Test(
        arguments: [
            ("0", "", nil), ("1", "", 3), ("1", "pbx.example.com", 3), ("-1", "", 3), ("-1", "pbx.example.com", nil),
        ] as [(String, String, Int?)])
    func `settings say how many calls take the binding of a phone that comes and says nothing`(
        value: String, servers: String, threshold: Int?
    ) throws {
        var settings = Settings()
        try settings.set(.removeOnNoanswer, to: value)
        try settings.set(.upperServers, to: servers)
        #expect(CallFailures.silenceThreshold(settings) == threshold)
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
