// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// Who is rung, who is pushed, and what a push brings.
@Suite struct `A held call wakes` {
    @Test func `a phone that sleeps: pushed, held, rung where it registers`() {
        HeldCall(.asleep("a", .lost("a1"))).start("push 0 call, hold").accept().wait(3000)
            .register("a", at: .udp("a2"), "ring 1 a2, give up 480").hear(180).hear(200).end(.answered).waits(nil)
    }

    @Test func `nobody: the caller hears 480 when the time is over`() {
        HeldCall(.asleep("a", .lost("a1"))).start("push 0 call, hold").accept().waits(40_000).wait(39_999)
            .wait(1, "give up 480").end(.failed(480), "push 0 missed").ended(.timedOut)
    }

    @Test func `a phone that came and says nothing within five seconds is known to be silent`() {
        HeldCall(.asleep("a", .lost("a1")), .asleep("b", .lost("b1"))).start("push 0 call, push 1 call, hold").accept()
            .accept(1).silent([]).register("a", at: .udp("a2"), "ring 1 a2")
            .register("b", at: .udp("b2"), "ring 2 b2, give up 480").wait(4999).silent([]).hear(100, leg: 2).wait(1)
            .silent([0]).fail(408, "hold")
            .silent([0])  // its leg has timed out
    }

    @Test func `a phone that never came, or answers, is not silent`() {
        HeldCall(.asleep("a", .lost("a1")), .asleep("b", .lost("b1"))).start("push 0 call, push 1 call, hold").accept()
            .accept(1).register("b", at: .udp("b2"), "ring 1 b2").hear(486).wait(10_000, "give up 480")
            .silent([])
    }

    @Test func `a user without a phone: nothing is held`() {
        HeldCall().start().waits(nil)
    }

    @Test func `a suspended app behind an open connection, and replaces the leg that it never heard`() {
        HeldCall(.awake("a", .tcp("a1"))).start("ring 1 a1").wait(1499).wait(1, "push 0 call, hold").accept()
            .register("a", at: .tcp("a2", flow: "new"), "ring 2 a2, give up 480").noted(.silent(device: 0, 1500))
    }

    @Test func `a suspended app that stays away: its leg is closed, the caller hears 480`() {
        HeldCall(.awake("a", .tcp("a1"))).start("ring 1 a1").wait(1500, "push 0 call, hold").accept()
            .wait(38_500, "close 1, give up 480").hear(408).end(.failed(480), "push 0 missed")
    }

    @Test func `a suspended app that answers its first leg after all`() {
        HeldCall(.awake("a", .tcp("a1"))).start("ring 1 a1").wait(1500, "push 0 call, hold")
            .hear(180, "drop 0, give up 480").refuse().wait(60_000)
    }

    @Test func `a phone whose provider is out of order: its known contact is rung while the push is tried again`() {
        HeldCall(.asleep("a", .udp("a1"))).start("push 0 call, hold").retry(0, "ring 1 a1").retry().accept()
            .register("a", at: .udp("a2", flow: "new"), "ring 2 a2, give up 480")
        HeldCall(.asleep("a", .udp("a1"))).start("push 0 call, hold").retry(0, "ring 1 a1").refuse(0, "give up 480")
        HeldCall(.asleep("a", .lost("a1"))).start("push 0 call, hold").retry().refuse(0, "give up 480")
    }

    @Test func `nobody but a phone whose provider is out of reach: the caller does not wait for that`() {
        HeldCall(.asleep("a", .lost("a1"))).start("push 0 call, hold").lose(0, "drop 0, give up 480")
        HeldCall(.asleep("a", .lost("a1")), .asleep("b", .lost("b1"))).start("push 0 call, push 1 call, hold").lose()
            .accept(1).register("a", at: .tcp("a2"), "ring 1 a2, drop 0")
        HeldCall(.asleep("a", .lost("a1")), .asleep("b", .lost("b1"))).start("push 0 call, push 1 call, hold").lose()
            .lose(1, "drop 0, drop 1, give up 480")
    }

    @Test func `a phone whose provider is out of reach is awaited while another one rings`() {
        HeldCall(.asleep("a", .lost("a1")), .plain(.udp("d1"))).start("push 0 call, ring 1 d1, hold").lose().hear(180)
            .hear(486, "drop 0, give up 480")
        HeldCall(.asleep("a", .udp("a1"))).start("push 0 call, hold").retry(0, "ring 1 a1").lose(0, "give up 480")
            .hear(180, "drop 0")
        HeldCall(.asleep("a", .udp("a1"))).start("push 0 call, hold").retry(0, "ring 1 a1").wait(500)
            .lose(0, "give up 480").wait(4499).wait(1, "close 1, drop 0, give up 480")
    }

