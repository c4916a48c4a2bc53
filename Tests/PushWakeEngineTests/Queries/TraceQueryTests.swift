// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import PushWakeSystem
import PushWakeTransport
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

extension CoreBench {
    fileprivate func call(_ callID: String, to aor: String = "bob") -> TraceID {
        core.context.traces.begin(
            method: "INVITE", aor: aor, callID: callID, cseq: 1, from: "sip:alice@example.com",
            now: SystemClock.monotonicMilliseconds())
    }
}

extension [EngineField] {
    fileprivate func text(_ name: String) -> String? { first { $0.name == name }?.text }
    fileprivate func number(_ name: String) -> Int64? { first { $0.name == name }?.number }
}

private let phone = "<sip:bob@10.0.0.1:5060;pn-provider=fcm;pn-param=project;pn-prid=abcdef0123456789:xyz>"

@Suite struct `Trace over the socket` {
    /// Two phones: one sleeps, the other is silent.
    private func tell(_ core: EngineCore, _ id: TraceID, at start: Int64) {
        let home = CallContact(key: "sip:bob@192.0.2.7:5061;transport=tls;pn-prid=abcdef0123456789:xyz", reach: .open)
        let phones = [
            Binding(provider: .apns, app: "com.example.phone", token: "740f4707bebcf74f9b7c25d4", dialect: .rfc8599),
            Binding(provider: .fcm, app: "my-project", token: "dQw4w9WgXcQ:APA91bHun4MP", dialect: .rfc8599),
        ]
        for (place, binding) in phones.enumerated() { core.context.traces.name(id, device: place, binding) }
        var machine = CallMachine(
            event: .call, isCall: true,
            devices: [
                CallDevice(tokens: [phones[0].token], canBePushed: true),
                CallDevice(tokens: [phones[1].token], contacts: [home], isAwake: true, canBePushed: true),
            ], policy: CallPolicy(), endsAt: start + 40_000)
        func note(_ verbs: [CallVerb], _ at: Int64) { core.context.traces.note(id, verbs, now: start + at) }
        func accept(_ device: Int, _ event: PushEvent, after milliseconds: Int64, at: Int64) {
            let result = PushResult(
                event: event, outcome: .accepted, httpStatus: 200, microseconds: milliseconds * 1000)
            core.context.traces.answered(id, device: device, result, now: start + at)
            note(machine.pushEnded(device: device, isAccepted: true, now: start + at), at)
        }
        note(machine.start(now: start), 0)
        accept(0, .call, after: 43, at: 43)
        note(machine.tick(now: start + 1502), 1502)
        accept(1, .call, after: 118, at: 1620)
        let awake = CallContact(key: "sip:bob@198.51.100.23:49152;transport=tls", flow: "1", reach: .open)
        note(machine.registered(CallRegistration(tokens: [phones[0].token], contact: awake), now: start + 2130), 2130)
        note(machine.progressed(leg: 2, status: 180, isFromPhone: true, now: start + 2190), 2190)
        note(machine.progressed(leg: 2, status: 200, isFromPhone: true, now: start + 6405), 6405)
        note(machine.ended(.answered, now: start + 6410), 6410)
        accept(1, .answeredElsewhere, after: 97, at: 6507)
    }

    private static let trace = """
        INVITE to bob from sip:alice@example.com, 42 s ago: answered after 6410 ms
          Call-ID 3848276298220188511@192.0.2.44, CSeq 1
          phone 1 answered; fcm accepted the push and phone 2 did not register
               +0 ms  phone 1 is apns com.example.phone, token 740f47…25d4
               +0 ms  phone 2 is fcm my-project, token dQw4w9…n4MP
               +0 ms  phone 1 sleeps: pushed through apns (call)
               +0 ms  phone 2 is awake: its connection is open
               +0 ms  phone 2 is rung at sip:bob@192.0.2.7:5061;transport=tls (leg 1)
               +0 ms  the request is held for up to 40 s
              +43 ms  apns accepts the call push to phone 1 after 43 ms
            +1502 ms  phone 2 has been silent for 1502 ms: pushed through fcm (call)
            +1620 ms  fcm accepts the call push to phone 2 after 118 ms
            +2130 ms  phone 1 registers
            +2130 ms  phone 1 is rung at sip:bob@198.51.100.23:49152;transport=tls (leg 2)
            +2190 ms  phone 1 rings (180)
            +6405 ms  phone 1 answers (200)
            +6410 ms  phone 2 is pushed through fcm (elsewhere)
            +6410 ms  the request has ended: answered
            +6507 ms  fcm accepts the elsewhere push to phone 2 after 97 ms
        """

