// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeClient

private let asleep = LegScene.contact("old")
private let fresh = LegScene.contact("fresh", age: 3)

@Suite struct `Waiting calls without an engine` {
    @Test func `ring at once who is surely awake`() {
        var scene = LegScene(.proxy, hasEngine: false, contacts: [fresh, asleep])
        scene.invite()
        #expect(scene.texts.last?.contains("X-PushWake-Contact: sip:fresh@10.0.0.1") == true && scene.asked.isEmpty)
        #expect(scene.texts.filter { $0.contains("sip:old@") }.isEmpty)
    }

    @Test func `wait two seconds for one, then ring the known contact, else say 480`() {
        var scene = LegScene(.proxy, hasEngine: false, contacts: [asleep])
        scene.invite()
        scene.wait(1999)
        #expect(scene.answers.isEmpty)
        scene.wait(2)
        #expect(scene.texts.last?.contains("X-PushWake-Contact: sip:old@10.0.0.1") == true)
        var nobody = LegScene(hasEngine: false)
        nobody.invite()
        nobody.wait(2001)
        #expect(nobody.answers.last == "SIP/2.0 480 Temporarily Unavailable")
    }

    @Test(arguments: [false, true])
    func `go from a phone that says nothing to one that registers, or ring both`(ringsAll: Bool) {
        var scene = LegScene(hasEngine: false, ringsAll: ringsAll, contacts: [fresh])
        scene.invite()
        #expect(scene.texts.last?.contains("X-PushWake-Contact: sip:fresh@10.0.0.1") == true)
        scene.take(scene.legs.registered(LegScene.contact("new"), aor: "100", domain: "", now: scene.now))
        let isDialled = scene.orders.contains { if case .dial = $0 { true } else { false } }
        let isClosed = scene.orders.contains { if case .close = $0 { true } else { false } }
        #expect(isDialled == ringsAll && isClosed != ringsAll)
    }

    @Test func `go to the next one that comes in time, as requests that none has seen`() {
        var scene = LegScene(hasEngine: false, contacts: [asleep])
        scene.invite()
        scene.wait(500)
        scene.newEngine()
        #expect(scene.kinds == [.resume])
        let inner = scene.asked[0].first(.ticket).flatMap { MessageReader(Array(scene.asked[0].bytes[$0.range])) }
        #expect(inner.map { EngineClient.number(.bindingsPending, in: $0) } == 1)
        #expect(inner.map { EngineClient.text(.aor, in: $0) } == "100")
        scene.wait(5000)
        #expect(scene.answers == ["SIP/2.0 100 Trying"])
        scene.verb(.ring, leg: 1002, contact: "sip:100@10.0.0.2")
        #expect(scene.answers.last == "SIP/2.0 302 Moved Temporarily" && scene.reports == [[1002, 0, 0]])
    }

    @Test func `go on with the ticket of the one before`() {
        var scene = LegScene(contacts: [asleep])
        scene.invite()
        scene.answer(legs: [0])
        scene.verb(.pushed, leg: 3)
        scene.loseEngine()
        scene.wait(10_000)
        #expect(scene.legs.count == 1)
        scene.newEngine()
        let resumed = scene.asked.last
        #expect(resumed?.kind == .resume)
        #expect(resumed.map { EngineClient.number(.pushedDevices, in: $0) } == 8)
        #expect(resumed?.first(.ticket).map { resumed?.bytes[$0.range] == [1, 2, 3] } == true)
    }

    @Test func `tell the next one what a phone has refused, and how far another one is`() {
        var scene = LegScene(contacts: [asleep])
        scene.invite()
        scene.answer(legs: [0])
        scene.verb(.ring, leg: 1, contact: asleep.key)
        scene.heard(leg: 1, 486)
        scene.invite(cseq: 2)
        scene.verb(.ring, leg: 2, contact: "sip:new@10.0.0.1")
        scene.heard(leg: 2, 180)
        scene.loseEngine()
        scene.newEngine()
        let told = scene.asked.last.map { WakeMessage(decoding: $0).contacts } ?? []
        #expect(told.map(\.leg) == [1, 2] && told.map(\.legStatus) == [486, 180])
    }

