// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeClient
@testable import PushWakeCore
@testable import PushWakeEngine

extension TraceRing {
    fileprivate func call(_ callID: String, to aor: String = "bob", cseq: UInt32 = 1, now: Int64 = 0) -> TraceID {
        begin(method: "INVITE", aor: aor, callID: callID, cseq: cseq, from: "sip:alice@example.com", now: now)
    }

    fileprivate func cseqs(_ name: String, limit: Int = 100) -> [UInt32] {
        find(name, limit: limit).compactMap { trace(of: $0)?.cseq }
    }
}

private func binding(_ token: String, _ provider: Provider = .fcm) -> Binding {
    Binding(aor: "bob", provider: provider, app: "com.example", token: token, dialect: .rfc8599)
}

@Suite struct `Trace of requests` {
    @Test func `finds requests by Call-ID and by user, the newest first`() {
        let traces = TraceRing()
        for cseq in 1...3 as ClosedRange<UInt32> { _ = traces.call("one", cseq: cseq) }
        _ = traces.call("two", to: "carol", cseq: 4)
        _ = traces.call("three", cseq: 5)
        #expect(traces.cseqs("one") == [3, 2, 1])
        #expect(traces.cseqs("bob") == [5, 3, 2, 1])
        #expect(traces.cseqs("bob", limit: 2) == [5, 3])
        #expect(traces.cseqs("carol") == [4])
        #expect(traces.cseqs("nobody").isEmpty)
        #expect(traces.newest(2).compactMap { traces.trace(of: $0)?.cseq } == [5, 4])
    }

    @Test func `lists what is older than a request, as far as it is kept`() {
        let traces = TraceRing(capacity: 3)
        #expect(traces.newest(5, before: 9).isEmpty)
        for cseq in 1...5 as ClosedRange<UInt32> { _ = traces.call("call\(cseq)@x", cseq: cseq) }
        func older(_ number: UInt64) -> [UInt32] {
            traces.newest(10, before: number).compactMap { traces.trace(of: $0)?.cseq }
        }
        #expect(older(5) == [4, 3] && older(3) == [] && older(0) == [] && older(.max) == [5, 4, 3])
        #expect(traces.callID(of: traces.id(5)) == "call5@x" && traces.callID(of: traces.id(1)).isEmpty)
    }

    @Test func `forgets the oldest request, and what is noted of it`() {
        let traces = TraceRing(capacity: 3)
        let first = traces.call("a", cseq: 1)
        for cseq in 2...4 as ClosedRange<UInt32> { _ = traces.call("call\(cseq)", cseq: cseq) }
        traces.note(first, .ended(.answered), now: 1)
        traces.name(first, device: 0, instance: "x")
        #expect(traces.trace(of: first) == nil)
        #expect(traces.cseqs("a").isEmpty)
        #expect(traces.cseqs("bob") == [4, 3, 2])
        #expect(traces.trace(of: traces.newest(3)[2])?.lines.isEmpty == true)
        traces.note(.none, .copied, now: 1)
        #expect(traces.trace(of: .none) == nil)
    }

    @Test func `finds exactly what it holds, however often the ring goes round`() {
        let traces = TraceRing(capacity: 7)
        var all: [(call: String, aor: String)] = []
        var random = SystemRandomNumberGenerator()
        for cseq in 0..<500 as Range<UInt32> {
            let names = ("c\(Int.random(in: 0..<5, using: &random))", "u\(Int.random(in: 0..<3, using: &random))")
            all.append(names)
            _ = traces.call(names.0, to: names.1, cseq: cseq)
            let kept = Array(all.indices.suffix(7).reversed())
            for index in 0..<5 {
                let expected = kept.filter { all[$0].call == "c\(index)" }.map { UInt32($0) }
                #expect(traces.cseqs("c\(index)") == expected)
            }
            for index in 0..<3 {
                let expected = kept.filter { all[$0].aor == "u\(index)" }.map { UInt32($0) }
                #expect(traces.cseqs("u\(index)") == expected)
            }
        }
    }

    @Test func `finds a Call-ID that is longer than what it keeps`() {
        let traces = TraceRing()
        let long = String(repeating: "x", count: 5000)
        _ = traces.call(long + "1", cseq: 1)
        _ = traces.call(long + "2", cseq: 2)
        #expect(traces.cseqs(long + "1") == [1])
    }

    @Test(arguments: [129, 300, 5000]) func `is found by the names that it shows`(length: Int) throws {
        let traces = TraceRing()
        let (user, call) = (String(repeating: "u", count: length), String(repeating: "c", count: length))
        let id = traces.begin(method: "INVITE", aor: user, callID: call, cseq: 1, from: "", now: 0)
        let trace = try #require(traces.trace(of: id))
        #expect(traces.find(trace.callID, limit: 5) == [id])
        #expect(traces.find(trace.aor, limit: 5) == [id])
        #expect(length > 512 || trace.callID == call && trace.aor == user)
    }

