// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// Requests that were held and rung before anybody knew which phones can be pushed.
@Suite struct `A call whose devices are known late` {
    @Test func `pushes a phone that was out of reach`() {
        HeldCall(.asleep("a", .lost("a1"))).startLate([nil], "push 0 call").accept()
            .register("a", at: .udp("a2"), "ring 1 a2, give up 480")
    }

    @Test func `pushes a phone for a dialplan that waits`() {
        HeldCall(.asleep("a", .lost("a1")), host: .dialplan).startLate([nil], "push 0 call").accept()
            .register("a", at: .udp("a2"), "ring 1 a2")
    }

    @Test func `pushes a phone that sleeps behind the address where it was rung`() {
        HeldCall(.asleep("a", .udp("a1"))).startLate([1], "push 0 call").accept()
            .register("a", at: .udp("a2", flow: "new", run: "run 2"), "ring 2 a2, give up 480")
    }

    @Test func `does not ring a phone twice that is awake`() {
        HeldCall(.awake("a", .tcp("a1"))).startLate([1], "give up 480").hear(180).hear(200)
    }

    @Test func `pushes a phone that is awake and silent`() {
        HeldCall(.awake("a", .tcp("a1"))).startLate([1], "give up 480").wait(1500, "push 0 call, hold")
    }

    @Test func `does not push a phone that rings already`() {
        HeldCall(.asleep("a", .udp("a1"))).startLate([1], heard: 180, "give up 480")
    }

    @Test func `does not push or ring a phone that has declined already`() {
        HeldCall(.asleep("a", .udp("a1"))).startLate([1], heard: 486, "give up 480")
        HeldCall(.asleep("a", .udp("a1")), .asleep("b")).startLate([1, nil], heard: 486, "push 1 call")
            .register("a", at: .udp("a2", flow: "new"))
    }

    @Test func `of an earlier engine is not brought again to a phone that has declined`() {
        HeldCall(.asleep("a", .udp("a1"))).resume([true], [1], heard: 486, "give up 480")
            .register("a", at: .udp("a2", flow: "new"))
        HeldCall(.asleep("a", .udp("a1")), .asleep("b")).resume([true, true], [1, nil], heard: 486).waits(5000)
        HeldCall(.asleep("a", .udp("a1")), .asleep("b")).resume([true, true], [1, nil], heard: 404).waits(40_000)
    }

    @Test func `rings a phone that has registered meanwhile, and pushes the others`() {
        let call = HeldCall(.asleep("a", .lost("a1")), .asleep("b", .lost("b1")))
        let registration = CallRegistration(instance: "b", contact: .udp("b2"))
        call.startLate([nil, nil], registrations: [registration], "ring 1 b2, push 0 call").accept()
            .register("a", at: .udp("a2"), "ring 2 a2, give up 480")
    }

    @Test func `does not push a phone that has registered where it was rung`() {
        let call = HeldCall(.asleep("a", .udp("a1")))
        let registration = CallRegistration(instance: "a", contact: .udp("a1"))
        call.startLate([1], registrations: [registration], "resend 1, give up 480").hear(200)
    }

    @Test func `leaves the answer to phones that cannot be pushed`() {
        HeldCall(.plain(.udp("a1"))).startLate([1], "give up 480").hear(486)
    }

    @Test func `is given up when nobody is there`() {
        HeldCall().startLate([], "give up 480")
    }
}
