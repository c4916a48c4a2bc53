// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// Requests that were held and rung before anybody knew which phones can be pushed.
@Suite struct `A call whose devices are known late` {
    @Test func `pushes a phone that was out of reach`() {
        let call = HeldCall(.asleep("a", .lost("a1")))
        #expect(call.startLate([nil]) == "push 0 call")
        #expect(call.accept() == "")
        #expect(call.register("a", at: .udp("a2")) == "ring 1 a2, give up 480")
    }

    @Test func `pushes a phone for a dialplan that waits`() {
        let call = HeldCall(.asleep("a", .lost("a1")), host: .dialplan)
        #expect(call.startLate([nil]) == "push 0 call")
        #expect(call.accept() == "")
        #expect(call.register("a", at: .udp("a2")) == "ring 1 a2")
    }

    @Test func `pushes a phone that sleeps behind the address where it was rung`() {
        let call = HeldCall(.asleep("a", .udp("a1")))
        #expect(call.startLate([1]) == "push 0 call")
        #expect(call.accept() == "")
        #expect(call.register("a", at: .udp("a2", flow: "new", run: "run 2")) == "ring 2 a2, give up 480")
    }

    @Test func `does not ring a phone twice that is awake`() {
        let call = HeldCall(.awake("a", .tcp("a1")))
        #expect(call.startLate([1]) == "give up 480")
        #expect(call.hear(180, leg: 1) == "")
        #expect(call.hear(200, leg: 1) == "")
    }

    @Test func `pushes a phone that is awake and silent`() {
        let call = HeldCall(.awake("a", .tcp("a1")))
        #expect(call.startLate([1]) == "give up 480")
        #expect(call.wait(1500) == "push 0 call, hold")
    }

    @Test func `does not push a phone that rings already`() {
        let call = HeldCall(.asleep("a", .udp("a1")))
        #expect(call.startLate([1], heard: 180) == "give up 480")
    }

    @Test func `does not push or ring a phone that has declined already`() {
        let only = HeldCall(.asleep("a", .udp("a1")))
        #expect(only.startLate([1], heard: 486) == "give up 480")
        let first = HeldCall(.asleep("a", .udp("a1")), .asleep("b"))
        #expect(first.startLate([1, nil], heard: 486) == "push 1 call")
        #expect(first.register("a", at: .udp("a2", flow: "new")) == "")
    }

    @Test func `of an earlier engine is not brought again to a phone that has declined`() {
        let only = HeldCall(.asleep("a", .udp("a1")))
        #expect(only.resume([true], [1], heard: 486) == "give up 480")
        #expect(only.register("a", at: .udp("a2", flow: "new")) == "")
        let other = HeldCall(.asleep("a", .udp("a1")), .asleep("b"))
        #expect(other.resume([true, true], [1, nil], heard: 486) == "")
        #expect(other.deadline == 5000)
        let error = HeldCall(.asleep("a", .udp("a1")), .asleep("b"))
        #expect(error.resume([true, true], [1, nil], heard: 404) == "")
        #expect(error.deadline == 40_000)
    }

    @Test func `rings a phone that has registered meanwhile, and pushes the others`() {
        let call = HeldCall(.asleep("a", .lost("a1")), .asleep("b", .lost("b1")))
        let registration = CallRegistration(instance: "b", contact: .udp("b2"))
        #expect(call.startLate([nil, nil], registrations: [registration]) == "ring 1 b2, push 0 call")
        #expect(call.accept() == "")
        #expect(call.register("a", at: .udp("a2")) == "ring 2 a2, give up 480")
    }

    @Test func `does not push a phone that has registered where it was rung`() {
        let call = HeldCall(.asleep("a", .udp("a1")))
        let registration = CallRegistration(instance: "a", contact: .udp("a1"))
        let said = call.startLate([1], registrations: [registration])
        #expect(!said.contains("push") && call.hear(200, leg: 1) == "")
    }

    @Test func `leaves the answer to phones that cannot be pushed`() {
        let call = HeldCall(.plain(.udp("a1")))
        #expect(call.startLate([1]) == "give up 480")
        #expect(call.hear(486, leg: 1) == "")
    }

    @Test func `is given up when nobody is there`() {
        let call = HeldCall()
        #expect(call.startLate([]) == "give up 480")
    }
}
