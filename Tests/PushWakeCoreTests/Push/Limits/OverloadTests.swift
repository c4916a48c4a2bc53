// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `A provider with too much to do` {
    private static let cases: [(OverloadModel.Provider, streams: Int)] = [
        (.queue(perSecond: 120, base: 20), 1000), (.queue(perSecond: 120, base: 20), 10),
        (.queue(perSecond: 20, base: 5), 1000), (.queue(perSecond: 2000, base: 60), 1000),
        (.quota(perSecond: 120, isQuota: true), 1000), (.quota(perSecond: 120, isQuota: false), 1000),
        (.quota(perSecond: 20, isQuota: false), 100),
    ]

    private static func capacity(of provider: OverloadModel.Provider) -> Int {
        switch provider {
        case .queue(let perSecond, _), .quota(let perSecond, _): perSecond
        case .slow, .faulty: 0
        }
    }

    /// Of what it takes at least nine in ten reach a caller who still waits, and it takes nine tenths of what it could.
    @Test(arguments: cases.indices.flatMap { index in [2, 3].map { (index, $0) } })
    func `is asked for those whose callers still wait`(index: Int, overload: Int) {
        let (provider, streams) = Self.cases[index]
        let capacity = Self.capacity(of: provider)
        var model = OverloadModel(provider, streams: streams)
        model.run(5000, rate: capacity / 2)
        model.run(20_000, rate: capacity * overload)
        let early = model.requests
        model.run(20_000, rate: capacity * overload)
        let (taken, inTime) = model.rung(from: 5000)
        #expect(taken * 10 >= capacity * 40 * 9, "\(taken)")
        #expect(inTime * 10 >= capacity * 40 * 9, "\(inTime) of \(taken)")
        #expect(model.requests * 4 <= taken * 5 + capacity * 5 * 4, "\(model.requests) requests for \(taken)")
        let late = (requests: model.requests - early, taken: model.rung(from: 25_000).taken)
        #expect(late.requests * 7 <= late.taken * 8, "\(late)")
        // Once it is known, who rings does so at once.
        #expect(model.median(from: 25_000) < 1000, "\(model.median(from: 25_000))")
    }

    @Test func `is asked for as many as before when it is well again`() {
        var model = OverloadModel(.queue(perSecond: 100, base: 20))
        model.run(5000, rate: 50)
        model.run(20_000, rate: 300)
        #expect(!model.limit.isFree)
        model.provider = .queue(perSecond: 5000, base: 20)
        model.run(15_000, rate: 300)
        #expect(model.limit.isFree)
        let (taken, _) = model.rung(from: 30_000)
        #expect(taken >= 2990)
    }

    @Test(arguments: [40, 120, 300]) func `is let be where it is slow and not busy`(rate: Int) {
        var model = OverloadModel(.slow(30))
        model.run(10_000, rate: rate)
        model.provider = .slow(3000)
        model.run(60_000, rate: rate)
        // Once it is known, nothing waits here.
        #expect(model.limit.isFree)
        #expect(model.median(from: 40_000) == 3000)
        let (taken, _) = model.rung(from: 40_000)
        #expect(taken >= rate * 29)
    }

    @Test(arguments: [5, 20, 40, 60, 100]) func `is let be where it refuses whatever it is asked`(share: Int) {
        var model = OverloadModel(.faulty(0))
        model.run(5000, rate: 200)
        model.provider = .faulty(share)
        model.run(20_000, rate: 200)
        // Refusals that less would not help are asked again one by one, as each allows.
        let (taken, _) = model.rung(from: 10_000)
        #expect(taken >= 15 * 200 * (100 - share) / 100 * 9 / 10, "\(taken)")
        if share < 100 {
            model.provider = .faulty(0)
            model.run(10_000, rate: 200)
            #expect(model.median(from: 33_000) < 50)
        }
    }

    @Test func `costs nothing that is not late`() {
        var model = OverloadModel(.queue(perSecond: 1000, base: 50))
        for _ in 0..<10 {
            model.run(1000, rate: 900)
            model.run(200, rate: 2000)
            model.run(1000, rate: 10)
            #expect(model.limit.isFree && model.throttle.isFree)
        }
        #expect(model.requests == model.taken.count + model.inFlight)
    }
}

@Suite struct `Stream limit` {
    /// One answer each ten milliseconds, each so late, from `start` on.
    private func answers(
        _ limit: inout StreamLimit, late: Int64, underWay: Int, from start: Int64, for span: Int64 = 2000
    ) {
        for now in stride(from: start, to: start + span, by: 10) {
            _ = limit.admits(beside: underWay)
            _ = limit.answered(1, after: late, underWay: underWay, now: now)
        }
    }

    @Test func `is none until all answers of a second are late`() {
        var limit = StreamLimit()
        #expect(limit.isFree)
        answers(&limit, late: 20, underWay: 50, from: 0)
        for now in stride(from: Int64(2000), to: 10_000, by: 10) {
            _ = limit.answered(1, after: now % 500 == 0 ? 20 : 4000, underWay: 50, now: now)
        }
        #expect(limit.isFree)
        answers(&limit, late: 4000, underWay: 50, from: 10_000)
        #expect(!limit.isFree)
    }

    @Test func `is not concluded from a few pushes`() {
        var limit = StreamLimit()
        answers(&limit, late: 20, underWay: 1, from: 0)
        answers(&limit, late: 9000, underWay: StreamLimit.least - 1, from: 2000, for: 60_000)
        #expect(limit.isFree)
    }

    @Test func `survives any answers`() {
        var random = SplitMix(3)
        for _ in 0..<200 {
            var limit = StreamLimit()
            var now = Int64.random(in: -5000...5000, using: &random)
            for _ in 0..<500 {
                now &+= [Int64(0), 1, 100, 2000, 1 << 40].randomElement(using: &random) ?? 0
                let late = [Int64.min, -1, 0, 30, 3000, .max].randomElement(using: &random) ?? 0
                let many = [0, 1, 20, 1_000_000, .max].randomElement(using: &random) ?? 0
                _ = limit.answered(many, after: late, underWay: many, now: now)
                // Whatever was concluded, one may always be under way.
                expectEqual(limit.admits(beside: 0), true)
            }
        }
    }
}
