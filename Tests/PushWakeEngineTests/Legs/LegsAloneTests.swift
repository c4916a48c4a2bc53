// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeClient

private let asleep = LegScene.contact("old")
private let fresh = LegScene.contact("fresh", age: 3)

@Suite struct `Waiting calls without an engine` {
    @Test func `ring at once who is surely awake`() {
        let scene = LegScene(.proxy, hasEngine: false, contacts: [fresh, asleep]).invite()
            .says("X-PushWake-Contact: sip:fresh@10.0.0.1").asks([])
        #expect(scene.texts.filter { $0.contains("sip:old@") }.isEmpty)
    }

    @Test func `wait two seconds for one, then ring the known contact, else say 480`() {
        LegScene(.proxy, hasEngine: false, contacts: [asleep]).invite().wait(1999).answered(times: 0).wait(2)
            .says("X-PushWake-Contact: sip:old@10.0.0.1")
        LegScene(hasEngine: false).invite().wait(2001).answered("480 Temporarily Unavailable")
    }

    @Test(arguments: [false, true])
    func `go from a phone that says nothing to one that registers, or ring both`(ringsAll: Bool) {
        let scene = LegScene(hasEngine: false, ringsAll: ringsAll, contacts: [fresh]).invite()
            .says("X-PushWake-Contact: sip:fresh@10.0.0.1").registered("new", aor: "100")
        let isDialled = scene.orders.contains { if case .dial = $0 { true } else { false } }
        let isClosed = scene.orders.contains { if case .close = $0 { true } else { false } }
        #expect(isDialled == ringsAll && isClosed != ringsAll)
    }

    @Test func `go to the next one that comes in time, as requests that none has seen`() {
        let scene = LegScene(hasEngine: false, contacts: [asleep]).invite().wait(500).newEngine().asks([.resume])
        let inner = scene.asked[0].first(.ticket).flatMap { MessageReader(Array(scene.asked[0].bytes[$0.range])) }
        #expect(inner.map { EngineClient.number(.bindingsPending, in: $0) } == 1)
        #expect(inner.map { EngineClient.text(.aor, in: $0) } == "100")
        scene.wait(5000).answered(times: 1).answered("100 Trying").verb(.ring, leg: 1002, contact: "sip:100@10.0.0.2")
            .answered("302 Moved Temporarily").reported([[1002, 0, 0]])
    }

    @Test func `go on with the ticket of the one before`() {
        let scene = LegScene(contacts: [asleep]).invite().answer(legs: [0]).verb(.pushed, leg: 3).loseEngine()
            .wait(10_000).holds(1).newEngine()
        let resumed = scene.asked.last
        #expect(resumed?.kind == .resume)
        #expect(resumed.map { EngineClient.number(.pushedDevices, in: $0) } == 8)
        #expect(resumed?.first(.ticket).map { resumed?.bytes[$0.range] == [1, 2, 3] } == true)
    }

    @Test func `tell the next one what a phone has refused, and how far another one is`() {
        let scene = LegScene(contacts: [asleep]).invite().answer(legs: [0]).verb(.ring, leg: 1, contact: asleep.key)
            .heard(leg: 1, 486).invite(cseq: 2).verb(.ring, leg: 2, contact: "sip:new@10.0.0.1").heard(leg: 2, 180)
            .loseEngine().newEngine()
        let told = scene.asked.last.map { WakeMessage(decoding: $0).contacts } ?? []
        #expect(told.map(\.leg) == [1, 2] && told.map(\.legStatus) == [486, 180])
    }

    @Test func `do not tell the next one of a leg that only its way has failed`() {
        let scene = LegScene(contacts: [asleep]).invite().answer(legs: [0]).verb(.pushed, leg: 0)
            .verb(.ring, leg: 1, contact: asleep.key).heard(leg: 1, 503, isFromPhone: false).invite(cseq: 2).verb(.hold)
            .loseEngine().newEngine()
        #expect(scene.asked.last.map { WakeMessage(decoding: $0).contacts }?.map(\.leg) == [0])
    }

    @Test func `ring who registers, and end at the time of the wait`() {
        LegScene(contacts: [asleep]).invite().answer(legs: [0]).verb(.pushed, leg: 0).loseEngine()
            .registered("new", aor: "101").answered("180 Ringing").registered("new", aor: "100")
            .says("X-PushWake-Contact: sip:new@10.0.0.1")
        LegScene().invite().answer().verb(.pushed, leg: 0).loseEngine().wait(45_000)
            .answered("480 Temporarily Unavailable")
    }

    @Test func `take a refusal as the answer, and ring nobody twice`() {
        LegScene(contacts: [asleep]).invite().answer(legs: [0]).verb(.pushed, leg: 0)
            .verb(.ring, leg: 1, contact: "sip:new@10.0.0.1").loseEngine().heard(leg: 1, 486).invite(cseq: 2)
            .answered("486 Busy Here").holds(0)
    }

    @Test func `do not wait for the word of one that hangs`() {
        LegScene(contacts: [asleep]).invite().answer(legs: [0]).verb(.ring, leg: 1, contact: "sip:new@10.0.0.1")
            .heard(leg: 1, 486).invite(cseq: 2).wait(1100).answered("486 Busy Here")
    }

    @Test func `ring who is awake when an engine is slow, and tell it when it answers`() {
        LegScene(.proxy, contacts: [fresh]).invite().wait(101).says("X-PushWake-Leg: 1001")
            .heard(leg: 1001, 180).reported([]).answer(legs: [1]).reported([[1, 180, 1]]).answered(times: 1, "100")
    }

    @Test func `say that their end came while the question was out`() {
        LegScene().invite().send("CANCEL", branch: "1").asks([.wake, .requestEnded]).answer().holds(0)
    }

    @Test func `go to whom can be reached when the store is away`() {
        LegScene(.proxy, contacts: [asleep]).invite().fail().says("X-PushWake-Contact: sip:old@10.0.0.1")
    }
}

@Suite struct `Timers of waiting legs` {
    @Test func `come in order, and none is kept twice for one call`() {
        var timers = LegTimers()
        for at in [5, 3, 9, 1, 7] as [Int64] { timers.add(at, .leg(UInt64(at))) }
        var order: [UInt64] = []
        while case .leg(let handle)? = timers.take(due: 8) { order.append(handle) }
        #expect(order == [1, 3, 5, 7] && timers.first?.at == 9)
    }

    @Test func `leave nothing behind after a thousand calls`() {
        let scene = LegScene(.proxy)
        for number in 0..<1000 {
            scene.send("INVITE", branch: "b\(number)", callID: "c\(number)").answer().verb(.giveUp, status: 480)
                .send("ACK", branch: "b\(number)", callID: "c\(number)")
        }
        scene.wait(120_000)
        let next = scene.legs.nextDeadline()
        #expect(scene.legs.count == 0 && scene.legs.transactions.isEmpty && next == nil)
        #expect(scene.legs.questions.isEmpty && scene.legs.dialogs.isEmpty)
    }
}
