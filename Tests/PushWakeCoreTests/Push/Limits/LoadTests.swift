// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Load policy` {
    @Test(arguments: [(LoadPolicy.never, 0), (.onLowLoad, 2), (.unlessOverloaded, 4), (.always, 5)])
    func `allows pushes up to a level`(policy: LoadPolicy, allowed: Int) {
        #expect(LoadLevel.allCases.filter { policy.allows($0) }.count == allowed)
        #expect(LoadLevel.allCases.filter { policy.refusal(at: $0) == nil }.count == allowed)
    }

    @Test func `says honestly why a push is not made`() {
        #expect(LoadPolicy.never.refusal(at: .low) == Verdict(.rejected, reason: "SwitchedOff"))
        #expect(LoadPolicy.onLowLoad.refusal(at: .high) == Verdict(.overloaded, reason: "LoadLevel 2"))
    }

    @Test func `drops no call by default, whatever the load`() {
        let policies = LoadPolicies(Settings())
        for event in [PushEvent.call, .cancel, .answeredElsewhere] {
            #expect(policies[event].refusal(at: .extreme) == nil)
        }
        for event in [PushEvent.chat, .groupChat, .custom, .missed, .refresh, .voicemail, .refer] {
            #expect(policies[event].refusal(at: .veryHigh) == nil)
            #expect(policies[event].refusal(at: .extreme)?.outcome == .overloaded)
        }
    }

    @Test(arguments: [
        ("load_call", [PushEvent.call]), ("load_cancel", [.cancel, .answeredElsewhere]),
        ("load_chat", [.chat, .groupChat, .custom, .voicemail, .refer, .missed, .refresh]),
    ])
    func `is set for each kind of event`(name: String, events: [PushEvent]) throws {
        for policy in LoadPolicy.allCases {
            var settings = Settings()
            try settings.set(name, to: policy.name)
            let policies = LoadPolicies(settings)
            #expect(PushEvent.allCases.filter { policies[$0] == policy }.count >= events.count)
            #expect(events.allSatisfy { policies[$0] == policy })
        }
    }
}

@Suite struct `Load level` {
    private static let rows: [[Int]] = [
        [0, 0, 0, 0], [4, 9, 39, 0], [5, 0, 0, 1], [0, 10, 0, 1], [0, 0, 40, 1], [20, 0, 0, 2], [0, 50, 0, 2],
        [0, 0, 70, 2], [50, 0, 0, 3], [0, 200, 0, 3], [0, 0, 90, 3], [0, 0, 400, 3], [80, 0, 0, 4], [0, 1000, 0, 4],
        [20, 200, 40, 3], [.max, .max, .max, 4], [-1, .min, -1, 0],
    ]

    @Test(arguments: rows) func `is that of the worst measure`(row: [Int]) {
        let sample = LoadSample(queueFill: row[0], lag: Int64(row[1]), cpu: row[2])
        #expect(Int(sample.level.rawValue) == row[3])
    }

    @Test func `rises with the second bad sample, to what both have`() {
        var meter = LoadMeter()
        expectEqual(meter.note(LoadSample(lag: 5000), now: 0), false)
        expectEqual(meter.note(LoadSample(), now: 250), false)
        #expect(meter.level == .low)
        expectEqual(meter.note(LoadSample(lag: 5000), now: 500), false)
        expectEqual(meter.note(LoadSample(cpu: 75), now: 750), true)
        #expect(meter.level == .high)
    }

    @Test func `falls by one for every two seconds of calm`() {
        var meter = LoadMeter()
        for now: Int64 in [0, 250] { _ = meter.note(LoadSample(queueFill: 90), now: now) }
        #expect(meter.level == .extreme)
        var levels: [UInt8] = []
        for step: Int64 in 1...40 {
            _ = meter.note(LoadSample(), now: 250 + step * 250)
            if levels.last != meter.level.rawValue { levels.append(meter.level.rawValue) }
            if step == 8 { #expect(meter.level == .extreme) }
        }
        #expect(levels == [4, 3, 2, 1, 0])
    }

    @Test func `does not fall while it flickers about a bound`() {
        var meter = LoadMeter()
        for now: Int64 in [0, 250] { _ = meter.note(LoadSample(queueFill: 50), now: now) }
        for step: Int64 in 2...200 {
            let changed = meter.note(LoadSample(queueFill: step % 4 == 0 ? 50 : 49), now: step * 250)
            #expect(!changed)
        }
        #expect(meter.level == .veryHigh)
    }
}

@Suite final class `Throttled channel` {
    private var quota = 0

