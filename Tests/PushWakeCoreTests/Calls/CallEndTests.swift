// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// Every phone that was pushed hears how the call ended: over its leg, or by push.
@Suite struct `The end of a held call` {
    /// Three phones: "a" rings on leg 1; "b" was pushed and stays away; "c" was pushed and its outcome is not known.
    private func three(change: (inout CallPolicy) -> Void = { _ in }) -> HeldCall {
        HeldCall(.asleep("a"), .asleep("b"), .asleep("c"), change: change)
            .start("push 0 call, push 1 call, push 2 call, hold").accept().accept(1)
            .register("a", at: .udp("a1"), "ring 1 a1").hear(180)
    }

    @Test(arguments: [
        (CallEnd.cancelled, "cancel"), (.completedElsewhere, "elsewhere"), (.answered, "elsewhere"),
        (.timedOut, "missed"), (.failed(486), "missed"), (.failed(600), "elsewhere"), (.failed(603), "elsewhere"),
    ])
    func `is pushed to phones that stayed away, once, a push accepted later included`(how: CallEnd, notice: String) {
        three().end(how, "push 1 \(notice), drop 2").accept(2, "push 2 \(notice)").accept(2).end(how).waits(nil)
            .ended(how)
    }

    /// Its CANCEL goes where it no longer is. One whose connection ends is rung anew.
    @Test(arguments: [
        (CallContact.udp("a2", flow: "2"), "push 0 cancel"), (.udp("a1", flow: "1"), ""),
        (.udp("a1", flow: "2"), "push 0 cancel"),
        (.tcp("a2", flow: "2"), ""),
    ])
    func `is pushed to a phone that rings and has moved since, over UDP`(place: CallContact, notice: String) {
        for device in [CallDevice.asleep("a"), .awake("a", .udp("a1", flow: "1"))] {
            let call = HeldCall(device).start(nil)
            if !device.isAwake {
                call.accept().register("a", at: .udp("a1", flow: "1"), "ring 1 a1, give up 480")
            }
            call.hear(180).register("a", at: place).end(.cancelled, notice)
        }
    }

    @Test func `is not pushed to a phone that gets nothing but calls`() {
        var device = CallDevice.asleep("a")
        device.takesNotices = false
        HeldCall(device, .asleep("b")).start("push 0 call, push 1 call, hold").accept().accept(1)
            .end(.timedOut, "push 1 missed")
    }

    @Test func `is not pushed to a phone whose push never left`() {
        three().end(.cancelled, "push 1 cancel, drop 2").refuse(2)
    }

    @Test func `is not pushed to those that answered or declined`() {
        HeldCall(.asleep("a"), .asleep("b"), .asleep("c")).start("push 0 call, push 1 call, push 2 call, hold").accept()
            .accept(1).accept(2).register("a", at: .udp("a1"), "ring 1 a1").register("b", at: .udp("b1"), "ring 2 b1")
            .hear(486).hear(200, leg: 2).end(.answered, "push 2 elsewhere")
    }

    @Test func `is pushed to a phone that came and whose leg failed`() {
        HeldCall(.asleep("a")).start("push 0 call, hold").accept()
            .register("a", at: .tcp("a1"), "ring 1 a1, give up 480").fail(477, "hold").end(.cancelled, "push 0 cancel")
    }

    @Test func `is pushed to a suspended app, which never heard its leg`() {
        HeldCall(.awake("a", .tcp("a1"))).start("ring 1 a1").wait(1500, "push 0 call, hold").accept()
            .end(.cancelled, "push 0 cancel")
    }

