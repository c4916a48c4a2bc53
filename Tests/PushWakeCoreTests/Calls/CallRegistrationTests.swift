// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// One device, one leg: what a REGISTER does to it.
@Suite struct `A phone that registers during a call` {
    /// A phone that was pushed and has just registered: its first leg is out.
    private func woken(at contact: CallContact) -> HeldCall {
        HeldCall(.asleep("a")).start("push 0 call, hold").accept()
            .register("a", at: contact, "ring 1 \(contact.key), give up 480")
    }

    @Test(arguments: [200, 486]) func `is done with a request that is over and had its answer`(status: Int) {
        woken(at: .udp("a1")).hear(status).isDone("a", false)
            .end(status == 200 ? .answered : .failed(status)).isDone("a").isDone("b", false)
    }

    @Test func `is not done with a request that it has not answered`() {
        woken(at: .udp("a1")).end(.cancelled).isDone("a", false)
    }

    // MARK: Its binding is gone

    private func pushed(_ devices: CallDevice...) -> HeldCall {
        devices.indices.reduce(HeldCall(devices).start(nil)) { $0.accept($1) }
    }

    @Test func `is waited for five seconds after it has logged out, and told nothing`() {
        pushed(.asleep("a")).unbind().wait(4999).wait(1, "give up 480").end(.failed(480))
    }

    /// PJSIP un-REGISTERs the address that it leaves first.
    @Test func `comes back within that time and rings`() {
        pushed(.asleep("a")).unbind().wait(200).register("a", at: .udp("a1"), "ring 1 a1, give up 480").wait(10_000)
    }

    @Test func `leaves the others to be waited for when it logs out`() {
        pushed(.asleep("a"), .asleep("b")).unbind().wait(10_000).register("b", at: .udp("b1"), "ring 1 b1, give up 480")
            .end(.failed(486))
    }

    @Test func `rings on when it logs out, and is pushed nothing more`() {
        pushed(.asleep("a")).register("a", at: .udp("a1"), "ring 1 a1, give up 480").hear(180).unbind().wait(10_000)
    }

    // MARK: Twice on waking

    @Test func `at another address over the same flow has 300 ms to answer its first leg`() {
        woken(at: .tcp("a1")).wait(100).register("a", at: .tcp("a2")).waits(200).wait(199).wait(1, "ring 2 a2")
            .waits(39_700)
    }

    /// PJSIP with contact rewrite unregisters the old address and registers the new one under another Call-ID.
    @Test(arguments: [0, 100, 180]) func `anew over the same flow at once keeps a leg that it answers`(status: Int) {
        let call = woken(at: .udp("a1"))
        if status > 0 { call.hear(status) }
        call.register("a", at: .udp("a2", run: "run 2")).hear(180).wait(1000)
    }

    @Test func `anew over the same flow rings again when its first leg stays silent, or rings for longer`() {
        woken(at: .udp("a1")).register("a", at: .udp("a2", run: "run 2")).wait(300, "ring 2 a2")
        woken(at: .udp("a1")).hear(180).wait(2000).register("a", at: .udp("a2", run: "run 2"), "ring 2 a2")
    }

    @Test func `at another address under the same key is not a refresh`() {
        woken(at: CallContact(key: "a", address: "sip:private", flow: "udp"))
            .register("a", at: CallContact(key: "a", address: "sip:public", flow: "udp")).wait(300, "ring 2 a")
            .register("a", at: CallContact(key: "a", address: "sip:public", flow: "udp"), "resend 2")
    }

    @Test func `at the same address, where its flow was not known, keeps its leg`() {
        woken(at: .udp("a1", flow: "")).register("a", at: .udp("a1"), "resend 1")
        woken(at: .udp("a1", flow: "")).hear(100).register("a", at: .udp("a1"))
            .register("a", at: .tcp("a1"), "ring 2 a1")
    }

    @Test func `over another flow has 300 ms to take a message, which must not come twice`() {
        HeldCall(.asleep("a"), event: .chat).start("push 0 chat, hold").accept()
            .register("a", at: .tcp("a1"), "ring 1 a1, give up 480")
            .register("a", at: .tcp("a1", flow: "new", run: "run 2")).wait(300, "ring 2 a1 for 1")
    }

    @Test(arguments: [100, 180]) func `at another address over the same flow keeps a leg that it answers`(status: Int) {
        woken(at: .tcp("a1")).register("a", at: .tcp("a2")).hear(status).waits(nil).wait(1000)
        woken(at: .tcp("a1")).hear(status).register("a", at: .tcp("a2")).wait(1000)
    }

    @Test func `at another address over the same flow loses a leg that fails, at once`() {
        woken(at: .tcp("a1")).register("a", at: .tcp("a2")).fail(477, "ring 2 a2, give up 480").waits(40_000)
    }