    /// Pushes that a channel with enough to do sends from `start` to `end`.
    private func send(_ throttle: inout Throttle, from start: Int64, to end: Int64) -> Int {
        var count = 0
        for now in stride(from: start, to: end, by: 50) {
            while throttle.admits(now: now), count < 1_000_000, !throttle.isFree {
                throttle.noteSent(now: now)
                count += 1
            }
        }
        return count
    }

    @Test func `is free until the provider says otherwise`() {
        var throttle = Throttle()
        expectEqual(throttle.admits(now: 0), true)
        #expect(throttle.isFree && throttle.heldUntil(now: 0) == nil)
        #expect(throttle.opens(now: 0) == nil)
    }

    @Test func `holds as long as told and takes a wave of answers for one`() {
        var throttle = Throttle()
        for now: Int64 in [0, 10, 20] { throttle.held(for: 60_000, now: now) }
        #expect(throttle.heldUntil(now: 30) == 60_020)
        #expect(throttle.opens(now: 30) == 60_020)
        expectEqual(throttle.admits(now: 60_019), false)
        expectEqual(throttle.admits(now: 60_020), true)
    }

    @Test func `ramps up over a minute, first one alone`() {
        var throttle = Throttle()
        throttle.held(for: 60_000, now: 0)
        #expect(send(&throttle, from: 60_000, to: 60_050) == 1)
        #expect(throttle.opens(now: 60_001) == 60_051)
        let second = send(&throttle, from: 60_050, to: 61_000)
        let tenth = send(&throttle, from: 69_000, to: 70_000)
        #expect((50...100).contains(second))
        #expect(tenth > second * 5)
        #expect(!throttle.isFree)
        expectEqual(throttle.admits(now: 120_000), true)
        #expect(throttle.isFree)
    }

    @Test func `doubles the hold and halves the ramp when it is throttled again`() {
        var throttle = Throttle()
        throttle.held(for: 60_000, now: 0)
        let first = send(&throttle, from: 60_000, to: 70_000)
        throttle.held(for: 60_000, now: 70_000)
        #expect(throttle.heldUntil(now: 70_000) == 190_000)
        let second = send(&throttle, from: 190_000, to: 200_000)
        #expect((first / 3...first * 2 / 3).contains(second))
        // It was well for a whole ramp: all is forgotten.
        expectEqual(throttle.admits(now: 250_000), true)
        throttle.held(for: 60_000, now: 300_000)
        #expect(throttle.heldUntil(now: 300_000) == 360_000)
    }

    /// A project with a quota of 600 a minute, which Google fills up each minute, and twice as many pushes, a tenth of
    /// them calls, over ten minutes. Shares of calls and of all that were accepted in their time.
    private func day(_ refused: (inout Throttle, Int64) -> Int64) -> (calls: Double, all: Double) {
        struct Job {
            let isCall: Bool
            let askedAt: Int64
            let deadline: Int64
            var attempts = 0
        }
        var (throttle, queue) = (Throttle(), PushQueue<Job>(capacity: 100_000))
        var pausing: [(at: Int64, job: Job)] = []
        var (calls, asked, all) = (0, 0, 0)
        for now in stride(from: Int64(0), to: 600_000, by: 10) {
            let minuteBegins = now % 60_000 == 0
            if minuteBegins { quota = 600 }
            if now % 50 == 0 {
                let isCall = now % 500 == 0
                asked += isCall ? 1 : 0
                pausing.append(
                    (now, Job(isCall: isCall, askedAt: now, deadline: now + (isCall ? 40_000 : 300_000))))
            }
            for (at, job) in pausing where at <= now {
                _ = queue.append(
                    job, job.isCall ? .call : .message, askedAt: job.askedAt, deadline: job.deadline, now: now)
            }
            pausing.removeAll { $0.at <= now }
            while throttle.admits(now: now), var job = queue.popNext(now: now) {
                guard job.deadline > now else { continue }
                throttle.noteSent(now: now)
                throttle.answered(1, now: now)
                if quota > 0 {
                    quota -= 1
                    all += 1
                    calls += job.isCall ? 1 : 0
                    continue
                }
                let pause = refused(&throttle, now) << min(Int64(job.attempts), 4)
                job.attempts += 1
                if now + pause < job.deadline { pausing.append((now + pause, job)) }
            }
        }
        return (Double(calls) / Double(asked), Double(all) / 6000)
    }

