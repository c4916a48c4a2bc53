// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeClient

private let asleep = LegScene.contact("old")
private let open = LegScene.contact("open", .open)

@Suite struct `A call in a channel that waits` {
    @Test func `is answered 100, asked about, and rings where the phone registers`() {
        LegScene(contacts: [asleep]).invite().answered(times: 1).answered("100 Trying").asks([.wake])
            .asks(0, .aor, "100").asks(0, .waitingLeg, 1).answer(legs: [0]).answered("180 Ringing")
            .verb(.pushed, leg: 0)
            .answered(times: 2).verb(.ring, leg: 1, contact: "sip:100@10.0.0.2").answered("302 Moved Temporarily")
            .says("X-PushWake-Leg: 1\r\nX-PushWake-Contact: sip:100@10.0.0.2\r\n").reported([[1, 0, 0]])
            .send("ACK", branch: "1").heard(leg: 1, 180).heard(leg: 1, 200).asksLast(.requestEnded).holds(0)
    }

    @Test func `ends with 480 when the engine gives up`() {
        LegScene().invite().answer().verb(.giveUp, status: 480).answered("480 Temporarily Unavailable")
            .asks([.wake, .requestEnded]).holds(0)
    }

    @Test func `comes back when its phone refuses, and ends with what that said`() {
        LegScene().invite().answer().verb(.ring, leg: 1, contact: "sip:100@10.0.0.2").heard(leg: 1, 486)
            .reported([[1, 0, 0], [1, 486, 1]]).invite(cseq: 2).answered("100 Trying").verb(.giveUp, status: 480)
            .answered("486 Busy Here")
    }

    @Test func `waits on for others after a refusal while the engine says so`() {
        LegScene().invite().answer().verb(.ring, leg: 1, contact: "sip:100@10.0.0.2").heard(leg: 1, 486).invite(cseq: 2)
            .verb(.hold).wait(4000).answered("100 Trying").verb(.ring, leg: 2, contact: "sip:100@10.0.0.3")
            .answered("302 Moved Temporarily")
    }

    /// By the setting, or because its host says so of this request.
    @Test(arguments: [true, false])
    func `rings all that wake, and the first answer takes it`(isSetting: Bool) {
        let scene = LegScene(ringsAll: isSetting)
        scene.user.ringsAll = !isSetting
        scene.invite().answer().verb(.ring, leg: 1, contact: "sip:a@10.0.0.2")
            .verb(.ring, leg: 2, contact: "sip:b@10.0.0.3")
        #expect(scene.answers.filter { $0.contains("302") }.count == 1 && scene.reports == [[1, 0, 0], [2, 0, 0]])
        guard case .dial(_, leg: 2, let contact) = scene.orders.last else { Issue.record("not dialled"); return }
        #expect(contact.key == "sip:b@10.0.0.3")
        scene.heard(leg: 1, 180).heard(leg: 2, 200).reportedLast([2, 200, 1]).asksLast(.requestEnded).holds(0)
    }

    @Test func `rings on where its own phone or the one beside it refuses`() {
        let scene = LegScene(ringsAll: true).invite().answer().verb(.ring, leg: 1, contact: "sip:a@10.0.0.2")
            .verb(.ring, leg: 2, contact: "sip:b@10.0.0.3").heard(leg: 1, 486).invite(cseq: 2)
            .verb(.giveUp, status: 480).answered("100 Trying").holds(1).verb(.ring, leg: 3, contact: "sip:c@10.0.0.4")
            .says("X-PushWake-Contact: sip:c@10.0.0.4").heard(leg: 2, 302).heard(leg: 3, 180)
        #expect(scene.reports.contains([2, 480, 1]) && scene.legs.count == 1)
        scene.heard(leg: 3, 480).invite(cseq: 3).verb(.giveUp, status: 480).answered("4").holds(0)
    }

    @Test func `ends for all when the phone beside another declines for all`() {
        LegScene(ringsAll: true).invite().answer().verb(.ring, leg: 1, contact: "sip:a@10.0.0.2")
            .verb(.ring, leg: 2, contact: "sip:b@10.0.0.3").heard(leg: 2, 603).ordered { .close($0, leg: 1) }
            .invite(cseq: 2).answered("603").holds(0)
    }