    @Test func `a silent phone at once when silent_after is 0`() {
        HeldCall(.awake("a", .tcp("a1"))) { $0.silentAfter = 0 }
            .start("ring 1 a1, push 0 call, hold")
    }

    @Test func `a phone that the script tries later when it is silent after that`() {
        HeldCall(.plain(.udp("d1")), .awake("a", .tcp("a1"))).start("ring 1 d1, ring 2 a1").postpone(leg: 2).hear(180)
            .wait(20_000).hear(486).send(leg: 2).wait(1499).wait(1, "push 1 call, hold").fail(leg: 2)
    }

    @Test func `no silent phone when silent_after is -1`() {
        HeldCall(.awake("a", .tcp("a1"))) { $0.silentAfter = nil }
            .start("ring 1 a1").waits(nil)
    }

    @Test func `not the phone whose stack says 100, but the one whose proxy does`() {
        HeldCall(.awake("a", .tcp("a1"))).start("ring 1 a1").hear(100).wait(60_000)

        var contact = CallContact.tcp("a1")
        contact.isBehindProxy = true
        HeldCall(.awake("a", contact)).start("ring 1 a1").hear(100).wait(1500, "push 0 call, hold")
    }

    @Test func `nobody when the host reaches an awake phone by itself`() {
        HeldCall(.awake("a")).start()
    }

    @Test func `a phone that is said to be awake and has only a lost contact as one that sleeps`() {
        HeldCall(.awake("a", .lost("a1"))).start("push 0 call, hold")
    }

    @Test func `an awake phone whose leg fails`() {
        HeldCall(.awake("a", .tcp("a1"))).start("ring 1 a1").fail(477, "push 0 call, hold").accept()
            .register("a", at: .tcp("a1", flow: "new"), "ring 2 a1, give up 480")
    }

    @Test(arguments: [408, 430, 477, 503])
    func `an awake phone whose edge proxy cannot reach it`(status: Int) {
        var contact = CallContact.tcp("a1")
        contact.isBehindProxy = true
        HeldCall(.awake("a", contact)).start("ring 1 a1").hear(status, "push 0 call, hold")
    }

    @Test func `not an awake phone that declines through its edge proxy`() {
        var contact = CallContact.tcp("a1")
        contact.isBehindProxy = true
        HeldCall(.awake("a", contact)).start("ring 1 a1").hear(486)
    }

    @Test func `a phone again when its new leg fails as well, without a second push`() {
        HeldCall(.asleep("a")).start("push 0 call, hold").accept()
            .register("a", at: .tcp("a1"), "ring 1 a1, give up 480").fail(477, "hold")
            .register("a", at: .tcp("a2", flow: "new"), "ring 2 a2, give up 480")
    }

    // MARK: A push fails

    @Test func `by ringing the known contact at once when the push fails`() {
        HeldCall(.asleep("a", .udp("a1"))).start("push 0 call, hold").refuse(0, "ring 1 a1, give up 480")
            .fail(408, "give up 480").waits(nil)
    }

    @Test(arguments: [[], [CallContact.lost("a1")]])
    func `nobody when the push fails and there is no way but a lost connection`(contacts: [CallContact]) {
        HeldCall(CallDevice.asleep("a").with { $0.contacts = contacts }).start("push 0 call, hold")
            .refuse(0, "give up 480").register("a", at: .udp("a2")).end(.failed(480)).ended(.failed(480))
    }

    @Test func `the others when one push fails`() {
        HeldCall(.asleep("a"), .asleep("b")).start("push 0 call, push 1 call, hold").refuse().accept(1)
            .register("b", at: .udp("b1"), "ring 1 b1, give up 480")
    }

    @Test func `by no contact that has failed before`() {
        HeldCall(.awake("a", .udp("a1"))).start("ring 1 a1").fail(408, "push 0 call, hold").refuse(0, "give up 480")
    }

    @Test func `by an older address when the newest connection is lost`() {
        HeldCall(.asleep("a", .lost("a2"), .udp("a1"))).start("push 0 call, hold").refuse(0, "ring 1 a1, give up 480")
    }

    @Test func `by request and push together when the provider is not healthy`() {
        let sick = CallDevice.asleep("a", .udp("a1")).with { $0.isProviderHealthy = false }
        HeldCall(sick).start("ring 1 a1, push 0 call, hold").refuse(0, "give up 480").hear(180)
        HeldCall(CallDevice.asleep("a", .lost("a1")).with { $0.isProviderHealthy = false }).start("push 0 call, hold")
    }

    // MARK: A push that is not needed

    @Test func `with a new push where the first one was dropped too early`() {
        HeldCall(.asleep("a")).start("push 0 call, hold")
            .register("a", at: .tcp("a1"), "ring 1 a1, drop 0, give up 480").fail(477, "hold").refuse(0, "push 0 call")
            .accept().register("a", at: .tcp("a2", flow: "new"), "ring 2 a2, give up 480")
    }

