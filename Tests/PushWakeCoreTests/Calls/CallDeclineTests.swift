// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// How long those that sleep are waited for when all that rang have failed.
@Suite struct `A declined call waits for phones that sleep` {
    /// "a" rings on leg 1, "b" sleeps and is pushed.
    private func ringing(wakeTimeout: Int64 = 40_000, change: (inout CallPolicy) -> Void = { _ in }) -> HeldCall {
        let call = HeldCall(.awake("a", .tcp("a1")), .asleep("b"), wakeTimeout: wakeTimeout, change: change)
        #expect(call.start() == "ring 1 a1, push 1 call, hold")
        #expect(call.accept(1) == "")
        #expect(call.hear(180, leg: 1) == "")
        return call
    }

    @Test func `for decline_waits`() {
        let call = ringing()
        #expect(call.wait(2000) == "")
        #expect(call.hear(486, leg: 1) == "")
        #expect(call.deadline == 5000)
        #expect(call.wait(4999) == "")
        #expect(call.wait(1) == "give up 480")
        #expect(call.register("b", at: .udp("b1")) == "")
        #expect(call.end(.failed(486)) == "push 1 missed")
        #expect(call.ended == .failed(486))
    }

    @Test func `to the end with -1`() {
        let call = ringing { $0.declineWaits = nil }
        #expect(call.hear(486, leg: 1) == "")
        #expect(call.wait(39_999) == "")
        #expect(call.wait(1) == "give up 480")
        #expect(call.end(.failed(486)) == "push 1 missed")
    }

    @Test func `not at all with 0`() {
        let call = ringing { $0.declineWaits = 0 }
        #expect(call.hear(486, leg: 1) == "give up 480")
    }

    @Test func `never beyond wake_timeout`() {
        let call = ringing(wakeTimeout: 3000)
        #expect(call.wait(1000) == "")
        #expect(call.hear(486, leg: 1) == "")
        #expect(call.deadline == 2000)
    }

    @Test(arguments: [(180, "give up 480"), (183, "give up 480")])
    func `as long when the phone was left ringing`(status: Int, heard: String) {
        let call = HeldCall(.awake("a", .tcp("a1")), .asleep("b")) { $0.declineWaits = 1000 }
        #expect(call.start() == "ring 1 a1, push 1 call, hold")
        #expect(call.accept(1) == "")
        #expect(call.hear(status, leg: 1) == "")
        #expect(call.fail(408, leg: 1) == "")
        #expect(call.wait(999) == "")
        #expect(call.wait(1) == heard)
    }

    @Test(arguments: [(486, 1000), (603, nil), (408, 1000), (480, 1000), (404, 40_000), (488, 40_000), (500, 40_000)])
    func `as long as what a phone says after it rang`(status: Int, deadline: Int64?) {
        let call = ringing { $0.declineWaits = 1000 }
        #expect(call.hear(status, leg: 1) == (status == 603 ? "give up 480" : ""))
        #expect(call.deadline == deadline)
    }

    @Test(arguments: [404, 415, 420, 480, 482, 486, 487, 488, 500, 503])
    func `to the end when a phone does not even ring`(status: Int) {
        let call = HeldCall(.plain(.tcp("d1")), .asleep("b"))
        #expect(call.start() == "ring 1 d1, push 1 call, hold")
        #expect(call.accept(1) == "")
        #expect(call.hear(status, leg: 1) == "")
        #expect(call.deadline == 40_000)
        #expect(call.wait(20_000) == "")
        #expect(call.register("b", at: .udp("b1")) == "ring 2 b1, give up 480")
    }

    @Test func `for decline_waits when a push made the phone show the call`() {
        let call = HeldCall(.asleep("a"), .asleep("b"))
        #expect(call.start() == "push 0 call, push 1 call, hold")
        #expect(call.accept(0) == "")
        #expect(call.accept(1) == "")
        #expect(call.register("a", at: .udp("a1")) == "ring 1 a1")
        #expect(call.hear(486, leg: 1) == "")
        #expect(call.deadline == 5000)
    }

    @Test func `no longer because another phone has an error after that`() {
        let call = HeldCall(.awake("a", .tcp("a1")), .plain(.tcp("d1", flow: "d")), .asleep("b"))
        #expect(call.start() == "ring 1 a1, ring 2 d1, push 2 call, hold")
        #expect(call.accept(2) == "")
        #expect(call.hear(180, leg: 1) == "")
        #expect(call.hear(486, leg: 1) == "")
        #expect(call.hear(404, leg: 2) == "")
        #expect(call.deadline == 5000)
    }