    @Test func `at another address over the same flow keeps a leg that it leaves as long as it may be arriving`() {
        woken(at: .tcp("a1")).register("a", at: .tcp("a2")).unregister("a1").wait(300, "ring 2 a2")
        woken(at: .tcp("a1")).unregister("a1").register("a", at: .tcp("a2")).wait(300, "ring 2 a2")
        woken(at: .tcp("a1")).register("a", at: .tcp("a2")).unregister("a1").hear(180).wait(1000)
    }

    @Test func `and takes the second address back keeps its leg`() {
        woken(at: .tcp("a1")).register("a", at: .tcp("a2")).unregister("a2").wait(1000)
        woken(at: .tcp("a1")).register("a", at: .tcp("a2")).register("a", at: .tcp("a1")).wait(1000)
    }

    @Test func `at another address over the same flow after 300 ms gets another leg`() {
        woken(at: .tcp("a1")).wait(300).register("a", at: .tcp("a2"), "ring 2 a2")
    }

    @Test func `over another flow gets another leg at once`() {
        woken(at: .tcp("a1")).register("a", at: .tcp("a1", flow: "new"), "ring 2 a1")
            .register("a", at: .tcp("a2", flow: "newer"), "ring 3 a2, close 1")
    }

    @Test func `where the host knows no flow gets another leg at once`() {
        woken(at: .tcp("a1", flow: "")).register("a", at: .tcp("a1", flow: ""), "ring 2 a1")
        woken(at: .udp("a1", flow: "")).register("a", at: .udp("a2", flow: ""), "ring 2 a2")
    }

    @Test func `at the same address gets a datagram once more, and nothing more on a stream`() {
        woken(at: .udp("a1")).register("a", at: .udp("a1"), "resend 1").register("a", at: .udp("a1"), "resend 1")
            .hear(100).register("a", at: .udp("a1"))
        woken(at: .tcp("a1")).register("a", at: .tcp("a1"))
    }

    // MARK: Again and again

    /// A woken phone whose sixth leg has just gone to `a6`.
    private func restless() -> HeldCall {
        let call = woken(at: .udp("a1", flow: "1"))
        for leg in 2...6 {
            // Two at the most are out.
            let closed = leg > 2 ? ", close \(leg - 2)" : ""
            call.register("a", at: .udp("a\(leg)", flow: "\(leg)"), "ring \(leg) a\(leg)\(closed)")
        }
        return call
    }

    @Test func `over ten connections in two seconds is not rung where it was before`() {
        let call = HeldCall(CallDevice(tokens: ["t"], canBePushed: true)).start("push 0 call, hold").accept()
        for number in 1...9 {
            call.register(CallRegistration(tokens: ["t"], contact: .tcp("a\(number)", flow: "\(number)")), nil)
                .wait(100, nil)
        }
        let last = CallRegistration(tokens: ["t"], contact: .tcp("a10", flow: "10"))
        call.wait(1000, "ring 7 a9, close 5").fail(503, leg: 7).fail(503, leg: 6, "hold").register(last)
            .wait(2000, "ring 8 a10, give up 480")
    }

    @Test func `from new addresses all the time gets its legs more and more slowly, where it is then`() {
        let call = restless()
        for address in 7...99 { call.register("a", at: .udp("a\(address)", flow: "\(address)")) }
        call.wait(999).wait(1, "ring 7 a99, close 5")
        for address in 100...199 { call.register("a", at: .udp("a\(address)", flow: "\(address)")) }
        call.wait(1999).wait(1, "ring 8 a199, close 6").wait(30_000)
    }

    @Test func `from new addresses all the time is waited for though each leg fails`() {
        restless().fail(503, leg: 6)  // leg 5 is out
            .register("a", at: .udp("a7", flow: "7")).wait(1000, "ring 7 a7").register("a", at: .udp("a8", flow: "8"))
            .fail(503, leg: 7).wait(2000, "ring 8 a8")
    }

    @Test func `from new addresses and answers one of them keeps that leg`() {
        restless().register("a", at: .udp("a7", flow: "7")).hear(180, leg: 6, "close 5").wait(30_000)
    }

    @Test func `under a new name each time is one of 64 at most`() {
        let call = HeldCall(.asleep("a")).start("push 0 call, hold")
        for leg in 1...63 { call.register("b\(leg)", at: .udp("b\(leg)"), "ring \(leg) b\(leg)") }
        call.register("b64", at: .udp("b64")).register("a", at: .udp("a1"), "ring 64 a1, drop 0, give up 480")
    }

    // MARK: While it rings

