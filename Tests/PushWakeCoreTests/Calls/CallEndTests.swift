// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// Every phone that was pushed hears how the call ended: over its leg, or by push.
@Suite struct `The end of a held call` {
    /// Three phones: "a" rings on leg 1; "b" was pushed and stays away; "c" was pushed and its outcome is not known.
    private func three(change: (inout CallPolicy) -> Void = { _ in }) -> HeldCall {
        let call = HeldCall(.asleep("a"), .asleep("b"), .asleep("c"), change: change)
        #expect(call.start() == "push 0 call, push 1 call, push 2 call, hold")
        #expect(call.accept(0) == "")
        #expect(call.accept(1) == "")
        #expect(call.register("a", at: .udp("a1")) == "ring 1 a1")
        #expect(call.hear(180, leg: 1) == "")
        return call
    }

    @Test(arguments: [
        (CallEnd.cancelled, "cancel"), (.completedElsewhere, "elsewhere"), (.answered, "elsewhere"),
        (.timedOut, "missed"), (.failed(486), "missed"), (.failed(600), "elsewhere"), (.failed(603), "elsewhere"),
    ])
    func `is pushed to phones that stayed away, once, a push accepted later included`(how: CallEnd, notice: String) {
        let call = three()
        #expect(call.end(how) == "push 1 \(notice), drop 2")
        #expect(call.accept(2) == "push 2 \(notice)")
        #expect(call.accept(2) == "")
        #expect(call.end(how) == "")
        #expect(call.deadline == nil)
        #expect(call.ended == how)
    }

    /// Its CANCEL goes where it no longer is. One whose connection ends is rung anew.
    @Test(arguments: [
        (CallContact.udp("a2", flow: "2"), "push 0 cancel"), (.udp("a1", flow: "1"), ""),
        (.udp("a1", flow: "2"), "push 0 cancel"),
        (.tcp("a2", flow: "2"), ""),
    ])
    func `is pushed to a phone that rings and has moved since, over UDP`(place: CallContact, notice: String) {
        for device in [CallDevice.asleep("a"), .awake("a", .udp("a1", flow: "1"))] {
            let call = HeldCall(device)
            _ = call.start()
            if !device.isAwake {
                #expect(call.accept() == "")
                #expect(call.register("a", at: .udp("a1", flow: "1")).hasPrefix("ring 1 a1"))
            }
            #expect(call.hear(180, leg: 1) == "")
            #expect(call.register("a", at: place) == "")
            #expect(call.end(.cancelled) == notice)
        }
    }

    @Test func `is not pushed to a phone that gets nothing but calls`() {
        var device = CallDevice.asleep("a")
        device.takesNotices = false
        let call = HeldCall(device, .asleep("b"))
        #expect(call.start() == "push 0 call, push 1 call, hold")
        #expect(call.accept(0) == "")
        #expect(call.accept(1) == "")
        #expect(call.end(.timedOut) == "push 1 missed")
    }

    @Test func `is not pushed to a phone whose push never left`() {
        let call = three()
        #expect(call.end(.cancelled) == "push 1 cancel, drop 2")
        #expect(call.refuse(2) == "")
    }

    @Test func `is not pushed to those that answered or declined`() {
        let call = HeldCall(.asleep("a"), .asleep("b"), .asleep("c"))
        #expect(call.start() == "push 0 call, push 1 call, push 2 call, hold")
        for device in 0..<3 { #expect(call.accept(device) == "") }
        #expect(call.register("a", at: .udp("a1")) == "ring 1 a1")
        #expect(call.register("b", at: .udp("b1")) == "ring 2 b1")
        #expect(call.hear(486, leg: 1) == "")
        #expect(call.hear(200, leg: 2) == "")
        #expect(call.end(.answered) == "push 2 elsewhere")
    }

    @Test func `is pushed to a phone that came and whose leg failed`() {
        let call = HeldCall(.asleep("a"))
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.register("a", at: .tcp("a1")) == "ring 1 a1, give up 480")
        #expect(call.fail(477, leg: 1) == "hold")
        #expect(call.end(.cancelled) == "push 0 cancel")
    }