    @Test(
        arguments: [
            (nil, 1499, ""), (nil, 1500, "push 0 cancel"), (0, 1500, "push 0 cancel"), (300, 300, "push 0 cancel"),
            (-1, 1500, "push 0 cancel"),
        ] as [(Int64?, Int64, String)])
    func `is pushed to a phone that came for its push and has not heard its leg since`(
        silentAfter: Int64?, pause: Int64, told: String
    ) {
        HeldCall(.asleep("a")) { policy in
            if let silentAfter { policy.silentAfter = silentAfter < 0 ? nil : silentAfter }
        }
        .start("push 0 call, hold").accept().register("a", at: .tcp("a1"), "ring 1 a1, give up 480").wait(pause)
        .end(.cancelled, told).wait(60_000)
    }

    @Test func `is shown to a phone that came, was silent and comes again`() {
        HeldCall(ringsAtOnce).start("push 0 call, hold").accept()
            .register("a", at: .tcp("a1"), "ring 1 a1, give up 480").wait(2000).end(.cancelled, "push 0 cancel")
            .register("a", at: .tcp("a2", flow: "new"), "show end a2 cause=487")
        HeldCall(ringsAtOnce).start("push 0 call, hold").accept()
            .register("a", at: .tcp("a1"), "ring 1 a1, give up 480").wait(100).end(.cancelled).wait(5000)
            .register("a", at: .tcp("a2", flow: "new"))  // what it hears of its leg is how long that was out
    }

    @Test func `is pushed to nobody who has been left ringing`() {
        three().fail().end(.failed(408), "push 1 missed, drop 2")
    }

    @Test func `is pushed to nobody where cancel_when is never, or for a message`() {
        for end in [CallEnd.cancelled, .answered, .timedOut] {
            let off = three { $0.cancelRule = .never }
            off.end(end, "drop 2")
        }
        HeldCall(.asleep("a"), event: .chat).start("push 0 chat, hold").accept().end(.cancelled)
    }

    // MARK: cancel_when

    @Test(arguments: [
        (CallPolicy.CancelRule.unanswered, "push 1 cancel, drop 2"),
        (.pushed, "push 0 cancel, push 1 cancel, drop 2"),
        (.always, "push 0 cancel, push 1 cancel, drop 2, push 3 cancel"),
    ])
    func `by CANCEL is pushed to those that cancel_when names`(rule: CallPolicy.CancelRule, told: String) {
        HeldCall(.asleep("a"), .asleep("b"), .asleep("c"), .awake("d", .tcp("d1")), .plain(.udp("e1"))) {
            $0.cancelRule = rule
        }
        .start("push 0 call, push 1 call, push 2 call, ring 1 d1, ring 2 e1, hold").accept().accept(1)
        .register("a", at: .udp("a1"), "ring 3 a1").hear(180, leg: 3).end(.cancelled, told)
        .accept(2, "push 2 cancel")
    }

    @Test func `by CANCEL with cancel_when always reaches a phone once, whatever became of its push`() {
        let left = three { $0.cancelRule = .always }
        left.end(.cancelled, "push 0 cancel, push 1 cancel, drop 2").accept(2, "push 2 cancel")
        let dropped = three { $0.cancelRule = .always }
        dropped.end(.cancelled, "push 0 cancel, push 1 cancel, drop 2").refuse(2, "push 2 cancel")
    }

    // MARK: CANCEL, 2xx

    @Test func `by CANCEL stops one that rings and one that is waited for`() {
        HeldCall(.awake("a", .tcp("a1")), .asleep("b")).start("ring 1 a1, push 1 call, hold").hear(180).accept(1)
            .end(.cancelled, "push 1 cancel").hear(487).register("b", at: .udp("b1")).wait(60_000)
    }

    @Test func `begins with a 2xx: nobody joins, and nothing is given up`() {
        three().hear(200, "drop 2").register("b", at: .udp("b1")).register("new", at: .udp("n1")).wait(60_000)
            .end(.answered, "push 1 elsewhere")
    }

    @Test func `begins when the last leg fails and nobody is waited for`() {
        HeldCall(.plain(.udp("d1"))).start("ring 1 d1").hear(486).register("new", at: .udp("n1")).end(.failed(486))
            .ended(.failed(486))
    }