    @Test func `while it rings is left alone`() {
        woken(at: .udp("a1")).hear(180).register("a", at: .udp("a1")).register("a", at: .udp("a2"))
            .register("a", at: .udp("a3", flow: "new")).register("a", at: .udp("a4", flow: "new", run: ""))
    }

    @Test(arguments: [CallContact.udp("a1", run: "run 2"), .udp("a2", flow: "new", run: "run 2")])
    func `and has started anew while it rang is rung again`(contact: CallContact) {
        woken(at: .udp("a1")).hear(180).wait(300).register("a", at: contact, "ring 2 \(contact.key)")
    }

    @Test func `where the host did not know its run is left alone while it rings`() {
        woken(at: .udp("a1", run: "")).hear(180).register("a", at: .udp("a1", run: "run 2"))
    }

    @Test(arguments: [100, 180, 200, 408, 486, 487, 603])
    func `has its old leg's late answers ignored`(status: Int) {
        woken(at: .tcp("a1")).register("a", at: .tcp("a2", flow: "new"), "ring 2 a2").hear(180, leg: 2, "close 1")
            .hear(status).fail(status).waits(nil).end(.cancelled)
    }

    @Test func `again after it has declined is not rung`() {
        HeldCall(.asleep("a"), .asleep("b")).start("push 0 call, push 1 call, hold").accept().accept(1)
            .register("a", at: .udp("a1"), "ring 1 a1").hear(486)
            .register("a", at: .udp("a2", flow: "new", run: "run 2"))
    }

    // MARK: Who is it

    @Test func `and is unknown so far is rung`() {
        HeldCall(.asleep("a")).start("push 0 call, hold").accept().register("new", at: .udp("n1"), "ring 1 n1")
            .register("new", at: .udp("n2", flow: "new"), "ring 2 n2").hear(180, leg: 2, "close 1")
            .register("a", at: .udp("a1"), "ring 3 a1, give up 480")
    }

    @Test func `and is unknown takes no part in a request for one of the phones`() {
        let call = HeldCall(.asleep("a"), change: { $0.joinsOthers = false }).start("push 0 call, hold").accept()
            .register("new", at: .udp("n1"))
        call.register("a", at: .udp("a1"), "ring 1 a1, give up 480")
    }

    @Test func `and is unknown joins phones that ring, with nothing held`() {
        HeldCall(.plain(.udp("d1"))).start("ring 1 d1").hear(180).wait(60_000)
            .register("new", at: .udp("n1"), "ring 2 n1")
    }

    @Test func `without an instance is known by its token, and else by its contact`() {
        HeldCall(CallDevice(tokens: ["t1"], canBePushed: true)).start("push 0 call, hold")
            .register(CallRegistration(tokens: ["t0", "t1"], contact: .udp("a1")), "ring 1 a1, drop 0, give up 480")
        HeldCall(.asleep("a", .lost("a1"))).start("push 0 call, hold")
            .register(CallRegistration(contact: .udp("a1")), "ring 1 a1, drop 0, give up 480")
    }

    @Test func `with another instance and another token is another phone`() {
        HeldCall(CallDevice(instance: "a", tokens: ["t1"], canBePushed: true)).start("push 0 call, hold")
            .register(CallRegistration(instance: "b", tokens: ["t2"], contact: .udp("b1")), "ring 1 b1")
    }

    /// Some apps make up a new instance at each start.
    @Test func `with another instance and its token is the phone that was pushed`() {
        let call = HeldCall(CallDevice(instance: "a", tokens: ["t1"], canBePushed: true)).start("push 0 call, hold")
            .accept()
        let woken = CallRegistration(instance: "b", tokens: ["t1"], contact: .udp("b1"))
        call.register(woken, "ring 1 b1, give up 480").register("b", at: .udp("b1"), "resend 1").hear(200)
            .end(.answered)
    }

    @Test func `is noted at its address, whatever its host calls that`() {
        woken(at: CallContact(key: "uloc-1", address: "sip:bob@192.0.2.7", flow: "udp"))
            .noted(.rung(device: 0, leg: 1, contact: "sip:bob@192.0.2.7"))
    }

    @Test func `and brings a new token is known by that one as well`() {
        HeldCall(CallDevice(tokens: ["t1"], canBePushed: true)).start("push 0 call, hold")
            .register(CallRegistration(tokens: ["t1", "t2"], contact: .udp("a1")), "ring 1 a1, drop 0, give up 480")
            .register(CallRegistration(tokens: ["t2"], contact: .udp("a2", flow: "new")), "ring 2 a2")
    }

    // MARK: X-MPUSH, which is no part of the Contact

