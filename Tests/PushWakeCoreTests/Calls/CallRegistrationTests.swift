// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// One device, one leg: what a REGISTER does to it.
@Suite struct `A phone that registers during a call` {
    /// A phone that was pushed and has just registered: its first leg is out.
    private func woken(at contact: CallContact) -> HeldCall {
        let call = HeldCall(.asleep("a"))
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.register("a", at: contact) == "ring 1 \(contact.key), give up 480")
        return call
    }

    @Test(arguments: [200, 486]) func `is done with a request that is over and had its answer`(status: Int) {
        let call = woken(at: .udp("a1"))
        _ = call.hear(status, leg: 1)
        #expect(!call.isDone("a"))
        _ = call.end(status == 200 ? .answered : .failed(status))
        #expect(call.isDone("a"))
        #expect(!call.isDone("b"))
    }

    @Test func `is not done with a request that it has not answered`() {
        let call = woken(at: .udp("a1"))
        _ = call.end(.cancelled)
        #expect(!call.isDone("a"))
    }

    // MARK: Its binding is gone

    private func pushed(_ devices: CallDevice...) -> HeldCall {
        let call = devices.count == 1 ? HeldCall(devices[0]) : HeldCall(devices[0], devices[1])
        _ = call.start()
        for device in devices.indices { #expect(call.accept(device) == "") }
        return call
    }

    @Test func `is waited for five seconds after it has logged out, and told nothing`() {
        let call = pushed(.asleep("a"))
        #expect(call.unbind() == "")
        #expect(call.wait(4999) == "")
        #expect(call.wait(1) == "give up 480")
        #expect(call.end(.failed(480)) == "")
    }

    /// PJSIP un-REGISTERs the address that it leaves first.
    @Test func `comes back within that time and rings`() {
        let call = pushed(.asleep("a"))
        #expect(call.unbind() == "")
        #expect(call.wait(200) == "")
        #expect(call.register("a", at: .udp("a1")) == "ring 1 a1, give up 480")
        #expect(call.wait(10_000) == "")
    }

    @Test func `leaves the others to be waited for when it logs out`() {
        let call = pushed(.asleep("a"), .asleep("b"))
        #expect(call.unbind(0) == "")
        #expect(call.wait(10_000) == "")
        #expect(call.register("b", at: .udp("b1")) == "ring 1 b1, give up 480")
        #expect(call.end(.failed(486)) == "")
    }

    @Test func `rings on when it logs out, and is pushed nothing more`() {
        let call = pushed(.asleep("a"))
        #expect(call.register("a", at: .udp("a1")) == "ring 1 a1, give up 480")
        #expect(call.hear(180, leg: 1) == "")
        #expect(call.unbind() == "")
        #expect(call.wait(10_000) == "")
    }

    // MARK: Twice on waking

    @Test func `at another address over the same flow has 300 ms to answer its first leg`() {
        let call = woken(at: .tcp("a1"))
        #expect(call.wait(100) == "")
        #expect(call.register("a", at: .tcp("a2")) == "")
        #expect(call.deadline == 200)
        #expect(call.wait(199) == "")
        #expect(call.wait(1) == "ring 2 a2")
        #expect(call.deadline == 39_700)
    }

    /// PJSIP with contact rewrite unregisters the old address and registers the new one under another Call-ID.
    @Test(arguments: [0, 100, 180]) func `anew over the same flow at once keeps a leg that it answers`(status: Int) {
        let call = woken(at: .udp("a1"))
        if status > 0 { #expect(call.hear(status, leg: 1) == "") }
        #expect(call.register("a", at: .udp("a2", run: "run 2")) == "")
        #expect(call.hear(180, leg: 1) == "")
        #expect(call.wait(1000) == "")
    }

    @Test func `anew over the same flow rings again when its first leg stays silent, or rings for longer`() {
        let silent = woken(at: .udp("a1"))
        #expect(silent.register("a", at: .udp("a2", run: "run 2")) == "")
        #expect(silent.wait(300) == "ring 2 a2")

        let restarted = woken(at: .udp("a1"))
        #expect(restarted.hear(180, leg: 1) == "")
        #expect(restarted.wait(2000) == "")
        #expect(restarted.register("a", at: .udp("a2", run: "run 2")) == "ring 2 a2")
    }

    @Test func `at another address under the same key is not a refresh`() {
        let call = woken(at: CallContact(key: "a", address: "sip:private", flow: "udp"))
        #expect(call.register("a", at: CallContact(key: "a", address: "sip:public", flow: "udp")) == "")
        #expect(call.wait(300) == "ring 2 a")
        #expect(call.register("a", at: CallContact(key: "a", address: "sip:public", flow: "udp")) == "resend 2")
    }

    @Test func `at the same address, where its flow was not known, keeps its leg`() {
        let silent = woken(at: .udp("a1", flow: ""))
        #expect(silent.register("a", at: .udp("a1")) == "resend 1")

        let heard = woken(at: .udp("a1", flow: ""))
        #expect(heard.hear(100, leg: 1) == "")
        #expect(heard.register("a", at: .udp("a1")) == "")
        #expect(heard.register("a", at: .tcp("a1")) == "ring 2 a1")
    }

    @Test func `over another flow has 300 ms to take a message, which must not come twice`() {
        let message = HeldCall(.asleep("a"), event: .chat)
        #expect(message.start() == "push 0 chat, hold")
        #expect(message.accept() == "")
        #expect(message.register("a", at: .tcp("a1")) == "ring 1 a1, give up 480")
        #expect(message.register("a", at: .tcp("a1", flow: "new", run: "run 2")) == "")
        #expect(message.wait(300) == "ring 2 a1 for 1")
    }

    @Test(arguments: [100, 180]) func `at another address over the same flow keeps a leg that it answers`(status: Int) {
        let call = woken(at: .tcp("a1"))
        #expect(call.register("a", at: .tcp("a2")) == "")
        #expect(call.hear(status, leg: 1) == "")
        #expect(call.deadline == nil)
        #expect(call.wait(1000) == "")

        let early = woken(at: .tcp("a1"))
        #expect(early.hear(status, leg: 1) == "")
        #expect(early.register("a", at: .tcp("a2")) == "")
        #expect(early.wait(1000) == "")
    }

    @Test func `at another address over the same flow loses a leg that fails, at once`() {
        let call = woken(at: .tcp("a1"))
        #expect(call.register("a", at: .tcp("a2")) == "")
        #expect(call.fail(477, leg: 1) == "ring 2 a2, give up 480")
        #expect(call.deadline == 40_000)
    }

    @Test func `at another address over the same flow keeps a leg that it leaves as long as it may be arriving`() {
        let after = woken(at: .tcp("a1"))
        #expect(after.register("a", at: .tcp("a2")) == "")
        #expect(after.unregister("a1") == "")
        #expect(after.wait(300) == "ring 2 a2")

        let before = woken(at: .tcp("a1"))
        #expect(before.unregister("a1") == "")
        #expect(before.register("a", at: .tcp("a2")) == "")
        #expect(before.wait(300) == "ring 2 a2")

        let rings = woken(at: .tcp("a1"))
        #expect(rings.register("a", at: .tcp("a2")) == "")
        #expect(rings.unregister("a1") == "")
        _ = rings.hear(180, leg: 1)
        #expect(rings.wait(1000) == "")
    }

    @Test func `and takes the second address back keeps its leg`() {
        let left = woken(at: .tcp("a1"))
        #expect(left.register("a", at: .tcp("a2")) == "")
        #expect(left.unregister("a2") == "")
        #expect(left.wait(1000) == "")

        let back = woken(at: .tcp("a1"))
        #expect(back.register("a", at: .tcp("a2")) == "")
        #expect(back.register("a", at: .tcp("a1")) == "")
        #expect(back.wait(1000) == "")
    }

    @Test func `at another address over the same flow after 300 ms gets another leg`() {
        let call = woken(at: .tcp("a1"))
        #expect(call.wait(300) == "")
        #expect(call.register("a", at: .tcp("a2")) == "ring 2 a2")
    }

    @Test func `over another flow gets another leg at once`() {
        let call = woken(at: .tcp("a1"))
        #expect(call.register("a", at: .tcp("a1", flow: "new")) == "ring 2 a1")
        #expect(call.register("a", at: .tcp("a2", flow: "newer")) == "ring 3 a2, close 1")
    }

    @Test func `where the host knows no flow gets another leg at once`() {
        let stream = woken(at: .tcp("a1", flow: ""))
        #expect(stream.register("a", at: .tcp("a1", flow: "")) == "ring 2 a1")
        let datagram = woken(at: .udp("a1", flow: ""))
        #expect(datagram.register("a", at: .udp("a2", flow: "")) == "ring 2 a2")
    }

    @Test func `at the same address gets a datagram once more, and nothing more on a stream`() {
        let datagram = woken(at: .udp("a1"))
        #expect(datagram.register("a", at: .udp("a1")) == "resend 1")
        #expect(datagram.register("a", at: .udp("a1")) == "resend 1")
        #expect(datagram.hear(100, leg: 1) == "")
        #expect(datagram.register("a", at: .udp("a1")) == "")

        let stream = woken(at: .tcp("a1"))
        #expect(stream.register("a", at: .tcp("a1")) == "")
    }

    // MARK: Again and again

    /// A woken phone whose sixth leg has just gone to `a6`.
    private func restless() -> HeldCall {
        let call = woken(at: .udp("a1", flow: "1"))
        for leg in 2...6 {
            // Two at the most are out.
            let closed = leg > 2 ? ", close \(leg - 2)" : ""
            #expect(call.register("a", at: .udp("a\(leg)", flow: "\(leg)")) == "ring \(leg) a\(leg)\(closed)")
        }
        return call
    }

    @Test func `over ten connections in two seconds is not rung where it was before`() {
        let call = HeldCall(CallDevice(tokens: ["t"], canBePushed: true))
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        for number in 1...9 {
            _ = call.register(CallRegistration(tokens: ["t"], contact: .tcp("a\(number)", flow: "\(number)")))
            _ = call.wait(100)
        }
        #expect(call.wait(1000) == "ring 7 a9, close 5")
        #expect(!call.fail(503, leg: 7).contains("ring"))
        #expect(!call.fail(503, leg: 6).contains("ring"))
        let last = CallRegistration(tokens: ["t"], contact: .tcp("a10", flow: "10"))
        #expect(call.register(last) + call.wait(2000) == "ring 8 a10, give up 480")
    }

    @Test func `from new addresses all the time gets its legs more and more slowly, where it is then`() {
        let call = restless()
        for address in 7...99 { #expect(call.register("a", at: .udp("a\(address)", flow: "\(address)")) == "") }
        #expect(call.wait(999) == "")
        #expect(call.wait(1) == "ring 7 a99, close 5")
        for address in 100...199 { #expect(call.register("a", at: .udp("a\(address)", flow: "\(address)")) == "") }
        #expect(call.wait(1999) == "")
        #expect(call.wait(1) == "ring 8 a199, close 6")
        #expect(call.wait(30_000) == "")
    }

    @Test func `from new addresses all the time is waited for though each leg fails`() {
        let call = restless()
        #expect(call.fail(503, leg: 6) == "", "leg 5 is out")
        #expect(call.register("a", at: .udp("a7", flow: "7")) == "")
        #expect(call.wait(1000) == "ring 7 a7")
        #expect(call.register("a", at: .udp("a8", flow: "8")) == "")
        #expect(call.fail(503, leg: 7) == "")
        #expect(call.wait(2000) == "ring 8 a8")
    }

    @Test func `from new addresses and answers one of them keeps that leg`() {
        let call = restless()
        #expect(call.register("a", at: .udp("a7", flow: "7")) == "")
        #expect(call.hear(180, leg: 6) == "close 5")
        #expect(call.wait(30_000) == "")
    }

    @Test func `under a new name each time is one of 64 at most`() {
        let call = HeldCall(.asleep("a"))
        #expect(call.start() == "push 0 call, hold")
        for leg in 1...63 { #expect(call.register("b\(leg)", at: .udp("b\(leg)")) == "ring \(leg) b\(leg)") }
        #expect(call.register("b64", at: .udp("b64")) == "")
        #expect(call.register("a", at: .udp("a1")) == "ring 64 a1, drop 0, give up 480")
    }

    // MARK: While it rings

    @Test func `while it rings is left alone`() {
        let call = woken(at: .udp("a1"))
        #expect(call.hear(180, leg: 1) == "")
        #expect(call.register("a", at: .udp("a1")) == "")
        #expect(call.register("a", at: .udp("a2")) == "")
        #expect(call.register("a", at: .udp("a3", flow: "new")) == "")
        #expect(call.register("a", at: .udp("a4", flow: "new", run: "")) == "")
    }

    @Test(arguments: [CallContact.udp("a1", run: "run 2"), .udp("a2", flow: "new", run: "run 2")])
    func `and has started anew while it rang is rung again`(contact: CallContact) {
        let call = woken(at: .udp("a1"))
        #expect(call.hear(180, leg: 1) == "")
        #expect(call.wait(300) == "")
        #expect(call.register("a", at: contact) == "ring 2 \(contact.key)")
    }

    @Test func `where the host did not know its run is left alone while it rings`() {
        let call = woken(at: .udp("a1", run: ""))
        #expect(call.hear(180, leg: 1) == "")
        #expect(call.register("a", at: .udp("a1", run: "run 2")) == "")
    }

    @Test(arguments: [100, 180, 200, 408, 486, 487, 603])
    func `has its old leg's late answers ignored`(status: Int) {
        let call = woken(at: .tcp("a1"))
        #expect(call.register("a", at: .tcp("a2", flow: "new")) == "ring 2 a2")
        #expect(call.hear(180, leg: 2) == "close 1")
        #expect(call.hear(status, leg: 1) == "")
        #expect(call.fail(status, leg: 1) == "")
        #expect(call.deadline == nil)
        #expect(call.end(.cancelled) == "")
    }

    @Test func `again after it has declined is not rung`() {
        let call = HeldCall(.asleep("a"), .asleep("b"))
        #expect(call.start() == "push 0 call, push 1 call, hold")
        #expect(call.accept(0) == "")
        #expect(call.accept(1) == "")
        #expect(call.register("a", at: .udp("a1")) == "ring 1 a1")
        #expect(call.hear(486, leg: 1) == "")
        #expect(call.register("a", at: .udp("a2", flow: "new", run: "run 2")) == "")
    }

    // MARK: Who is it

    @Test func `and is unknown so far is rung`() {
        let call = HeldCall(.asleep("a"))
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.register("new", at: .udp("n1")) == "ring 1 n1")
        #expect(call.register("new", at: .udp("n2", flow: "new")) == "ring 2 n2")
        #expect(call.hear(180, leg: 2) == "close 1")
        #expect(call.register("a", at: .udp("a1")) == "ring 3 a1, give up 480")
    }

    @Test func `and is unknown takes no part in a request for one of the phones`() {
        let call = HeldCall(.asleep("a"), change: { $0.joinsOthers = false })
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.register("new", at: .udp("n1")) == "")
        #expect(call.register("a", at: .udp("a1")).hasPrefix("ring 1 a1"))
    }

    @Test func `and is unknown joins phones that ring, with nothing held`() {
        let call = HeldCall(.plain(.udp("d1")))
        #expect(call.start() == "ring 1 d1")
        #expect(call.hear(180, leg: 1) == "")
        #expect(call.wait(60_000) == "")
        #expect(call.register("new", at: .udp("n1")) == "ring 2 n1")
    }

    @Test func `without an instance is known by its token, and else by its contact`() {
        let byToken = HeldCall(CallDevice(tokens: ["t1"], canBePushed: true))
        #expect(byToken.start() == "push 0 call, hold")
        #expect(
            byToken.register(CallRegistration(tokens: ["t0", "t1"], contact: .udp("a1")))
                == "ring 1 a1, drop 0, give up 480")

        let byContact = HeldCall(.asleep("a", .lost("a1")))
        #expect(byContact.start() == "push 0 call, hold")
        #expect(byContact.register(CallRegistration(contact: .udp("a1"))) == "ring 1 a1, drop 0, give up 480")
    }

    @Test func `with another instance and another token is another phone`() {
        let call = HeldCall(CallDevice(instance: "a", tokens: ["t1"], canBePushed: true))
        #expect(call.start() == "push 0 call, hold")
        #expect(call.register(CallRegistration(instance: "b", tokens: ["t2"], contact: .udp("b1"))) == "ring 1 b1")
    }

    /// Some apps make up a new instance at each start.
    @Test func `with another instance and its token is the phone that was pushed`() {
        let call = HeldCall(CallDevice(instance: "a", tokens: ["t1"], canBePushed: true))
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        let woken = CallRegistration(instance: "b", tokens: ["t1"], contact: .udp("b1"))
        #expect(call.register(woken) == "ring 1 b1, give up 480")
        #expect(call.register("b", at: .udp("b1")) == "resend 1")
        #expect(call.hear(200, leg: 1) == "")
        #expect(call.end(.answered) == "")
    }

    @Test func `is noted at its address, whatever its host calls that`() {
        let call = woken(at: CallContact(key: "uloc-1", address: "sip:bob@192.0.2.7", flow: "udp"))
        #expect(call.notes.contains(.rung(device: 0, leg: 1, contact: "sip:bob@192.0.2.7")))
    }

    @Test func `and brings a new token is known by that one as well`() {
        let call = HeldCall(CallDevice(tokens: ["t1"], canBePushed: true))
        #expect(call.start() == "push 0 call, hold")
        #expect(
            call.register(CallRegistration(tokens: ["t1", "t2"], contact: .udp("a1")))
                == "ring 1 a1, drop 0, give up 480")
        #expect(call.register(CallRegistration(tokens: ["t2"], contact: .udp("a2", flow: "new"))) == "ring 2 a2")
    }

    // MARK: X-MPUSH, which is no part of the Contact

    private let mpush = CallDevice(tokens: ["t1"], contacts: [.udp("a1", flow: "old")], canBePushed: true)
    private let silentHere = CallRegistration(contact: .udp("a2", flow: "new", run: "run 2"))

    @Test(arguments: [200, 486]) func `without saying its token is the only one that was pushed`(status: Int) {
        let call = HeldCall(mpush)
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.register(silentHere) == "ring 1 a2, give up 480")
        #expect(call.notes.contains(.registered(device: 0)))
        #expect(call.hear(status, leg: 1) == "")
        #expect(call.end(status == 200 ? .answered : .failed(status)) == "")
    }

    @Test func `without saying its token may be another, as long as nothing was pushed, and rings`() {
        let call = HeldCall(mpush)
        #expect(call.start() == "push 0 call, hold")
        #expect(call.register(silentHere) == "ring 1 a2")
        #expect(call.notes.contains(.registered(device: 1)))
        #expect(call.accept() == "")
        #expect(call.hear(486, leg: 1) == "")
    }

    @Test func `without saying its token may be either of two, and rings`() {
        let call = HeldCall(mpush, mpush.with { ($0.tokens, $0.contacts) = (["t2"], []) })
        #expect(call.start() == "push 0 call, push 1 call, hold")
        #expect(call.accept(0) == "")
        #expect(call.accept(1) == "")
        #expect(call.register(silentHere) == "ring 1 a2")
        #expect(call.notes.contains(.registered(device: 2)))
    }

    @Test func `without saying a token, and with an instance, is another`() {
        let call = HeldCall(mpush)
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.register("desk", at: .udp("d1")) == "ring 1 d1")
        #expect(call.hear(486, leg: 1) == "")
        let app = CallRegistration(tokens: ["t1"], contact: .udp("a2", flow: "new"))
        #expect(call.register(app) == "ring 2 a2, give up 480")
    }

    // MARK: Tokens that were reported without a REGISTER

    /// An app that reported its tokens, and registers without them.
    private func reported(_ phones: CallDevice...) -> HeldCall {
        let app = CallDevice(tokens: ["t"], canBePushed: true, hasOnlyTokens: true)
        switch phones.count {
        case 0: return HeldCall(app)
        case 1: return HeldCall(app, phones[0])
        default: return HeldCall(app, phones[0], phones[1])
        }
    }

    @Test func `after its push is the one that reported its tokens`() {
        let call = reported()
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.register("a", at: .tcp("a1")) == "ring 1 a1, give up 480")
        #expect(call.notes.contains(.registered(device: 0)))
        #expect(call.hear(180, leg: 1) == "")
        #expect(call.hear(200, leg: 1) == "")
        #expect(call.end(.answered) == "")
    }

    @Test(arguments: [486, 603]) func `after its push and declines has reported its tokens`(status: Int) {
        let call = reported()
        #expect(call.start() == "push 0 call, hold")
        #expect(call.accept() == "")
        #expect(call.register("a", at: .tcp("a1")) == "ring 1 a1, give up 480")
        #expect(call.hear(status, leg: 1) == "")
        #expect(call.end(.failed(status)) == "")
    }

    @Test func `from a new place takes along what the registrar had of it`() {
        let call = reported(.plain(.udp("a1", flow: "old")))
        #expect(call.start() == "push 0 call, ring 1 a1, hold")
        #expect(call.accept() == "")
        #expect(call.register(CallRegistration(contact: .udp("a1", flow: "new"))) == "ring 2 a1, give up 480")
        #expect(call.notes.contains(.registered(device: 0)))
        #expect(call.hear(200, leg: 2) == "")
        #expect(call.end(.answered) == "")
    }

    @Test func `again from where it was is a desk phone, and the app is still awaited`() {
        let call = reported(.plain(.udp("d1")))
        #expect(call.start() == "push 0 call, ring 1 d1, hold")
        #expect(call.accept() == "")
        #expect(call.hear(180, leg: 1) == "")
        #expect(call.register(CallRegistration(contact: .udp("d1"))) == "")
        #expect(call.hear(486, leg: 1) == "")
        #expect(call.register("a", at: .tcp("a1")) == "ring 2 a1, give up 480")
        #expect(call.notes.contains(.registered(device: 0)))
    }

    @Test func `has no notice of its own call where it was there before its push`() {
        let one = reported(.plain(.tcp("a1")))
        #expect(one.start() == "push 0 call, ring 1 a1, hold")
        #expect(one.accept() == "")
        #expect(one.hear(200, leg: 1) == "")
        #expect(one.end(.answered) == "")

        // One of two: the other may be the app.
        let two = reported(.plain(.tcp("d1")), .plain(.udp("a1")))
        #expect(two.start() == "push 0 call, ring 1 d1, ring 2 a1, hold")
        #expect(two.accept() == "")
        #expect(two.hear(200, leg: 1) == "")
        #expect(two.end(.answered) == "push 0 elsewhere")

        let silent = reported(.plain(.udp("a1")))
        #expect(silent.start() == "push 0 call, ring 1 a1, hold")
        #expect(silent.accept() == "")
        #expect(silent.end(.cancelled) == "push 0 cancel")
    }

    @Test func `with the contact of another device takes it over`() {
        let call = HeldCall(.asleep("a", .udp("x")), .asleep("b"))
        #expect(call.start() == "push 0 call, push 1 call, hold")
        #expect(call.register("b", at: .udp("x")) == "ring 1 x, drop 1")
        #expect(call.refuse(0) == "give up 480")
    }

    // MARK: Flows and leaving

    @Test func `over several flows is rung over the next one when one fails, and pushed after the last`() {
        let call = HeldCall(.awake("a", .tcp("a1", flow: "1"), .tcp("a2", flow: "2"), .udp("a3", flow: "3")))
        #expect(call.start() == "ring 1 a1")
        #expect(call.fail(477, leg: 1) == "ring 2 a2")
        #expect(call.fail(477, leg: 2) == "push 0 call, hold")
    }

    @Test func `and leaves takes its address with it`() {
        let call = HeldCall(.asleep("a", .udp("a1")))
        #expect(call.start() == "push 0 call, hold")
        #expect(call.unregister("a1") == "")
        #expect(call.refuse() == "give up 480")
    }

    @Test func `and leaves after the end changes nothing`() {
        let call = woken(at: .tcp("a1"))
        #expect(call.register("a", at: .tcp("a2")) == "")
        #expect(call.end(.cancelled) == "")
        #expect(call.unregister("a1") == "")
        #expect(call.deadline == nil)
    }
}