    @Test func `anew once a further phone has rung and declined`() {
        let call = HeldCall(.awake("a", .tcp("a1")), .asleep("b"), .asleep("c"))
        #expect(call.start() == "ring 1 a1, push 1 call, push 2 call, hold")
        #expect(call.accept(1) == "")
        #expect(call.accept(2) == "")
        #expect(call.hear(180, leg: 1) == "")
        #expect(call.hear(486, leg: 1) == "")
        #expect(call.wait(4000) == "")
        #expect(call.register("b", at: .udp("b1")) == "ring 2 b1")
        #expect(call.deadline == 36_000)
        #expect(call.hear(180, leg: 2) == "")
        #expect(call.wait(10_000) == "")
        #expect(call.hear(486, leg: 2) == "")
        #expect(call.wait(4999) == "")
        #expect(call.wait(1) == "give up 480")
    }

    @Test func `and counts a phone that is silent among them`() {
        let call = HeldCall(.awake("a", .tcp("a1")), .awake("b", .tcp("b1", flow: "b")))
        #expect(call.start() == "ring 1 a1, ring 2 b1")
        #expect(call.hear(180, leg: 1) == "")
        #expect(call.hear(486, leg: 1) == "")
        #expect(call.wait(1500) == "push 1 call, hold")
        #expect(call.accept(1) == "")
        #expect(call.wait(4999) == "")
        #expect(call.wait(1) == "close 2, give up 480")
    }

    @Test func `and not for those that ring`() {
        let call = HeldCall(.awake("a", .tcp("a1")), .awake("b", .tcp("b1", flow: "b")), .asleep("c"))
        #expect(call.start() == "ring 1 a1, ring 2 b1, push 2 call, hold")
        #expect(call.accept(2) == "")
        #expect(call.hear(180, leg: 2) == "")
        #expect(call.hear(486, leg: 1) == "")
        #expect(call.deadline == 40_000)
    }

    @Test func `to the end when a phone on a core was never reached`() {
        let call = HeldCall(.plain(.udp("d1")), .asleep("b"))
        #expect(call.start() == "ring 1 d1, push 1 call, hold")
        #expect(call.accept(1) == "")
        #expect(call.fail(408, leg: 1) == "")
        #expect(call.deadline == 40_000)
        #expect(call.register("b", at: .udp("b1")) == "ring 2 b1, give up 480")
    }

    // MARK: 6xx

    @Test func `no more when one declines for all`() {
        let call = HeldCall(.awake("a", .tcp("a1")), .asleep("b"), .asleep("c"))
        #expect(call.start() == "ring 1 a1, push 1 call, push 2 call, hold")
        #expect(call.accept(1) == "")
        #expect(call.hear(603, leg: 1) == "drop 2, give up 480")
        #expect(call.register("b", at: .udp("b1")) == "")
        #expect(call.deadline == nil)
        #expect(call.end(.failed(603)) == "push 1 elsewhere")
        #expect(call.accept(2) == "push 2 elsewhere")
    }

    /// Linphone ends a pushed call after 15 s, and declines the INVITE that comes later.
    @Test(arguments: [
        (15_000, 500, ""), (39_000, 0, ""), (14_999, 0, "drop 1, give up 480"), (20_000, 501, "drop 1, give up 480"),
    ])
    func `as if it were the phone's alone when its app has given the pushed call up`(
        registersAfter: Int64, answersAfter: Int64, said: String
    ) {
        let call = HeldCall(.asleep("a"), .asleep("b"))
        #expect(call.start() == "push 0 call, push 1 call, hold")
        #expect(call.accept(0) == "")
        #expect(call.wait(registersAfter) == "")
        #expect(call.register("a", at: .tcp("a1")) == "ring 1 a1")
        #expect(call.wait(answersAfter) == "")
        #expect(call.hear(603, leg: 1) == said)
        guard said.isEmpty else { return }
        #expect(call.accept(1) == "")
        #expect(call.register("b", at: .tcp("b1")).hasPrefix("ring 2 b1"))
    }

