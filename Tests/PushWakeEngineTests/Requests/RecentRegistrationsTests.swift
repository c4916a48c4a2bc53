// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

private let host: Int64 = 7
private let handle: Int64 = 99
private let contact = "sip:bob@10.0.0.1:5060;pn-provider=fcm;pn-param=project;pn-prid=abc:def"

extension CoreBench {
    /// A call that an engine before this one began, with the bindings that it left. Gives the call's ticket.
    fileprivate func callOfAnEarlierEngine() throws -> [UInt8] {
        let first = try CoreBench()
        try first.register("<\(contact)>")
        var message = WakeMessage()
        (message.aor, message.callID, message.method) = ("bob", "call@1", "INVITE")
        (message.host, message.handle) = (UInt64(host), UInt64(handle))
        let answer = try first.core.requests.wake(message)
        #expect(answer.pushed == 1)
        let now = SystemClock.wallSeconds()
        _ = store.register(first.store.bindings(of: "bob", now: now), now: now)
        return answer.ticket
    }

    /// The host tells of the call; gives the kinds of verbs that come of it, and the contact that is rung.
    fileprivate func resume(_ ticket: [UInt8], pushed: Int64) throws -> (kinds: [Int64], rung: String) {
        let reply = try ask(
            .resume,
            [.host: host, .handle: handle, .ticket: ticket, .pushedDevices: pushed, .milliseconds: Int64(500)])
        #expect(reply.kind == .reply)
        var kinds: [Int64] = []
        var rung = ""
        for bytes in core.hosts.undelivered.take(for: UInt64(host), now: SystemClock.monotonicMilliseconds()) {
            var reader = try #require(MessageReader(bytes))
            while let field = reader.next() {
                if field.tag == .verb { kinds.append(reader.number(field)) }
                if field.tag == .contactKey { rung = reader.text(field) }
            }
        }
        return (kinds, rung)
    }
}

@Suite struct `Phones that register before a new engine knows the held requests` {
    private static let ring = Int64(HostVerb.Kind.ring.rawValue)

    @Test(arguments: [0, 1] as [Int64])
    func `ring as soon as it does, and are pushed no more`(pushed: Int64) throws {
        let bench = try CoreBench()
        let ticket = try bench.callOfAnEarlierEngine()
        try bench.register("<\(contact)>", cseq: 2)
        let verbs = try bench.resume(ticket, pushed: pushed)
        #expect(verbs.kinds.contains(Self.ring))
        #expect(verbs.rung == contact)
        #expect(bench.core.context.statistics.pushed == 0)
        // A supervisor that connects again tells of it again.
        #expect(try !bench.resume(ticket, pushed: pushed).kinds.contains(Self.ring))
    }

    @Test func `ring too when a channel's host reports them`() throws {
        let bench = try CoreBench()
        let ticket = try bench.callOfAnEarlierEngine()
        _ = try bench.ask(.registered, [.aor: "bob", .contactURI: contact])
        #expect(try bench.resume(ticket, pushed: 1).rung == contact)
    }

    @Test func `are not rung when they have left again, nor when others registered`() throws {
        let bench = try CoreBench()
        let ticket = try bench.callOfAnEarlierEngine()
        try bench.register("<\(contact)>", cseq: 2)
        try bench.register("<\(contact)>", cseq: 3, expires: "0")
        _ = try bench.ask(.registered, [.aor: "alice", .contactURI: "sip:alice@10.0.0.2"])
        let verbs = try bench.resume(ticket, pushed: 1)
        #expect(!verbs.kinds.contains(Self.ring))
        #expect(bench.core.requests.calls.live == 1)
    }

    /// The host tells again when its question was not answered in time.
    @Test func `are not given up when their host tells again while they ring`() throws {
        let bench = try CoreBench()
        let ticket = try bench.callOfAnEarlierEngine()
        try bench.register("<\(contact)>", cseq: 2)
        #expect(try bench.resume(ticket, pushed: 1).rung == contact)
        #expect(try bench.resume(ticket, pushed: 1).kinds == [])
    }

    /// Another process of the host tells of the end, and is faster.
    @Test func `are not woken for a call that is over`() throws {
        let bench = try CoreBench()
        let ticket = try bench.callOfAnEarlierEngine()
        bench.core.handle(try .of(.requestEnded, [.host: host, .handle: handle]), from: InnerPeer { _ in })
        #expect(try bench.resume(ticket, pushed: 0).kinds == [])
        #expect(bench.core.context.statistics.pushed == 0 && bench.core.requests.calls.live == 0)
        var ends = PendingRequests()
        for number in 0..<5000 { ends.noteEnd(.handle(host: 1, UInt64(number)), now: 0) }
        let last = RequestID.handle(host: 1, 4999)
        #expect(ends.hasEnded(last, now: 4999) && !ends.hasEnded(last, now: 5000))
    }

    @Test func `that have ended are remembered for a time, however many there are`() {
        var ends = RecentEnds(kept: 5000, most: 4096)
        func id(_ number: Int) -> RequestID { .handle(host: 1, UInt64(number)) }
        // 800 in a second, for a minute.
        for number in 0..<48_000 {
            let now = Int64(number) * 5 / 4
            ends.note(id(number), now: now)
            if number >= 3999 { #expect(ends.has(id(number - 3999), now: now)) }
            if number >= 4000 { #expect(!ends.has(id(number - 4000), now: now)) }
            #expect(ends.count <= 8192)
        }
        for number in 0..<100_000 { ends.note(id(number), now: 100_000) }
        #expect(ends.count <= 8192 && ends.has(id(99_999), now: 104_999) && ends.has(id(96_000), now: 104_999))
    }

    @Test func `are bounded, and forgotten after ten seconds`() {
        var early = RecentRegistrations(now: 1000)
        func add(_ number: Int, _ now: Int64) {
            let uri = "sip:bob@10.0.0.1:\(number)"
            early.add(
                CallRegistration(contact: CallContact(key: uri)), uri: uri, aor: "user-\(number)", domain: "", now: now)
        }
        for number in 0..<9000 { add(number, 2000) }
        #expect(early.count == 8192)
        for number in 0..<9000 { add(number, 2000) }
        #expect(early.count == 8192)
        early.remove(uri: "sip:bob@10.0.0.1:5;pn-prid=abc", aor: "user-5", domain: "")
        #expect(early.count == 8191)
        early.sweep(now: 10_999)
        #expect(early.count == 8191)
        early.sweep(now: 11_000)
        #expect(early.count == 0)
        add(1, 11_000)
        #expect(early.count == 0)
    }
}