    @Test func `a phone that came, had its push dropped and says nothing`() {
        HeldCall(.asleep("a")).start("push 0 call, hold")
            .register("a", at: .tcp("a1"), "ring 1 a1, drop 0, give up 480").refuse().wait(1500, "push 0 call, hold")
    }

    // MARK: pn-timeout

    @Test func `a phone with pn-timeout only when it stays silent so long`() {
        HeldCall(CallDevice.asleep("a", .udp("a1")).with { $0.pushDelay = 5000 }).start("ring 1 a1").wait(4999)
            .wait(1, "push 0 call, hold")
    }

    @Test(arguments: [100, 180, 183]) func `no phone with pn-timeout that has answered`(status: Int) {
        HeldCall(CallDevice.asleep("a", .udp("a1")).with { $0.pushDelay = 5000 }).start("ring 1 a1").hear(status)
            .wait(60_000)
    }

    @Test func `no phone with pn-timeout that has declined`() {
        HeldCall(CallDevice.asleep("a", .udp("a1")).with { $0.pushDelay = 5000 }).start("ring 1 a1").hear(486)
            .wait(60_000)
    }

    @Test func `a phone with pn-timeout at once when no request can reach it`() {
        HeldCall(CallDevice.asleep("a", .lost("a1")).with { $0.pushDelay = 5000 }).start("push 0 call, hold")
        HeldCall(CallDevice.asleep("a", .udp("a1")).with { $0.pushDelay = 5000 }).start("ring 1 a1")
            .fail(477, "push 0 call, hold")
    }

    @Test func `an awake phone with pn-timeout after the longer of both times`() {
        HeldCall(CallDevice.awake("a", .tcp("a1")).with { $0.pushDelay = 5000 }) { $0.silentAfter = 0 }
            .start("ring 1 a1").wait(4999).wait(1, "push 0 call, hold")
    }

    // MARK: push_repeat

    @Test func `is not pushed again for a message, which its user would read twice`() {
        HeldCall(.asleep("a"), event: .chat) { $0.pushRepeat = 10_000 }
            .start("push 0 chat, hold").accept().wait(40_000, "give up 480")
    }

    @Test func `with repeated pushes while the phone stays away`() {
        HeldCall(.asleep("a")) { $0.pushRepeat = 10_000 }
            .start("push 0 call, hold").wait(2000).accept().wait(9999).wait(1, "push 0 call").accept()
            .wait(10_000, "push 0 call").accept().wait(60_000, "give up 480")
    }

    @Test func `with no further push once the phone has come, or when a repeated one fails`() {
        HeldCall(.asleep("a")) { $0.pushRepeat = 10_000 }
            .start("push 0 call, hold").accept().register("a", at: .udp("a1"), "ring 1 a1, give up 480")
            .wait(60_000, "close 1, give up 480")  // it says nothing
        HeldCall(.asleep("a", .udp("a1"))) { $0.pushRepeat = 10_000 }
            .start("push 0 call, hold").accept().wait(10_000, "push 0 call").refuse().wait(60_000, "give up 480")
    }

    @Test func `a repeated push that has not left when the phone comes`() {
        HeldCall(.asleep("a")) { $0.pushRepeat = 10_000 }
            .start("push 0 call, hold").accept().wait(10_000, "push 0 call")
            .register("a", at: .udp("a1"), "ring 1 a1, drop 0, give up 480").refuse().end(.cancelled)
    }

    // MARK: What the caller hears

    @Test func `while the caller hears once that a push is on its way`() {
        HeldCall(.asleep("a"), .asleep("b")) { $0.wakeProvisional = 180 }
            .start("push 0 call, push 1 call, hold").told([]).accept().accept(1).told([180])
    }

    @Test func `while the caller hears nothing when a phone rings, nothing is held, or wake_provisional is none`() {
        HeldCall(.awake("a", .tcp("a1")), .asleep("b")).start("ring 1 a1, push 1 call, hold").accept(1).told([])
        HeldCall(.asleep("a")).start("push 0 call, hold").wait(40_000, "drop 0, give up 480").accept().told([])
        HeldCall(.asleep("a")) { $0.wakeProvisional = 0 }
            .start("push 0 call, hold").accept().told([])
        HeldCall(.asleep("a"), event: .chat).start("push 0 chat, hold").accept().told([])
    }

    // MARK: Messages

    @Test(arguments: [(480, "give up 480"), (202, "give up 202")])
    func `nobody for a message: the sender hears what the policy says`(status: Int, heard: String) {
        HeldCall(.asleep("a"), event: .chat) { $0.unanswered = status }
            .start("push 0 chat, hold").accept().wait(40_000, heard).end(.failed(status))
        HeldCall(.asleep("a"), event: .chat) { $0.unanswered = status }
            .start("push 0 chat, hold").refuse(0, heard)
    }
}
