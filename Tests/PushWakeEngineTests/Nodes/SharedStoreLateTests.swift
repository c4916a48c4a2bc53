// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

private let giveUp = Int64(HostVerb.Kind.giveUp.rawValue)

@Suite struct `A call that comes while a shared store does not answer` {
    /// The call has come, and the store could not say anything of its user.
    private func heldHost(_ contact: String? = nil, _ reach: CallContact.Reach = .datagram) throws -> (
        SharedStoreHost, answer: MessageReader
    ) {
        let host = try SharedStoreHost()
        host.putBinding(age: 600)
        host.store.isAway = true
        try host.call(contact: contact, reach: reach)
        host.store.answer()
        return (host, try #require(host.hear()))
    }

    private func number(_ tag: EngineProtocol.Tag, in message: MessageReader) -> Int64 {
        EngineClient.number(tag, in: message)
    }

    @Test func `is held, and pushed when the store answers`() throws {
        let (host, answer) = try heldHost()
        #expect(answer.kind == .reply && number(.watched, in: answer) == 1 && number(.hold, in: answer) > 0)
        #expect(host.live == 0)
        host.store.isAway = false
        #expect(host.verbSoon(ring) == nil)
        #expect(host.pushed == 1 && host.store.confirmed == ["bob"])
        #expect(host.live == 1)
    }

    @Test func `rings who can be reached at once, and pushes who sleeps there`() throws {
        let (host, answer) = try heldHost("sip:bob@10.0.0.1:5060;transport=tcp")
        var reader = answer
        while let field = reader.next() {
            if field.tag == .verdicts { #expect(Array(reader.bytes[field.range]) == [0]) }
            if field.tag == .legs { #expect(Array(reader.bytes[field.range]) == [1, 0]) }
        }
        host.store.isAway = false
        #expect(host.verbSoon(ring) == nil)
        #expect(host.pushed == 1)
    }

    @Test func `does not push a phone that rings before the store answers`() throws {
        let (host, _) = try heldHost("sip:bob@10.0.0.1:5060;transport=tcp")
        try host.say(.progressed, [.host: 7, .handle: 1, .leg: 1, .status: 180, .fromPhone: 1])
        host.store.isAway = false
        #expect(host.verbSoon(giveUp) != nil)
        #expect(host.pushed == 0)
    }

    @Test func `rings a phone that registers here before the store answers`() throws {
        let (host, _) = try heldHost()
        try host.register()
        host.store.answer()
        host.store.isAway = false
        let verb = try #require(host.verbSoon(ring))
        #expect(EngineClient.text(.contactKey, in: verb) == "uloc-1")
        #expect(host.pushed == 0)
    }

    @Test func `does not ring a phone that had registered before`() throws {
        let host = try SharedStoreHost()
        try host.register()
        host.store.answer()
        _ = host.hear()
        let then = SystemClock.monotonicMilliseconds()
        while SystemClock.monotonicMilliseconds() <= then { host.bench.loop.turn(waitingUpTo: 1) }
        host.store.isAway = true
        try host.call()
        host.store.answer()
        #expect(host.hear()?.kind == .reply)
        host.store.isAway = false
        #expect(host.verbSoon(ring) == nil)
        #expect(host.pushed == 1)
    }

    @Test func `is forgotten when its caller hangs up`() throws {
        let (host, _) = try heldHost()
        try host.report(.requestEnded, .how, 0)
        host.store.isAway = false
        #expect(host.verbSoon(ring) == nil)
        #expect(host.pushed == 0 && host.live == 0)
    }

    @Test func `is not pushed here when another node pushes`() throws {
        let (host, _) = try heldHost()
        host.store.isAway = false
        host.store.isClaimed = true
        #expect(host.verbSoon(ring) == nil)
        #expect(host.pushed == 0 && host.store.confirmed.isEmpty)
    }

    @Test func `is begun by the next engine when this one ends`() throws {
        let (_, answer) = try heldHost()
        var ticket: [UInt8] = []
        var reader = answer
        while let field = reader.next() { if field.tag == .ticket { ticket = Array(reader.bytes[field.range]) } }
        let next = try SharedStoreHost()
        next.putBinding(age: 600)
        try next.say(.resume, [.host: 7, .handle: 1, .ticket: ticket, .milliseconds: 300])
        next.store.answer()
        #expect(next.pushed == 1)
    }

    @Test(arguments: [0, 180, 486]) func `does not ring a phone twice when the store stays away`(status: Int64) throws {
        let contact = "sip:bob@10.0.0.1:5060;transport=tcp"
        let (_, answer) = try heldHost(contact)
        var ticket: [UInt8] = []
        var reader = answer
        while let field = reader.next() { if field.tag == .ticket { ticket = Array(reader.bytes[field.range]) } }
        let next = try SharedStoreHost()
        next.store.isAway = true
        try next.say(
            .resume,
            [
                .host: 7, .handle: 1, .ticket: ticket, .milliseconds: 6000, .lastLeg: 1, .contactURI: contact,
                .contactKey: "uloc-0", .leg: 1, .status: status, .contactReachable: 0,
            ])
        next.store.answer()
        #expect(next.live == 1)
        #expect(next.verbSoon(ring) == nil)
    }
}

@Suite struct `A store that is away` {
    private var outage = StoreOutage()

    /// Whether a request that comes then waits for it.
    private mutating func waits(at now: Int64) -> Bool { outage.mayWait(now: now) }

    private mutating func fail(from begin: Int64, to end: Int64) {
        for now in stride(from: begin, to: end, by: 500) { _ = outage.mayWait(now: now) }
    }

    @Test mutating func `is waited for at first`() {
        let answers = [waits(at: 1_000_000), waits(at: 1_004_999)]
        #expect(answers == [true, true])
    }

    @Test mutating func `is not waited for when it stays away`() {
        fail(from: 1_000_000, to: 1_005_000)
        let answers = [waits(at: 1_005_000), waits(at: 1_014_000)]
        #expect(answers == [false, false])
    }

    @Test mutating func `is waited for again when it was back`() {
        fail(from: 1_000_000, to: 1_006_000)
        outage.end()
        let answer = waits(at: 1_007_000)
        #expect(answer)
    }

    @Test mutating func `is waited for again when nobody asked for long`() {
        fail(from: 1_000_000, to: 1_006_000)
        let answer = waits(at: 1_060_000)
        #expect(answer)
    }
}
