// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine
@testable import PushWakeSystem

/// A user with one phone that may get one push per interval, and requests for it.
private final class LimitBench {
    let bench: CoreBench
    private var requests: [HeldRequest] = []

    init(device: Int64 = 0, caller: Int64 = 0, user: Int64 = 0) throws {
        bench = try CoreBench()
        bench.core.pushes.limits = PushLimits(
            device: .init(burst: device > 0 ? 1 : 0, interval: device),
            caller: .init(burst: caller > 0 ? 1 : 0, interval: caller),
            user: .init(burst: user > 0 ? 1 : 0, interval: user), seed: 7)
        try bench.register("<sip:bob@10.0.0.1:5060;pn-provider=fcm;pn-param=project;pn-prid=abc:def>")
    }

    /// Asks for a push that is of use for so many milliseconds.
    @discardableResult
    func push(
        _ event: PushEvent, _ callID: String, from caller: String = "sip:alice@h", life: Int64 = 10_000
    ) -> HeldRequest {
        var message = WakeMessage()
        (message.event, message.aor, message.callID, message.fromURI) = (event, "bob", callID, caller)
        let now = SystemClock.monotonicMilliseconds()
        let bindings = bench.store.bindings(of: "bob", now: SystemClock.wallSeconds())
        let request = bench.core.requests.makeRequest(message, bindings, now)
        requests.append(request)
        bench.core.pushes.push(to: 0, request, now + life)
        return request
    }

    /// Turns until the condition holds; gives the requests whose pushes went, in their order.
    @discardableResult
    func run(until condition: () -> Bool) -> [String] {
        var gone = requests.filter(\.hasBeenPushed).map(\.message.callID)
        let end = SystemClock.monotonicMilliseconds() + 5000
        while !condition(), SystemClock.monotonicMilliseconds() < end {
            bench.loop.turn(waitingUpTo: 5)
            for request in requests where request.hasBeenPushed && !gone.contains(request.message.callID) {
                gone.append(request.message.callID)
            }
        }
        return gone
    }

    var pushed: Int { bench.core.context.statistics.pushed }
}

extension HeldRequest {
    fileprivate var push: RequestPush? { pushes.known("abc:def") }
    /// Its push has gone, or was refused.
    fileprivate var hasBeenPushed: Bool { push?.job != nil || push?.isAccepted != nil }
}

@Suite struct `A push that is put off` {
    @Test func `takes no turn once it is of no use`() throws {
        let bench = try LimitBench(device: 60)
        bench.push(.chat, "first")
        let dead = (1...4).map { bench.push(.chat, "dead \($0)", life: 20) }
        let alive = bench.push(.chat, "alive")
        bench.run { alive.hasBeenPushed }
        #expect(bench.pushed == 2)
        #expect(dead.allSatisfy { $0.push?.isAccepted == false })
    }

    @Test func `lets calls go before messages`() throws {
        let bench = try LimitBench(device: 30)
        for number in 1...4 { bench.push(.chat, "text \(number)") }
        let call = bench.push(.call, "call")
        let order = bench.run { call.hasBeenPushed }
        #expect(order == ["text 1", "call"])
        #expect(bench.pushed == 2)
    }

    @Test(arguments: [(30, 0, 0), (0, 30, 0), (0, 0, 30), (30, 40, 20)])
    func `keeps its place among those for its phone`(device: Int64, caller: Int64, user: Int64) throws {
        let bench = try LimitBench(device: device, caller: caller, user: user)
        for number in 1...5 { bench.push(.chat, "text \(number)") }
        #expect(bench.run { bench.pushed == 5 } == (1...5).map { "text \($0)" })
    }

    @Test func `does not stop the pushes that another caller may cause`() throws {
        let bench = try LimitBench(caller: 60_000)
        bench.push(.chat, "first")
        bench.push(.chat, "waits")
        bench.push(.chat, "other", from: "sip:carol@h")
        #expect(bench.run { bench.pushed == 2 } == ["first", "other"])
    }

    @Test func `shares a timer with all that wait for the same turn`() throws {
        let bench = try LimitBench(device: 60_000)
        bench.push(.chat, "first")
        let timers = bench.bench.loop.timers.count
        for number in 1...100 { bench.push(.chat, "text \(number)") }
        #expect(bench.bench.loop.timers.count == timers + 1)
    }

    @Test func `goes once for all forks of a request`() throws {
        let bench = try LimitBench(device: 30)
        bench.push(.call, "first")
        let forks = (1...3).map { _ in bench.push(.call, "forked") }
        let last = bench.push(.call, "last")
        bench.run { last.hasBeenPushed }
        let areGone = forks.map(\.hasBeenPushed)
        #expect(areGone == [true, true, true])
        #expect(bench.pushed == 3)
    }

    @Test func `goes while a fork of its request is held`() throws {
        let bench = try LimitBench(device: 30)
        bench.push(.call, "first")
        let forks = (1...2).map { _ in bench.push(.call, "forked") }
        bench.bench.core.requests.end(forks[0], .cancelled)
        bench.run { forks[1].hasBeenPushed }
        #expect(bench.pushed == 2)
    }

    @Test func `is refused where too many wait for the same turn, a message before a call`() throws {
        let bench = try LimitBench(device: 60_000)
        bench.push(.chat, "first")
        let texts = (1...1000).map { bench.push(.chat, "text \($0)") }
        let surplus = bench.push(.chat, "surplus")
        let call = bench.push(.call, "call")
        bench.bench.loop.turn(waitingUpTo: 0)
        #expect(surplus.push?.isAccepted == false)
        #expect(surplus.lastReason == "overloaded TooManyWaiting")
        #expect(!call.hasBeenPushed)
        #expect(texts.last?.push?.isAccepted == false)
        #expect(texts.dropLast().allSatisfy { !$0.hasBeenPushed })
        #expect(bench.pushed == 1)
    }
}
