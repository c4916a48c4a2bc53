// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

extension CoreBench {
    /// Hands a message to the core that was sent at 1000 with a timeout of 100, and gives the reply if there is one.
    fileprivate func hand(
        _ kind: EngineProtocol.Kind, at now: Int64, _ fields: MessageFields
    ) throws -> MessageReader? {
        let connection = try ConnectedPeer()
        var writer = MessageWriter()
        writer.begin(kind, id: 9)
        writer.put(fields)
        writer.put([.sentAt: 1000, .senderTimeout: 100])
        core.handle(try #require(MessageReader(writer.bytes)), from: connection.peer, now: now)
        return connection.hear()
    }

    fileprivate func call(_ kind: EngineProtocol.Kind, at now: Int64) throws -> MessageReader? {
        try hand(kind, at: now, [.event: 0, .aor: "bob", .callID: "call@1"])
    }
}

@Suite struct `A request that waited in the socket` {
    private static let contact = "<sip:bob@10.0.0.1:5060;pn-provider=fcm;pn-param=project;pn-prid=abc:def>"

    @Test(arguments: [EngineProtocol.Kind.wake, .wait, .send])
    func `pushes nothing once its sender has given up`(kind: EngineProtocol.Kind) throws {
        let bench = try CoreBench()
        try bench.register(Self.contact)
        let late = try #require(try bench.call(kind, at: 1101))
        #expect(late.kind == .failure)
        #expect(late.id == 9)
        #expect(bench.core.context.statistics.wakesExpired == 1)
        #expect(bench.core.context.statistics.pushed == 0)
        #expect(bench.core.requests.calls.count == 0)

        // The caller tries again, and this time the engine is there.
        let inTime = try #require(try bench.call(kind, at: 1100))
        #expect(inTime[.pushed] == 1)
        #expect(bench.core.context.statistics.pushed == 1)
        #expect(bench.core.context.statistics.wakesExpired == 1)
    }

    @Test func `stores a binding, however late, and answers nobody`() throws {
        let bench = try CoreBench()
        func register(at now: Int64) throws -> MessageReader? {
            try bench.hand(
                .register, at: now,
                [.aor: "bob", .callID: "a@b", .headerName: "Contact", .headerValue: Self.contact])
        }
        #expect(try register(at: 600_000) == nil)
        #expect(bench.currentTokens() == ["abc:def"])
        #expect(try register(at: 1050)?.kind == .reply)
    }

    @Test(arguments: [EngineProtocol.Kind.registered, .stopWaiting])
    func `is carried out when it is news`(kind: EngineProtocol.Kind) throws {
        let bench = try CoreBench()
        #expect(try bench.call(kind, at: 600_000)?.kind == .reply)
        #expect(bench.core.context.statistics.wakesExpired == 0)
    }

    @Test func `takes no verbs for a host that has given up on its subscription`() throws {
        let bench = try CoreBench()
        bench.core.hosts.undelivered.keep([1], for: 7, now: SystemClock.monotonicMilliseconds())
        let late = try #require(try bench.hand(.subscribe, at: 1101, [.host: 7]))
        #expect(late.kind == .failure)
        #expect(bench.core.hosts.subscribers.isEmpty)
        #expect(bench.core.context.statistics.wakesExpired == 0)
        let inTime = try bench.hand(.subscribe, at: 1100, [.host: 7])
        #expect(inTime?.kind == .reply)
        #expect(bench.core.hosts.subscribers.count == 1)
        let left = bench.core.hosts.undelivered.take(for: 7, now: SystemClock.monotonicMilliseconds())
        #expect(left.isEmpty)
    }

    @Test func `tells nobody the same twice`() throws {
        let bench = try CoreBench()
        let peer = InnerPeer { _ in }
        for _ in 0..<2 { EngineQuestions(to: bench.core).send(.subscribe, from: peer) { $0.put(.host, 7) } }
        #expect(bench.core.hosts.subscribers.count == 1)
    }
}
