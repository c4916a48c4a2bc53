// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeClient

private let asleep = LegScene.contact("old")
private let open = LegScene.contact("open", .open)

@Suite struct `A call in a channel that waits` {
    @Test func `is answered 100, asked about, and rings where the phone registers`() {
        var scene = LegScene(contacts: [asleep])
        scene.invite()
        #expect(scene.answers == ["SIP/2.0 100 Trying"] && scene.kinds == [.wake])
        #expect(EngineClient.text(.aor, in: scene.asked[0]) == "100")
        #expect(EngineClient.number(.waitingLeg, in: scene.asked[0]) == 1)
        scene.answer(legs: [0])
        #expect(scene.answers.last == "SIP/2.0 180 Ringing")
        scene.verb(.pushed, leg: 0)
        #expect(scene.answers.count == 2)
        scene.verb(.ring, leg: 1, contact: "sip:100@10.0.0.2")
        #expect(scene.answers.last == "SIP/2.0 302 Moved Temporarily")
        #expect(scene.texts.last?.contains("X-PushWake-Leg: 1\r\nX-PushWake-Contact: sip:100@10.0.0.2\r\n") == true)
        #expect(scene.reports == [[1, 0, 0]])
        scene.send("ACK", branch: "1")
        scene.heard(leg: 1, 180)
        scene.heard(leg: 1, 200)
        #expect(scene.kinds.last == .requestEnded && scene.legs.count == 0)
    }

    @Test func `ends with 480 when the engine gives up`() {
        var scene = LegScene()
        scene.invite()
        scene.answer()
        scene.verb(.giveUp, status: 480)
        #expect(scene.answers.last == "SIP/2.0 480 Temporarily Unavailable")
        #expect(scene.kinds == [.wake, .requestEnded] && scene.legs.count == 0)
    }

    @Test func `comes back when its phone refuses, and ends with what that said`() {
        var scene = LegScene()
        scene.invite()
        scene.answer()
        scene.verb(.ring, leg: 1, contact: "sip:100@10.0.0.2")
        scene.heard(leg: 1, 486)
        #expect(scene.reports == [[1, 0, 0], [1, 486, 1]])
        scene.invite(cseq: 2)
        #expect(scene.answers.last == "SIP/2.0 100 Trying")
        scene.verb(.giveUp, status: 480)
        #expect(scene.answers.last == "SIP/2.0 486 Busy Here")
    }

    @Test func `waits on for others after a refusal while the engine says so`() {
        var scene = LegScene()
        scene.invite()
        scene.answer()
        scene.verb(.ring, leg: 1, contact: "sip:100@10.0.0.2")
        scene.heard(leg: 1, 486)
        scene.invite(cseq: 2)
        scene.verb(.hold)
        scene.wait(4000)
        #expect(scene.answers.last == "SIP/2.0 100 Trying")
        scene.verb(.ring, leg: 2, contact: "sip:100@10.0.0.3")
        #expect(scene.answers.last == "SIP/2.0 302 Moved Temporarily")
    }

    /// By the setting, or because its host says so of this request.
    @Test(arguments: [true, false])
    func `rings all that wake, and the first answer takes it`(isSetting: Bool) {
        var scene = LegScene(ringsAll: isSetting)
        scene.user.ringsAll = !isSetting
        scene.invite()
        scene.answer()
        scene.verb(.ring, leg: 1, contact: "sip:a@10.0.0.2")
        scene.verb(.ring, leg: 2, contact: "sip:b@10.0.0.3")
        #expect(scene.answers.filter { $0.contains("302") }.count == 1 && scene.reports == [[1, 0, 0], [2, 0, 0]])
        guard case .dial(_, leg: 2, let contact) = scene.orders.last else { Issue.record("not dialled"); return }
        #expect(contact.key == "sip:b@10.0.0.3")
        scene.heard(leg: 1, 180)
        scene.heard(leg: 2, 200)
        #expect(scene.reports.last == [2, 200, 1] && scene.kinds.last == .requestEnded && scene.legs.count == 0)
    }