    @Test func `do not tell the next one of a leg that only its way has failed`() {
        var scene = LegScene(contacts: [asleep])
        scene.invite()
        scene.answer(legs: [0])
        scene.verb(.pushed, leg: 0)
        scene.verb(.ring, leg: 1, contact: asleep.key)
        scene.heard(leg: 1, 503, isFromPhone: false)
        scene.invite(cseq: 2)
        scene.verb(.hold)
        scene.loseEngine()
        scene.newEngine()
        #expect(scene.asked.last.map { WakeMessage(decoding: $0).contacts }?.map(\.leg) == [0])
    }

    @Test func `ring who registers, and end at the time of the wait`() {
        var scene = LegScene(contacts: [asleep])
        scene.invite()
        scene.answer(legs: [0])
        scene.verb(.pushed, leg: 0)
        scene.loseEngine()
        scene.take(scene.legs.registered(LegScene.contact("new"), aor: "101", domain: "", now: scene.now))
        #expect(scene.answers.last == "SIP/2.0 180 Ringing")
        scene.take(scene.legs.registered(LegScene.contact("new"), aor: "100", domain: "", now: scene.now))
        #expect(scene.texts.last?.contains("X-PushWake-Contact: sip:new@10.0.0.1") == true)
        var other = LegScene()
        other.invite()
        other.answer()
        other.verb(.pushed, leg: 0)
        other.loseEngine()
        other.wait(45_000)
        #expect(other.answers.last == "SIP/2.0 480 Temporarily Unavailable")
    }

    @Test func `take a refusal as the answer, and ring nobody twice`() {
        var scene = LegScene(contacts: [asleep])
        scene.invite()
        scene.answer(legs: [0])
        scene.verb(.pushed, leg: 0)
        scene.verb(.ring, leg: 1, contact: "sip:new@10.0.0.1")
        scene.loseEngine()
        scene.heard(leg: 1, 486)
        scene.invite(cseq: 2)
        #expect(scene.answers.last == "SIP/2.0 486 Busy Here" && scene.legs.count == 0)
    }

    @Test func `do not wait for the word of one that hangs`() {
        var scene = LegScene(contacts: [asleep])
        scene.invite()
        scene.answer(legs: [0])
        scene.verb(.ring, leg: 1, contact: "sip:new@10.0.0.1")
        scene.heard(leg: 1, 486)
        scene.invite(cseq: 2)
        scene.wait(1100)
        #expect(scene.answers.last == "SIP/2.0 486 Busy Here")
    }

    @Test func `ring who is awake when an engine is slow, and tell it when it answers`() {
        var scene = LegScene(.proxy, contacts: [fresh])
        scene.invite()
        scene.wait(101)
        #expect(scene.texts.last?.contains("X-PushWake-Leg: 1001") == true)
        scene.heard(leg: 1001, 180)
        #expect(scene.reports.isEmpty)
        scene.answer(legs: [1])
        #expect(scene.reports == [[1, 180, 1]])
        #expect(scene.answers.filter { $0.contains("100") }.count == 1)
    }

    @Test func `say that their end came while the question was out`() {
        var scene = LegScene()
        scene.invite()
        scene.send("CANCEL", branch: "1")
        #expect(scene.kinds == [.wake, .requestEnded])
        scene.answer()
        #expect(scene.legs.count == 0)
    }

    @Test func `go to whom can be reached when the store is away`() {
        var scene = LegScene(.proxy, contacts: [asleep])
        scene.invite()
        scene.fail()
        #expect(scene.texts.last?.contains("X-PushWake-Contact: sip:old@10.0.0.1") == true)
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
        var scene = LegScene(.proxy)
        for number in 0..<1000 {
            scene.send("INVITE", branch: "b\(number)", callID: "c\(number)")
            scene.answer()
            scene.verb(.giveUp, status: 480)
            scene.send("ACK", branch: "b\(number)", callID: "c\(number)")
        }
        scene.wait(120_000)
        let next = scene.legs.nextDeadline()
        #expect(scene.legs.count == 0 && scene.legs.transactions.isEmpty && next == nil)
        #expect(scene.legs.questions.isEmpty && scene.legs.dialogs.isEmpty)
    }
}
