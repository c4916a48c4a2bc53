// SPDX-License-Identifier: MIT

import PushWakeClient
import PushWakeCore
import PushWakeSystem
import PushWakeTransport
import Testing

@testable import PushWakeEngine
@testable import PushWakeSimulator

@Suite struct `Web Push` {
    private let call = PushContent(
        event: .call, callID: "call-1@host", fromURI: "sip:alice@example.com", fromDisplay: "Älice", timeToLive: 30)

    @Test func `goes out empty without keys and encrypted with them`() throws {
        let fixture = try DeliveryFixture(.webPush)
        for keys in [false, true] {
            let end = try fixture.push(fixture.subscription("phone", keys: keys), call)
            #expect(end.verdict.outcome == .accepted)
            #expect(end.status == 201)
        }
        let requests = try fixture.requests()
        #expect(requests.count == 2)
        #expect(
            requests.allSatisfy { $0["headers"]?["ttl"]?.string == "30" && $0["headers"]?["urgency"]?.string == "high" }
        )
        #expect(requests[0]["headers"]?["content-encoding"] == nil)
        #expect(requests[1]["headers"]?["content-encoding"]?.string == "aes128gcm")
    }

    @Test func `signs once for many pushes and uses one connection`() throws {
        let fixture = try DeliveryFixture(.webPush)
        let ends = try fixture.push((0..<50).map { (try fixture.subscription("phone-\($0)", keys: true), call) })
        #expect(ends.allSatisfy { $0.verdict.outcome == .accepted })
        let requests = try fixture.requests()
        #expect(requests.count == 50)
        #expect(Set(requests.map { $0["headers"]?["authorization"]?.string }).count == 1)
        #expect(Set(requests.map { $0["connection"]?.integer }).count == 1)
    }

    @Test(arguments: [
        ("unregistered", 410, Outcome.tokenGone), ("expired", 404, .tokenGone), ("mismatch", 403, .tokenGone),
    ])
    func `hears that a subscription is gone`(name: String, status: Int, outcome: Outcome) throws {
        let fixture = try DeliveryFixture(.webPush)
        let end = try fixture.push(fixture.subscription(name, keys: true), call)
        #expect(end.verdict.outcome == outcome)
        #expect(end.status == status)
        #expect(end.attempts == 1)
    }

    @Test func `is sent again after a 503 and gives up on a second 401`() throws {
        let fixture = try DeliveryFixture(
            .webPush,
            script:
                #"{"rules":[{"token":"busy","count":1,"status":503,"headers":{"retry-after":"0"}},{"token":"deaf","status":401}]}"#
        )
        let busy = try fixture.push(fixture.subscription("busy", keys: true), call)
        #expect(busy.verdict.outcome == .accepted)
        #expect(busy.attempts == 2)
        let deaf = try fixture.push(fixture.subscription("deaf", keys: true), call)
        #expect(deaf.verdict.outcome == .misconfigured)
        #expect(deaf.attempts == 2)
    }

    @Test(arguments: ["push.example.com", "*", "*.0.0.1"])
    func `goes nowhere that is not allowed`(hosts: String) throws {
        let fixture = try DeliveryFixture()
        try fixture.setWebPush(hosts: hosts)
        let end = try fixture.push(fixture.subscription("phone", keys: true), call)
        #expect(end.verdict == Verdict(.rejected, reason: "ForbiddenURL"))
        #expect(end.attempts == 0)
        #expect(try fixture.requests().isEmpty)
    }

    @Test func `fails alone when its service is away`() throws {
        let fixture = try DeliveryFixture(.webPush)
        let away = Binding(provider: .webpush, token: "https://127.0.0.1:1/push/x", dialect: .rfc8599)
        let ends = try fixture.push([(away, call), (try fixture.subscription("phone", keys: false), call)], seconds: 1)
        #expect(ends[0].verdict.outcome == .unavailable)
        #expect(ends[1].verdict.outcome == .accepted)
    }

    @Test func `takes keys that are no keys for a mistake of the phone`() throws {
        let fixture = try DeliveryFixture(.webPush)
        var binding = try fixture.subscription("phone", keys: true)
        binding.attributes["pn-p256dh"] = PushWakeCore.Base64URL.encode([UInt8](repeating: 4, count: 65))
        #expect(try fixture.push(binding, call).verdict == Verdict(.rejected, reason: "UnusableKeys"))
    }
}

@Suite struct `Web Push services` {
    private func binding(_ number: Int) -> Binding {
        Binding(provider: .webpush, token: "https://push\(number).example.com/x", dialect: .rfc8599)
    }

    private func builder(_ fixture: DeliveryFixture) throws -> ChannelBuilder {
        ChannelBuilder(
            settings: fixture.settings, tls: try ChannelBuilder.tls(fixture.settings),
            payloads: try #require(PayloadFiles.load(fixture.settings).0), resolver: Resolver(loop: fixture.loop),
            loop: fixture.loop, log: EngineLog(threshold: .error) { _, _ in })
    }

    @Test func `have one channel each, and the idle ones make room`() throws {
        let fixture = try DeliveryFixture()
        try fixture.setWebPush(hosts: "*.example.com")
        let channels = try builder(fixture).webPush()
        let first = try #require(channels.choice(for: binding(0)).channel)
        #expect(channels.choice(for: binding(0)).channel === first)
        #expect(first.label == "webpush push0.example.com")
        for number in 1...WebPushChannels.mostServices {
            #expect(channels.choice(for: binding(number)).channel != nil)
        }
        #expect(channels.count == WebPushChannels.mostServices)
    }