    // MARK: wake_timeout

    @Test func `does not come with wake_timeout while a phone rings, which others may join`() {
        three().wait(40_000, "drop 2, give up 480").waits(nil).register("b", at: .udp("b1"), "ring 2 b1")
            .fail(477, leg: 2).hear(486).register("b", at: .udp("b2", flow: "new")).end(.failed(486), "push 1 missed")
    }

    @Test func `comes with wake_timeout when the only leg is that of a silent phone`() {
        HeldCall(.awake("a", .tcp("a1"))).start("ring 1 a1").wait(1500, "push 0 call, hold").accept()
            .wait(38_500, "close 1, give up 480").register("a", at: .tcp("a2", flow: "new"))
    }

    @Test func `is not put off by a leg that fails after wake_timeout`() {
        HeldCall(.asleep("a")).start("push 0 call, hold").accept().wait(39_000)
            .register("a", at: .tcp("a1"), "ring 1 a1, give up 480").wait(4000).fail(408, "give up 480").waits(nil)
            .end(.failed(408), "push 0 missed").ended(.timedOut)
    }

    @Test func `comes with wake_timeout when who came says nothing, and not while somebody may`() {
        HeldCall(.asleep("a")).start("push 0 call, hold").accept()
            .register("a", at: .tcp("a1"), "ring 1 a1, give up 480").wait(39_999).wait(1, "close 1, give up 480")
            .end(.failed(480), "push 0 missed").ended(.timedOut).silent([0])
        HeldCall(.asleep("a")).start("push 0 call, hold").accept().wait(39_000)
            .register("a", at: .tcp("a1"), "ring 1 a1, give up 480").wait(4999).wait(1, "close 1, give up 480")
        HeldCall(.asleep("a"), .awake("b", .tcp("b1"))).start("push 0 call, ring 1 b1, hold").accept().hear(180)
            .register("a", at: .tcp("a1"), "ring 2 a1, give up 480").wait(60_000).waits(nil)
        HeldCall(.asleep("a")).start("push 0 call, hold").accept()
            .register("a", at: CallContact(key: "a1", isBehindProxy: true), "ring 1 a1, give up 480").wait(60_000)
    }

    @Test(arguments: [CallHost.proxy, .dialplan])
    func `comes when a phone says nothing and no push can bring it`(host: CallHost) {
        /// A proxy is told at once that no push can bring the phone, a dialplan when its legs are over.
        let over = host == .proxy ? "give up 480" : ""
        let then = host == .proxy ? ", give up 480" : ""
        HeldCall(.awake("a", .udp("a1")), host: host).start("ring 1 a1").send().wait(1500, "push 0 call, hold")
            .refuse(0, over).wait(3499).wait(1, "close 1, give up 480").waits(nil)
        HeldCall(.asleep("a", .udp("a1")), host: host).start("push 0 call, hold").wait(7000)
            .refuse(0, "ring 1 a1\(then)").send().wait(4999).wait(1, "close 1, give up 480")
        HeldCall(.awake("a", .udp("a1")), host: host).start("ring 1 a1").send().wait(9000, "push 0 call, hold")
            .refuse(0, over).wait(0, "close 1, give up 480")
        HeldCall(.awake("a", .udp("a1")), host: host).start("ring 1 a1").send().wait(1500, "push 0 call, hold")
            .refuse(0, over).hear(100).wait(60_000)
        HeldCall(.awake("a", .udp("a1")), host: host).start("ring 1 a1").send().wait(1500, "push 0 call, hold")
            .refuse(0, over).wait(3000).register("a", at: .udp("a1"), "resend 1").wait(4999)
            .wait(1, "close 1, give up 480")
        HeldCall(.awake("a", .udp("a1")), .asleep("b"), host: host).start("ring 1 a1, push 1 call, hold")
            .send().accept(1).wait(1500, "push 0 call").refuse().wait(38_499)
            .wait(1, host == .proxy ? "give up 480, close 1, give up 480" : "close 1, give up 480")
        HeldCall(.awake("a", .udp("a1")), event: .chat, host: host).start("ring 1 a1").send()
            .wait(1500, "push 0 chat, hold").refuse(0, over).wait(30_000)
    }

