// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// What is other for a host whose script sends the legs and waits to be told that all is over.
@Suite struct `A dialplan` {
    private static let alice = CallDevice.awake("alice", .tcp("a"))
    private static let bob = CallDevice.asleep("bob", .lost("b"))

    @Test func `a phone is silent from the moment in which its leg is sent`() {
        HeldCall(Self.alice, host: .dialplan).start("ring 1 a").wait(5000).send().wait(1499)
            .wait(1, "push 0 call, hold")
    }

    @Test func `a leg that is never sent wakes nobody`() {
        HeldCall(Self.alice, host: .dialplan).start("ring 1 a").waits(nil).end(.cancelled)
    }

    @Test func `a phone that comes when the dialplan has gone elsewhere is told the end`() {
        HeldCall(Self.bob, host: .dialplan).start("push 0 call, hold").accept()
            .register("bob", at: .udp("b1"), "ring 1 b1").end(.failed(480)).fail(503, "push 0 missed").fail(503)
    }

    @Test func `a leg that was sent tells its phone the end`() {
        HeldCall(Self.bob, host: .dialplan).start("push 0 call, hold").accept()
            .register("bob", at: .udp("b1"), "ring 1 b1").send().end(.failed(480)).fail(487)
    }

    /// An announcement between the wait for the phone and the call to it, or phones that are rung in turn.
    @Test func `a phone that was woken long before its leg is sent may sleep again`() {
        func woken() -> HeldCall {
            HeldCall(Self.bob, host: .dialplan).start("push 0 call, hold").accept()
                .register("bob", at: .tcp("b1"), "ring 1 b1")
        }
        woken().wait(6000).send().fail(503, "push 0 call, hold").accept().register("bob", at: .tcp("b2"), "ring 2 b2")
            .send(leg: 2).fail(503, leg: 2, "hold")
        woken().wait(6000).send().wait(1500, "push 0 call, hold").accept().wait(10_000)
            .register("bob", at: .tcp("b2"), "ring 2 b2 for 1")
        woken().send().wait(5000).fail(503, "hold")
    }

    @Test func `a text that nobody holds is pushed, whatever time and its phone do`() {
        HeldCall(Self.alice, Self.bob, event: .chat, host: .dialplan, wakeTimeout: 2000)
            .startUnheld(for: 3_600_000, "ring 1 a, push 1 chat").pushedFor(3_600_000)
            .ended(.failed(202)).waits(nil).wait(10_000).register("bob", at: .udp("b1")).accept(1)
    }

    @Test func `who has said something is not silent`() {
        HeldCall(Self.alice, host: .dialplan).start("ring 1 a").send().hear(100).wait(30_000)
    }

    @Test func `a leg is sent once`() {
        HeldCall(Self.alice, host: .dialplan).start("ring 1 a").send().wait(1000).send()
            .wait(500, "push 0 call, hold")
    }

    @Test func `a phone that declines ends the wait at once`() {
        HeldCall(Self.alice, host: .dialplan).start("ring 1 a").send().hear(486, "give up 480")
    }

    @Test func `a phone that declines leaves others their time`() {
        HeldCall(Self.alice, Self.bob, host: .dialplan).start("ring 1 a, push 1 call, hold").send().accept(1)
            .hear(180).hear(486).wait(4999).wait(1, "give up 480")
    }

    @Test func `a phone that forwards ends nobody's time, since the dialplan calls in its place`() {
        HeldCall(Self.alice, Self.bob, host: .dialplan).start("ring 1 a, push 1 call, hold").send().accept(1)
            .hear(302).wait(20_000).register("bob", at: .udp("b1"), "ring 2 b1").send(leg: 2)
            .hear(486, leg: 2, "give up 480")
    }

    @Test func `a phone that forwards is not waited for itself`() {
        HeldCall(Self.alice, host: .dialplan).start("ring 1 a").send().hear(302, "give up 480")
    }

    @Test func `nobody gives up while a phone that was dialled may still become silent`() {
        HeldCall(Self.alice, Self.bob, host: .dialplan).start("ring 1 a, push 1 call, hold").send().refuse(1)
            .wait(1500, "push 0 call, hold").accept()
            .register("alice", at: .tcp("a2", flow: "tcp 2"), "ring 2 a2 for 1").send(leg: 2)
            .hear(486, leg: 2, "give up 480")
    }

    @Test func `time that is over ends no leg`() {
        HeldCall(Self.alice, Self.bob, host: .dialplan).start("ring 1 a, push 1 call, hold").send().accept(1).hear(180)
            .wait(60_000).waits(nil).hear(486, "give up 480")
    }

    @Test func `a leg that the dialplan hangs up says nothing about its phone`() {
        HeldCall(Self.alice, host: .dialplan).start("ring 1 a").send().fail(487, "give up 480").end(.failed(480))
    }

    @Test func `a phone that was left ringing counts as one that nobody took`() {
        HeldCall(Self.alice, Self.bob, host: .dialplan) { $0.declineWaits = 2000 }
            .start("ring 1 a, push 1 call, hold").send().accept(1).hear(180).fail(487).wait(2000, "give up 480")
            .end(.failed(480), "push 1 missed")
    }

    @Test func `a phone whose connection breaks while it rings has not declined`() {
        HeldCall(Self.bob, host: .dialplan).start("push 0 call, hold").accept()
            .register("bob", at: .tcp("b1"), "ring 1 b1").send().hear(180).fail(503, "hold")
            .register("bob", at: .tcp("b2"), "ring 2 b2").send(leg: 2).hear(486, leg: 2, "give up 480")
    }

    @Test func `a phone that was awake is pushed when its connection breaks while it rings`() {
        HeldCall(Self.alice, host: .dialplan).start("ring 1 a").send().hear(180).fail(503, "push 0 call, hold")
            .accept().wait(60_000, "give up 480")
    }

    @Test func `a caller who hangs up after everybody was given up has been missed`() {
        HeldCall(Self.bob, host: .dialplan, wakeTimeout: 3000).start("push 0 call, hold").accept()
            .wait(3000, "give up 480").end(.cancelled, "push 0 missed")
    }

    @Test(arguments: [408, 503]) func `a phone that cannot be reached is pushed`(status: Int) {
        HeldCall(Self.alice, host: .dialplan).start("ring 1 a").send().fail(status, "push 0 call, hold")
            .refuse(0, "give up 480")
    }

    @Test func `a push that fails ends the wait when nothing else can be rung`() {
        HeldCall(Self.bob, host: .dialplan).start("push 0 call, hold").refuse(0, "give up 480")
    }

    @Test func `a push that fails rings the known contact, which cannot be pushed once more`() {
        HeldCall(.asleep("bob", .udp("b")), host: .dialplan).start("push 0 call, hold").refuse(0, "ring 1 b").wait(
            30_000
        ).send()
            .fail(408, "give up 480")
    }
}
