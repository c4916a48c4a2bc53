// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

private let day: Int64 = 86_400
/// A second of a day in 2026.
private let evening: Int64 = 20_600 * day + 72_000

@Suite struct CallFailuresTests {
    @Test(
        arguments: [
            ("0", "", nil), ("1", "", 3), ("2", "", 3), ("3", "", 3), ("7", "pbx.example.com", 7),
            ("1", "pbx.example.com", 3), ("-1", "", 3), ("-1", "pbx.example.com", nil),
        ] as [(String, String, Int?)], [SettingKey.removeOnCallfail, .removeOnNoanswer])
    func `settings say on how many days calls fail before a binding goes`(
        row: (String, String, Int?), key: SettingKey
    ) throws {
        let (value, servers, days) = row
        var settings = Settings()
        try settings.set(key, to: value)
        try settings.set(.upperServers, to: servers)
        #expect(CallFailures.days(key, settings) == days)
    }

    private func phone(_ aor: String = "alice", registeredAt: Int64 = 0) -> Binding {
        var binding = Samples.android
        (binding.aor, binding.registeredAt) = (aor, registeredAt)
        return binding
    }

    @Test(
        arguments: [
            // Seconds after an evening, and on how many days calls have failed then.
            ([0, 10, 20, 30, 40, 50, 210], 1),
            ([0, 3600, 4 * 3600 - 1], 1),
            ([0, 4 * 3600, 28 * 3600 - 1], 2),
            ([0, day, day + 60, 2 * day], 3),
            ([0, 9 * day, 20 * day], 3),
        ] as [([Int64], Int)])
    func `days count, and not calls`(times: [Int64], days: Int) {
        var failures = CallFailures(endsWithRegister: true)
        var count = 0
        for time in times { count = failures.add(phone(), now: evening + time) }
        #expect(count == days)
    }

    @Test func `a phone that has registered since begins anew`() {
        var failures = CallFailures(endsWithRegister: true)
        expectEqual(failures.add(phone(), now: evening), 1)
        expectEqual(failures.add(phone(), now: evening + day), 2)
        expectEqual(failures.add(phone(registeredAt: evening + day + 1), now: evening + 2 * day), 1)
    }

    @Test func `one that registers for each call and says nothing does not`() {
        var failures = CallFailures(endsWithRegister: false)
        for number in 0..<3 as Range<Int64> {
            let now = evening + number * day
            expectEqual(failures.add(phone(registeredAt: now - 1), now: now), Int(number) + 1)
        }
        failures.succeed(phone(), now: evening + 3 * day)
        expectEqual(failures.add(phone(), now: evening + 4 * day), 1)
    }

    @Test func `a stranger's calls with somebody's token are his own`() {
        var failures = CallFailures(endsWithRegister: true)
        for number in 0..<9 as Range<Int64> { _ = failures.add(phone("mallory"), now: evening + number * day) }
        expectEqual(failures.add(phone("alice"), now: evening + 9 * day), 1)
    }

    @Test func `nobody's phone is taken for gone while none comes`() {
        var failures = CallFailures(endsWithRegister: true)
        failures.succeed(phone("bob"), now: evening - 1)
        for number in 0..<3 as Range<Int64> { _ = failures.add(phone(), now: evening + number * day) }
        #expect(!failures.othersCome(besides: phone()))
        var apple = Samples.voip
        apple.aor = "carol"
        failures.succeed(apple, now: evening + 10)
        #expect(!failures.othersCome(besides: phone()))
        failures.succeed(phone("bob"), now: evening + 10)
        #expect(failures.othersCome(besides: phone()))
    }

    @Test func `a clock that is put back makes no days`() {
        var failures = CallFailures(endsWithRegister: true)
        for _ in 0..<9 {
            _ = failures.add(phone(), now: evening)
            expectEqual(failures.add(phone(), now: evening - 9 * day), 1)
        }
    }

    @Test func `a flood of tokens fills no memory`() {
        var failures = CallFailures(endsWithRegister: true)
        _ = failures.add(phone("first"), now: evening)
        for number in 0..<CallFailures.most { _ = failures.add(phone("\(number)"), now: evening) }
        expectEqual(failures.add(phone("first"), now: evening + day), 1)
    }
}
