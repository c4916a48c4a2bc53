// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// How long those that sleep are waited for when all that rang have failed.
@Suite struct `A declined call waits for phones that sleep` {
    /// "a" rings on leg 1, "b" sleeps and is pushed.
    private func ringing(wakeTimeout: Int64 = 40_000, change: (inout CallPolicy) -> Void = { _ in }) -> HeldCall {
        HeldCall(.awake("a", .tcp("a1")), .asleep("b"), wakeTimeout: wakeTimeout, change: change)
            .start("ring 1 a1, push 1 call, hold").accept(1).hear(180)
    }

    @Test func `for decline_waits`() {
        ringing().wait(2000).hear(486).waits(5000).wait(4999).wait(1, "give up 480").register("b", at: .udp("b1"))
            .end(.failed(486), "push 1 missed").ended(.failed(486))
    }

    @Test func `to the end with -1`() {
        ringing { $0.declineWaits = nil }.hear(486).wait(39_999).wait(1, "give up 480").end(
            .failed(486), "push 1 missed")
    }

    @Test func `not at all with 0`() {
        ringing { $0.declineWaits = 0 }.hear(486, "give up 480")
    }

    @Test func `never beyond wake_timeout`() {
        ringing(wakeTimeout: 3000).wait(1000).hear(486).waits(2000)
    }

    @Test(arguments: [(180, "give up 480"), (183, "give up 480")])
    func `as long when the phone was left ringing`(status: Int, heard: String) {
        HeldCall(.awake("a", .tcp("a1")), .asleep("b")) { $0.declineWaits = 1000 }
            .start("ring 1 a1, push 1 call, hold").accept(1).hear(status).fail().wait(999).wait(1, heard)
    }

    @Test(arguments: [(486, 1000), (603, nil), (408, 1000), (480, 1000), (404, 40_000), (488, 40_000), (500, 40_000)])
    func `as long as what a phone says after it rang`(status: Int, deadline: Int64?) {
        ringing { $0.declineWaits = 1000 }.hear(status, status == 603 ? "give up 480" : "").waits(deadline)
    }

    @Test(arguments: [404, 415, 420, 480, 482, 486, 487, 488, 500, 503])
    func `to the end when a phone does not even ring`(status: Int) {
        HeldCall(.plain(.tcp("d1")), .asleep("b")).start("ring 1 d1, push 1 call, hold").accept(1).hear(status)
            .waits(40_000).wait(20_000).register("b", at: .udp("b1"), "ring 2 b1, give up 480")
    }

    @Test func `for decline_waits when a push made the phone show the call`() {
        HeldCall(.asleep("a"), .asleep("b")).start("push 0 call, push 1 call, hold").accept().accept(1)
            .register("a", at: .udp("a1"), "ring 1 a1").hear(486).waits(5000)
    }

    @Test func `no longer because another phone has an error after that`() {
        HeldCall(.awake("a", .tcp("a1")), .plain(.tcp("d1", flow: "d")), .asleep("b"))
            .start("ring 1 a1, ring 2 d1, push 2 call, hold").accept(2).hear(180).hear(486).hear(404, leg: 2)
            .waits(5000)
    }

    @Test func `anew once a further phone has rung and declined`() {
        HeldCall(.awake("a", .tcp("a1")), .asleep("b"), .asleep("c")).start("ring 1 a1, push 1 call, push 2 call, hold")
            .accept(1).accept(2).hear(180).hear(486).wait(4000).register("b", at: .udp("b1"), "ring 2 b1").waits(36_000)
            .hear(180, leg: 2).wait(10_000).hear(486, leg: 2).wait(4999).wait(1, "give up 480")
    }

    @Test func `and counts a phone that is silent among them`() {
        HeldCall(.awake("a", .tcp("a1")), .awake("b", .tcp("b1", flow: "b"))).start("ring 1 a1, ring 2 b1").hear(180)
            .hear(486).wait(1500, "push 1 call, hold").accept(1).wait(4999).wait(1, "close 2, give up 480")
    }

    @Test func `and not for those that ring`() {
        HeldCall(.awake("a", .tcp("a1")), .awake("b", .tcp("b1", flow: "b")), .asleep("c"))
            .start("ring 1 a1, ring 2 b1, push 2 call, hold").accept(2).hear(180, leg: 2).hear(486).waits(40_000)
    }

