// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine
@testable import PushWakeSystem

@Suite struct `A REGISTER of a user for whom requests are held` {
    private static let host: UInt64 = 7
    private static let uri = "sip:bob@10.0.0.1:5060"

    /// Holds calls for a user whose phone sleeps.
    private func hold(_ count: Int, aor: String = "bob", _ bench: CoreBench) throws {
        let now = SystemClock.wallSeconds()
        _ = bench.store.register(
            [
                Binding(
                    aor: aor, provider: .acrobits, app: "com.example.phone", token: "00ff", dialect: .rfc8599,
                    contact: Self.uri, registeredAt: now - 600, expiresAt: now + 600, forgetAt: now + 600)
            ], now: now)
        for number in 0..<count {
            var message = WakeMessage()
            (message.event, message.aor, message.callID, message.seconds) = (.call, aor, "call-\(number)", 40)
            (message.method, message.host, message.handle) = ("INVITE", Self.host, UInt64(number + 1))
            let answer = try bench.core.requests.wake(message)
            try #require(answer.hold > 0)
        }
    }

    /// Handles of the requests that ring, in the reply and in what the host's supervisor hears.
    private func register(aor: String = "bob", _ bench: CoreBench) throws -> (reply: MessageReader, rung: Set<Int64>) {
        var rung: Set<Int64> = []
        func note(_ message: MessageReader) {
            var reader = message
            var kind: Int64 = 0
            while let field = reader.next() {
                if field.tag == .verb { kind = reader.number(field) }
                if field.tag == .handle, kind == HostVerb.Kind.ring.rawValue { rung.insert(reader.number(field)) }
            }
        }
        let supervisor = InnerPeer { note($0) }
        EngineQuestions(to: bench.core).send(.subscribe, from: supervisor) { $0.put(.host, Int64(Self.host)) }
        let reply = try bench.ask(
            .register,
            [
                .host: Int64(Self.host), .aor: aor, .callID: "a@b", .cseq: 1, .granted: 3600, .headerName: "Contact",
                .headerValue: "<\(Self.uri);pn-provider=acrobits;pn-param=com.example.phone;pn-prid=00ff>",
            ])
        note(reply)
        bench.core.hosts.flushAll()
        return (reply, rung)
    }

    /// Verbs for some 1,500 of them have room in the answer.
    @Test(arguments: [1, 3000]) func `lets all of them ring`(count: Int) throws {
        let bench = try CoreBench()
        try hold(count, bench)
        let (reply, rung) = try register(bench)
        #expect(reply.kind == .reply, "\(EngineClient.text(.message, in: reply))")
        #expect(rung.count == count)
    }

    @Test func `is followed by a moment in which all are forgotten`() throws {
        let bench = try CoreBench()
        let begin = SystemClock.monotonicMilliseconds()
        try hold(3000, bench)
        let held = SystemClock.monotonicMilliseconds()
        for request in bench.core.requests.calls.requests(for: "bob") { bench.core.requests.end(request, .cancelled) }
        let ended = SystemClock.monotonicMilliseconds()
        bench.core.tick(now: ended + 100_000)
        #expect(bench.core.requests.calls.count == 0)
        #expect(SystemClock.monotonicMilliseconds() - ended < held - begin)
    }

    /// Of two users whose names are written with other bytes neither hears of the other.
    @Test func `lets no request ring of a user whose name only looks the same`() throws {
        let bench = try CoreBench()
        try hold(1, aor: "jos\u{E9}", bench)
        #expect(try register(aor: "jose\u{301}", bench).rung.isEmpty)
        #expect(try register(aor: "jos\u{E9}", bench).rung.count == 1)
    }
}
