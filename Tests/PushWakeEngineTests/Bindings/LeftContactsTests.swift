// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

@Suite struct `Contacts that a phone has left` {
    @Test func `reports the contact that a phone without instance has left`() throws {
        let bench = try CoreBench()
        try bench.register("<sip:bob@10.0.0.1:5060>", headers: [("X-MPUSH", "a:project:t:1")], callID: "one")
        let reply = try bench.register(
            "<sip:bob@10.0.0.1:6070>", headers: [("X-MPUSH", "a:project:t:1")], callID: "two")
        #expect(EngineClient.text(.staleContact, in: reply) == "sip:bob@10.0.0.1:5060")
        #expect(bench.currentTokens() == ["t:1"])
    }

    @Test(arguments: [
        ("<sip:bob@10.0.0.1:5060>;expires=0", "sip:bob@10.0.0.1:5060;pn-provider=fcm;pn-param=p;pn-prid=t"),
        (
            "<sip:bob@10.0.0.1:5060;pn-provider=fcm>;expires=0",
            "sip:bob@10.0.0.1:5060;pn-provider=fcm;pn-param=p;pn-prid=t"
        ),
        // The registrar finds it itself; another phone's address; another Contact of the same phone.
        ("<sip:bob@10.0.0.1:5060;pn-provider=fcm;pn-param=p;pn-prid=t>;expires=0", ""),
        (
            "<sip:bob@10.0.0.1:5060>;expires=0;+sip.instance=\"<2>\"",
            "sip:bob@10.0.0.1:5060;pn-provider=fcm;pn-param=p;pn-prid=t"
        ),
        ("<sip:bob@10.0.0.2:5060>;expires=0", ""),
    ])
    func `reports the contact that a removal leaves without naming it to the letter`(contact: String, left: String)
        throws
    {
        let bench = try CoreBench()
        try bench.register("<sip:bob@10.0.0.1:5060;pn-provider=fcm;pn-param=p;pn-prid=t>")
        #expect(EngineClient.text(.staleContact, in: try bench.register(contact)) == left)
    }

    /// Before its registrar has accepted the REGISTER, which has no room for it.
    @Test(arguments: [
        (
            "<sip:bob@10.0.0.2:5060;pn-provider=fcm;pn-param=p;pn-prid=t>", "two",
            "sip:bob@10.0.0.1:5060;pn-provider=fcm;pn-param=p;pn-prid=t"
        ),
        (
            "<sip:bob@10.0.0.2:5060;pn-provider=fcm;pn-param=p;pn-prid=u>", "one",
            "sip:bob@10.0.0.1:5060;pn-provider=fcm;pn-param=p;pn-prid=t"
        ),
        // Another phone; no push; the address that it keeps; a removal.
        ("<sip:bob@10.0.0.2:5060;pn-provider=fcm;pn-param=p;pn-prid=u>", "two", ""),
        ("<sip:bob@10.0.0.2:5060>", "one", ""),
        ("<sip:bob@10.0.0.1:5060;pn-provider=fcm;pn-param=p;pn-prid=t>", "one", ""),
        ("<sip:bob@10.0.0.2:5060;pn-provider=fcm;pn-param=p;pn-prid=t>;expires=0", "one", ""),
    ])
    func `can be asked for, and nothing changes`(contact: String, callID: String, left: String) throws {
        let bench = try CoreBench()
        try bench.register("<sip:bob@10.0.0.1:5060;pn-provider=fcm;pn-param=p;pn-prid=t>", callID: "one")
        let before = bench.store.bindings(of: "bob", now: SystemClock.wallSeconds())
        let reply = try bench.register(contact, callID: callID, cseq: 2, kind: .registerLeaves)
        #expect(EngineClient.text(.staleContact, in: reply) == left)
        #expect(bench.store.bindings(of: "bob", now: SystemClock.wallSeconds()) == before)
    }

    @Test func `are asked for by a phone whose token was taken away`() throws {
        let bench = try CoreBench()
        let push = ";pn-provider=fcm;pn-param=p;pn-prid=t"
        try bench.register("<sip:bob@10.0.0.1:5060\(push)>")
        _ = bench.store.remove(.all, of: "bob", reason: "by hand", now: SystemClock.wallSeconds())
        let reply = try bench.register("<sip:bob@10.0.0.2:5060\(push)>", cseq: 2, kind: .registerLeaves)
        #expect(EngineClient.text(.staleContact, in: reply) == "sip:bob@10.0.0.1:5060\(push)")
    }

    @Test func `are none of those that its REGISTER names`() throws {
        let bench = try CoreBench()
        let push = ";pn-provider=fcm;pn-param=project;pn-prid=t"
        let first = "sip:bob@10.0.0.1:5060\(push)"
        let second = "sip:bob@[2001:db8::1]:5060;transport=tcp\(push)"
        for cseq in 1...3 {
            let reply = try bench.register("<\(first)>, <\(second)>", cseq: Int64(cseq))
            #expect(EngineClient.text(.staleContact, in: reply) == "")
        }
        let reply = try bench.register("<\(first)>, <\(second)>;expires=0", cseq: 4)
        #expect(EngineClient.text(.staleContact, in: reply) == second)
        #expect(bench.currentTokens() == ["t"])
    }

    /// RFC 5626, 4.2: a phone has several connections, and each its own `reg-id`.
    @Test(arguments: [
        ("", "", true), (";reg-id=1", ";reg-id=2", false), (";reg-id=1", ";reg-id=1", true), (";reg-id=1", "", true),
    ])
    func `are no flows of a phone that has several`(first: String, second: String, isLeft: Bool) throws {
        let bench = try CoreBench()
        func contact(_ host: Int) -> String { "sip:bob@10.0.0.\(host);pn-provider=fcm;pn-param=project;pn-prid=t" }
        let instance = ";+sip.instance=\"<1>\""
        try bench.register("<\(contact(1))>\(instance)\(first)", callID: "one")
        for (host, flow, callID) in [(2, second, "two"), (1, first, "one")] {
            let kinds: [EngineProtocol.Kind] = [.registerLeaves, .register]
            for kind in kinds {
                let reply = try bench.register(
                    "<\(contact(host))>\(instance)\(flow)", callID: callID, cseq: 2, kind: kind)
                #expect(EngineClient.text(.staleContact, in: reply) == (isLeft ? contact(3 - host) : ""))
            }
        }
        #expect(bench.currentTokens() == ["t"])
    }
}