    @Test func `rings on where its own phone or the one beside it refuses`() {
        var scene = LegScene(ringsAll: true)
        scene.invite()
        scene.answer()
        scene.verb(.ring, leg: 1, contact: "sip:a@10.0.0.2")
        scene.verb(.ring, leg: 2, contact: "sip:b@10.0.0.3")
        scene.heard(leg: 1, 486)
        scene.invite(cseq: 2)
        scene.verb(.giveUp, status: 480)
        #expect(scene.answers.last == "SIP/2.0 100 Trying" && scene.legs.count == 1)
        scene.verb(.ring, leg: 3, contact: "sip:c@10.0.0.4")
        #expect(scene.texts.last?.contains("X-PushWake-Contact: sip:c@10.0.0.4") == true)
        scene.heard(leg: 2, 302)
        scene.heard(leg: 3, 180)
        #expect(scene.reports.contains([2, 480, 1]) && scene.legs.count == 1)
        scene.heard(leg: 3, 480)
        scene.invite(cseq: 3)
        scene.verb(.giveUp, status: 480)
        #expect(scene.answers.last?.hasPrefix("SIP/2.0 4") == true && scene.legs.count == 0)
    }

    @Test func `ends for all when the phone beside another declines for all`() {
        var scene = LegScene(ringsAll: true)
        scene.invite()
        scene.answer()
        scene.verb(.ring, leg: 1, contact: "sip:a@10.0.0.2")
        scene.verb(.ring, leg: 2, contact: "sip:b@10.0.0.3")
        scene.heard(leg: 2, 603)
        #expect(scene.orders.last == .close(scene.handle, leg: 1))
        scene.invite(cseq: 2)
        #expect(scene.answers.last?.hasPrefix("SIP/2.0 603") == true && scene.legs.count == 0)
    }

    @Test func `is at one phone at a time`() {
        var scene = LegScene()
        scene.invite()
        scene.answer()
        scene.verb(.ring, leg: 1, contact: "sip:a@10.0.0.2")
        scene.verb(.ring, leg: 2, contact: "sip:b@10.0.0.3")
        #expect(scene.answers.filter { $0.contains("302") }.count == 1 && scene.reports == [[1, 0, 0]])
        scene.heard(leg: 1, 486)
        scene.invite(cseq: 2)
        #expect(scene.texts.last?.contains("X-PushWake-Contact: sip:b@10.0.0.3") == true)
        #expect(scene.reports.last == [2, 0, 0])
    }

    @Test func `is taken back from a phone that has registered elsewhere`() {
        var scene = LegScene()
        scene.invite()
        scene.answer()
        scene.verb(.ring, leg: 1, contact: "sip:a@10.0.0.2")
        scene.verb(.ring, leg: 2, contact: "sip:a@10.0.0.9", replaces: 1)
        #expect(scene.orders.last == .close(scene.handle, leg: 1))
        scene.invite(cseq: 2)
        #expect(scene.texts.last?.contains("X-PushWake-Contact: sip:a@10.0.0.9") == true)
        scene.heard(leg: 1, 180)
        #expect(scene.reports == [[1, 0, 0], [2, 0, 0]])
    }

    @Test func `is cancelled with the Reason of its caller`() {
        var scene = LegScene()
        scene.invite()
        scene.answer()
        scene.send("CANCEL", branch: "1", more: "Reason: SIP;cause=200\r\n")
        #expect(scene.answers.suffix(2) == ["SIP/2.0 200 OK", "SIP/2.0 487 Request Terminated"])
        #expect(EngineClient.text(.reason, in: scene.asked[1]) == "SIP;cause=200")
        #expect(scene.orders.last == .forget(scene.handle) && scene.legs.count == 0)
        scene.send("CANCEL", branch: "9")
        #expect(scene.answers.last == "SIP/2.0 481 Call/Transaction Does Not Exist")
    }

    @Test(arguments: [(302, false), (401, false), (407, false), (603, false), (480, true), (482, true), (503, true)])
    func `comes back with what is not its caller's`(status: Int, comesBack: Bool) {
        #expect(WaitingLegs.takesBack(status) == comesBack)
        var scene = LegScene()
        scene.invite()
        scene.answer()
        scene.verb(.ring, leg: 1, contact: "sip:a@10.0.0.2")
        scene.heard(leg: 1, status)
        #expect(scene.legs.count == (comesBack ? 1 : 0))
    }

    @Test func `asks a phone whose connection is open before it moves there`() {
        var scene = LegScene(contacts: [open])
        scene.invite()
        scene.answer(legs: [1], hold: 0)
        #expect(scene.orders.last == .probe(scene.handle, leg: 1, contact: open) && scene.reports == [[1, 0, 0]])
        scene.take(scene.legs.probed(scene.handle, leg: 1, status: 200, now: scene.now))
        #expect(scene.answers.last == "SIP/2.0 302 Moved Temporarily" && scene.reports == [[1, 0, 0]])
    }