    @Test func `shortens what names a device`() throws {
        let traces = TraceRing()
        let id = traces.call("a")
        var phone = binding("dQw4w9WgXcQ-secret-secret-x7Qk", .apns)
        phone.instance = "<urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6>"
        traces.name(id, device: 1, phone)
        let trace = try #require(traces.trace(of: id))
        #expect(
            trace.introduction(of: 1) == "phone 2 is apns com.example, token dQw4w9…x7Qk, instance f81d4f…6bf6")
        #expect(trace.introduction(of: 0) == nil)
    }

    @Test func `keeps a usual request in a kilobyte`() throws {
        let traces = TraceRing()
        let trace = try #require(traces.trace(of: Self.usual(traces, 7)))
        #expect(trace.lines.count == 9)
        #expect(Self.weight(of: trace) < 1024)
    }

    /// Bytes of a trace, what stands behind its pointers included.
    private static func weight(of trace: CallTrace) -> Int {
        func heap(_ text: String) -> Int { text.utf8.count < 16 ? 0 : 32 + text.utf8.count }
        let texts = [trace.method, trace.aor, trace.callID, trace.from] + trace.texts
        let names = trace.names.reduce(0) { $0 + heap($1?.app ?? "") + heap($1?.token ?? "") }
        return MemoryLayout<CallTrace>.stride + texts.reduce(names) { $0 + heap($1) }
            + 32 + trace.lines.capacity * MemoryLayout<TraceLine>.stride
            + 32 + trace.texts.capacity * MemoryLayout<String>.stride
            + 32 + trace.names.capacity * MemoryLayout<CallTrace.Name?>.stride
    }

    /// A phone that is pushed, registers, rings and answers.
    @discardableResult
    static func usual(_ traces: TraceRing, _ index: Int) -> TraceID {
        let id = traces.begin(
            method: "INVITE", aor: "user\(index)@pbx.example.com", callID: "3848276298220188511-\(index)@192.0.2.44",
            cseq: 102, from: "sip:alice.\(index)@pbx.example.com", now: 0)
        var phone = binding("dQw4w9WgXcQ:APA91b\(index)-0123456789012345678901234567890123456789")
        phone.instance = "<urn:uuid:f81d4fae-7dec-11d0-a765-\(index)>"
        traces.name(id, device: 0, phone)
        let contact = "sip:user\(index)@198.51.100.77:49152;transport=tls;pn-provider=fcm;pn-prid=\(phone.token)"
        traces.note(id, [.note(.asleep(device: 0)), .note(.pushed(device: 0, .call)), .hold(until: 40_000)], now: 0)
        let result = PushResult(event: .call, outcome: .accepted, httpStatus: 200, microseconds: 43_000)
        traces.answered(id, device: 0, result, now: 43)
        traces.note(
            id,
            [
                .note(.registered(device: 0)), .ring(leg: 1, contact: contact, replacing: nil),
                .note(.rung(device: 0, leg: 1, contact: contact)), .note(.gaveUp(status: 480)),
            ], now: 1200)
        traces.note(id, .progressed(device: 0, leg: 1, status: 180), now: 1300)
        traces.note(id, .progressed(device: 0, leg: 1, status: 200), now: 5000)
        traces.note(id, .ended(.answered), now: 5001)
        return id
    }
}

@Suite struct `Wake records` {
    @Test func `count for each token by itself`() {
        var records = WakeRecords()
        for _ in 0..<4 { records.accepted(binding("one"), now: 5000) }
        records.accepted(binding("two"), now: 6000)
        records.woke(binding("two"), milliseconds: 1500, now: 7500)
        #expect(records.record(of: binding("one")).assessment == .neverWoke(4))
        let second = records.record(of: binding("two"))
        #expect(second.assessment == .wakes(1500))
        #expect(WakeRecords.ago(second.lastWake, now: 17_000) == 10)
        #expect(WakeRecords.ago(second.lastPush, now: 0) == 0)
        #expect(records.record(of: binding("one", .apns)) == WakeRecord())
        #expect(records.count == 2)
    }

    @Test func `blame no token for what ended here`() {
        var records = WakeRecords()
        for outcome in [Outcome.expired, .overloaded] { records.ended(binding("one"), outcome, now: 1) }
        #expect(records.record(of: binding("one")).assessment == .neverPushed)
        records.ended(binding("one"), .rejected, now: 1)
        #expect(records.record(of: binding("one")).assessment == .failing(1, .rejected))
    }

    @Test func `know why the last push failed until one is accepted`() {
        var records = WakeRecords()
        records.ended(binding("one"), .tokenGone, "BadDeviceToken", now: 1)
        #expect(records.reason(of: binding("one")) == "BadDeviceToken" && records.reason(of: binding("two")).isEmpty)
        records.ended(binding("one"), .accepted, now: 2)
        #expect(records.reason(of: binding("one")).isEmpty)
        for index in 0..<5000 { records.ended(binding("t\(index)"), .rejected, "HTTP 400", now: 3) }
        #expect(records.reason(of: binding("t4999")) == "HTTP 400")
    }

    @Test func `forget the token that was pushed longest ago when there is no room`() {
        var records = WakeRecords(sets: 1, perSet: 3)
        for (time, token) in ["one", "two", "three"].enumerated() {
            records.accepted(binding(token), now: Int64(time) * 1000)
        }
        records.accepted(binding("one"), now: 5000)
        records.accepted(binding("four"), now: 6000)
        let known = ["one", "two", "three", "four"].filter { records.record(of: binding($0)).accepted > 0 }
        #expect(known == ["one", "three", "four"])
        #expect(records.count == 3)
    }

    @Test func `stay within 64 bytes a token, and within bounds`() {
        #expect(MemoryLayout<WakeRecords.Entry>.stride <= 64)
        var records = WakeRecords(sets: 100, perSet: 12)
        for index in 0..<10_000 { records.accepted(binding("t\(index)"), now: 1) }
        #expect(records.count > 1190 && records.count <= 1200)
        records.accepted(binding("last"), now: 2000)
        #expect(records.record(of: binding("last")).accepted == 1)
    }
}
