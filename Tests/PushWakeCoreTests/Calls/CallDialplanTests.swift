// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// What is other for a host whose script sends the legs and waits to be told that all is over.
@Suite struct `A dialplan` {
    private static let alice = CallDevice.awake("alice", .tcp("a"))
    private static let bob = CallDevice.asleep("bob", .lost("b"))

    @Test func `a phone is silent from the moment in which its leg is sent`() {
        let call = HeldCall(Self.alice, host: .dialplan)
        #expect(call.start() == "ring 1 a")
        #expect(call.wait(5000) == "")
        call.send(leg: 1)
        #expect(call.wait(1499) == "")
        #expect(call.wait(1) == "push 0 call, hold")
    }

    @Test func `a leg that is never sent wakes nobody`() {
        let call = HeldCall(Self.alice, host: .dialplan)
        _ = call.start()
        #expect(call.deadline == nil)
        #expect(call.end(.cancelled) == "")
    }

    @Test func `a phone that comes when the dialplan has gone elsewhere is told the end`() {
        let call = HeldCall(Self.bob, host: .dialplan)
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.register("bob", at: .udp("b1")) == "ring 1 b1")
        #expect(call.end(.failed(480)) == "")
        #expect(call.fail(503, leg: 1) == "push 0 missed")
        #expect(call.fail(503, leg: 1) == "")
    }

    @Test func `a leg that was sent tells its phone the end`() {
        let call = HeldCall(Self.bob, host: .dialplan)
        _ = call.start()
        _ = call.accept()
        #expect(call.register("bob", at: .udp("b1")) == "ring 1 b1")
        call.send(leg: 1)
        #expect(call.end(.failed(480)) == "")
        #expect(call.hangUp(leg: 1) == "")
    }

    /// An announcement between the wait for the phone and the call to it, or phones that are rung in turn.
    @Test func `a phone that was woken long before its leg is sent may sleep again`() {
        func woken() -> HeldCall {
            let call = HeldCall(Self.bob, host: .dialplan)
            #expect(call.start() == "push 0 call, hold")
            #expect(call.accept() == "")
            #expect(call.register("bob", at: .tcp("b1")) == "ring 1 b1")
            return call
        }
        let dead = woken()
        #expect(dead.wait(6000) == "")
        dead.send(leg: 1)
        #expect(dead.fail(503, leg: 1) == "push 0 call, hold")
        #expect(dead.accept() == "")
        #expect(dead.register("bob", at: .tcp("b2")) == "ring 2 b2")
        dead.send(leg: 2)
        #expect(dead.fail(503, leg: 2) == "hold")

        let silent = woken()
        #expect(silent.wait(6000) == "")
        silent.send(leg: 1)
        #expect(silent.wait(1500) == "push 0 call, hold")
        #expect(silent.accept() == "")
        #expect(silent.wait(10_000) == "")
        #expect(silent.register("bob", at: .tcp("b2")) == "ring 2 b2 for 1")

        let prompt = woken()
        prompt.send(leg: 1)
        #expect(prompt.wait(5000) == "")
        #expect(prompt.fail(503, leg: 1) == "hold")
    }

    @Test func `a text that nobody holds is pushed, whatever time and its phone do`() {
        let call = HeldCall(Self.alice, Self.bob, event: .chat, host: .dialplan, wakeTimeout: 2000)
        #expect(call.startUnheld(for: 3_600_000) == "ring 1 a, push 1 chat")
        #expect(call.lastDeadline == 3_600_000)
        #expect(call.ended == .failed(202) && call.deadline == nil)
        #expect(call.wait(10_000) == "")
        #expect(call.register("bob", at: .udp("b1")) == "")
        #expect(call.accept(1) == "")
    }

    @Test func `who has said something is not silent`() {
        let call = HeldCall(Self.alice, host: .dialplan)
        _ = call.start()
        call.send(leg: 1)
        #expect(call.hear(100, leg: 1) == "")
        #expect(call.wait(30_000) == "")
    }

    @Test func `a leg is sent once`() {
        let call = HeldCall(Self.alice, host: .dialplan)
        _ = call.start()
        call.send(leg: 1)
        _ = call.wait(1000)
        call.send(leg: 1)
        #expect(call.wait(500) == "push 0 call, hold")
    }

    @Test func `a phone that declines ends the wait at once`() {
        let call = HeldCall(Self.alice, host: .dialplan)
        _ = call.start()
        call.send(leg: 1)
        #expect(call.hear(486, leg: 1) == "give up 480")
    }

    @Test func `a phone that declines leaves others their time`() {
        let call = HeldCall(Self.alice, Self.bob, host: .dialplan)
        #expect(call.start() == "ring 1 a, push 1 call, hold")
        call.send(leg: 1)
        _ = call.accept(1)
        _ = call.hear(180, leg: 1)
        #expect(call.hear(486, leg: 1) == "")
        #expect(call.wait(4999) == "")
        #expect(call.wait(1) == "give up 480")
    }

    @Test func `a phone that forwards ends nobody's time, since the dialplan calls in its place`() {
        let call = HeldCall(Self.alice, Self.bob, host: .dialplan)
        #expect(call.start() == "ring 1 a, push 1 call, hold")
        call.send(leg: 1)
        _ = call.accept(1)
        #expect(call.hear(302, leg: 1) == "")
        #expect(call.wait(20_000) == "")
        #expect(call.register("bob", at: .udp("b1")) == "ring 2 b1")
        call.send(leg: 2)
        #expect(call.hear(486, leg: 2) == "give up 480")
    }

    @Test func `a phone that forwards is not waited for itself`() {
        let call = HeldCall(Self.alice, host: .dialplan)
        _ = call.start()
        call.send(leg: 1)
        #expect(call.hear(302, leg: 1) == "give up 480")
    }

    @Test func `nobody gives up while a phone that was dialled may still become silent`() {
        let call = HeldCall(Self.alice, Self.bob, host: .dialplan)
        _ = call.start()
        call.send(leg: 1)
        #expect(call.refuse(1) == "")
        #expect(call.wait(1500) == "push 0 call, hold")
        _ = call.accept(0)
        #expect(call.register("alice", at: .tcp("a2", flow: "tcp 2")) == "ring 2 a2 for 1")
        call.send(leg: 2)
        #expect(call.hear(486, leg: 2) == "give up 480")
    }

    @Test func `time that is over ends no leg`() {
        let call = HeldCall(Self.alice, Self.bob, host: .dialplan)
        _ = call.start()
        call.send(leg: 1)
        _ = call.accept(1)
        _ = call.hear(180, leg: 1)
        #expect(call.wait(60_000) == "")
        #expect(call.deadline == nil)
        #expect(call.hear(486, leg: 1) == "give up 480")
    }

    @Test func `a leg that the dialplan hangs up says nothing about its phone`() {
        let call = HeldCall(Self.alice, host: .dialplan)
        _ = call.start()
        call.send(leg: 1)
        #expect(call.hangUp(leg: 1) == "give up 480")
        #expect(call.end(.failed(480)) == "")
    }

    @Test func `a phone that was left ringing counts as one that nobody took`() {
        let call = HeldCall(Self.alice, Self.bob, host: .dialplan) { $0.declineWaits = 2000 }
        _ = call.start()
        call.send(leg: 1)
        _ = call.accept(1)
        _ = call.hear(180, leg: 1)
        #expect(call.hangUp(leg: 1) == "")
        #expect(call.wait(2000) == "give up 480")
        #expect(call.end(.failed(480)) == "push 1 missed")
    }

    @Test func `a phone whose connection breaks while it rings has not declined`() {
        let call = HeldCall(Self.bob, host: .dialplan)
        _ = call.start()
        _ = call.accept()
        #expect(call.register("bob", at: .tcp("b1")) == "ring 1 b1")
        call.send(leg: 1)
        _ = call.hear(180, leg: 1)
        #expect(call.fail(503, leg: 1) == "hold")
        #expect(call.register("bob", at: .tcp("b2")) == "ring 2 b2")
        call.send(leg: 2)
        #expect(call.hear(486, leg: 2) == "give up 480")
    }

    @Test func `a phone that was awake is pushed when its connection breaks while it rings`() {
        let call = HeldCall(Self.alice, host: .dialplan)
        _ = call.start()
        call.send(leg: 1)
        _ = call.hear(180, leg: 1)
        #expect(call.fail(503, leg: 1) == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.wait(60_000) == "give up 480")
    }

    @Test func `a caller who hangs up after everybody was given up has been missed`() {
        let call = HeldCall(Self.bob, host: .dialplan, wakeTimeout: 3000)
        _ = call.start()
        _ = call.accept()
        #expect(call.wait(3000) == "give up 480")
        #expect(call.end(.cancelled) == "push 0 missed")
    }

    @Test(arguments: [408, 503]) func `a phone that cannot be reached is pushed`(status: Int) {
        let call = HeldCall(Self.alice, host: .dialplan)
        _ = call.start()
        call.send(leg: 1)
        #expect(call.fail(status, leg: 1) == "push 0 call, hold")
        #expect(call.refuse(0) == "give up 480")
    }

    @Test func `a push that fails ends the wait when nothing else can be rung`() {
        let call = HeldCall(Self.bob, host: .dialplan)
        #expect(call.start() == "push 0 call, hold")
        #expect(call.refuse(0) == "give up 480")
    }

    @Test func `a push that fails rings the known contact, which cannot be pushed once more`() {
        let call = HeldCall(.asleep("bob", .udp("b")), host: .dialplan)
        _ = call.start()
        #expect(call.refuse(0) == "ring 1 b")
        #expect(call.wait(30_000) == "")
        call.send(leg: 1)
        #expect(call.fail(408, leg: 1) == "give up 480")
    }
}