    @Test func `goes to the phone that wakes while another one is asked`() {
        var scene = LegScene(contacts: [open])
        scene.invite()
        scene.answer(legs: [1], hold: 0)
        scene.take(scene.legs.probed(scene.handle, leg: 1, status: 0, now: scene.now))
        scene.verb(.ring, leg: 2, contact: "sip:100@10.0.0.2", replaces: 1)
        #expect(scene.texts.last?.contains("X-PushWake-Contact: sip:100@10.0.0.2") == true)
        scene.take(scene.legs.probed(scene.handle, leg: 1, status: 200, now: scene.now))
        #expect(scene.answers.filter { $0.contains("302") }.count == 1)
    }

    @Test func `is pushed for when the phone that is asked cannot be reached`() {
        var scene = LegScene(contacts: [open])
        scene.invite()
        scene.answer(legs: [1], hold: 0)
        scene.take(scene.legs.probed(scene.handle, leg: 1, status: 503, now: scene.now))
        #expect(scene.reports.last == [1, 503, 0] && scene.legs.count == 1)
    }

    @Test func `goes to the known contact where nobody can be woken`() {
        var scene = LegScene(contacts: [asleep])
        scene.invite()
        scene.answer(legs: [0], hold: 0, watched: false)
        scene.take(scene.legs.probed(scene.handle, leg: 1001, status: 200, now: scene.now))
        #expect(scene.texts.last?.contains("X-PushWake-Contact: sip:old@10.0.0.1") == true)
        var nobody = LegScene()
        nobody.invite()
        nobody.answer(hold: 0, watched: false)
        #expect(nobody.answers.last == "SIP/2.0 480 Temporarily Unavailable")
    }

    @Test func `stays at a phone that the engine rings once more since it has answered a question`() {
        var scene = LegScene(contacts: [asleep])
        scene.invite()
        scene.answer(legs: [0])
        // Its push fails as it answers: both are on their way.
        scene.take(scene.legs.probed(scene.handle, leg: 1001, status: 200, now: scene.now))
        #expect(scene.kinds.last == .registered)
        scene.verb(.ring, leg: 1, contact: asleep.key)
        scene.verb(.ring, leg: 2, contact: asleep.key, replaces: 1)
        #expect(!scene.orders.contains { if case .close = $0 { true } else { false } })
        scene.heard(leg: 1, 180)
        #expect(scene.reports.last == [2, 180, 1])
    }

    @Test func `does not say of a phone that it is there when it has the INVITE`() {
        var scene = LegScene(contacts: [asleep])
        scene.invite()
        scene.answer(legs: [0])
        scene.verb(.ring, leg: 1, contact: asleep.key)
        scene.take(scene.legs.probed(scene.handle, leg: 1001, status: 200, now: scene.now))
        #expect(!scene.kinds.contains(.registered))
    }

    @Test func `ends the INVITE that its host has left without a word`() {
        var scene = LegScene()
        scene.invite()
        scene.answer()
        scene.invite(cseq: 2)
        #expect(scene.answers.suffix(2) == ["SIP/2.0 487 Request Terminated", "SIP/2.0 100 Trying"])
        #expect(scene.legs.count == 1)
    }

    @Test func `answers OPTIONS and refuses what it does not hold`() {
        var scene = LegScene()
        scene.send("OPTIONS", branch: "o")
        scene.send("NOTIFY", branch: "n")
        scene.send("BYE", branch: "b")
        #expect(scene.answers == ["SIP/2.0 200 OK", "SIP/2.0 200 OK", "SIP/2.0 480 Temporarily Unavailable"])
        #expect(scene.legs.count == 0 && scene.asked.isEmpty)
    }

    @Test func `lets a text go on to the phone that wakes`() {
        var scene = LegScene()
        scene.send("MESSAGE", more: "Content-Type: text/plain\r\nContent-Length: 5\r\n", body: "hello")
        #expect(scene.answers == ["SIP/2.0 202 Accepted"])
        #expect(EngineClient.text(.text, in: scene.asked[0]) == "hello")
        scene.answer()
        scene.verb(.ring, leg: 1, contact: "sip:100@10.0.0.2")
        guard case .forward(_, 1, let contact, let text) = scene.orders.last else {
            Issue.record("\(scene.orders)")
            return
        }
        #expect(contact.key == "sip:100@10.0.0.2" && text.content.body == Array("hello".utf8))
        #expect(text.fromURI == "sip:200@pbx" && text.fromDisplay == "Ann")
    }

