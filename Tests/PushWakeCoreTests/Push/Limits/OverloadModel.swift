// SPDX-License-Identifier: MIT

import PushWakeCore

/// A provider and a channel that pushes to it, in time that a test passes: who asks for a push, when it is taken, and how often
/// the provider was asked.
struct OverloadModel {
    /// What a provider does with the requests that it has.
    enum Provider {
        /// Answers so many a second, in order; the rest waits there.
        case queue(perSecond: Int, base: Int64)
        /// Answers each after the same time, however many there are.
        case slow(Int64)
        /// Takes so many in a second and refuses the rest at once.
        case quota(perSecond: Int, isQuota: Bool)
        /// Refuses so many of a hundred, whatever it is asked.
        case faulty(Int)
    }

    private struct Call {
        let askedAt: Int64
        var attempts = 0
        var deadline: Int64 { askedAt + 30_000 }
    }

    private struct Request {
        let call: Int
        let sentAt: Int64
        let answerAt: Int64
        let isTaken: Bool
    }

    /// Milliseconds after which a call of which no phone rings is of no use.
    private static let patience: Int64 = 5000

    var provider: Provider
    let streams: Int
    private(set) var queue = PushQueue<Int>(capacity: 100_000)
    private(set) var limit = StreamLimit()
    private(set) var throttle = Throttle()
    private var calls: [Call] = []
    /// By the time of the answer.
    private var underWay: [Request] = []
    /// By the time.
    private var pausing: [(at: Int64, call: Int)] = []
    private var freeAt: Int64 = 0
    private var second: (begin: Int64, taken: Int) = (0, 0)
    private var random = SplitMix(7)
    private var now: Int64 = 0
    private(set) var requests = 0
    /// Milliseconds from each call to the time at which the provider took it, and the millisecond of that.
    private(set) var taken: [(after: Int64, at: Int64)] = []

    init(_ provider: Provider, streams: Int = 1000) {
        self.provider = provider
        self.streams = streams
    }

    var inFlight: Int { underWay.count }

    /// Calls that were taken from a time on, and how many of them in time.
    func rung(from start: Int64) -> (taken: Int, inTime: Int) {
        let later = taken.filter { $0.at >= start }
        return (later.count, later.count { $0.after <= Self.patience })
    }

    /// Milliseconds until the middle one of those that were taken from a time on.
    func median(from start: Int64) -> Int64 {
        let all = taken.filter { $0.at >= start }.map(\.after).sorted()
        return all.isEmpty ? 0 : all[all.count / 2]
    }

    /// Lets so many milliseconds pass, in which so many calls a second come in.
    mutating func run(_ milliseconds: Int64, rate: Int) {
        let end = now + milliseconds
        var credit = 0
        while now < end {
            now += 1
            credit += rate
            while credit >= 1000 {
                credit -= 1000
                ask()
            }
            let over = pausing.firstIndex { $0.at > now } ?? pausing.count
            for entry in pausing.prefix(over) { wait(entry.call) }
            pausing.removeFirst(over)
            answer()
            send()
        }
    }

    private mutating func ask() {
        calls.append(Call(askedAt: now))
        wait(calls.count - 1)
    }

    private mutating func wait(_ call: Int) {
        _ = queue.append(
            call, .call, askedAt: calls[call].askedAt, deadline: calls[call].deadline, isBack: calls[call].attempts > 0,
            now: now)
    }

    private mutating func send() {
        while inFlight < streams, throttle.admits(now: now), !queue.isEmpty,
            limit.isFree || limit.admits(beside: inFlight), let index = queue.popNext(now: now)
        {
            guard calls[index].deadline > now else { continue }
            throttle.noteSent(now: now)
            requests += 1
            calls[index].attempts += 1
            var (answerAt, isTaken) = (now + 5, true)
            switch provider {
            case .queue(let perSecond, let base):
                // In hundredths of a millisecond.
                freeAt = max(freeAt, now * 100) + 100_000 / Int64(perSecond)
                answerAt = freeAt / 100 + base
            case .slow(let latency): answerAt = now + latency
            case .quota(let perSecond, _):
                if now >= second.begin + 1000 { second = (now, 0) }
                isTaken = second.taken < perSecond
                second.taken += isTaken ? 1 : 0
            case .faulty(let share): isTaken = Int.random(in: 0..<100, using: &random) >= share
            }
            let place = underWay.lastIndex { $0.answerAt <= answerAt } ?? -1
            underWay.insert(Request(call: index, sentAt: now, answerAt: answerAt, isTaken: isTaken), at: place + 1)
        }
    }

    private mutating func answer() {
        let over = underWay.prefix { $0.answerAt <= now }
        guard !over.isEmpty else { return }
        underWay.removeFirst(over.count)
        let latest = over.reduce(Int64.min) { max($0, $1.sentAt) }
        throttle.answered(over.count, now: now)
        let left = inFlight
        _ = limit.answered(over.count, after: now - latest, underWay: left, now: now)
        for request in over {
            if request.isTaken {
                taken.append((now - calls[request.call].askedAt, now))
            } else {
                refused(request.call)
            }
        }
    }

    private mutating func refused(_ index: Int) {
        if case .quota(_, let isQuota) = provider { throttle.refused(isQuota: isQuota) }
        if case .faulty = provider { throttle.refused(isQuota: false) }
        let step = RetryPolicy().step(
            after: Verdict(.unavailable, next: .retry(after: 500)), attempts: calls[index].attempts, renewals: 0,
            now: now, deadline: calls[index].deadline, random: random.next())
        if case .retry(let time) = step {
            pausing.insert((time, index), at: (pausing.lastIndex { $0.at <= time } ?? -1) + 1)
        }
    }
}