    @Test func `lets calls through where a quota is used up`() {
        let slowed = day { throttle, now in
            throttle.refused(isQuota: true)
            return 2000
        }
        #expect(slowed.calls > 0.95)
        #expect(slowed.all > 0.8)
        let held = day { throttle, now in
            throttle.held(for: 60_000, now: now)
            return 60_000
        }
        #expect(held.calls < 0.8)
    }

    /// Pushes for a second, of which the provider takes so many.
    private func second(_ throttle: inout Throttle, from start: Int64, sends: Int, takes: Int, isQuota: Bool = true) {
        for index in 0..<sends {
            let now = start + Int64(index * 1000 / sends)
            throttle.noteSent(now: now)
            throttle.answered(1, now: now)
            if index >= takes { throttle.refused(isQuota: isQuota) }
        }
    }

    @Test(arguments: [true, false])
    func `sends as many as were taken, and is free again after a minute`(isQuota: Bool) {
        var throttle = Throttle()
        second(&throttle, from: 5000, sends: 200, takes: 90, isQuota: isQuota)
        #expect(throttle.isFree)
        throttle.answered(0, now: 6000)
        #expect(!throttle.isFree && throttle.heldUntil(now: 6000) == nil)
        #expect((80...105).contains(send(&throttle, from: 6000, to: 7000)))
        expectEqual(throttle.admits(now: 66_020), true)
        #expect(throttle.isFree)
    }

    @Test func `sends fewer for no refusals that are few, or that do not become fewer`() {
        var throttle = Throttle()
        for start in stride(from: Int64(0), to: 10_000, by: 1000) {
            second(&throttle, from: start, sends: 200, takes: 160, isQuota: false)
        }
        #expect(throttle.isFree)
        for start in stride(from: Int64(10_000), to: 40_000, by: 1000) {
            second(&throttle, from: start, sends: 200, takes: 20, isQuota: false)
        }
        #expect(throttle.isFree)
    }

    /// One push that was refused.
    private var slowed: Throttle {
        var throttle = Throttle()
        for now: Int64 in [0, 1000, 2000] {
            throttle.noteSent(now: now)
            throttle.answered(1, now: now)
            throttle.refused(isQuota: true)
        }
        return throttle
    }

    @Test func `names a time to come back only while no push may go`() {
        var throttle = slowed
        #expect(!throttle.isFree)
        for now in stride(from: Int64(2000), through: 63_000, by: 50) {
            let opens = throttle.opens(now: now)
            let isAdmitted = throttle.admits(now: now)
            if let opens { #expect(opens > now || isAdmitted) }
            if isAdmitted { #expect(throttle.opens(now: now) == nil) }
        }
    }

    @Test func `names no time that is over while nobody asks whether a push may go`() {
        let throttle = slowed
        #expect(throttle.opens(now: 2000).map { $0 > 2000 && $0 <= 3000 } == true)
        for now: Int64 in [4000, 8000, 100_000] { #expect(throttle.opens(now: now) == nil) }
    }

    @Test(arguments: [Int64.min, -1, 0, .max]) func `survives any pause`(pause: Int64) {
        var throttle = Throttle()
        for now: Int64 in [0, 5_000_000, 9_000_000, .max - 1] { throttle.held(for: pause, now: now) }
        _ = throttle.admits(now: .max)
        _ = throttle.opens(now: .max)
        var other = Throttle()
        other.held(for: pause, now: 0)
        let end = other.heldUntil(now: 0) ?? 0
        #expect((0...3_600_000).contains(end))
    }
}