    private let mpush = CallDevice(tokens: ["t1"], contacts: [.udp("a1", flow: "old")], canBePushed: true)
    private let silentHere = CallRegistration(contact: .udp("a2", flow: "new", run: "run 2"))

    @Test(arguments: [200, 486]) func `without saying its token is the only one that was pushed`(status: Int) {
        HeldCall(mpush).start("push 0 call, hold").accept().register(silentHere, "ring 1 a2, give up 480")
            .noted(.registered(device: 0)).hear(status).end(status == 200 ? .answered : .failed(status))
    }

    @Test func `without saying its token may be another, as long as nothing was pushed, and rings`() {
        HeldCall(mpush).start("push 0 call, hold").register(silentHere, "ring 1 a2").noted(.registered(device: 1))
            .accept().hear(486)
    }

    @Test func `without saying its token may be either of two, and rings`() {
        HeldCall(mpush, mpush.with { ($0.tokens, $0.contacts) = (["t2"], []) }).start("push 0 call, push 1 call, hold")
            .accept().accept(1).register(silentHere, "ring 1 a2").noted(.registered(device: 2))
    }

    @Test func `without saying a token, and with an instance, is another`() {
        let call = HeldCall(mpush).start("push 0 call, hold").accept().register("desk", at: .udp("d1"), "ring 1 d1")
            .hear(486)
        let app = CallRegistration(tokens: ["t1"], contact: .udp("a2", flow: "new"))
        call.register(app, "ring 2 a2, give up 480")
    }

    // MARK: Tokens that were reported without a REGISTER

    /// An app that reported its tokens, and registers without them.
    private func reported(_ phones: CallDevice...) -> HeldCall {
        let app = CallDevice(tokens: ["t"], canBePushed: true, hasOnlyTokens: true)
        return HeldCall([app] + phones)
    }

    @Test func `after its push is the one that reported its tokens`() {
        reported().start("push 0 call, hold").accept().register("a", at: .tcp("a1"), "ring 1 a1, give up 480")
            .noted(.registered(device: 0)).hear(180).hear(200).end(.answered)
    }

    @Test(arguments: [486, 603]) func `after its push and declines has reported its tokens`(status: Int) {
        reported().start("push 0 call, hold").accept().register("a", at: .tcp("a1"), "ring 1 a1, give up 480")
            .hear(status).end(.failed(status))
    }

    @Test func `from a new place takes along what the registrar had of it`() {
        reported(.plain(.udp("a1", flow: "old"))).start("push 0 call, ring 1 a1, hold").accept()
            .register(CallRegistration(contact: .udp("a1", flow: "new")), "ring 2 a1, give up 480")
            .noted(.registered(device: 0)).hear(200, leg: 2).end(.answered)
    }

    @Test func `again from where it was is a desk phone, and the app is still awaited`() {
        reported(.plain(.udp("d1"))).start("push 0 call, ring 1 d1, hold").accept().hear(180)
            .register(CallRegistration(contact: .udp("d1"))).hear(486)
            .register("a", at: .tcp("a1"), "ring 2 a1, give up 480").noted(.registered(device: 0))
    }

    @Test func `has no notice of its own call where it was there before its push`() {
        reported(.plain(.tcp("a1"))).start("push 0 call, ring 1 a1, hold").accept().hear(200).end(.answered)

        // One of two: the other may be the app.
        reported(.plain(.tcp("d1")), .plain(.udp("a1"))).start("push 0 call, ring 1 d1, ring 2 a1, hold").accept()
            .hear(200).end(.answered, "push 0 elsewhere")
        reported(.plain(.udp("a1"))).start("push 0 call, ring 1 a1, hold").accept().end(.cancelled, "push 0 cancel")
    }

    @Test func `with the contact of another device takes it over`() {
        HeldCall(.asleep("a", .udp("x")), .asleep("b")).start("push 0 call, push 1 call, hold")
            .register("b", at: .udp("x"), "ring 1 x, drop 1").refuse(0, "give up 480")
    }

    // MARK: Flows and leaving

    @Test func `over several flows is rung over the next one when one fails, and pushed after the last`() {
        HeldCall(.awake("a", .tcp("a1", flow: "1"), .tcp("a2", flow: "2"), .udp("a3", flow: "3"))).start("ring 1 a1")
            .fail(477, "ring 2 a2").fail(477, leg: 2, "push 0 call, hold")
    }

    @Test func `and leaves takes its address with it`() {
        HeldCall(.asleep("a", .udp("a1"))).start("push 0 call, hold").unregister("a1").refuse(0, "give up 480")
    }

    @Test func `and leaves after the end changes nothing`() {
        woken(at: .tcp("a1")).register("a", at: .tcp("a2")).end(.cancelled).unregister("a1").waits(nil)
    }
}
