// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

@Suite struct `A core whose store answers later` {
    @Test func `promises push when the store has answered, and not before`() throws {
        let host = try SharedStoreHost(["node_uri": "sip:10.0.0.9:5060"])
        try host.register()
        #expect(host.hear() == nil)
        host.store.runs = 2
        host.store.answer()
        let reply = try #require(host.hear())
        #expect(EngineClient.text(.featureCaps, in: reply) == "Feature-Caps: *;+sip.pns=\"fcm\"\r\n")
        #expect(host.bench.core.context.statistics.stored == 1)
        let stored = host.store.bindings.bindings(of: "bob", now: SystemClock.wallSeconds())
        let route = "<sip:10.0.0.9:5060;lr;aor=bob;received=sip:10.0.0.1:4711%3Btransport%3Dtcp>"
        #expect(stored.map(\.route) == [route])
        let announced = try #require(host.store.announced.first)
        let notice = try #require(RegistrationNotice(announced))
        #expect(notice.aor == "bob" && notice.contacts.count == 1)
        #expect(notice.contacts[0].route == route && notice.contacts[0].key == "uloc-1")
        #expect(notice.contacts[0].tokens == ["abc:def"] && notice.contacts[0].instance == "<1>")
        #expect(notice.contacts[0].flowNumber == 2)
    }

    @Test func `promises nothing when the store is away`() throws {
        let host = try SharedStoreHost()
        host.store.isAway = true
        try host.register()
        host.store.answer()
        #expect(host.hear()?.kind == .failure)
    }

    @Test func `hears of other nodes for as long as each request may be held`() throws {
        let host = try SharedStoreHost(["wake_timeout": "40"])
        try host.call()
        try host.say(.wait, [.aor: "bob", .callID: "long", .seconds: 7200, .withoutContacts: 1])
        // A setting that is read again counts at once.
        var longer = host.bench.core.context.settings
        try longer.set("wake_timeout", to: "90")
        host.bench.core.take(longer)
        try host.call(handle: 2)
        let retention = RequestRunner.retention / 1000
        #expect(host.store.heldFor == [40 + retention, 7200 + retention, 90 + retention])
    }

    @Test func `lets a call go on without push when nobody can hold it and the store is away`() throws {
        let host = try SharedStoreHost()
        host.store.isAway = true
        try host.call(handle: 0)
        #expect(host.hear() == nil)
        host.store.answer()
        #expect(host.hear()?.kind == .failure)
        #expect(host.isAtRest)
    }

    @Test func `forgets a call whose caller hangs up before its bindings come`() throws {
        let host = try SharedStoreHost()
        host.putBinding(age: 600)
        try host.call()
        try host.report(.requestEnded, .how, 0)
        host.store.answer()
        #expect(host.isAtRest)
    }