    @Test func `brings no push for a phone that is silent at that time`() {
        HeldCall(.awake("a", .tcp("a1")), wakeTimeout: 1000).start("ring 1 a1").wait(60_000).waits(nil)
    }

    // MARK: Too late

    private let ringsAtOnce = CallDevice.asleep("a").with { $0.showsCallAtOnce = true }

    @Test(arguments: [
        (CallEnd.cancelled, "cause=487"), (.answered, "cause=200"), (.completedElsewhere, "cause=200"),
        (.timedOut, "cause=480"), (.failed(603), "cause=603"),
    ])
    func `is shown once to a phone that shows the call and comes too late`(how: CallEnd, cause: String) {
        let call = HeldCall(ringsAtOnce).start("push 0 call, hold").accept().end(how, "push 0 \(how.notice.name)")
            .register("a", at: .udp("a1"), "show end a1 \(cause)").register("a", at: .udp("a1"))
            .register("a", at: .udp("a2", flow: "new"))
        #expect(call.notes.filter { $0 == .late(device: 0) }.count == 3)
    }

    @Test func `is shown when the push may have left, and not pushed after that`() {
        HeldCall(ringsAtOnce).start("push 0 call, hold").end(.cancelled, "drop 0")
            .register("a", at: .udp("a1"), "show end a1 cause=487").accept()
    }

    @Test func `reaches a phone that registered at that moment, whose leg was never sent`() {
        HeldCall(CallDevice.asleep("a").with { $0.showsCallAtOnce = true }).start("push 0 call, hold").accept()
            .register("a", at: .udp("a1"), "ring 1 a1, give up 480").end(.cancelled).fail(503, "show end a1 cause=487")
            .fail(503)
        HeldCall(.asleep("a")).start("push 0 call, hold").accept()
            .register("a", at: .udp("a1"), "ring 1 a1, give up 480").end(.cancelled).fail(503, "push 0 cancel")
            .fail(503)
    }

    @Test func `is shown between wake_timeout and the answer to the caller`() {
        HeldCall(ringsAtOnce).start("push 0 call, hold").accept().wait(40_000, "give up 480")
            .register("a", at: .udp("a1"), "show end a1 cause=480").end(.failed(480))
    }

    @Test func `is shown to a phone that came, lost its leg and comes again`() {
        HeldCall(ringsAtOnce).start("push 0 call, hold").accept()
            .register("a", at: .tcp("a1"), "ring 1 a1, give up 480").fail(477, "hold").end(.cancelled, "push 0 cancel")
            .register("a", at: .tcp("a2", flow: "new"), "show end a2 cause=487")
    }

    @Test func `is not shown to a phone whose leg tells it, that declined, or that was never pushed`() {
        HeldCall(ringsAtOnce).start("push 0 call, hold").accept()
            .register("a", at: .udp("a1"), "ring 1 a1, give up 480").end(.cancelled).register("a", at: .udp("a1"))
        HeldCall(ringsAtOnce).start("push 0 call, hold").accept()
            .register("a", at: .udp("a1"), "ring 1 a1, give up 480").hear(486).end(.failed(486))
            .register("a", at: .udp("a1"))
        HeldCall(ringsAtOnce).start("push 0 call, hold").refuse(0, "give up 480").end(.failed(480))
            .register("a", at: .udp("a1"))
    }

    @Test func `is not shown to a phone that lets its app decide`() {
        HeldCall(.asleep("a")).start("push 0 call, hold").accept().end(.cancelled, "push 0 cancel")
            .register("a", at: .udp("a1"))
    }
}