    @Test func `says why a phone did not ring`() throws {
        let bench = try CoreBench()
        let start = SystemClock.monotonicMilliseconds() - 42_500
        let id = bench.core.context.traces.begin(
            method: "INVITE", aor: "bob", callID: "3848276298220188511@192.0.2.44", cseq: 1,
            from: "sip:alice@example.com", now: start)
        tell(bench.core, id, at: start)
        let byCall = try bench.rows(.trace, "3848276298220188511@192.0.2.44").rows
        #expect(TraceReport(byCall).text == Self.trace)
        let byUser = try bench.rows(.trace, "bob").rows
        #expect(TraceReport(byUser).text == Self.trace)
        #expect(!"\(byUser)".contains("abcdef0123456789"))
    }

    @Test func `is shown in the manual as it is`() throws {
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let manual = String(decoding: try FileContent.read("/\(root)/docs/operations.md"), as: UTF8.self)
        #expect(manual.contains("$ pushwake trace bob\n\(Self.trace)\n```"))
    }

    @Test func `is one document of JSON, a request with its lines`() throws {
        let bench = try CoreBench()
        for call in ["one", "two"] {
            let id = bench.call(call)
            bench.core.context.traces.note(id, .asleep(device: 0), now: SystemClock.monotonicMilliseconds())
        }
        let document = try JSONParser.parse(Array(TraceReport(try bench.rows(.trace, "bob").rows).json.utf8))
        let requests = try #require(document.array)
        #expect(requests.map { $0["call_id"]?.string } == ["two", "one"])
        #expect(requests.map { $0["lines"]?.array?.first?["what"]?.string } == ["asleep", "asleep"])
        let none = try JSONParser.parse(Array(TraceReport([]).json.utf8))
        #expect(none == .array([]))
    }

    @Test func `lists the newest requests without their lines`() throws {
        let bench = try CoreBench()
        #expect(try bench.rows(.trace, "").rows.isEmpty)
        for index in 0..<25 {
            bench.core.context.traces.note(
                bench.call("call\(index)"), .copied, now: SystemClock.monotonicMilliseconds())
        }
        let rows = try bench.rows(.trace, "").rows
        #expect(rows.compactMap { $0.text("call_id") } == (5..<25).reversed().map { "call\($0)" })
        #expect(rows.allSatisfy { $0.number("at_ms") == nil && $0.text("summary") != nil })
        #expect(TraceReport(rows).table.count == 20)
    }

    @Test func `answers in as many messages as it takes`() throws {
        let bench = try CoreBench()
        let now = SystemClock.monotonicMilliseconds()
        for index in 0..<30 {
            let id = bench.call("call\(index)")
            for line in 0..<64 {
                let contact = "sip:bob@198.51.100.23:\(line);\(String(repeating: "x", count: 200))"
                bench.core.context.traces.note(id, .rung(device: line, leg: line, contact: contact), now: now)
            }
        }
        let (rows, pages) = try bench.rows(.trace, "bob")
        #expect(pages > 1)
        #expect(rows.compactMap { $0.text("call_id") } == (10..<30).reversed().map { "call\($0)" })
        #expect(rows.count == 20 * 65)
    }

    @Test func `fits the longest trace into a message`() throws {
        let bench = try CoreBench()
        let now = SystemClock.monotonicMilliseconds()
        let rest = String(repeating: "\u{FFFD}", count: 300)
        for index in 0..<3 {
            let id = bench.core.context.traces.begin(
                method: rest, aor: "bob\(rest)", callID: "\(index)\(rest)", cseq: 1, from: rest, now: now)
            for line in 0..<100 {
                bench.core.context.traces.name(
                    id, device: line, provider: .webhook, app: rest, token: rest, instance: rest)
                bench.core.context.traces.note(
                    id, .rung(device: line % 8, leg: line, contact: "\(line % 16)\(rest)"), now: now)
            }
        }
        let rows = try bench.rows(.trace, "bob\(rest)").rows
        #expect(rows.count { $0.text("call_id") != nil } == 3)
    }

