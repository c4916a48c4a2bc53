// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `An upstream registration whose clock was wrong` {
    private static let interval: Int64 = 3_600_000

    private func machine(
        until: Int64?, credential: DigestAlgorithm? = .md5, seed: UInt64 = 1
    ) -> UpstreamRegistration {
        var machine = UpstreamRegistration(UpstreamPolicy(), cseq: 40, seed: seed)
        machine.restore(
            until: until, interval: Self.interval, credential: credential,
            devices: [(UpstreamDevice(fingerprint: 1), until ?? 0)], now: 0)
        return machine
    }

    /// When it sends a REGISTER of its own, `nil` when it has sent none by `end`.
    private func refresh(of machine: inout UpstreamRegistration, from begin: Int64, by end: Int64) -> Int64? {
        var now = begin
        while now <= end {
            for case .send in machine.due(now: now, wallSeconds: 1_790_000_000, isWanted: true) { return now }
            guard let due = machine.dueAt else { return nil }
            now = max(now + 1, due)
        }
        return nil
    }

    @Test func `is renewed within what was granted, however far its end seems to be`() {
        for seed in UInt64(0)..<50 {
            var machine = machine(until: 34 * 365 * 86_400_000, seed: seed)
            #expect(machine.until == Self.interval)
            #expect(refresh(of: &machine, from: 0, by: Self.interval) != nil)
        }
    }

    @Test func `is renewed soon after time has passed unseen, and is not taken for lost`() {
        for seed in UInt64(0)..<50 {
            var machine = machine(until: Self.interval, seed: seed)
            machine.passed(Self.interval, now: 600_000)
            let time = refresh(of: &machine, from: 600_000, by: 720_000)
            #expect(time.map { $0 < 720_000 } == true)
        }
    }

    @Test func `keeps its plan where little has passed, and has as much less time`() {
        for seed in UInt64(0)..<50 {
            var machine = machine(until: Self.interval, seed: seed)
            machine.passed(60_000, now: 0)
            #expect(machine.until == Self.interval - 60_000)
            let time = refresh(of: &machine, from: 0, by: Self.interval)
            #expect(time.map { ($0 > Self.interval / 3) && ($0 < Self.interval - 60_000) } == true)
        }
    }

    @Test func `wakes the phone that has to register itself`() {
        var machine = machine(until: Self.interval, credential: nil)
        machine.passed(2 * Self.interval, now: 600_000)
        #expect(machine.dueAt == 600_000)
        let actions = machine.due(now: 600_000, wallSeconds: 1_790_000_000, isWanted: true)
        #expect(actions.contains { if case .wakePhones = $0 { true } else { false } })
    }

    @Test func `goes on waiting for an answer`() {
        var machine = machine(until: Self.interval)
        let sent = refresh(of: &machine, from: 0, by: Self.interval) ?? 0
        let deadline = machine.dueAt
        machine.passed(Self.interval, now: sent + 1)
        #expect(machine.isBusy && machine.dueAt == deadline && machine.dueAt != nil)
    }
}