    @Test func `is pushed to a suspended app, which never heard its leg`() {
        let call = HeldCall(.awake("a", .tcp("a1")))
        #expect(call.start() == "ring 1 a1")
        #expect(call.wait(1500) == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.end(.cancelled) == "push 0 cancel")
    }

    @Test(
        arguments: [
            (nil, 1499, ""), (nil, 1500, "push 0 cancel"), (0, 1500, "push 0 cancel"), (300, 300, "push 0 cancel"),
            (-1, 1500, "push 0 cancel"),
        ] as [(Int64?, Int64, String)])
    func `is pushed to a phone that came for its push and has not heard its leg since`(
        silentAfter: Int64?, pause: Int64, told: String
    ) {
        let call = HeldCall(.asleep("a")) { policy in
            if let silentAfter { policy.silentAfter = silentAfter < 0 ? nil : silentAfter }
        }
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.register("a", at: .tcp("a1")) == "ring 1 a1, give up 480")
        #expect(call.wait(pause) == "")
        #expect(call.end(.cancelled) == told)
        #expect(call.wait(60_000) == "")
    }

    @Test func `is shown to a phone that came, was silent and comes again`() {
        let silent = HeldCall(ringsAtOnce)
        #expect(silent.start() == "push 0 call, hold")
        #expect(silent.accept() == "")
        #expect(silent.register("a", at: .tcp("a1")) == "ring 1 a1, give up 480")
        #expect(silent.wait(2000) == "")
        #expect(silent.end(.cancelled) == "push 0 cancel")
        #expect(silent.register("a", at: .tcp("a2", flow: "new")) == "show end a2 cause=487")

        let quick = HeldCall(ringsAtOnce)
        #expect(quick.start() == "push 0 call, hold")
        #expect(quick.accept() == "")
        #expect(quick.register("a", at: .tcp("a1")) == "ring 1 a1, give up 480")
        #expect(quick.wait(100) == "")
        #expect(quick.end(.cancelled) == "")
        #expect(quick.wait(5000) == "")
        #expect(
            quick.register("a", at: .tcp("a2", flow: "new")) == "", "what it hears of its leg is how long that was out")
    }

    @Test func `is pushed to nobody who has been left ringing`() {
        let call = three()
        #expect(call.fail(408, leg: 1) == "")
        #expect(call.end(.failed(408)) == "push 1 missed, drop 2")
    }

    @Test func `is pushed to nobody where cancel_when is never, or for a message`() {
        for end in [CallEnd.cancelled, .answered, .timedOut] {
            let off = three { $0.cancelRule = .never }
            #expect(off.end(end) == "drop 2")
        }
        let message = HeldCall(.asleep("a"), event: .chat)
        #expect(message.start() == "push 0 chat, hold")
        #expect(message.accept() == "")
        #expect(message.end(.cancelled) == "")
    }

    // MARK: cancel_when

    @Test(arguments: [
        (CallPolicy.CancelRule.unanswered, "push 1 cancel, drop 2"),
        (.pushed, "push 0 cancel, push 1 cancel, drop 2"),
        (.always, "push 0 cancel, push 1 cancel, drop 2, push 3 cancel"),
    ])
    func `by CANCEL is pushed to those that cancel_when names`(rule: CallPolicy.CancelRule, told: String) {
        let call = HeldCall(.asleep("a"), .asleep("b"), .asleep("c"), .awake("d", .tcp("d1")), .plain(.udp("e1"))) {
            $0.cancelRule = rule
        }
        #expect(call.start() == "push 0 call, push 1 call, push 2 call, ring 1 d1, ring 2 e1, hold")
        #expect(call.accept(0) == "")
        #expect(call.accept(1) == "")
        #expect(call.register("a", at: .udp("a1")) == "ring 3 a1")
        #expect(call.hear(180, leg: 3) == "")
        #expect(call.end(.cancelled) == told)
        #expect(call.accept(2) == "push 2 cancel")
    }

    @Test func `by CANCEL with cancel_when always reaches a phone once, whatever became of its push`() {
        let left = three { $0.cancelRule = .always }
        #expect(left.end(.cancelled) == "push 0 cancel, push 1 cancel, drop 2")
        #expect(left.accept(2) == "push 2 cancel")
        let dropped = three { $0.cancelRule = .always }
        #expect(dropped.end(.cancelled) == "push 0 cancel, push 1 cancel, drop 2")
        #expect(dropped.refuse(2) == "push 2 cancel")
    }

    // MARK: CANCEL, 2xx

    @Test func `by CANCEL stops one that rings and one that is waited for`() {
        let call = HeldCall(.awake("a", .tcp("a1")), .asleep("b"))
        #expect(call.start() == "ring 1 a1, push 1 call, hold")
        #expect(call.hear(180, leg: 1) == "")
        #expect(call.accept(1) == "")
        #expect(call.end(.cancelled) == "push 1 cancel")
        #expect(call.hear(487, leg: 1) == "")
        #expect(call.register("b", at: .udp("b1")) == "")
        #expect(call.wait(60_000) == "")
    }

    @Test func `begins with a 2xx: nobody joins, and nothing is given up`() {
        let call = three()
        #expect(call.hear(200, leg: 1) == "drop 2")
        #expect(call.register("b", at: .udp("b1")) == "")
        #expect(call.register("new", at: .udp("n1")) == "")
        #expect(call.wait(60_000) == "")
        #expect(call.end(.answered) == "push 1 elsewhere")
    }

    @Test func `begins when the last leg fails and nobody is waited for`() {
        let call = HeldCall(.plain(.udp("d1")))
        #expect(call.start() == "ring 1 d1")
        #expect(call.hear(486, leg: 1) == "")
        #expect(call.register("new", at: .udp("n1")) == "")
        #expect(call.end(.failed(486)) == "")
        #expect(call.ended == .failed(486))
    }

    // MARK: wake_timeout

    @Test func `does not come with wake_timeout while a phone rings, which others may join`() {
        let call = three()
        #expect(call.wait(40_000) == "drop 2, give up 480")
        #expect(call.deadline == nil)
        #expect(call.register("b", at: .udp("b1")) == "ring 2 b1")
        #expect(call.fail(477, leg: 2) == "")
        #expect(call.hear(486, leg: 1) == "")
        #expect(call.register("b", at: .udp("b2", flow: "new")) == "")
        #expect(call.end(.failed(486)) == "push 1 missed")
    }

    @Test func `comes with wake_timeout when the only leg is that of a silent phone`() {
        let call = HeldCall(.awake("a", .tcp("a1")))
        #expect(call.start() == "ring 1 a1")
        #expect(call.wait(1500) == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.wait(38_500) == "close 1, give up 480")
        #expect(call.register("a", at: .tcp("a2", flow: "new")) == "")
    }

    @Test func `is not put off by a leg that fails after wake_timeout`() {
        let call = HeldCall(.asleep("a"))
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.wait(39_000) == "")
        #expect(call.register("a", at: .tcp("a1")) == "ring 1 a1, give up 480")
        #expect(call.wait(4000) == "")
        #expect(call.fail(408, leg: 1) == "give up 480")
        #expect(call.deadline == nil)
        #expect(call.end(.failed(408)) == "push 0 missed")
        #expect(call.ended == .timedOut)
    }

    @Test func `comes with wake_timeout when who came says nothing, and not while somebody may`() {
        let call = HeldCall(.asleep("a"))
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.register("a", at: .tcp("a1")) == "ring 1 a1, give up 480")
        #expect(call.wait(39_999) == "")
        #expect(call.wait(1) == "close 1, give up 480")
        #expect(call.end(.failed(480)) == "push 0 missed")
        #expect(call.ended == .timedOut)
        #expect(call.silent == [0])

        let late = HeldCall(.asleep("a"))
        #expect(late.start() == "push 0 call, hold")
        #expect(late.accept() == "")
        #expect(late.wait(39_000) == "")
        #expect(late.register("a", at: .tcp("a1")) == "ring 1 a1, give up 480")
        #expect(late.wait(4999) == "")
        #expect(late.wait(1) == "close 1, give up 480")

        let others = HeldCall(.asleep("a"), .awake("b", .tcp("b1")))
        #expect(others.start() == "push 0 call, ring 1 b1, hold")
        #expect(others.accept() == "")
        #expect(others.hear(180, leg: 1) == "")
        #expect(others.register("a", at: .tcp("a1")) == "ring 2 a1, give up 480")
        #expect(others.wait(60_000) == "")
        #expect(others.deadline == nil)

        let proxied = HeldCall(.asleep("a"))
        #expect(proxied.start() == "push 0 call, hold")
        #expect(proxied.accept() == "")
        #expect(proxied.register("a", at: CallContact(key: "a1", isBehindProxy: true)) == "ring 1 a1, give up 480")
        #expect(proxied.wait(60_000) == "")
    }

    @Test(arguments: [CallHost.proxy, .dialplan])
    func `comes when a phone says nothing and no push can bring it`(host: CallHost) {
        let awake = HeldCall(.awake("a", .udp("a1")), host: host)
        #expect(awake.start() == "ring 1 a1")
        awake.send(leg: 1)
        #expect(awake.wait(1500) == "push 0 call, hold")
        #expect(awake.refuse() == (host == .proxy ? "give up 480" : ""))
        #expect(awake.wait(3499) == "")
        #expect(awake.wait(1) == "close 1, give up 480")
        #expect(awake.deadline == nil)

        let asleep = HeldCall(.asleep("a", .udp("a1")), host: host)
        #expect(asleep.start() == "push 0 call, hold")
        #expect(asleep.wait(7000) == "")
        #expect(asleep.refuse() == (host == .proxy ? "ring 1 a1, give up 480" : "ring 1 a1"))
        asleep.send(leg: 1)
        #expect(asleep.wait(4999) == "")
        #expect(asleep.wait(1) == "close 1, give up 480")

        let late = HeldCall(.awake("a", .udp("a1")), host: host)
        #expect(late.start() == "ring 1 a1")
        late.send(leg: 1)
        #expect(late.wait(9000) == "push 0 call, hold")
        _ = late.refuse()
        #expect(late.wait(0) == "close 1, give up 480")

        let heard = HeldCall(.awake("a", .udp("a1")), host: host)
        #expect(heard.start() == "ring 1 a1")
        heard.send(leg: 1)
        #expect(heard.wait(1500) == "push 0 call, hold")
        _ = heard.refuse()
        #expect(heard.hear(100, leg: 1) == "")
        #expect(heard.wait(60_000) == "")

        let back = HeldCall(.awake("a", .udp("a1")), host: host)
        #expect(back.start() == "ring 1 a1")
        back.send(leg: 1)
        #expect(back.wait(1500) == "push 0 call, hold")
        _ = back.refuse()
        #expect(back.wait(3000) == "")
        #expect(back.register("a", at: .udp("a1")) == "resend 1")
        #expect(back.wait(4999) == "")
        #expect(back.wait(1) == "close 1, give up 480")

        let others = HeldCall(.awake("a", .udp("a1")), .asleep("b"), host: host)
        #expect(others.start() == "ring 1 a1, push 1 call, hold")
        others.send(leg: 1)
        #expect(others.accept(1) == "")
        #expect(others.wait(1500) == "push 0 call")
        #expect(others.refuse(0) == "")
        #expect(others.wait(38_499) == "")
        #expect(others.wait(1) == (host == .proxy ? "give up 480, close 1, give up 480" : "close 1, give up 480"))

        let text = HeldCall(.awake("a", .udp("a1")), event: .chat, host: host)
        #expect(text.start() == "ring 1 a1")
        text.send(leg: 1)
        #expect(text.wait(1500) == "push 0 chat, hold")
        _ = text.refuse()
        #expect(text.wait(30_000) == "")
    }

    @Test func `brings no push for a phone that is silent at that time`() {
        let call = HeldCall(.awake("a", .tcp("a1")), wakeTimeout: 1000)
        #expect(call.start() == "ring 1 a1")
        #expect(call.wait(60_000) == "")
        #expect(call.deadline == nil)
    }

    // MARK: Too late

    private let ringsAtOnce = CallDevice.asleep("a").with { $0.showsCallAtOnce = true }

    @Test(arguments: [
        (CallEnd.cancelled, "cause=487"), (.answered, "cause=200"), (.completedElsewhere, "cause=200"),
        (.timedOut, "cause=480"), (.failed(603), "cause=603"),
    ])
    func `is shown once to a phone that shows the call and comes too late`(how: CallEnd, cause: String) {
        let call = HeldCall(ringsAtOnce)
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.end(how) == "push 0 \(how.notice.name)")
        #expect(call.register("a", at: .udp("a1")) == "show end a1 \(cause)")
        #expect(call.register("a", at: .udp("a1")) == "")
        #expect(call.register("a", at: .udp("a2", flow: "new")) == "")
        #expect(call.notes.filter { $0 == .late(device: 0) }.count == 3)
    }

    @Test func `is shown when the push may have left, and not pushed after that`() {
        let call = HeldCall(ringsAtOnce)
        #expect(call.start() == "push 0 call, hold")
        #expect(call.end(.cancelled) == "drop 0")
        #expect(call.register("a", at: .udp("a1")) == "show end a1 cause=487")
        #expect(call.accept() == "")
    }

    @Test func `reaches a phone that registered at that moment, whose leg was never sent`() {
        let screen = HeldCall(CallDevice.asleep("a").with { $0.showsCallAtOnce = true })
        #expect(screen.start() == "push 0 call, hold")
        #expect(screen.accept() == "")
        #expect(screen.register("a", at: .udp("a1")) == "ring 1 a1, give up 480")
        #expect(screen.end(.cancelled) == "")
        #expect(screen.fail(503, leg: 1) == "show end a1 cause=487")
        #expect(screen.fail(503, leg: 1) == "")

        let other = HeldCall(.asleep("a"))
        #expect(other.start() == "push 0 call, hold")
        #expect(other.accept() == "")
        #expect(other.register("a", at: .udp("a1")) == "ring 1 a1, give up 480")
        #expect(other.end(.cancelled) == "")
        #expect(other.fail(503, leg: 1) == "push 0 cancel")
        #expect(other.fail(503, leg: 1) == "")
    }

    @Test func `is shown between wake_timeout and the answer to the caller`() {
        let call = HeldCall(ringsAtOnce)
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.wait(40_000) == "give up 480")
        #expect(call.register("a", at: .udp("a1")) == "show end a1 cause=480")
        #expect(call.end(.failed(480)) == "")
    }

    @Test func `is shown to a phone that came, lost its leg and comes again`() {
        let call = HeldCall(ringsAtOnce)
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.register("a", at: .tcp("a1")) == "ring 1 a1, give up 480")
        #expect(call.fail(477, leg: 1) == "hold")
        #expect(call.end(.cancelled) == "push 0 cancel")
        #expect(call.register("a", at: .tcp("a2", flow: "new")) == "show end a2 cause=487")
    }

    @Test func `is not shown to a phone whose leg tells it, that declined, or that was never pushed`() {
        let rung = HeldCall(ringsAtOnce)
        #expect(rung.start() == "push 0 call, hold")
        #expect(rung.accept() == "")
        #expect(rung.register("a", at: .udp("a1")) == "ring 1 a1, give up 480")
        #expect(rung.end(.cancelled) == "")
        #expect(rung.register("a", at: .udp("a1")) == "")

        let declined = HeldCall(ringsAtOnce)
        #expect(declined.start() == "push 0 call, hold")
        #expect(declined.accept() == "")
        #expect(declined.register("a", at: .udp("a1")) == "ring 1 a1, give up 480")
        #expect(declined.hear(486, leg: 1) == "")
        #expect(declined.end(.failed(486)) == "")
        #expect(declined.register("a", at: .udp("a1")) == "")

        let refused = HeldCall(ringsAtOnce)
        #expect(refused.start() == "push 0 call, hold")
        #expect(refused.refuse() == "give up 480")
        #expect(refused.end(.failed(480)) == "")
        #expect(refused.register("a", at: .udp("a1")) == "")
    }

    @Test func `is not shown to a phone that lets its app decide`() {
        let call = HeldCall(.asleep("a"))
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.end(.cancelled) == "push 0 cancel")
        #expect(call.register("a", at: .udp("a1")) == "")
    }
}