    @Test func `whose pushes come back later make room, and those come back all the same`() throws {
        let fixture = try DeliveryFixture()
        try fixture.setWebPush(hosts: "*.example.com")
        let channels = try builder(fixture).webPush()
        fixture.loop.updateTime()
        var ended = 0
        var isBack = 0
        for number in 0..<WebPushChannels.mostServices {
            let channel = try #require(channels.choice(for: binding(number)).channel)
            let push = Push(
                binding(number), PushContent(event: .call, callID: "c"), deadline: fixture.loop.now + 30_000)
            let job = PushJob(push) { _, _, _ in ended += 1 }
            #expect(channel.queue.pause(job, until: fixture.loop.now + 50) { isBack += 1 })
        }
        #expect(channels.choice(for: binding(100)).channel != nil)
        #expect(channels.count == WebPushChannels.mostServices && ended == 0)
        fixture.turn(seconds: 5) { isBack == WebPushChannels.mostServices }
        #expect(isBack == WebPushChannels.mostServices)
    }

    /// What was never sent has no answer, and says nothing of a service that is asked again much later.
    @Test func `have their time for an answer from the first push that is here`() throws {
        let fixture = try DeliveryFixture(.webPush)
        let channels = try builder(fixture).webPush()
        let away = Binding(provider: .webpush, token: "https://127.0.0.1:1/push/x", dialect: .rfc8599)
        let channel = try #require(channels.choice(for: away).channel as? WebPushChannel)
        var ended = 0
        func push() {
            fixture.loop.updateTime()
            let job = PushJob(
                Push(away, PushContent(event: .call, callID: "c"), deadline: fixture.loop.now + 100)
            ) { _, _, _ in ended += 1 }
            job.channel = channel
            channel.submit(job)
        }
        push()
        fixture.turn(seconds: 5) { ended == 1 }
        #expect(ended == 1 && channel.isIdle)
        let before = fixture.loop.now
        fixture.turn(seconds: 5) { fixture.loop.now > before }
        push()
        #expect(channel.unansweredSince == fixture.loop.now)
        channel.close()
    }

    @Test func `that are dead make room for one that lives`() throws {
        let fixture = try DeliveryFixture(.webPush)
        let delivery = fixture.opened()
        // Connections are taken, and nothing is ever said.
        var deaf: [Socket] = []
        for _ in 0..<2 * WebPushChannels.mostServices {
            deaf.append(try Socket.listen(on: try #require(SocketAddress(ip: "127.0.0.1", port: 0))))
        }
        var ends: [Verdict] = []
        fixture.loop.updateTime()
        func push(_ binding: Binding) {
            let content = PushContent(event: .call, callID: "c")
            delivery.push(Push(binding, content, deadline: fixture.loop.now + 30_000)) { _, verdict, _ in
                ends.append(verdict)
            }
        }
        for socket in deaf {
            let token = "https://127.0.0.1:\(socket.localAddress.port)/x"
            push(Binding(aor: "mallory", provider: .webpush, token: token, dialect: .rfc8599))
        }
        // No place is free for a second.
        var alive = try fixture.subscription("phone", keys: true)
        alive.aor = "alice"
        push(alive)
        fixture.turn(seconds: 4) { ends.contains { $0.outcome == .accepted } }
        #expect(ends.contains { $0.outcome == .accepted })
        // Those that wait have ended none of their pushes themselves.
        #expect(ends.count { $0.outcome == .overloaded } <= WebPushChannels.mostServices)
        delivery.endAll()
    }

    @Test func `that fail have a few lines in the log, however many there are`() throws {
        let fixture = try DeliveryFixture(.webPush)
        let away = (1...60).map { Binding(provider: .webpush, token: "https://127.0.0.1:\($0)/x", dialect: .rfc8599) }
        let content = PushContent(event: .call, callID: "c")
        let ends = try fixture.push(away.map { ($0, content) }, seconds: 2)
        #expect(ends.allSatisfy { $0.verdict.outcome != .accepted })
        let lines = fixture.lines.filter { $0.contains("cannot connect") }
        #expect((1...3).contains(lines.count), "\(lines)")
        #expect(!lines.contains { $0.contains("calls go through without push") })
    }

    @Test(arguments: [(false, Outcome.unavailable), (true, .accepted)])
    func `are not reached when their name leads inside, unless it is written out`(isNamed: Bool, outcome: Outcome)
        throws
    {
        let fixture = try DeliveryFixture()
        try fixture.setWebPush(hosts: isNamed ? "localhost,*.example.com" : "*.example.com")
        let builder = try builder(fixture)
        let signer = try VAPIDKeyFile.read(fixture.settings.text(.vapidKey))
        let sender = WebPushSender(
            publicKey: signer.key.publicPoint(), subject: "mailto:ops@example.com",
            settings: WebPushSettings(fixture.settings), payloads: builder.payloads, sign: { try? signer.sign($0) })
        let port = try #require(UInt16(fixture.origin.split(separator: ":")[2]))
        let channel = builder.webPush(to: HTTPOrigin(host: "localhost", port: port), sender)
        let target = isNamed ? "https://localhost:\(port)/push/x" : "https://push.example.com/push/x"
        var end: Verdict?
        fixture.loop.updateTime()
        let job = PushJob(
            Push(
                Binding(provider: .webpush, token: target, dialect: .rfc8599), PushContent(event: .call, callID: "c"),
                deadline: fixture.loop.now + 1000)
        ) { _, verdict, _ in end = verdict }
        job.channel = channel
        channel.submit(job)
        for _ in 0..<50 where end == nil { fixture.loop.turn(waitingUpTo: 100) }
        #expect(end?.outcome == outcome)
        #expect((end?.reason.contains("only local addresses") ?? false) == !isNamed)
    }
}