    @Test func `is at one phone at a time`() {
        LegScene().invite().answer().verb(.ring, leg: 1, contact: "sip:a@10.0.0.2")
            .verb(.ring, leg: 2, contact: "sip:b@10.0.0.3")
            .answered(times: 1, "302").reported([[1, 0, 0]]).heard(leg: 1, 486).invite(cseq: 2).says(
                "X-PushWake-Contact: sip:b@10.0.0.3"
            ).reportedLast([2, 0, 0])
    }

    @Test func `is taken back from a phone that has registered elsewhere`() {
        LegScene().invite().answer().verb(.ring, leg: 1, contact: "sip:a@10.0.0.2")
            .verb(.ring, leg: 2, contact: "sip:a@10.0.0.9", replaces: 1).ordered { .close($0, leg: 1) }
            .invite(cseq: 2).says("X-PushWake-Contact: sip:a@10.0.0.9").heard(leg: 1, 180)
            .reported([[1, 0, 0], [2, 0, 0]])
    }

    @Test func `is cancelled with the Reason of its caller`() {
        LegScene().invite().answer().send("CANCEL", branch: "1", more: "Reason: SIP;cause=200\r\n")
            .answered("200 OK", "487 Request Terminated").asks(1, .reason, "SIP;cause=200").ordered { .forget($0) }
            .holds(0).send("CANCEL", branch: "9").answered("481 Call/Transaction Does Not Exist")
    }

    /// Whatever comes first, the CANCEL or the word of the host: the phone is told how the call has ended.
    @Test(arguments: [true, false])
    func `has not reached a phone that registers as its caller hangs up`(isEnded: Bool) {
        let scene = LegScene().invite().answer().verb(.ring, leg: 1, contact: "sip:a@10.0.0.2")
        if isEnded { scene.ended(how: 0, 487) }
        scene.send("CANCEL", branch: "1").reportedLast([1, 503, 0]).holds(0)
        #expect(scene.kinds.suffix(2) == [.requestEnded, .progressed])
    }

    @Test(arguments: [(302, false), (401, false), (407, false), (603, false), (480, true), (482, true), (503, true)])
    func `comes back with what is not its caller's`(status: Int, comesBack: Bool) {
        #expect(WaitingLegs.takesBack(status) == comesBack)
        LegScene().invite().answer().verb(.ring, leg: 1, contact: "sip:a@10.0.0.2").heard(leg: 1, status)
            .holds(comesBack ? 1 : 0)
    }

    @Test func `asks a phone whose connection is open before it moves there`() {
        LegScene(contacts: [open]).invite().answer(legs: [1], hold: 0).ordered { .probe($0, leg: 1, contact: open) }
            .reported([[1, 0, 0]]).probed(leg: 1, 200).answered("302 Moved Temporarily").reported([[1, 0, 0]])
    }

    @Test func `goes to the phone that wakes while another one is asked`() {
        LegScene(contacts: [open]).invite().answer(legs: [1], hold: 0).probed(leg: 1, 0)
            .verb(.ring, leg: 2, contact: "sip:100@10.0.0.2", replaces: 1).says("X-PushWake-Contact: sip:100@10.0.0.2")
            .probed(leg: 1, 200).answered(times: 1, "302")
    }

    @Test func `is pushed for when the phone that is asked cannot be reached`() {
        LegScene(contacts: [open]).invite().answer(legs: [1], hold: 0).probed(leg: 1, 503).reportedLast([1, 503, 0])
            .holds(1)
    }

    @Test func `goes to the known contact where nobody can be woken`() {
        LegScene(contacts: [asleep]).invite().answer(legs: [0], hold: 0, watched: false).probed(leg: 1001, 200)
            .says("X-PushWake-Contact: sip:old@10.0.0.1")
        LegScene().invite().answer(hold: 0, watched: false).answered("480 Temporarily Unavailable")
    }

    @Test func `stays at a phone that the engine rings once more since it has answered a question`() {
        let scene = LegScene(contacts: [asleep]).invite().answer(legs: [0])
        // Its push fails as it answers: both are on their way.
        scene.probed(leg: 1001, 200).asksLast(.registered).verb(.ring, leg: 1, contact: asleep.key)
            .verb(.ring, leg: 2, contact: asleep.key, replaces: 1)
        #expect(!scene.orders.contains { if case .close = $0 { true } else { false } })
        scene.heard(leg: 1, 180).reportedLast([2, 180, 1])
    }