    @Test func `says when there was no such request, and that such a user has no binding`() throws {
        let bench = try CoreBench()
        func refusal(_ name: String) throws -> ClientError? {
            ClientError(
                try bench.ask(.query, [.query: EngineQuery.trace.rawValue, .argument: name]))
        }
        let start = "none of the last 0 requests has this Call-ID or is for this user"
        #expect(
            try refusal("bob") == .notFound(start + ", and there is no push binding of such a user"))
        try bench.register(phone)
        #expect(try refusal("bob") == .notFound(start))
    }
}

@Suite struct `Wakes over the socket` {
    @Test func `shows what pushes to each binding have come to`() throws {
        let bench = try CoreBench()
        try bench.register(phone)
        let before = try #require(try bench.rows(.bindings, "bob").rows.first)
        #expect(before.text("verdict") == "not pushed since the engine started")
        #expect(before.number("last_push_ago") == -1 && before.number("wake_percent") == -1)
        let binding = try #require(bench.store.bindings(of: "bob", now: SystemClock.wallSeconds()).first)
        bench.loop.updateTime()
        for _ in 0..<12 { bench.core.outcomes.accepted(binding, now: bench.loop.now - 30_000) }
        let silent = try #require(try bench.rows(.bindings, "bob").rows.first)
        #expect(silent.text("verdict") == "accepted 12, woke 0: notifications off?")
        bench.core.outcomes.woke(binding, milliseconds: 1200, now: bench.loop.now)
        let after = try #require(try bench.rows(.bindings, "").rows.first)
        #expect(after.text("verdict") == "wakes in 1.2 s, 1 times of 12")
        #expect(after.number("woke") == 1 && after.number("accepted") == 12 && after.number("wake_percent") == 8)
        let ago = try #require(after.number("last_push_ago"))
        #expect(ago >= 30 && ago <= 31 && after.number("last_wake_ago") == 0)
        #expect(after.text("removed") == "")
    }

    @Test func `counts a push that failed`() throws {
        let bench = try CoreBench()
        try bench.register(phone)
        _ = try bench.ask(.wake, [.event: Int64(0), .aor: "bob", .callID: "call@1"])
        bench.loop.turn(waitingUpTo: 10)
        let row = try #require(try bench.rows(.bindings, "bob").rows.first)
        #expect(row.text("verdict") == "the last push failed: misconfigured")
    }

    @Test func `lists more bindings than one message holds`() throws {
        let bench = try CoreBench()
        let instance = String(repeating: "i", count: 300)
        for user in ["ann", "bob", "c c"] {
            var bindings: [Binding] = []
            for index in 0..<200 {
                bindings.append(
                    Binding(
                        aor: user, provider: .fcm, app: "app", token: "\(user)token\(index)", dialect: .rfc8599,
                        instance: "<\(index)\(instance)>", registeredAt: SystemClock.wallSeconds(),
                        expiresAt: .max, forgetAt: .max))
            }
            for binding in bindings {
                _ = bench.store.register([binding], now: SystemClock.wallSeconds())
            }
        }
        for (argument, count) in [("", 600), ("c c", 200)] {
            let (rows, pages) = try bench.rows(.bindings, argument)
            #expect(pages > 1)
            #expect(rows.count == count)
            #expect(Set(rows.map { "\($0.text("aor") ?? "") \($0.text("instance") ?? "")" }).count == count)
        }
    }

    @Test func `tells how fast the phones of each provider wake`() throws {
        let bench = try CoreBench()
        let binding = Binding(provider: .apns, app: "a", token: "t", dialect: .mpush)
        for time in 1...100 as ClosedRange<Int64> { bench.core.outcomes.woke(binding, milliseconds: time * 10, now: 1) }
        let row = try #require(try bench.rows(.stats, "").rows.first)
        #expect(row.number("apns_woke") == 100)
        let percentiles = try ["apns_wake_p50_ms", "apns_wake_p90_ms", "apns_wake_p99_ms"].map { name in
            try #require(row.number(name))
        }
        for (told, exact) in zip(percentiles, [500, 900, 990] as [Int64]) {
            #expect(told >= exact && told <= exact + exact / 8)
        }
        #expect(row.number("fcm_woke") == nil)
    }
}
