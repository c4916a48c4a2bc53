// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct UpstreamScheduleTests {
    @Test func `accounts come in the order of their times, each once`() {
        var schedule = UpstreamSchedule()
        for (account, time) in [(UInt32(3), Int64(30)), (1, 10), (2, 20), (1, 25), (4, 5)] {
            schedule.set(account, at: time)
        }
        schedule.clear(4)
        let early = schedule.pop(now: 9)
        #expect(early == nil)
        var found: [UInt32] = []
        while let account = schedule.pop(now: 100) { found.append(account) }
        #expect(found == [2, 1, 3])
        let next = schedule.next
        #expect(next == nil)
    }

    @Test func `times that were replaced do not pile up`() {
        var schedule = UpstreamSchedule()
        for round in 0..<10_000 as Range<Int64> {
            for account in 0..<10 as Range<UInt32> { schedule.set(account, at: 1_000_000 - round) }
        }
        let count = schedule.count
        #expect(count < 200)
        var found: Set<UInt32> = []
        while let account = schedule.pop(now: 2_000_000) { found.insert(account) }
        #expect(found.count == 10)
    }

    @Test func `a server's pace is forgotten with its last account`() {
        var pace = UpstreamPace()
        pace.join()
        pace.join()
        let left = [pace.leave(), pace.leave()]
        #expect(left == [false, true])
    }

    @Test func `a server that failed is tried by one, and then by all`() {
        var pace = UpstreamPace()
        #expect(pace.admit(now: 0, random: 0) == nil)
        pace.failed(now: 0, retryAfter: nil, random: 0)
        #expect(pace.admit(now: 1, random: 0).map { $0 > 1 } == true)
        #expect(pace.admit(now: 2001, random: 0) == nil)
        #expect(pace.admit(now: 2002, random: 0) != nil)
        pace.answered()
        #expect(pace.admit(now: 2003, random: 0) == nil)
    }

    @Test func `Retry-After is obeyed, within reason`() {
        var pace = UpstreamPace()
        pace.failed(now: 0, retryAfter: 60, random: 0)
        #expect(pace.admit(now: 59_000, random: 0) != nil)
        #expect(pace.admit(now: 60_000, random: 0) == nil)
    }

    @Test func `ten thousand accounts that registered together make no wave, nor after an outage or a restart`() {
        var fleet = Fleet(accounts: 10_000, interval: 60_000)
        fleet.run(until: 240_000)
        fleet.isDown = true
        fleet.run(until: 360_000)
        fleet.isDown = false
        fleet.run(until: 480_000)
        fleet.restart()
        fleet.run(until: 600_000)
        let (registered, busiest) = (fleet.registered, fleet.busiestSecond)
        #expect(registered == 10_000)
        // Mean of a quiet time: an interval of 60 s is renewed after 42 s.
        #expect(Double(busiest) <= 3.0 * 10_000 / 42)
    }
}

/// Accounts at one server, looked at as the engine does it.
private struct Fleet: ~Copyable {
    private final class Account {
        var machine: UpstreamRegistration
        init(seed: UInt64) { machine = UpstreamRegistration(UpstreamPolicy(), cseq: 0, seed: seed) }
    }

    private var accounts: [Account]
    private var schedule = UpstreamSchedule()
    private var pace = UpstreamPace()
    private var now: Int64 = 0
    private let interval: Int64
    private var inSecond: [Int64: Int] = [:]
    private var hasPlace: Set<UInt32> = []
    private var silent: [(at: Int64, account: UInt32, attempt: UInt32)] = []
    var isDown = false

    init(accounts count: Int, interval: Int64) {
        self.interval = interval
        accounts = (0..<count).map { Account(seed: UInt64($0)) }
        for (index, account) in accounts.enumerated() {
            var phone = PhoneRegister(handle: .init(host: 1, number: 1), device: UpstreamDevice(fingerprint: 1))
            phone.credential = Secret(String(repeating: "a", count: 32))
            for case .send(let register) in account.machine.register(phone, now: now, wallSeconds: 1_790_000_000) {
                answer(UInt32(index), register.attempt)
            }
        }
        inSecond = [:]
    }

    var registered: Int { accounts.count { $0.machine.until.map { $0 > now } ?? false } }
    var busiestSecond: Int { inSecond.values.max() ?? 0 }

    private mutating func answer(_ index: UInt32, _ attempt: UInt32) {
        var answer = UpstreamAnswer(status: isDown ? 408 : 200)
        (answer.expires, answer.isSilence) = (UInt32(interval / 1000), isDown)
        let account = accounts[Int(index)]
        let before = account.machine.interval
        let actions = account.machine.answered(attempt, answer, now: now, wallSeconds: 1_790_000_000)
        if actions.contains(.serverAnswered) {
            pace.answered()
        } else {
            pace.failed(now: now, retryAfter: nil, random: 7)
        }
        pace.remove(interval: before)
        pace.add(interval: account.machine.interval)
        if let due = account.machine.dueAt { schedule.set(index, at: due) }
    }

    mutating func run(until end: Int64) {
        while now < end {
            now += 50
            while let first = silent.first, first.at <= now {
                silent.removeFirst()
                answer(first.account, first.attempt)
            }
            while let index = schedule.pop(now: now) { look(index) }
        }
    }

    private mutating func look(_ index: UInt32) {
        let account = accounts[Int(index)]
        if account.machine.wouldSend(now: now) {
            if let later = pace.admit(now: now, random: UInt64(index) &* 7919) {
                hasPlace.remove(index)
                return schedule.set(index, at: later)
            }
            if hasPlace.remove(index) == nil {
                let place = pace.reserve(now: now)
                if place > now {
                    hasPlace.insert(index)
                    return schedule.set(index, at: place)
                }
            }
        }
        let actions = account.machine.due(now: now, wallSeconds: 1_790_000_000, isWanted: true)
        for case .send(let register) in actions {
            inSecond[now / 1000, default: 0] += 1
            if isDown {
                silent.append((now + 30_000, index, register.attempt))
            } else {
                answer(index, register.attempt)
            }
        }
        if let due = account.machine.dueAt { schedule.set(index, at: due) }
    }

    mutating func restart() {
        pace = UpstreamPace()
        schedule = UpstreamSchedule()
        hasPlace = []
        silent = []
        for (index, old) in accounts.enumerated() {
            let account = Account(seed: UInt64(index) + 1_000_000)
            account.machine.restore(
                until: old.machine.until, interval: old.machine.interval, credential: .md5, devices: [], now: now)
            accounts[index] = account
            pace.add(interval: old.machine.interval)
            if let due = account.machine.dueAt { schedule.set(UInt32(index), at: due) }
        }
    }
}