    @Test func `does not say of a phone that it is there when it has the INVITE`() {
        let scene = LegScene(contacts: [asleep]).invite().answer(legs: [0]).verb(.ring, leg: 1, contact: asleep.key)
            .probed(leg: 1001, 200)
        #expect(!scene.kinds.contains(.registered))
    }

    @Test func `ends the INVITE that its host has left without a word`() {
        LegScene().invite().answer().invite(cseq: 2)
            .answered("487 Request Terminated", "100 Trying").holds(1)
    }

    @Test func `answers OPTIONS and refuses what it does not hold`() {
        LegScene().send("OPTIONS", branch: "o").send("NOTIFY", branch: "n").send("BYE", branch: "b")
            .answered(times: 3).answered("200 OK", "200 OK", "480 Temporarily Unavailable").holds(0).asks([])
    }

    @Test func `lets a text go on to the phone that wakes`() {
        let scene = LegScene().send("MESSAGE", more: "Content-Type: text/plain\r\nContent-Length: 5\r\n", body: "hello")
            .answered(times: 1).answered("202 Accepted").asks(0, .text, "hello").answer()
            .verb(.ring, leg: 1, contact: "sip:100@10.0.0.2")
        guard case .forward(_, 1, let contact, let text) = scene.orders.last else {
            Issue.record("\(scene.orders)")
            return
        }
        #expect(contact.key == "sip:100@10.0.0.2" && text.content.body == Array("hello".utf8))
        #expect(text.fromURI == "sip:200@pbx" && text.fromDisplay == "Ann")
    }

    @Test func `ends by our own clock when the engine forgets it`() {
        LegScene().invite().answer().wait(41_499).answered("180 Ringing").wait(2)
            .answered("480 Temporarily Unavailable").asks(1, .how, 2)
    }
}

@Suite struct `A call in a channel to some of a user's phones` {
    private func scene(_ scope: WakeMessage.Scope, hasEngine: Bool = true) -> LegScene {
        let scene = LegScene(hasEngine: hasEngine, contacts: [asleep])
        scene.user.scope = scope
        scene.invite()
        return scene
    }

    @Test(arguments: [(WakeMessage.Scope.user, Int64(0)), (.contacts, 1), (.others, 2)])
    func `says to the engine which`(scope: WakeMessage.Scope, number: Int64) {
        #expect(EngineClient.number(.scope, in: scene(scope).asked[0]) == number)
    }

    @Test func `without a contact goes to none that is known, and asks none`() {
        let scene = scene(.others).answer(legs: [0], hold: 40_000)
        #expect(!scene.orders.contains { if case .probe = $0 { true } else { false } })
        scene.verb(.ring, leg: 1, contact: "sip:100@10.0.0.2").answered("302 Moved Temporarily")
        self.scene(.others).answer(legs: [0], hold: 0, watched: false).answered("480 Temporarily Unavailable")
    }

    @Test(arguments: [
        (WakeMessage.Scope.contacts, "old", true), (.contacts, "new", false), (.others, "old", false),
        (.others, "new", true),
    ])
    func `rings without an engine whom it is for`(scope: WakeMessage.Scope, name: String, rings: Bool) {
        let scene = scene(scope).answer(legs: [0]).verb(.pushed, leg: 0).loseEngine().registered(name, aor: "100")
        #expect((scene.answers.last == "SIP/2.0 302 Moved Temporarily") == rings)
    }
}

@Suite struct `A call at a proxy that waits` {
    @Test func `names each leg in a numbered 100 and rings all`() {
        LegScene(.proxy, contacts: [open, asleep]).invite().answer(legs: [1, 0])
            .says("X-PushWake-Number: 1\r\nX-PushWake-Leg: 1\r\nX-PushWake-Contact: sip:open@10.0.0.1")
            .verb(.ring, leg: 2, contact: "sip:old@10.0.0.7", replaces: 1)
            .says("X-PushWake-Number: 2\r\nX-PushWake-Leg: 2").says("X-PushWake-Replaces: 1")
    }

