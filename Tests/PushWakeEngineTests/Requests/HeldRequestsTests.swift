// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine
@testable import PushWakeSystem

@Suite struct `A request that is held` {
    private static let fcm = "<sip:bob@10.0.0.1:5060;pn-provider=fcm;pn-param=project;pn-prid=abc:def>"

    private func message(_ event: PushEvent, seconds: Int64 = 40) -> WakeMessage {
        var message = WakeMessage()
        (message.event, message.aor, message.callID, message.seconds) = (event, "bob", "request", seconds)
        (message.isWaited, message.hasNoContacts) = (true, true)
        return message
    }

    private func bind(_ provider: Provider, service: TokenUse? = nil, _ bench: CoreBench) {
        let now = SystemClock.wallSeconds()
        _ = bench.store.register(
            [
                Binding(
                    aor: "bob", provider: provider, app: "com.example.phone", service: service, token: "00ff",
                    dialect: .rfc8599, registeredAt: now - 600, expiresAt: now + 600, forgetAt: now + 600)
            ], now: now)
    }

    /// Waits as a channel does.
    private func wait(_ bench: CoreBench, _ event: PushEvent, as peer: EnginePeer) {
        EngineQuestions(to: bench.core).send(.wait, from: peer) { writer in
            writer.put(.event, Int64(event.rawValue))
            writer.put(.aor, "bob")
            writer.put(.callID, "request")
            writer.put(.withoutContacts, 1)
        }
    }

    @Test func `ends once where no phone of its user can be pushed for it`() throws {
        let bench = try CoreBench()
        bind(.apns, service: .voip, bench)
        var events: [Int64] = []
        let peer = InnerPeer { message in
            if message.kind == .waitEvent { events.append(message[.kind]) }
        }
        wait(bench, .chat, as: peer)
        #expect(events == [Int64(WaitKind.failed.rawValue)])
        let request = try #require(bench.core.requests.calls.requests(for: "bob").first)
        // Whoever waited says that it is over.
        bench.core.requests.endCall(aor: "bob", callID: "request", .timedOut)
        #expect(bench.core.requests.calls.live == 0)
        #expect(request.pushes.live == 0)
        bench.core.tick(now: SystemClock.monotonicMilliseconds() + 1)
        #expect(bench.core.requests.calls.count == 0)
    }

    /// A dialplan's text is asked about once more for phones that did not answer it: no script that tries a user again.
    @Test(arguments: [(CallHost.dialplan, true), (.proxy, false)])
    func `keeps its pushes when a text is asked about once more`(host: CallHost, isKept: Bool) throws {
        let bench = try CoreBench()
        var text = message(.chat)
        (text.isWaited, text.hasNoContacts, text.hostKind) = (false, false, host)
        let first = bench.core.requests.makeRequest(text, [], 0)
        _ = first.machine.startUnheld(until: 60_000, now: 0)
        let push = first.pushes.push(to: "00ff")
        push.state = .ended(isAccepted: true, at: 0)
        push.followers.append((first, 0))
        let second = bench.core.requests.makeRequest(text, [], 5000)
        second.pushes.renew("00ff", for: second, now: 5000)
        #expect((second.pushes.known("00ff") != nil) == isKept)
    }

    @Test func `is counted once, however often it ends`() throws {
        let bench = try CoreBench()
        try bench.register(Self.fcm)
        _ = try bench.core.requests.wake(message(.call))
        let request = try #require(bench.core.requests.calls.requests(for: "bob").first)
        for _ in 0..<3 { bench.core.requests.calls.end(request, forgetAt: 0) }
        #expect(bench.core.requests.calls.live == 0)
        #expect(request.pushes.live == 0)
    }

    @Test func `leaves no timer of a channel that waits no more`() throws {
        let bench = try CoreBench()
        // It has no key that could be missing.
        bind(.acrobits, bench)
        let peer = InnerPeer { _ in }
        _ = try bench.core.requests.wake(message(.call))
        let timers = bench.loop.timers.count
        bench.core.requests.wait(for: message(.call), peer)
        #expect(bench.loop.timers.count == timers + 1)
        bench.core.requests.stopWaiting(peer)
        #expect(peer.wait == nil)
        // It has a phone and goes on: the request still ends, once, when its time is over.
        #expect(bench.loop.timers.count == timers + 1)
        bench.core.requests.stopWaiting(peer)
        #expect(bench.loop.timers.count == timers + 1)
        let other = InnerPeer { _ in }
        bench.core.requests.wait(for: message(.call), other)
        bench.core.requests.forget(other)
        #expect(bench.loop.timers.count == timers + 1)
    }

    @Test func `leaves no timer of a channel that has heard the end`() throws {
        let bench = try CoreBench()
        try bench.register(Self.fcm)
        let peer = InnerPeer { _ in }
        let timers = bench.loop.timers.count
        wait(bench, .call, as: peer)
        // There is no key: nothing is waited for.
        #expect(peer.wait == nil)
        #expect(bench.loop.timers.count == timers)
    }
}