    @Test func `ends by our own clock when the engine forgets it`() {
        var scene = LegScene()
        scene.invite()
        scene.answer()
        scene.wait(41_499)
        #expect(scene.answers.last == "SIP/2.0 180 Ringing")
        scene.wait(2)
        #expect(scene.answers.last == "SIP/2.0 480 Temporarily Unavailable")
        #expect(EngineClient.number(.how, in: scene.asked[1]) == 2)
    }
}

@Suite struct `A call in a channel to some of a user's phones` {
    private func scene(_ scope: WakeMessage.Scope, hasEngine: Bool = true) -> LegScene {
        var scene = LegScene(hasEngine: hasEngine, contacts: [asleep])
        scene.user.scope = scope
        scene.invite()
        return scene
    }

    @Test(arguments: [(WakeMessage.Scope.user, Int64(0)), (.contacts, 1), (.others, 2)])
    func `says to the engine which`(scope: WakeMessage.Scope, number: Int64) {
        #expect(EngineClient.number(.scope, in: scene(scope).asked[0]) == number)
    }

    @Test func `without a contact goes to none that is known, and asks none`() {
        var scene = scene(.others)
        scene.answer(legs: [0], hold: 40_000)
        #expect(!scene.orders.contains { if case .probe = $0 { true } else { false } })
        scene.verb(.ring, leg: 1, contact: "sip:100@10.0.0.2")
        #expect(scene.answers.last == "SIP/2.0 302 Moved Temporarily")
        var plain = self.scene(.others)
        plain.answer(legs: [0], hold: 0, watched: false)
        #expect(plain.answers.last == "SIP/2.0 480 Temporarily Unavailable")
    }

    @Test(arguments: [
        (WakeMessage.Scope.contacts, "old", true), (.contacts, "new", false), (.others, "old", false),
        (.others, "new", true),
    ])
    func `rings without an engine whom it is for`(scope: WakeMessage.Scope, name: String, rings: Bool) {
        var scene = scene(scope)
        scene.answer(legs: [0])
        scene.verb(.pushed, leg: 0)
        scene.loseEngine()
        scene.take(scene.legs.registered(LegScene.contact(name), aor: "100", domain: "", now: scene.now))
        #expect((scene.answers.last == "SIP/2.0 302 Moved Temporarily") == rings)
    }
}