    @Test func `has a leg closed, or sent once more, by a numbered 100`() {
        let scene = LegScene(.proxy, contacts: [open]).invite().answer(legs: [1]).verb(.resend, leg: 1)
            .says("X-PushWake-Number: 2\r\nX-PushWake-Resend: 1").verb(.close, leg: 1)
            .says("X-PushWake-Number: 3\r\nX-PushWake-Close: 1")
        #expect(scene.texts.allSatisfy { !$0.contains("Key: 1") } && scene.orders.count == 1)
    }

    @Test func `is called by the number that its host has for it`() {
        let scene = LegScene(.proxy).send("INVITE", uri: "sip:100@x;call=ab12")
        #expect(scene.handle == UInt64(1) << 63 | 0xab12)
        scene.send("INVITE", branch: "2", uri: "sip:100@x;call=ab12").answered("482").holds(1)
    }

    @Test func `ends as its CANCEL says where the host gives no reason`() {
        LegScene(.proxy).invite().answer().send("CANCEL", branch: "1", more: "Reason: SIP;cause=600\r\n")
            .ended(how: 0, 487).asks(1, .reason, "SIP;cause=600")
    }

    @Test func `ends with a code that loses against what phones say`() {
        LegScene(.proxy, contacts: [open]).invite().answer(legs: [1]).heard(leg: 1, 486).verb(.giveUp, status: 480)
            .answered("599").asksLast(.progressed).ended(how: 3, 486).asksLast(.requestEnded).holds(0)
        LegScene(.proxy).invite().answer().verb(.giveUp, status: 480).answered("480 Temporarily Unavailable")
    }

    @Test func `ends as its host says, whatever its branch was cancelled for`() {
        LegScene(.proxy, contacts: [open]).invite().answer(legs: [1]).heard(leg: 1, 200)
            .send("CANCEL", branch: "1", more: "Reason: SIP;cause=200\r\n").answered("487 Request Terminated")
            .asks([.wake, .progressed]).ended(how: 1, 200).asks(2, .how, 1)
        LegScene(.proxy).invite().answer().send("CANCEL", branch: "1").wait(5001).asks([.wake, .requestEnded])
            .asks(1, .how, 0)
    }

    @Test func `is not asked about twice for a copy, and sends its answer again`() {
        LegScene(.proxy).invite().answered(times: 0).invite().invite()
            .answered(times: 2).answered("100 Trying", "100 Trying").asks([.wake]).answer().verb(.giveUp, status: 480)
            .wait(1600)
            .answered(times: 3, "480").send("ACK", branch: "1").wait(10_000)
            .answered(times: 3, "480")
    }

    @Test func `is answered no more where its host has left it`() {
        let scene = LegScene(.proxy, contacts: [open]).invite().answer(legs: [1]).heard(leg: 1, 200)
        let before = scene.answers
        scene.ended(how: 1, 0)
        #expect(scene.answers == before && scene.kinds.last == .requestEnded)
        let next = scene.legs.nextDeadline()
        #expect(scene.legs.transactions.isEmpty && next == nil)
    }

    @Test func `wakes its process for no time that has passed by`() {
        let scene = LegScene(.proxy).invite()
        let asked = scene.legs.nextDeadline()
        scene.answer()
        let wait = scene.legs.nextDeadline()
        #expect(asked == scene.now + 100 && wait == scene.now + 41_500)
    }

    @Test func `takes nobody who does not know the key`() {
        let scene = LegScene(.proxy)
        var policy = LegPolicy(Settings(), host: .proxy, isReliable: false)
        policy.key = "secret"
        scene.legs.take(policy)
        scene.invite().send("OPTIONS", branch: "o").answered(times: 0).holds(0)
        let named =
            "INVITE sip:100@x;key=secret;domain=loc2 SIP/2.0\r\nVia: SIP/2.0/UDP 1.1.1.1;branch=z9hG4bK1\r\nFrom: <sip:a@b>;tag=1\r\nTo: <sip:100@b>\r\nCall-ID: 1\r\nCSeq: 1 INVITE\r\n\r\n"
        let bytes = Array(named.utf8)
        scene.take(scene.legs.receive(bytes.span, now: scene.now))
        scene.holds(1).asks(0, .domain, "loc2")
    }
}
