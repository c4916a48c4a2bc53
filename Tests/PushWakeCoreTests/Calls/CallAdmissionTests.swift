// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `A host admits calls to phones that sleep` {
    /// Plays requests at an even rate on a host that can do `capacity` a second; gives how many of the last second it took.
    private struct Host {
        var admission = CallAdmission()
        let capacity: Int64
        var queue: Int64 = 0
        var lost: Int64 = 0
        var now: Int64 = 1_000_000
        var changes: [CallAdmission.Change] = []

        mutating func play(perSecond rate: Int64, seconds: Int64) -> Int64 {
            var taken: Int64 = 0
            for millisecond in 0..<(seconds * 1000) {
                now += 1
                let done = min(queue, (capacity * (millisecond + 1) / 1000) - (capacity * millisecond / 1000))
                queue -= done
                admission.ended += done
                let due = rate * (millisecond + 1) / 1000 - rate * millisecond / 1000
                for _ in 0..<due {
                    let fill = min(100, queue * 100 / 100)
                    let (decision, change) = admission.admit(.init(queueFill: fill, lost: lost), now: now)
                    if let change { changes.append(change) }
                    guard decision == .take else { continue }
                    if queue < 100 { queue += 1 } else { lost += 1 }
                    if millisecond >= (seconds - 1) * 1000 { taken += 1 }
                }
            }
            return taken
        }
    }

    @Test(arguments: [10, 100, 900] as [Int64])
    func `all of them while it keeps up`(rate: Int64) {
        var host = Host(capacity: 1000)
        #expect(host.play(perSecond: rate, seconds: 5) == rate)
        #expect(host.changes.isEmpty)
    }

    @Test(arguments: [1500, 2000, 3000, 6000] as [Int64])
    func `as many as it can do when more come, and all a moment later`(rate: Int64) {
        var host = Host(capacity: 1000)
        let taken = host.play(perSecond: rate, seconds: 10)
        #expect((900...1100).contains(taken))
        #expect(host.changes.count == 1)
        #expect(host.play(perSecond: 500, seconds: 2) == 500)
        #expect(host.changes.count == 2)
    }

    @Test func `whatever fills the queue while few calls come`() {
        var host = Host(capacity: 1000)
        host.queue = 100
        for _ in 0..<40 {
            host.now += 100
            #expect(host.admission.admit(.init(queueFill: 100), now: host.now).decision == .take)
        }
    }

    @Test func `however full the queue is that loses nothing`() {
        var host = Host(capacity: 1000)
        for _ in 0..<4000 {
            host.now += 1
            #expect(host.admission.admit(.init(queueFill: 95, lost: 7), now: host.now).decision == .take)
        }
    }

    @Test(arguments: [(60, true), (6, false)] as [(Int64, Bool)])
    func `while all phones register, which no refusal of calls would end`(
        perCall: Int64, areAllTaken: Bool
    ) {
        var host = Host(capacity: 1000)
        for _ in 0..<400 {
            host.now += 10
            host.lost += 5
            host.admission.registers += perCall
            let (decision, _) = host.admission.admit(.init(queueFill: 100, lost: host.lost), now: host.now)
            #expect(decision == .take || !areAllTaken)
        }
        #expect((host.admission.limit == 0) == areAllTaken)
    }

    @Test func `after bursts as before`() {
        var host = Host(capacity: 1000)
        for _ in 0..<3 {
            _ = host.play(perSecond: 1200, seconds: 1)
            _ = host.play(perSecond: 100, seconds: 1)
        }
        #expect(host.changes.isEmpty)
        _ = host.play(perSecond: 500, seconds: 1)
        host.queue = 100
        #expect(host.play(perSecond: 500, seconds: 2) == 500)
    }

    @Test func `while memory is left for the ends of those that it holds`() {
        var admission = CallAdmission()
        #expect(admission.admit(.init(memory: 10_000_000, freeMemory: 3_000_000, held: 100), now: 1).decision == .take)
        let (decision, change) = admission.admit(.init(memory: 10_000_000, freeMemory: 1_000_000, held: 100), now: 1000)
        #expect(decision == .refuseByMemory)
        #expect(change == .outOfMemory(held: 100))
        #expect(admission.admit(.init(memory: 10_000_000, freeMemory: 1_000_000, held: 100), now: 1001).change == nil)
        let few = CallAdmission.HostLoad(memory: 10_000_000, freeMemory: 1_000_000, held: 10)
        #expect(admission.admit(few, now: 1002).decision == .take)
        #expect(admission.admit(.init(), now: 1003).decision == .take)
    }

    @Test func `without a trap, whatever the clock and the host say`() {
        var admission = CallAdmission()
        for now in [0, .max, .min, 5, -7, 1_000_000] as [Int64] {
            for value in [0, .max, .min, 1] as [Int64] {
                _ = admission.admit(
                    .init(queueFill: value, lost: value, memory: value, freeMemory: value, held: value), now: now)
                admission.ended = value
                admission.registers = value
                admission.limit = value
            }
        }
    }
}