    @Test func `to the end when a phone on a core was never reached`() {
        HeldCall(.plain(.udp("d1")), .asleep("b")).start("ring 1 d1, push 1 call, hold").accept(1).fail().waits(40_000)
            .register("b", at: .udp("b1"), "ring 2 b1, give up 480")
    }

    // MARK: 6xx

    @Test func `no more when one declines for all`() {
        HeldCall(.awake("a", .tcp("a1")), .asleep("b"), .asleep("c")).start("ring 1 a1, push 1 call, push 2 call, hold")
            .accept(1).hear(603, "drop 2, give up 480").register("b", at: .udp("b1")).waits(nil)
            .end(.failed(603), "push 1 elsewhere").accept(2, "push 2 elsewhere")
    }

    /// Linphone ends a pushed call after 15 s, and declines the INVITE that comes later.
    @Test(arguments: [
        (15_000, 500, ""), (39_000, 0, ""), (14_999, 0, "drop 1, give up 480"), (20_000, 501, "drop 1, give up 480"),
    ])
    func `as if it were the phone's alone when its app has given the pushed call up`(
        registersAfter: Int64, answersAfter: Int64, said: String
    ) {
        let call = HeldCall(.asleep("a"), .asleep("b")).start("push 0 call, push 1 call, hold").accept()
            .wait(registersAfter).register("a", at: .tcp("a1"), "ring 1 a1").wait(answersAfter).hear(603, said)
        guard said.isEmpty else { return }
        call.accept(1).register("b", at: .tcp("b1"), "ring 2 b1, give up 480")
    }

    @Test func `when its user heard it ring, and when nobody else is waited for`() {
        HeldCall(.asleep("a"), .asleep("b")).start("push 0 call, push 1 call, hold").accept().wait(20_000)
            .register("a", at: .tcp("a1"), "ring 1 a1").hear(180).hear(603, "drop 1, give up 480")
        HeldCall(.asleep("a")).start("push 0 call, hold").accept().wait(20_000)
            .register("a", at: .tcp("a1"), "ring 1 a1, give up 480").hear(603)
    }

    @Test func `and neither rings nor pushes a phone whose leg fails after a 603`() {
        HeldCall(
            .awake("a", .tcp("a1")), .awake("b", .tcp("b1", flow: "b")),
            .awake("c", .tcp("c1", flow: "c"), .tcp("c2", flow: "d"))
        )
        .start("ring 1 a1, ring 2 b1, ring 3 c1").hear(603).fail(leg: 2).fail(408, leg: 3, "give up 480")
        .wait(60_000).end(.failed(603))
    }
}

/// The script sends the call elsewhere when nobody woke, and asks that phones may still join.
@Suite struct `A call that goes elsewhere` {
    private func elsewhere() -> HeldCall {
        HeldCall(.asleep("a"), .asleep("b")).start("push 0 call, push 1 call, hold").accept().accept(1)
            .wait(40_000, "give up 480").continue(for: 15_000)
    }

    @Test func `rings a phone that wakes beside it, and is never given up`() {
        elsewhere().register("a", at: .udp("a1"), "ring 1 a1").hear(180).hear(486)
            .register("b", at: .tcp("b1"), "ring 2 b1").fail(503, leg: 2).register("b", at: .tcp("b2"), "ring 3 b2")
            .wait(60_000).hear(200, leg: 3).end(.answered)
    }

    @Test func `rings nobody when its time is over`() {
        elsewhere().waits(15_000).wait(14_999).register("a", at: .udp("a1"), "ring 1 a1").wait(1)
            .register("b", at: .udp("b1")).waits(nil).hear(180).hear(200)
    }

    @Test func `is told to those that were pushed when it is answered there`() {
        elsewhere().register("a", at: .udp("a1"), "ring 1 a1").end(.answered, "push 1 elsewhere")
            .register("b", at: .udp("b1")).continue(for: 15_000)
    }

    @Test func `does not ring again where somebody has declined`() {
        HeldCall(.awake("a", .tcp("a1"))).start("ring 1 a1").hear(486).continue(for: 15_000)
            .register("a", at: .tcp("a2", flow: "new")).register("b", at: .tcp("b1"), "ring 2 b1")
    }

    @Test func `does not begin after a 2xx`() {
        HeldCall(.awake("a", .tcp("a1"))).start("ring 1 a1").hear(200).continue(for: 15_000)
            .register("b", at: .tcp("b1"))
    }
}
