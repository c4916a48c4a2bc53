// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine
@testable import PushWakeSimulator

@Suite struct `Channel queue` {
    private static let oneForEver = #"{"streams":{"max_concurrent":1},"rules":[{"provider":"apns","no_answer":true}]}"#
    private static let oneByOne = #"{"streams":{"max_concurrent":1},"rules":[{"delay_ms":60}]}"#

    @Test(arguments: [Provider.apns, .fcm])
    func `sends calls before messages before refreshes, each in order`(provider: Provider) throws {
        let bench = try QueueBench(
            script: #"{"streams":{"max_concurrent":1,"fcm_max_concurrent":1},"rules":[{"delay_ms":10}]}"#,
            connections: 1)
        for number in 1...3 {
            bench.push(.refresh, "refresh\(number)", by: provider)
            bench.push(.chat, "chat\(number)", by: provider)
            bench.push(.call, "call\(number)", by: provider)
        }
        #expect(bench.delivery.queues.waiting == 9)
        #expect(bench.run { bench.ends.count == 9 })
        #expect(bench.ends.values.allSatisfy { $0.outcome == .accepted && $0.attempts == 1 })
        let expected = ["call", "chat", "refresh"].flatMap { word in (1...3).map { "\(word)\($0)" } }
        #expect(try bench.arrivals() == expected)
        #expect(bench.delivery.queues.waiting == 0)
        #expect(bench.delivery.queued == 0)
    }

    @Test func `refuses the least urgent at once when it is full, and a call takes the place of a refresh`() throws {
        let bench = try QueueBench(script: Self.oneByOne, [.queueSize: "3"])
        bench.push(.chat, "first")
        #expect(bench.run { bench.ends["first"] != nil })
        bench.push(.refresh, "sent")
        for name in ["r1", "r2", "r3", "r4"] { bench.push(.refresh, name) }
        bench.push(.chat, "m1")
        bench.push(.call, "c1")
        bench.push(.call, "c2")
        bench.push(.chat, "m2")
        bench.push(.call, "c3")
        bench.push(.call, "c4")
        #expect(bench.delivery.queues.fill == 100)
        bench.loop.turn(waitingUpTo: 0)
        let refused = ["r4", "r3", "r2", "r1", "m2", "m1", "c4"]
        #expect(Set(bench.order.dropFirst()) == Set(refused))
        for name in refused {
            #expect(bench.ends[name]?.outcome == .overloaded)
            #expect(bench.ends[name]?.reason == "QueueFull")
        }
        #expect(bench.run { bench.ends.count == 12 })
        #expect(try bench.arrivals() == ["first", "sent", "c1", "c2", "c3"])
    }

    @Test func `lets calls rely on it only while there is a place for one`() throws {
        let bench = try QueueBench(script: Self.oneByOne, [.queueSize: "2"])
        let binding = Binding(provider: .apns, app: "com.example.phone", token: "x", dialect: .rfc8599)
        bench.push(.call, "first")
        #expect(bench.run { bench.ends.count == 1 })
        for name in ["sent", "r1", "r2"] { bench.push(.refresh, name) }
        #expect(bench.delivery.isHealthy(for: binding, nil))
        for name in ["c1", "c2"] { bench.push(.call, name) }
        #expect(!bench.delivery.isHealthy(for: binding, nil))
        #expect(bench.run { bench.ends.count == 6 })
        #expect(bench.delivery.isHealthy(for: binding, nil))
    }