@Suite struct `A call at a proxy that waits` {
    @Test func `names each leg in a numbered 100 and rings all`() {
        var scene = LegScene(.proxy, contacts: [open, asleep])
        scene.invite()
        scene.answer(legs: [1, 0])
        #expect(
            scene.texts.last?.contains(
                "X-PushWake-Number: 1\r\nX-PushWake-Leg: 1\r\nX-PushWake-Contact: sip:open@10.0.0.1") == true)
        scene.verb(.ring, leg: 2, contact: "sip:old@10.0.0.7", replaces: 1)
        #expect(scene.texts.last?.contains("X-PushWake-Number: 2\r\nX-PushWake-Leg: 2") == true)
        #expect(scene.texts.last?.contains("X-PushWake-Replaces: 1") == true)
    }

    @Test func `has a leg closed, or sent once more, by a numbered 100`() {
        var scene = LegScene(.proxy, contacts: [open])
        scene.invite()
        scene.answer(legs: [1])
        scene.verb(.resend, leg: 1)
        #expect(scene.texts.last?.contains("X-PushWake-Number: 2\r\nX-PushWake-Resend: 1") == true)
        scene.verb(.close, leg: 1)
        #expect(scene.texts.last?.contains("X-PushWake-Number: 3\r\nX-PushWake-Close: 1") == true)
        #expect(scene.texts.allSatisfy { !$0.contains("Key: 1") } && scene.orders.count == 1)
    }

    @Test func `is called by the number that its host has for it`() {
        var scene = LegScene(.proxy)
        scene.send("INVITE", uri: "sip:100@x;call=ab12")
        #expect(scene.handle == UInt64(1) << 63 | 0xab12)
        scene.send("INVITE", branch: "2", uri: "sip:100@x;call=ab12")
        #expect(scene.answers.last?.hasPrefix("SIP/2.0 482") == true && scene.legs.count == 1)
    }

    @Test func `ends as its CANCEL says where the host gives no reason`() {
        var scene = LegScene(.proxy)
        scene.invite()
        scene.answer()
        scene.send("CANCEL", branch: "1", more: "Reason: SIP;cause=600\r\n")
        scene.take(scene.legs.ended(scene.handle, how: 0, status: 487, reason: "", now: scene.now))
        #expect(EngineClient.text(.reason, in: scene.asked[1]) == "SIP;cause=600")
    }

    @Test func `ends with a code that loses against what phones say`() {
        var scene = LegScene(.proxy, contacts: [open])
        scene.invite()
        scene.answer(legs: [1])
        scene.heard(leg: 1, 486)
        scene.verb(.giveUp, status: 480)
        #expect(scene.answers.last?.hasPrefix("SIP/2.0 599") == true && scene.kinds.last == .progressed)
        scene.take(scene.legs.ended(scene.handle, how: 3, status: 486, reason: "", now: scene.now))
        #expect(scene.kinds.last == .requestEnded && scene.legs.count == 0)
        var nobody = LegScene(.proxy)
        nobody.invite()
        nobody.answer()
        nobody.verb(.giveUp, status: 480)
        #expect(nobody.answers.last == "SIP/2.0 480 Temporarily Unavailable")
    }

    @Test func `ends as its host says, whatever its branch was cancelled for`() {
        var scene = LegScene(.proxy, contacts: [open])
        scene.invite()
        scene.answer(legs: [1])
        scene.heard(leg: 1, 200)
        scene.send("CANCEL", branch: "1", more: "Reason: SIP;cause=200\r\n")
        #expect(scene.answers.last == "SIP/2.0 487 Request Terminated" && scene.kinds == [.wake, .progressed])
        scene.take(scene.legs.ended(scene.handle, how: 1, status: 200, reason: "", now: scene.now))
        #expect(EngineClient.number(.how, in: scene.asked[2]) == 1)
        var silent = LegScene(.proxy)
        silent.invite()
        silent.answer()
        silent.send("CANCEL", branch: "1")
        silent.wait(5001)
        #expect(silent.kinds == [.wake, .requestEnded] && EngineClient.number(.how, in: silent.asked[1]) == 0)
    }

    @Test func `is not asked about twice for a copy, and sends its answer again`() {
        var scene = LegScene(.proxy)
        scene.invite()
        #expect(scene.answers.isEmpty)
        scene.invite()
        scene.invite()
        #expect(scene.answers == ["SIP/2.0 100 Trying", "SIP/2.0 100 Trying"] && scene.kinds == [.wake])
        scene.answer()
        scene.verb(.giveUp, status: 480)
        scene.wait(1600)
        #expect(scene.answers.filter { $0.contains("480") }.count == 3)
        scene.send("ACK", branch: "1")
        scene.wait(10_000)
        #expect(scene.answers.filter { $0.contains("480") }.count == 3)
    }

    @Test func `is answered no more where its host has left it`() {
        var scene = LegScene(.proxy, contacts: [open])
        scene.invite()
        scene.answer(legs: [1])
        scene.heard(leg: 1, 200)
        let before = scene.answers
        scene.take(scene.legs.ended(scene.handle, how: 1, status: 0, reason: "", now: scene.now))
        #expect(scene.answers == before && scene.kinds.last == .requestEnded)
        let next = scene.legs.nextDeadline()
        #expect(scene.legs.transactions.isEmpty && next == nil)
    }

    @Test func `wakes its process for no time that has passed by`() {
        var scene = LegScene(.proxy)
        scene.invite()
        let asked = scene.legs.nextDeadline()
        scene.answer()
        let wait = scene.legs.nextDeadline()
        #expect(asked == scene.now + 100 && wait == scene.now + 41_500)
    }

    @Test func `takes nobody who does not know the key`() {
        var scene = LegScene(.proxy)
        var policy = LegPolicy(Settings(), host: .proxy, isReliable: false)
        policy.key = "secret"
        scene.legs.take(policy)
        scene.invite()
        scene.send("OPTIONS", branch: "o")
        #expect(scene.answers.isEmpty && scene.legs.count == 0)
        let named =
            "INVITE sip:100@x;key=secret;domain=loc2 SIP/2.0\r\nVia: SIP/2.0/UDP 1.1.1.1;branch=z9hG4bK1\r\nFrom: <sip:a@b>;tag=1\r\nTo: <sip:100@b>\r\nCall-ID: 1\r\nCSeq: 1 INVITE\r\n\r\n"
        let bytes = Array(named.utf8)
        scene.take(scene.legs.receive(bytes.span, now: scene.now))
        #expect(scene.legs.count == 1 && EngineClient.text(.domain, in: scene.asked[0]) == "loc2")
    }
}