    @Test func `when its user heard it ring, and when nobody else is waited for`() {
        let heard = HeldCall(.asleep("a"), .asleep("b"))
        #expect(heard.start() == "push 0 call, push 1 call, hold")
        #expect(heard.accept(0) == "")
        #expect(heard.wait(20_000) == "")
        #expect(heard.register("a", at: .tcp("a1")) == "ring 1 a1")
        #expect(heard.hear(180, leg: 1) == "")
        #expect(heard.hear(603, leg: 1) == "drop 1, give up 480")
        let alone = HeldCall(.asleep("a"))
        #expect(alone.start() == "push 0 call, hold")
        #expect(alone.accept(0) == "")
        #expect(alone.wait(20_000) == "")
        #expect(alone.register("a", at: .tcp("a1")) == "ring 1 a1, give up 480")
        #expect(alone.hear(603, leg: 1) == "")
    }

    @Test func `and neither rings nor pushes a phone whose leg fails after a 603`() {
        let call = HeldCall(
            .awake("a", .tcp("a1")), .awake("b", .tcp("b1", flow: "b")),
            .awake("c", .tcp("c1", flow: "c"), .tcp("c2", flow: "d")))
        #expect(call.start() == "ring 1 a1, ring 2 b1, ring 3 c1")
        #expect(call.hear(603, leg: 1) == "")
        #expect(call.fail(408, leg: 2) == "")
        #expect(call.fail(408, leg: 3) == "give up 480")
        #expect(call.wait(60_000) == "")
        #expect(call.end(.failed(603)) == "")
    }
}

/// The script sends the call elsewhere when nobody woke, and asks that phones may still join.
@Suite struct `A call that goes elsewhere` {
    private func elsewhere() -> HeldCall {
        let call = HeldCall(.asleep("a"), .asleep("b"))
        #expect(call.start() == "push 0 call, push 1 call, hold")
        #expect(call.accept(0) == "")
        #expect(call.accept(1) == "")
        #expect(call.wait(40_000) == "give up 480")
        #expect(call.continue(for: 15_000) == "")
        return call
    }

    @Test func `rings a phone that wakes beside it, and is never given up`() {
        let call = elsewhere()
        #expect(call.register("a", at: .udp("a1")) == "ring 1 a1")
        #expect(call.hear(180, leg: 1) == "")
        #expect(call.hear(486, leg: 1) == "")
        #expect(call.register("b", at: .tcp("b1")) == "ring 2 b1")
        #expect(call.fail(503, leg: 2) == "")
        #expect(call.register("b", at: .tcp("b2")) == "ring 3 b2")
        #expect(call.wait(60_000) == "")
        #expect(call.hear(200, leg: 3) == "")
        #expect(call.end(.answered) == "")
    }

    @Test func `rings nobody when its time is over`() {
        let call = elsewhere()
        #expect(call.deadline == 15_000)
        #expect(call.wait(14_999) == "")
        #expect(call.register("a", at: .udp("a1")) == "ring 1 a1")
        #expect(call.wait(1) == "")
        #expect(call.register("b", at: .udp("b1")) == "")
        #expect(call.deadline == nil)
        #expect(call.hear(180, leg: 1) == "")
        #expect(call.hear(200, leg: 1) == "")
    }

    @Test func `is told to those that were pushed when it is answered there`() {
        let call = elsewhere()
        #expect(call.register("a", at: .udp("a1")) == "ring 1 a1")
        #expect(call.end(.answered) == "push 1 elsewhere")
        #expect(call.register("b", at: .udp("b1")) == "")
        #expect(call.continue(for: 15_000) == "")
    }

    @Test func `does not ring again where somebody has declined`() {
        let call = HeldCall(.awake("a", .tcp("a1")))
        #expect(call.start() == "ring 1 a1")
        #expect(call.hear(486, leg: 1) == "")
        #expect(call.continue(for: 15_000) == "")
        #expect(call.register("a", at: .tcp("a2", flow: "new")) == "")
        #expect(call.register("b", at: .tcp("b1")) == "ring 2 b1")
    }

    @Test func `does not begin after a 2xx`() {
        let call = HeldCall(.awake("a", .tcp("a1")))
        #expect(call.start() == "ring 1 a1")
        #expect(call.hear(200, leg: 1) == "")
        #expect(call.continue(for: 15_000) == "")
        #expect(call.register("b", at: .tcp("b1")) == "")
    }
}
