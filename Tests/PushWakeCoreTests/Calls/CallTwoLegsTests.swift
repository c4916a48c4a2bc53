// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// One device, two legs: whether its app was started anew or has two connections, its answers say.
@Suite struct `A phone that registers elsewhere during a call` {
    /// A phone that was pushed and has just registered: its first leg is out, and it has answered so.
    private func woken(at contact: CallContact, hears status: Int = 0, event: PushEvent = .call) -> HeldCall {
        let call = HeldCall(.asleep("a"), event: event)
        _ = call.start()
        _ = call.accept()
        #expect(call.register("a", at: contact) == "ring 1 \(contact.key), give up 480")
        if status > 0 { #expect(call.hear(status, leg: 1) == "") }
        return call
    }

    /// The same, and its second leg is out.
    private func moved(hears status: Int = 0) -> HeldCall {
        let call = woken(at: .tcp("a1"), hears: status)
        _ = call.wait(300)
        #expect(call.register("a", at: .tcp("a2", flow: "new", run: "run 2")) == "ring 2 a2")
        return call
    }

    // MARK: Which leg it takes

    @Test(arguments: [0, 100, 180]) func `rings there, and its first leg is closed`(status: Int) {
        let call = moved(hears: status)
        #expect(call.hear(100, leg: 2) == "")
        #expect(call.hear(180, leg: 2) == "close 1")
        #expect(call.hear(486, leg: 2) == "")
        #expect(call.isDone("a") == false)
        #expect(call.notes.last == .progressed(device: 0, leg: 2, status: 486))
    }

    /// PJSIP, Linphone and baresip refuse a second copy of a request (RFC 3261, 8.2.2.2).
    @Test(arguments: [0, 100, 180]) func `has the request already, and its first leg goes on`(status: Int) {
        let call = moved(hears: status)
        #expect(call.hear(482, leg: 2) == "")
        #expect(call.notes.last == .legFailed(device: 0, leg: 2, status: 482))
        #expect(call.hear(180, leg: 1) == "")
        #expect(call.wait(60_000) == "")
        #expect(call.hear(200, leg: 1) == "")
        #expect(call.end(.answered) == "")
        #expect(call.isDone("a"))
    }

    @Test func `gets the second copy first`() {
        let call = moved()
        #expect(call.hear(482, leg: 1) == "")
        #expect(call.hear(486, leg: 2) == "")
        #expect(call.notes.last == .progressed(device: 0, leg: 2, status: 486))
    }

    @Test func `refuses the one copy that there is`() {
        let call = woken(at: .tcp("a1"))
        #expect(call.hear(482, leg: 1) == "")
        #expect(call.notes.last == .progressed(device: 0, leg: 1, status: 482))
    }

    @Test func `answers its first leg after all`() {
        let call = moved()
        #expect(call.hear(200, leg: 1) == "")
        #expect(call.hear(180, leg: 2) == "")
        #expect(call.end(.answered) == "")
        #expect(call.isDone("a"))
    }

    @Test func `declines where it rings, and its other leg is closed`() {
        let first = moved(hears: 180)
        #expect(first.hear(486, leg: 1) == "close 2, give up 480")
        let second = moved()
        #expect(second.hear(486, leg: 2) == "close 1, give up 480")
        let forAll = moved(hears: 180)
        #expect(forAll.hear(603, leg: 2) == "close 1, give up 480")
    }

    @Test func `has no room for a second copy while it rings`() {
        let call = moved(hears: 180)
        #expect(call.hear(486, leg: 2) == "")
        #expect(call.notes.last == .legFailed(device: 0, leg: 2, status: 486))
    }

    @Test func `leaves its first place`() {
        let call = moved()
        #expect(call.hear(480, leg: 1) == "")
        #expect(call.hear(180, leg: 2) == "")
    }

    @Test(arguments: [408, 477, 503]) func `cannot be reached at one of its places`(status: Int) {
        let first = moved()
        #expect(first.fail(status, leg: 1) == "give up 480", "which the host ignores where leg 1 could not be sent")
        #expect(first.hear(180, leg: 2) == "")
        let second = moved(hears: 180)
        #expect(second.fail(status, leg: 2) == "")
        #expect(second.hear(486, leg: 1) == "")
        #expect(second.notes.last == .progressed(device: 0, leg: 1, status: 486))
    }

    @Test func `cannot be reached at either place`() {
        let call = moved()
        #expect(call.fail(503, leg: 1) == "give up 480")
        #expect(call.fail(503, leg: 2) == "hold")
    }

    @Test func `is pushed when it was awake, and cannot be reached where it is now`() {
        let call = HeldCall(.awake("a", .tcp("a1")))
        #expect(call.start() == "ring 1 a1")
        #expect(call.register("a", at: .tcp("a2", flow: "new")) == "ring 2 a2")
        #expect(call.fail(503, leg: 2) == "push 0 call, hold")
        #expect(call.hear(180, leg: 1) == "drop 0, give up 480")
    }

    @Test func `was silent at its first place, is pushed, and its push brings it to a third`() {
        let call = HeldCall(.awake("a", .tcp("a1")))
        #expect(call.start() == "ring 1 a1")
        #expect(call.register("a", at: .tcp("a2", flow: "new")) == "ring 2 a2")
        #expect(call.wait(1500) == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.fail(503, leg: 2) == "")
        #expect(call.register("a", at: .tcp("a3", flow: "newer")) == "ring 3 a3, give up 480")
        #expect(call.hear(180, leg: 3) == "close 1")
    }

    @Test func `stays silent at both`() {
        let call = HeldCall(.awake("a", .tcp("a1")))
        #expect(call.start() == "ring 1 a1")
        #expect(call.register("a", at: .tcp("a2", flow: "new")) == "ring 2 a2")
        #expect(call.wait(1500) == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.wait(40_000) == "close 1, close 2, give up 480")
    }

    @Test func `goes on to a third place`() {
        let silent = moved()
        #expect(silent.register("a", at: .tcp("a3", flow: "newer", run: "run 3")) == "ring 3 a3, close 1")
        let rings = moved(hears: 180)
        #expect(rings.register("a", at: .tcp("a3", flow: "newer", run: "run 3")) == "ring 3 a3, close 2")
        #expect(rings.hear(180, leg: 3) == "close 1")
    }

    @Test func `refreshes its second place`() {
        let call = moved(hears: 180)
        #expect(call.register("a", at: .tcp("a2", flow: "new", run: "run 2")) == "")
        let datagram = woken(at: .udp("a1"), hears: 180)
        #expect(datagram.wait(300) == "")
        #expect(datagram.register("a", at: .udp("a2", flow: "new", run: "run 2")) == "ring 2 a2")
        #expect(datagram.register("a", at: .udp("a2", flow: "new", run: "run 2")) == "resend 2")
    }

    // MARK: Flows that it has side by side

    private static func flow(_ number: UInt32, run: String? = nil) -> CallContact {
        var contact = CallContact.tcp("a\(number)", flow: "flow \(number)", run: run ?? "run of \(number)")
        contact.flowNumber = number
        return contact
    }

    @Test(arguments: [100, 180]) func `opens a second flow, and takes the request over the first`(status: Int) {
        let call = woken(at: Self.flow(1), hears: status)
        #expect(call.wait(500) == "")
        #expect(call.register("a", at: Self.flow(2)) == "")
        #expect(call.fail(503, leg: 1) == "ring 2 a2")
    }

    @Test func `opens a second flow, and has 300 ms to take the request over the first`() {
        let takes = woken(at: Self.flow(1))
        #expect(takes.register("a", at: Self.flow(2)) == "")
        #expect(takes.hear(180, leg: 1) == "")
        #expect(takes.wait(1000) == "")
        let silent = woken(at: Self.flow(1))
        #expect(silent.register("a", at: Self.flow(2)) == "")
        #expect(silent.wait(300) == "ring 2 a2")
    }

    @Test func `opens its first flow anew`() {
        let call = woken(at: Self.flow(1), hears: 180)
        #expect(call.wait(500) == "")
        var contact = Self.flow(1, run: "run 2")
        contact.flow = "new"
        #expect(call.register("a", at: contact) == "ring 2 a1")
    }

    @Test(arguments: [100, 180]) func `refreshes another contact that it had before`(status: Int) {
        let (first, second) = (CallContact.tcp("a1", flow: "1"), CallContact.tcp("a2", flow: "2", run: "run 2"))
        let call = HeldCall(.awake("a", first, second))
        #expect(call.start() == "ring 1 a1")
        #expect(call.hear(status, leg: 1) == "")
        #expect(call.wait(500) == "")
        #expect(call.register("a", at: second) == "")
        var anew = second
        anew.registrationID = "run 3"
        #expect(call.register("a", at: anew) == "ring 2 a2")
    }

    @Test func `thinks over a message, which comes over one flow`() {
        let message = woken(at: Self.flow(1), event: .chat)
        #expect(message.register("a", at: Self.flow(2)) == "")
        #expect(message.wait(4999) == "")
        #expect(message.wait(1) == "ring 2 a2 for 1")
        let failed = woken(at: Self.flow(1), event: .chat)
        #expect(failed.register("a", at: Self.flow(2)) == "")
        #expect(failed.fail(503, leg: 1) == "ring 2 a2, give up 480")
    }

    @Test func `is woken for a message by its second flow, and never got it over the first`() {
        let message = HeldCall(.awake("a", Self.flow(1)), event: .chat)
        #expect(message.start() == "ring 1 a1")
        #expect(message.wait(1500) == "push 0 chat, hold")
        #expect(message.accept() == "")
        #expect(message.register("a", at: Self.flow(2)) == "ring 2 a2 for 1, give up 480")
    }

    @Test func `rings anew at a dialplan's other channel, which is another call`() {
        let call = HeldCall(.awake("a", .tcp("a1")), host: .dialplan)
        #expect(call.start() == "ring 1 a1")
        call.send(leg: 1)
        #expect(call.hear(180, leg: 1) == "")
        #expect(call.register("a", at: .tcp("a2", flow: "new", run: "run 2")) == "ring 2 a2 for 1")
    }
}
