// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// Who is rung, who is pushed, and what a push brings.
@Suite struct `A held call wakes` {
    @Test func `a phone that sleeps: pushed, held, rung where it registers`() {
        let call = HeldCall(.asleep("a", .lost("a1")))
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.wait(3000) == "")
        #expect(call.register("a", at: .udp("a2")) == "ring 1 a2, give up 480")
        #expect(call.hear(180, leg: 1) == "")
        #expect(call.hear(200, leg: 1) == "")
        #expect(call.end(.answered) == "")
        #expect(call.deadline == nil)
    }

    @Test func `nobody: the caller hears 480 when the time is over`() {
        let call = HeldCall(.asleep("a", .lost("a1")))
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.deadline == 40_000)
        #expect(call.wait(39_999) == "")
        #expect(call.wait(1) == "give up 480")
        #expect(call.end(.failed(480)) == "push 0 missed")
        #expect(call.ended == .timedOut)
    }

    @Test func `a phone that came and says nothing within five seconds is known to be silent`() {
        let call = HeldCall(.asleep("a", .lost("a1")), .asleep("b", .lost("b1")))
        _ = call.start()
        _ = call.accept(0)
        _ = call.accept(1)
        #expect(call.silent == [])
        _ = call.register("a", at: .udp("a2"))
        _ = call.register("b", at: .udp("b2"))
        _ = call.wait(4999)
        #expect(call.silent == [])
        _ = call.hear(100, leg: 2)
        _ = call.wait(1)
        #expect(call.silent == [0])
        _ = call.fail(408, leg: 1)
        #expect(call.silent == [0], "its leg has timed out")
    }

    @Test func `a phone that never came, or answers, is not silent`() {
        let call = HeldCall(.asleep("a", .lost("a1")), .asleep("b", .lost("b1")))
        _ = call.start()
        _ = call.accept(0)
        _ = call.accept(1)
        _ = call.register("b", at: .udp("b2"))
        _ = call.hear(486, leg: 1)
        _ = call.wait(10_000)
        #expect(call.silent == [])
    }

    @Test func `a user without a phone: nothing is held`() {
        let call = HeldCall()
        #expect(call.start() == "")
        #expect(call.deadline == nil)
    }

    @Test func `a suspended app behind an open connection, and replaces the leg that it never heard`() {
        let call = HeldCall(.awake("a", .tcp("a1")))
        #expect(call.start() == "ring 1 a1")
        #expect(call.wait(1499) == "")
        #expect(call.wait(1) == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.register("a", at: .tcp("a2", flow: "new")) == "ring 2 a2, give up 480")
        #expect(call.notes.contains(.silent(device: 0, 1500)))
    }

    @Test func `a suspended app that stays away: its leg is closed, the caller hears 480`() {
        let call = HeldCall(.awake("a", .tcp("a1")))
        #expect(call.start() == "ring 1 a1")
        #expect(call.wait(1500) == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.wait(38_500) == "close 1, give up 480")
        #expect(call.hear(408, leg: 1) == "")
        #expect(call.end(.failed(480)) == "push 0 missed")
    }

    @Test func `a suspended app that answers its first leg after all`() {
        let call = HeldCall(.awake("a", .tcp("a1")))
        #expect(call.start() == "ring 1 a1")
        #expect(call.wait(1500) == "push 0 call, hold")
        #expect(call.hear(180, leg: 1) == "drop 0, give up 480")
        #expect(call.refuse() == "")
        #expect(call.wait(60_000) == "")
    }

    @Test func `a phone whose provider is out of order: its known contact is rung while the push is tried again`() {
        let call = HeldCall(.asleep("a", .udp("a1")))
        #expect(call.start() == "push 0 call, hold")
        #expect(call.retry() == "ring 1 a1")
        #expect(call.retry() == "")
        #expect(call.accept() == "")
        #expect(call.register("a", at: .udp("a2", flow: "new")) == "ring 2 a2, give up 480")

        let failed = HeldCall(.asleep("a", .udp("a1")))
        #expect(failed.start() == "push 0 call, hold")
        #expect(failed.retry() == "ring 1 a1")
        #expect(failed.refuse() == "give up 480")

        let gone = HeldCall(.asleep("a", .lost("a1")))
        #expect(gone.start() == "push 0 call, hold")
        #expect(gone.retry() == "")
        #expect(gone.refuse() == "give up 480")
    }

    @Test func `nobody but a phone whose provider is out of reach: the caller does not wait for that`() {
        let alone = HeldCall(.asleep("a", .lost("a1")))
        #expect(alone.start() == "push 0 call, hold")
        #expect(alone.lose() == "drop 0, give up 480")

        let pair = HeldCall(.asleep("a", .lost("a1")), .asleep("b", .lost("b1")))
        #expect(pair.start() == "push 0 call, push 1 call, hold")
        #expect(pair.lose(0) == "")
        #expect(pair.accept(1) == "")
        #expect(pair.register("a", at: .tcp("a2")) == "ring 1 a2, drop 0")

        let both = HeldCall(.asleep("a", .lost("a1")), .asleep("b", .lost("b1")))
        #expect(both.start() == "push 0 call, push 1 call, hold")
        #expect(both.lose(0) == "")
        #expect(both.lose(1) == "drop 0, drop 1, give up 480")
    }

    @Test func `a phone whose provider is out of reach is awaited while another one rings`() {
        let call = HeldCall(.asleep("a", .lost("a1")), .plain(.udp("d1")))
        #expect(call.start() == "push 0 call, ring 1 d1, hold")
        #expect(call.lose() == "")
        #expect(call.hear(180, leg: 1) == "")
        #expect(call.hear(486, leg: 1) == "drop 0, give up 480")

        let rung = HeldCall(.asleep("a", .udp("a1")))
        #expect(rung.start() == "push 0 call, hold")
        #expect(rung.retry() == "ring 1 a1")
        #expect(rung.lose() == "give up 480", "its known contact may answer")
        #expect(rung.hear(180, leg: 1) == "drop 0")

        let silent = HeldCall(.asleep("a", .udp("a1")))
        #expect(silent.start() == "push 0 call, hold")
        #expect(silent.retry() == "ring 1 a1")
        #expect(silent.wait(500) == "")
        #expect(silent.lose() == "give up 480")
        #expect(silent.wait(4499) == "")
        #expect(silent.wait(1) == "close 1, drop 0, give up 480")
    }

    @Test func `a silent phone at once when silent_after is 0`() {
        let call = HeldCall(.awake("a", .tcp("a1"))) { $0.silentAfter = 0 }
        #expect(call.start() == "ring 1 a1, push 0 call, hold")
    }

    @Test func `a phone that the script tries later when it is silent after that`() {
        let call = HeldCall(.plain(.udp("d1")), .awake("a", .tcp("a1")))
        #expect(call.start() == "ring 1 d1, ring 2 a1")
        call.postpone(leg: 2)
        #expect(call.hear(180, leg: 1) == "")
        #expect(call.wait(20_000) == "")
        #expect(call.hear(486, leg: 1) == "")
        call.send(leg: 2)
        #expect(call.wait(1499) == "")
        #expect(call.wait(1) == "push 1 call, hold")
        #expect(call.fail(408, leg: 2) == "")
    }

    @Test func `no silent phone when silent_after is -1`() {
        let call = HeldCall(.awake("a", .tcp("a1"))) { $0.silentAfter = nil }
        #expect(call.start() == "ring 1 a1")
        #expect(call.deadline == nil)
    }

    @Test func `not the phone whose stack says 100, but the one whose proxy does`() {
        let direct = HeldCall(.awake("a", .tcp("a1")))
        #expect(direct.start() == "ring 1 a1")
        #expect(direct.hear(100, leg: 1) == "")
        #expect(direct.wait(60_000) == "")

        var contact = CallContact.tcp("a1")
        contact.isBehindProxy = true
        let behind = HeldCall(.awake("a", contact))
        #expect(behind.start() == "ring 1 a1")
        #expect(behind.hear(100, leg: 1) == "")
        #expect(behind.wait(1500) == "push 0 call, hold")
    }

    @Test func `nobody when the host reaches an awake phone by itself`() {
        #expect(HeldCall(.awake("a")).start() == "")
    }

    @Test func `a phone that is said to be awake and has only a lost contact as one that sleeps`() {
        #expect(HeldCall(.awake("a", .lost("a1"))).start() == "push 0 call, hold")
    }

    @Test func `an awake phone whose leg fails`() {
        let call = HeldCall(.awake("a", .tcp("a1")))
        #expect(call.start() == "ring 1 a1")
        #expect(call.fail(477, leg: 1) == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.register("a", at: .tcp("a1", flow: "new")) == "ring 2 a1, give up 480")
    }

    @Test(arguments: [408, 430, 477, 503])
    func `an awake phone whose edge proxy cannot reach it`(status: Int) {
        var contact = CallContact.tcp("a1")
        contact.isBehindProxy = true
        let call = HeldCall(.awake("a", contact))
        #expect(call.start() == "ring 1 a1")
        #expect(call.hear(status, leg: 1) == "push 0 call, hold")
    }

    @Test func `not an awake phone that declines through its edge proxy`() {
        var contact = CallContact.tcp("a1")
        contact.isBehindProxy = true
        let call = HeldCall(.awake("a", contact))
        #expect(call.start() == "ring 1 a1")
        #expect(call.hear(486, leg: 1) == "")
    }

    @Test func `a phone again when its new leg fails as well, without a second push`() {
        let call = HeldCall(.asleep("a"))
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.register("a", at: .tcp("a1")) == "ring 1 a1, give up 480")
        #expect(call.fail(477, leg: 1) == "hold")
        #expect(call.register("a", at: .tcp("a2", flow: "new")) == "ring 2 a2, give up 480")
    }

    // MARK: A push fails

    @Test func `by ringing the known contact at once when the push fails`() {
        let call = HeldCall(.asleep("a", .udp("a1")))
        #expect(call.start() == "push 0 call, hold")
        #expect(call.refuse() == "ring 1 a1, give up 480")
        #expect(call.fail(leg: 1) == "give up 480")
        #expect(call.deadline == nil)
    }

    @Test(arguments: [[], [CallContact.lost("a1")]])
    func `nobody when the push fails and there is no way but a lost connection`(contacts: [CallContact]) {
        let call = HeldCall(CallDevice.asleep("a").with { $0.contacts = contacts })
        #expect(call.start() == "push 0 call, hold")
        #expect(call.refuse() == "give up 480")
        #expect(call.register("a", at: .udp("a2")) == "")
        #expect(call.end(.failed(480)) == "")
        #expect(call.ended == .failed(480))
    }

    @Test func `the others when one push fails`() {
        let call = HeldCall(.asleep("a"), .asleep("b"))
        #expect(call.start() == "push 0 call, push 1 call, hold")
        #expect(call.refuse(0) == "")
        #expect(call.accept(1) == "")
        #expect(call.register("b", at: .udp("b1")) == "ring 1 b1, give up 480")
    }

    @Test func `by no contact that has failed before`() {
        let call = HeldCall(.awake("a", .udp("a1")))
        #expect(call.start() == "ring 1 a1")
        #expect(call.fail(leg: 1) == "push 0 call, hold")
        #expect(call.refuse() == "give up 480")
    }

    @Test func `by an older address when the newest connection is lost`() {
        let call = HeldCall(.asleep("a", .lost("a2"), .udp("a1")))
        #expect(call.start() == "push 0 call, hold")
        #expect(call.refuse() == "ring 1 a1, give up 480")
    }

    @Test func `by request and push together when the provider is not healthy`() {
        let sick = CallDevice.asleep("a", .udp("a1")).with { $0.isProviderHealthy = false }
        let call = HeldCall(sick)
        #expect(call.start() == "ring 1 a1, push 0 call, hold")
        #expect(call.refuse() == "give up 480")
        #expect(call.hear(180, leg: 1) == "")

        let lost = HeldCall(CallDevice.asleep("a", .lost("a1")).with { $0.isProviderHealthy = false })
        #expect(lost.start() == "push 0 call, hold")
    }

    // MARK: A push that is not needed

    @Test func `with a new push where the first one was dropped too early`() {
        let call = HeldCall(.asleep("a"))
        #expect(call.start() == "push 0 call, hold")
        #expect(call.register("a", at: .tcp("a1")) == "ring 1 a1, drop 0, give up 480")
        #expect(call.fail(477, leg: 1) == "hold")
        #expect(call.refuse() == "push 0 call")
        #expect(call.accept() == "")
        #expect(call.register("a", at: .tcp("a2", flow: "new")) == "ring 2 a2, give up 480")
    }

    @Test func `a phone that came, had its push dropped and says nothing`() {
        let call = HeldCall(.asleep("a"))
        #expect(call.start() == "push 0 call, hold")
        #expect(call.register("a", at: .tcp("a1")) == "ring 1 a1, drop 0, give up 480")
        #expect(call.refuse() == "")
        #expect(call.wait(1500) == "push 0 call, hold")
    }

    // MARK: pn-timeout

    @Test func `a phone with pn-timeout only when it stays silent so long`() {
        let call = HeldCall(CallDevice.asleep("a", .udp("a1")).with { $0.pushDelay = 5000 })
        #expect(call.start() == "ring 1 a1")
        #expect(call.wait(4999) == "")
        #expect(call.wait(1) == "push 0 call, hold")
    }

    @Test(arguments: [100, 180, 183]) func `no phone with pn-timeout that has answered`(status: Int) {
        let call = HeldCall(CallDevice.asleep("a", .udp("a1")).with { $0.pushDelay = 5000 })
        #expect(call.start() == "ring 1 a1")
        #expect(call.hear(status, leg: 1) == "")
        #expect(call.wait(60_000) == "")
    }

    @Test func `no phone with pn-timeout that has declined`() {
        let call = HeldCall(CallDevice.asleep("a", .udp("a1")).with { $0.pushDelay = 5000 })
        #expect(call.start() == "ring 1 a1")
        #expect(call.hear(486, leg: 1) == "")
        #expect(call.wait(60_000) == "")
    }

    @Test func `a phone with pn-timeout at once when no request can reach it`() {
        let lost = HeldCall(CallDevice.asleep("a", .lost("a1")).with { $0.pushDelay = 5000 })
        #expect(lost.start() == "push 0 call, hold")
        let dead = HeldCall(CallDevice.asleep("a", .udp("a1")).with { $0.pushDelay = 5000 })
        #expect(dead.start() == "ring 1 a1")
        #expect(dead.fail(477, leg: 1) == "push 0 call, hold")
    }

    @Test func `an awake phone with pn-timeout after the longer of both times`() {
        let call = HeldCall(CallDevice.awake("a", .tcp("a1")).with { $0.pushDelay = 5000 }) { $0.silentAfter = 0 }
        #expect(call.start() == "ring 1 a1")
        #expect(call.wait(4999) == "")
        #expect(call.wait(1) == "push 0 call, hold")
    }

    // MARK: push_repeat

    @Test func `is not pushed again for a message, which its user would read twice`() {
        let message = HeldCall(.asleep("a"), event: .chat) { $0.pushRepeat = 10_000 }
        #expect(message.start() == "push 0 chat, hold")
        #expect(message.accept() == "")
        #expect(message.wait(40_000) == "give up 480")
    }

    @Test func `with repeated pushes while the phone stays away`() {
        let call = HeldCall(.asleep("a")) { $0.pushRepeat = 10_000 }
        #expect(call.start() == "push 0 call, hold")
        #expect(call.wait(2000) == "")
        #expect(call.accept() == "")
        #expect(call.wait(9999) == "")
        #expect(call.wait(1) == "push 0 call")
        #expect(call.accept() == "")
        #expect(call.wait(10_000) == "push 0 call")
        #expect(call.accept() == "")
        #expect(call.wait(60_000) == "give up 480")
    }

    @Test func `with no further push once the phone has come, or when a repeated one fails`() {
        let come = HeldCall(.asleep("a")) { $0.pushRepeat = 10_000 }
        #expect(come.start() == "push 0 call, hold")
        #expect(come.accept() == "")
        #expect(come.register("a", at: .udp("a1")) == "ring 1 a1, give up 480")
        #expect(come.wait(60_000) == "close 1, give up 480", "it says nothing")

        let failed = HeldCall(.asleep("a", .udp("a1"))) { $0.pushRepeat = 10_000 }
        #expect(failed.start() == "push 0 call, hold")
        #expect(failed.accept() == "")
        #expect(failed.wait(10_000) == "push 0 call")
        #expect(failed.refuse() == "")
        #expect(failed.wait(60_000) == "give up 480")
    }

    @Test func `a repeated push that has not left when the phone comes`() {
        let call = HeldCall(.asleep("a")) { $0.pushRepeat = 10_000 }
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.wait(10_000) == "push 0 call")
        #expect(call.register("a", at: .udp("a1")) == "ring 1 a1, drop 0, give up 480")
        #expect(call.refuse() == "")
        #expect(call.end(.cancelled) == "")
    }

    // MARK: What the caller hears

    @Test func `while the caller hears once that a push is on its way`() {
        let call = HeldCall(.asleep("a"), .asleep("b")) { $0.wakeProvisional = 180 }
        #expect(call.start() == "push 0 call, push 1 call, hold")
        #expect(call.told == [])
        #expect(call.accept(0) == "")
        #expect(call.accept(1) == "")
        #expect(call.told == [180])
    }

    @Test func `while the caller hears nothing when a phone rings, nothing is held, or wake_provisional is none`() {
        let rings = HeldCall(.awake("a", .tcp("a1")), .asleep("b"))
        #expect(rings.start() == "ring 1 a1, push 1 call, hold")
        #expect(rings.accept(1) == "")
        #expect(rings.told == [])

        let late = HeldCall(.asleep("a"))
        #expect(late.start() == "push 0 call, hold")
        #expect(late.wait(40_000) == "drop 0, give up 480")
        #expect(late.accept() == "")
        #expect(late.told == [])

        let silent = HeldCall(.asleep("a")) { $0.wakeProvisional = 0 }
        #expect(silent.start() == "push 0 call, hold")
        #expect(silent.accept() == "")
        #expect(silent.told == [])

        let message = HeldCall(.asleep("a"), event: .chat)
        #expect(message.start() == "push 0 chat, hold")
        #expect(message.accept() == "")
        #expect(message.told == [])
    }

    // MARK: Messages

    @Test(arguments: [(480, "give up 480"), (202, "give up 202")])
    func `nobody for a message: the sender hears what the policy says`(status: Int, heard: String) {
        let late = HeldCall(.asleep("a"), event: .chat) { $0.unanswered = status }
        #expect(late.start() == "push 0 chat, hold")
        #expect(late.accept() == "")
        #expect(late.wait(40_000) == heard)
        #expect(late.end(.failed(status)) == "")

        let refused = HeldCall(.asleep("a"), event: .chat) { $0.unanswered = status }
        #expect(refused.start() == "push 0 chat, hold")
        #expect(refused.refuse() == heard)
    }
}