    @Test func `forgets a call whose channel hangs up before its bindings come`() throws {
        let host = try SharedStoreHost()
        let core = host.bench.core
        host.putBinding(age: 600)
        let listener = try Socket.listen(on: try #require(SocketAddress(ip: "127.0.0.1", port: 0)))
        let client = try Socket.connect(to: listener.localAddress)
        var accepted = listener.accept()
        while accepted == nil { accepted = listener.accept() }
        let connection = try LineConnection(try #require(accepted).socket, loop: host.bench.loop)
        let channel = FastAGIChannel(connection, core, token: "")
        for line in ["agi_request: agi://h/wake?aor=bob&timeout=9", "", "200 result=1 (call)"] { channel.line(line) }
        #expect(core.requests.awaitingBindings.count == 1)
        channel.line("HANGUP")
        host.store.answer()
        #expect(core.requests.calls.live == 0 && core.requests.awaitingBindings.isEmpty && channel.wait == nil)
        client.close()
    }

    @Test func `forgets a call whose process ends before its bindings come`() throws {
        let host = try SharedStoreHost()
        host.putBinding(age: 600)
        try host.wait()
        host.hangUp()
        host.store.answer()
        #expect(host.isAtRest)
    }

    @Test func `lets a process wait whose bindings come late, and ends no other's wait when they do not`() throws {
        let host = try SharedStoreHost()
        host.putBinding(age: 600)
        for isAway in [false, true] {
            host.store.isAway = isAway
            try host.wait("call \(isAway)")
            host.store.answer()
            #expect(host.live == 1)
            #expect(host.isWaiting != isAway)
        }
    }

    @Test func `rings a phone that another node announces, by the route to it`() throws {
        let host = try SharedStoreHost()
        // No push of this node fails.
        host.store.isClaimed = true
        try host.hold(age: 600)
        #expect(host.hear()?.kind == .reply)
        let contact = RegistrationNotice.Contact(
            uri: "sip:bob@10.0.0.7:5060;transport=tcp;pn-prid=abc:def", instance: "<1>", tokens: ["abc:def"],
            key: "uloc-9", flow: "sip:10.0.0.7:4712;transport=tcp", registrationID: "new", route: "<sip:10.0.0.2;lr>")
        host.store.onAnnouncement(RegistrationNotice(aor: "bob", domain: "", contacts: [contact]).bytes)
        let ring = try #require(host.verb(1))
        #expect(EngineClient.text(.contactKey, in: ring) == "uloc-9")
        #expect(EngineClient.text(.contactURI, in: ring) == "sip:bob@10.0.0.7:5060;transport=tcp")
        #expect(EngineClient.text(.contactPath, in: ring) == "<sip:10.0.0.2;lr>")
        #expect(EngineClient.text(.contactFlow, in: ring) == "sip:10.0.0.7:4712;transport=tcp")
    }

    @Test(arguments: [(0, true), (30, false)])
    func `rings a phone at once that has registered elsewhere a moment ago`(age: Int64, rings: Bool) throws {
        let host = try SharedStoreHost()
        try host.hold(age: age)
        #expect(host.hear()?.kind == .reply)
        let ring = host.verb(1)
        #expect((ring != nil) == rings)
        if let ring { #expect(EngineClient.text(.contactPath, in: ring) == "<sip:10.0.0.2:5060;lr>") }
    }

    @Test func `rings a phone anew when the node that had its connection could not reach it`() throws {
        let host = try SharedStoreHost()
        // No push of this node fails.
        host.store.isClaimed = true
        try host.hold(age: 0)
        _ = host.hear()
        let ring = try #require(host.verb(1))
        let leg = ring[.leg]
        try host.say(.progressed, [.host: 7, .handle: 1, .leg: leg, .status: 477, .fromPhone: 1])
        try host.register()
        host.store.answer()
        #expect(host.verb(1) != nil)
    }

    @Test func `looks for phones when announcements may have been missed`() throws {
        let host = try SharedStoreHost()
        // No push of this node fails.
        host.store.isClaimed = true
        try host.hold(age: 600)
        _ = host.hear()
        host.putBinding(age: 0)
        host.store.onGap()
        host.store.answer()
        #expect(host.verb(1) != nil)
    }

    @Test func `does not push what another node pushes`() throws {
        let host = try SharedStoreHost()
        host.store.isClaimed = true
        try host.hold(age: 600)
        host.bench.loop.turn(waitingUpTo: 0)
        host.store.answer()
        #expect(host.pushed == 0)
        #expect(host.bench.core.context.statistics.leftToOtherNodes == 1)
        #expect(host.live == 1)
        #expect(host.store.confirmed.isEmpty)
    }

    @Test func `pushes when the node that was to push has gone on without`() throws {
        let host = try SharedStoreHost()
        host.store.isClaimed = true
        host.store.isClaimedStill = false
        try host.hold(age: 600)
        #expect(host.pushed == 0)
        host.bench.loop.turn(waitingUpTo: 0)
        host.store.answer()
        #expect(host.pushed == 1)
        #expect(host.bench.core.context.statistics.leftToOtherNodes == 0)
    }

    @Test func `says that it pushes`() throws {
        let host = try SharedStoreHost()
        try host.hold(age: 600)
        #expect(host.store.confirmed == ["bob"])
    }

    @Test(
        arguments: [[], [1, 4, 0, 0, 0, 0], [1, 4, 0, 0, 0, 0, 1, 255, 255, 255, 255], Array("garbage".utf8)]
            as [[UInt8]])
    func `ignores an announcement that it cannot read`(bytes: [UInt8]) throws {
        #expect(RegistrationNotice(bytes) == nil)
        let host = try SharedStoreHost()
        host.store.onAnnouncement(bytes)
        #expect(host.hear() == nil)
    }
}