    @Test func `takes pushes out when their time or their call is over`() throws {
        let bench = try QueueBench(script: Self.oneForEver)
        bench.push(.call, "first")
        #expect(bench.run { bench.delivery.queues.inFlight == 1 })
        bench.push(.call, "short", seconds: 1)
        bench.push(.call, "hungup")
        bench.delivery.cancel([try #require(bench.jobs["hungup"])])
        #expect(bench.run { bench.ends["hungup"] != nil })
        #expect(bench.ends["hungup"]?.reason == "CallOver")
        #expect(bench.run { bench.ends["short"] != nil })
        #expect(bench.ends["short"]?.reason == "DeadlinePassed")
        #expect((bench.ends["short"]?.after ?? 0) >= 1000)
        #expect(bench.delivery.queues.waiting == 0)
        #expect(try bench.arrivals() == ["first"])
    }

    @Test func `drops the push of a call that is over although others end all the time`() throws {
        let bench = try QueueBench(script: Self.oneForEver)
        for name in ["sent", "hungup", "other"] { bench.push(.call, name) }
        #expect(bench.delivery.queues.waiting > 0)
        bench.delivery.cancel([try #require(bench.jobs["hungup"])])
        let isOver = bench.run(seconds: 5) {
            bench.jobs["other"]?.channel?.queue.sweepSoon()
            return bench.ends["hungup"] != nil
        }
        #expect(isOver)
        #expect(bench.ends["other"] == nil)
    }

    @Test func `says why nothing could be sent when no connection can be had`() throws {
        let bench = try QueueBench([.apnsURL: "https://127.0.0.1:1"])
        for number in 0..<5 { bench.push(.call, "call\(number)", seconds: 1) }
        #expect(bench.run { bench.ends.count == 5 })
        #expect(bench.ends.values.allSatisfy { $0.outcome == .unavailable && !$0.reason.isEmpty })
    }

    @Test func `holds a provider that throttles, ends what cannot wait and comes back`() throws {
        let bench = try QueueBench(
            script:
                #"{"rules":[{"provider":"fcm","count":1,"status":429,"reason":"QUOTA_EXCEEDED","headers":{"retry-after":"4"}}]}"#
        )
        let binding = Binding(provider: .fcm, app: "pushwake-simulator", token: "x", dialect: .rfc8599)
        bench.push(.chat, "first", by: .fcm)
        #expect(bench.run { bench.delivery.queues.held == 1 })
        #expect(!bench.delivery.isHealthy(for: binding, nil))
        bench.push(.call, "hurried", by: .fcm, seconds: 1)
        for number in 1...20 { bench.push(.chat, "patient\(number)", by: .fcm) }
        bench.loop.turn(waitingUpTo: 0)
        #expect(bench.ends["hurried"]?.outcome == .throttled)
        #expect(bench.delivery.queues.waiting == 20)
        #expect(bench.run { bench.ends.count == 22 })
        #expect(bench.ends["patient1"]?.outcome == .accepted)
        #expect((bench.ends["patient1"]?.after ?? 0) > 1000)
        // The ramp: not all at once.
        #expect((bench.ends["patient20"]?.after ?? 0) > (bench.ends["patient1"]?.after ?? 0) + 100)
        #expect(bench.ends["first"]?.outcome == .accepted)
        #expect(try bench.arrivals().count == 22)
        #expect(bench.delivery.isHealthy(for: binding, nil))
    }

    @Test func `does not come to rest for what it refuses itself while a provider wants a pause`() throws {
        let bench = try QueueBench(
            script:
                #"{"rules":[{"provider":"fcm","count":1,"status":429,"reason":"QUOTA_EXCEEDED","headers":{"retry-after":"3"}}]}"#,
            [.maxFail: "3"])
        bench.push(.chat, "first", by: .fcm)
        #expect(bench.run { bench.delivery.queues.held == 1 })
        bench.push(.chat, "patient", by: .fcm)
        for number in 0..<10 { bench.push(.call, "hurried\(number)", by: .fcm, seconds: 1) }
        bench.loop.turn(waitingUpTo: 0)
        #expect(bench.ends.count == 10 && bench.ends.values.allSatisfy { $0.reason == "ProviderAsksToWait" })
        #expect(bench.delivery.queues.waiting == 1)
        #expect(bench.run { bench.ends.count == 12 })
        #expect(bench.ends["patient"]?.outcome == .accepted && bench.ends["first"]?.outcome == .accepted)
    }

    @Test func `looks once at what waits when a wave of answers tells it to hold`() throws {
        let bench = try QueueBench()
        let queue = try #require(bench.delivery.channelList.first { $0.provider == .fcm }).channel.queue
        queue.hold(60_000)
        for number in 0..<10_000 { bench.push(.chat, "\(number)", by: .fcm, seconds: 600) }
        #expect(queue.count == 10_000)
        let time = ContinuousClock().measure { for _ in 0..<1000 { queue.hold(60_000) } }
        #expect(time < .seconds(1))
        bench.push(.chat, "hurried", by: .fcm, seconds: 90)
        queue.hold(120_000)
        #expect(bench.ends["hurried"]?.reason == "ProviderAsksToWait")
        #expect(queue.count == 10_000)
    }

    @Test func `is idle once nothing waits for a provider that throttled and named no time`() throws {
        let bench = try QueueBench(
            script: #"{"rules":[{"provider":"fcm","count":1,"status":429,"reason":"QUOTA_EXCEEDED"}]}"#)
        bench.push(.call, "first", by: .fcm)
        #expect(bench.run { bench.ends.count == 1 })
        // Long enough for another push to be due at the lowest rate, of which there is none.
        bench.run(seconds: 2) { false }
        var turns = 0
        bench.run(seconds: 1) {
            turns += 1
            return false
        }
        #expect(turns < 200)
        bench.push(.call, "second", by: .fcm)
        #expect(bench.run { bench.ends.count == 2 })
        #expect(bench.ends.values.allSatisfy { $0.outcome == .accepted })
    }

    @Test(arguments: [#""close":"fin""#, #""goaway":{}"#])
    func `connects again when the connection ends with the answer that slows it`(end: String) throws {
        let bench = try QueueBench(
            script: #"{"rules":[{"provider":"fcm","count":1,"status":429,"reason":"QUOTA_EXCEEDED",\#(end)}]}"#)
        bench.push(.call, "first", by: .fcm, seconds: 10)
        #expect(bench.run { bench.ends.count == 1 })
        bench.push(.call, "second", by: .fcm, seconds: 10)
        #expect(bench.run { bench.ends.count == 2 })
        #expect(bench.ends.values.allSatisfy { $0.outcome == .accepted })
    }

    @Test func `is idle while a provider that slows it has no stream free`() throws {
        let bench = try QueueBench(
            script:
                #"{"streams":{"fcm_max_concurrent":2},"rules":[{"provider":"fcm","token":"slow","delay_ms":4000},{"provider":"fcm","token":"busy","count":1,"status":429,"reason":"QUOTA_EXCEEDED"},{"provider":"fcm","delay_ms":4000}]}"#,
            connections: 1)
        bench.push(.call, "warm", by: .fcm)
        #expect(bench.run { bench.ends.count == 1 })
        for name in ["slow", "busy", "next", "last"] { bench.push(.call, name, by: .fcm) }
        bench.run(seconds: 2) { false }
        var turns = 0
        bench.run(seconds: 1) {
            turns += 1
            return false
        }
        #expect(turns < 200)
        #expect(bench.run { bench.ends.count == 5 })
        #expect(bench.ends.values.allSatisfy { $0.outcome == .accepted })
    }

    @Test func `goes on for others when Apple has enough of one token`() throws {
        let bench = try QueueBench(
            script: #"{"rules":[{"token":"busy","count":2,"status":429,"reason":"TooManyRequests"}]}"#)
        bench.push(.chat, "busy")
        #expect(bench.run { (try? bench.arrivals().count) == 1 })
        for number in 1...5 { bench.push(.chat, "other\(number)") }
        #expect(bench.run { bench.ends.count == 6 })
        #expect(bench.order.last == "busy")
        #expect(bench.ends["busy"].map { $0.outcome == .accepted && $0.attempts == 3 } == true)
    }

    @Test func `loses and doubles nothing where one stream is allowed before the first good token`() throws {
        let bench = try QueueBench(script: #"{"streams":{"one_until_first_push":true}}"#)
        for number in 0..<500 { bench.push(.call, "token\(number)") }
        #expect(bench.run { bench.ends.count == 500 })
        #expect(bench.ends.values.allSatisfy { $0.outcome == .accepted && $0.attempts == 1 })
        let arrivals = try bench.arrivals()
        #expect(arrivals.count == 500)
        #expect(Set(arrivals).count == 500)
        let streams = try bench.fixture.requests().map { $0["stream"]?.integer }
        #expect(streams.first == 1)
    }

    @Test func `goes on with what waits when the keys are read again`() throws {
        let bench = try QueueBench(script: #"{"streams":{"max_concurrent":1},"rules":[{"delay_ms":20}]}"#)
        bench.push(.call, "first")
        #expect(bench.run { bench.ends.count == 1 })
        for number in 0..<10 { bench.push(.call, "old\(number)") }
        #expect(bench.delivery.reload() == [])
        for number in 0..<10 { bench.push(.call, "new\(number)") }
        #expect(bench.run { bench.ends.count == 21 })
        #expect(bench.ends.values.allSatisfy { $0.outcome == .accepted })
        let arrivals = try bench.arrivals()
        #expect(arrivals.count == 21 && Set(arrivals).count == 21)
    }

    /// A pause may outlast the channel, and the provider may be set up no more by then.
    @Test func `ends at once what comes back to it after it was closed`() throws {
        let bench = try QueueBench(script: Self.oneByOne)
        bench.push(.call, "first")
        #expect(bench.run { bench.ends["first"] != nil })
        let first = try #require(bench.jobs["first"])
        let channel = try #require(bench.delivery.choice(for: first.binding)?.channel)
        channel.pool.close()
        bench.loop.updateTime()
        var ends: [Verdict] = []
        let push = Push(
            first.binding, first.content, type: first.push.type, deadline: bench.loop.now + 60_000)
        let job = PushJob(push) { _, verdict, _ in ends.append(verdict) }
        job.channel = channel
        channel.submit(job)
        #expect(ends == [])
        bench.run(seconds: 5) { !ends.isEmpty }
        #expect(ends.map(\.outcome) == [.unavailable])
    }

    @Test func `ends what waits when its credential comes to rest`() throws {
        let bench = try QueueBench(
            script:
                #"{"streams":{"max_concurrent":1},"rules":[{"token":"bad*","status":403,"reason":"InvalidProviderToken"},{"delay_ms":60}]}"#,
            [.maxFail: "2"])
        bench.push(.call, "first")
        #expect(bench.run { bench.ends.count == 1 })
        for name in ["bad1", "bad2"] { bench.push(.call, name) }
        for number in 0..<30 { bench.push(.refresh, "refresh\(number)") }
        #expect(bench.delivery.queues.waiting >= 30)
        #expect(bench.run { bench.ends.count == 33 })
        #expect(bench.ends["bad1"]?.outcome == .misconfigured && bench.ends["bad2"]?.outcome == .misconfigured)
        let open = "CircuitOpen (InvalidProviderToken)"
        let refused = bench.ends.filter { $0.key.hasPrefix("refresh") && $0.value.reason == open }
        // At most one was on its way when the second failure was heard of.
        #expect(refused.count >= 29)
        #expect(refused.values.allSatisfy { $0.outcome == .unavailable && $0.attempts == 0 && $0.after < 5000 })
        #expect(bench.delivery.queues.waiting == 0)
        #expect(bench.delivery.queued == 0)
        #expect(bench.delivery.queues.inFlight == 0)
        // What comes while the circuit is open ends at once, and nobody may rely on it.
        bench.push(.call, "late")
        bench.loop.turn(waitingUpTo: 0)
        #expect(bench.ends["late"]?.reason == open)
        let binding = Binding(provider: .apns, app: "com.example.phone", token: "x", dialect: .rfc8599)
        #expect(!bench.delivery.isHealthy(for: binding, nil))
        #expect(try bench.arrivals().allSatisfy { !$0.hasPrefix("late") })
    }

    @Test func `keeps its circuit closed for an app that is another team's`() throws {
        let bench = try QueueBench(
            script: #"{"rules":[{"token":"evil*","status":400,"reason":"TopicDisallowed"}]}"#, [.maxFail: "2"])
        for number in 0..<5 {
            bench.push(.call, "evil\(number)")
            #expect(bench.run { bench.ends.count == number + 1 })
        }
        bench.push(.call, "good")
        #expect(bench.run { bench.ends.count == 6 })
        #expect(bench.ends["evil4"]?.reason == "TopicDisallowed")
        #expect(bench.ends["good"]?.outcome == .accepted)
    }

    @Test func `does not count the request for an access token as a push`() throws {
        let bench = try QueueBench(script: #"{"rules":[{"provider":"oauth","no_answer":true}]}"#)
        var mostInFlight = 0
        bench.push(.call, "call", by: .fcm, seconds: 1)
        #expect(
            bench.run {
                mostInFlight = max(mostInFlight, bench.delivery.queues.inFlight)
                return bench.ends.count == 1
            })
        #expect(bench.ends["call"]?.outcome == .expired)
        #expect(mostInFlight == 0)
    }

    @Test func `does not fill with pushes that a provider out of order sends back`() throws {
        let bench = try QueueBench(
            script: #"{"rules":[{"status":503,"reason":"ServiceUnavailable"}]}"#, [.queueSize: "5", .maxFail: "0"])
        bench.push(.chat, "first", seconds: 3)
        #expect(bench.run { (try? bench.arrivals().isEmpty) == false })
        for number in 0..<20 { bench.push(.chat, "chat\(number)", seconds: 3) }
        #expect(bench.run { bench.ends.count >= 14 })
        #expect(bench.delivery.queued <= 6)
        #expect(bench.run { bench.ends.count == 21 })
        #expect(bench.ends.values.allSatisfy { [.unavailable, .expired, .overloaded].contains($0.outcome) })
        #expect(bench.delivery.queued == 0)
    }
}

@Suite struct `Load of an engine` {
    @Test func `rises with the queue, keeps messages back and falls again`() throws {
        let bench = try QueueBench(
            script: #"{"streams":{"max_concurrent":1},"rules":[{"provider":"apns","no_answer":true}]}"#,
            [.queueSize: "100"])
        let core = EngineCore(
            settings: bench.fixture.settings, store: MemoryStore(), delivery: bench.delivery, log: bench.log)
        core.context.load.start()
        bench.push(.call, "first")
        #expect(bench.run { bench.delivery.queues.inFlight == 1 })
        for number in 0..<90 { bench.push(.call, "call\(number)", seconds: 8) }
        #expect(bench.run { core.context.load.meter.level == .extreme })
        #expect(core.context.load.meter.sample.queueFill == 90)
        #expect(core.context.refusal(of: .call) == nil)
        #expect(core.context.refusal(of: .chat) == Verdict(.overloaded, reason: "LoadLevel 4"))
        var end: PushResult?
        let binding = Binding(
            aor: "bob", provider: .apns, app: "com.example.phone", token: "chat", dialect: .rfc8599)
        bench.delivery.push(
            Push(
                binding, PushContent(event: .chat, callID: "c"), type: .alert, deadline: bench.loop.now + 5000),
            refusal: core.context.refusal(of: .chat)
        ) { job, verdict, status in end = core.outcomes.record(job, verdict, status) }
        #expect(end == nil)
        bench.loop.turn(waitingUpTo: 0)
        #expect(end?.outcome == .overloaded)
        #expect(core.context.statistics.rows().contains { $0.name == "apns_overloaded" && $0.value == 1 })
        #expect(bench.run { bench.ends.count == 90 })
        #expect(bench.run { core.context.load.meter.level < .extreme })
        #expect(core.context.refusal(of: .chat) == nil)
        #expect(try bench.arrivals() == ["first"])
    }

    @Test func `answers a switched-off event at once and counts no push`() throws {
        let bench = try QueueBench([.loadChat: "never"])
        let store = MemoryStore()
        let core = EngineCore(
            settings: bench.fixture.settings, store: store, delivery: bench.delivery, log: bench.log)
        var binding = Binding(
            aor: "bob", provider: .apns, app: "com.example.phone", service: .remote, token: "abc",
            dialect: .rfc8599)
        binding.registeredAt = SystemClock.wallSeconds()
        binding.expiresAt = binding.registeredAt + 60
        binding.forgetAt = binding.registeredAt + 60
        _ = store.register([binding], now: binding.registeredAt)
        core.manualPushes.send(PushContent(event: .chat, callID: "1"), to: "bob") { _ in }
        core.manualPushes.send(PushContent(event: .call, callID: "2"), to: "bob") { _ in }
        #expect(bench.run { bench.delivery.queued == 0 })
        #expect(core.context.statistics.pushed == 1)
        #expect(core.context.statistics.rows().contains { $0.name == "apns_rejected" && $0.value == 1 })
        #expect(core.context.statistics.rows().contains { $0.name == "apns_accepted" && $0.value == 1 })
    }
}
