// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// One device, two legs: whether its app was started anew or has two connections, its answers say.
@Suite struct `A phone that registers elsewhere during a call` {
    /// A phone that was pushed and has just registered: its first leg is out, and it has answered so.
    private func woken(at contact: CallContact, hears status: Int = 0, event: PushEvent = .call) -> HeldCall {
        let call = HeldCall(.asleep("a"), event: event).start(nil).accept()
            .register("a", at: contact, "ring 1 \(contact.key), give up 480")
        if status > 0 { call.hear(status) }
        return call
    }

    /// The same, and its second leg is out.
    private func moved(hears status: Int = 0) -> HeldCall {
        woken(at: .tcp("a1"), hears: status).wait(300)
            .register("a", at: .tcp("a2", flow: "new", run: "run 2"), "ring 2 a2")
    }

    // MARK: Which leg it takes

    @Test(arguments: [0, 100, 180]) func `rings there, and its first leg is closed`(status: Int) {
        moved(hears: status).hear(100, leg: 2).hear(180, leg: 2, "close 1").hear(486, leg: 2).isDone("a", false)
            .notedLast(.progressed(device: 0, leg: 2, status: 486))
    }

    /// PJSIP, Linphone and baresip refuse a second copy of a request (RFC 3261, 8.2.2.2).
    @Test(arguments: [0, 100, 180]) func `has the request already, and its first leg goes on`(status: Int) {
        moved(hears: status).hear(482, leg: 2).notedLast(.legFailed(device: 0, leg: 2, status: 482)).hear(180)
            .wait(60_000).hear(200).end(.answered).isDone("a")
    }

    @Test func `gets the second copy first`() {
        moved().hear(482).hear(486, leg: 2).notedLast(.progressed(device: 0, leg: 2, status: 486))
    }

    @Test func `refuses the one copy that there is`() {
        woken(at: .tcp("a1")).hear(482).notedLast(.progressed(device: 0, leg: 1, status: 482))
    }

    @Test func `answers its first leg after all`() {
        moved().hear(200).hear(180, leg: 2).end(.answered).isDone("a")
    }

    @Test func `declines where it rings, and its other leg is closed`() {
        moved(hears: 180).hear(486, "close 2, give up 480")
        moved().hear(486, leg: 2, "close 1, give up 480")
        moved(hears: 180).hear(603, leg: 2, "close 1, give up 480")
    }

    @Test func `has no room for a second copy while it rings`() {
        moved(hears: 180).hear(486, leg: 2).notedLast(.legFailed(device: 0, leg: 2, status: 486))
    }

    @Test func `leaves its first place`() {
        moved().hear(480).hear(180, leg: 2)
    }

    @Test(arguments: [408, 477, 503]) func `cannot be reached at one of its places`(status: Int) {
        moved().fail(status, "give up 480")  // which the host ignores where leg 1 could not be sent
            .hear(180, leg: 2)
        moved(hears: 180).fail(status, leg: 2).hear(486).notedLast(.progressed(device: 0, leg: 1, status: 486))
    }

    @Test func `cannot be reached at either place`() {
        moved().fail(503, "give up 480").fail(503, leg: 2, "hold")
    }

    @Test func `is pushed when it was awake, and cannot be reached where it is now`() {
        HeldCall(.awake("a", .tcp("a1"))).start("ring 1 a1").register("a", at: .tcp("a2", flow: "new"), "ring 2 a2")
            .fail(503, leg: 2, "push 0 call, hold").hear(180, "drop 0, give up 480")
    }

    @Test func `was silent at its first place, is pushed, and its push brings it to a third`() {
        HeldCall(.awake("a", .tcp("a1"))).start("ring 1 a1").register("a", at: .tcp("a2", flow: "new"), "ring 2 a2")
            .wait(1500, "push 0 call, hold").accept().fail(503, leg: 2)
            .register("a", at: .tcp("a3", flow: "newer"), "ring 3 a3, give up 480").hear(180, leg: 3, "close 1")
    }

    @Test func `stays silent at both`() {
        HeldCall(.awake("a", .tcp("a1"))).start("ring 1 a1").register("a", at: .tcp("a2", flow: "new"), "ring 2 a2")
            .wait(1500, "push 0 call, hold").accept().wait(40_000, "close 1, close 2, give up 480")
    }

    @Test func `goes on to a third place`() {
        moved().register("a", at: .tcp("a3", flow: "newer", run: "run 3"), "ring 3 a3, close 1")
        moved(hears: 180).register("a", at: .tcp("a3", flow: "newer", run: "run 3"), "ring 3 a3, close 2")
            .hear(180, leg: 3, "close 1")
    }

    @Test func `refreshes its second place`() {
        moved(hears: 180).register("a", at: .tcp("a2", flow: "new", run: "run 2"))
        woken(at: .udp("a1"), hears: 180).wait(300)
            .register("a", at: .udp("a2", flow: "new", run: "run 2"), "ring 2 a2")
            .register("a", at: .udp("a2", flow: "new", run: "run 2"), "resend 2")
    }

    // MARK: Flows that it has side by side

    private static func flow(_ number: UInt32, run: String? = nil) -> CallContact {
        var contact = CallContact.tcp("a\(number)", flow: "flow \(number)", run: run ?? "run of \(number)")
        contact.flowNumber = number
        return contact
    }

    @Test(arguments: [100, 180]) func `opens a second flow, and takes the request over the first`(status: Int) {
        woken(at: Self.flow(1), hears: status).wait(500).register("a", at: Self.flow(2)).fail(503, "ring 2 a2")
    }

    @Test func `opens a second flow, and has 300 ms to take the request over the first`() {
        woken(at: Self.flow(1)).register("a", at: Self.flow(2)).hear(180).wait(1000)
        woken(at: Self.flow(1)).register("a", at: Self.flow(2)).wait(300, "ring 2 a2")
    }

    @Test func `opens its first flow anew`() {
        let call = woken(at: Self.flow(1), hears: 180).wait(500)
        var contact = Self.flow(1, run: "run 2")
        contact.flow = "new"
        call.register("a", at: contact, "ring 2 a1")
    }

    @Test(arguments: [100, 180]) func `refreshes another contact that it had before`(status: Int) {
        let (first, second) = (CallContact.tcp("a1", flow: "1"), CallContact.tcp("a2", flow: "2", run: "run 2"))
        let call = HeldCall(.awake("a", first, second)).start("ring 1 a1").hear(status).wait(500)
            .register("a", at: second)
        var anew = second
        anew.registrationID = "run 3"
        call.register("a", at: anew, "ring 2 a2")
    }

    @Test func `thinks over a message, which comes over one flow`() {
        woken(at: Self.flow(1), event: .chat).register("a", at: Self.flow(2)).wait(4999).wait(1, "ring 2 a2 for 1")
        woken(at: Self.flow(1), event: .chat).register("a", at: Self.flow(2)).fail(503, "ring 2 a2, give up 480")
    }

    @Test func `is woken for a message by its second flow, and never got it over the first`() {
        HeldCall(.awake("a", Self.flow(1)), event: .chat).start("ring 1 a1").wait(1500, "push 0 chat, hold").accept()
            .register("a", at: Self.flow(2), "ring 2 a2 for 1, give up 480")
    }

    @Test func `rings anew at a dialplan's other channel, which is another call`() {
        HeldCall(.awake("a", .tcp("a1")), host: .dialplan).start("ring 1 a1").send().hear(180)
            .register("a", at: .tcp("a2", flow: "new", run: "run 2"), "ring 2 a2 for 1")
    }
}
