// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

@Suite struct `A binding that a phone gives up` {
    private static let push = ";pn-provider=fcm;pn-param=project;pn-prid="

    /// RFC 8599, 4.1: each address has a binding of its own.
    @Test(arguments: [
        ("<sip:bob@10.0.0.1:5060>;+sip.instance=\"<1>\"", ["t"]),
        ("<sip:bob@10.0.0.1:5060;transport=tcp>;+sip.instance=\"<1>\"", ["t"]),
        ("<sip:bob@10.0.0.2:5060>;+sip.instance=\"<1>\"", []),
        ("<sip:bob@10.0.0.2:5060\(push)t>", []),
        // Another phone behind the same address.
        ("<sip:bob@10.0.0.2:5060>;+sip.instance=\"<2>\"", ["t"]),
        ("*", []),
    ])
    func `stays when the phone leaves another address than the one that it has`(contact: String, tokens: [String])
        throws
    {
        let bench = try CoreBench(["unregister_policy": "remove"])
        let instance = ";+sip.instance=\"<1>\""
        try bench.register("<sip:bob@10.0.0.1:5060\(Self.push)t>\(instance)")
        try bench.register("<sip:bob@10.0.0.2:5060\(Self.push)t>\(instance)", cseq: 2)
        try bench.register(contact, cseq: 3, expires: "0")
        #expect(bench.currentTokens() == tokens)
    }

    @Test(arguments: ["<sip:bob@10.0.0.9:5060>;+sip.instance=\"<1>\"", "<sip:bob@10.0.0.9:5060>"])
    func `goes with an address that nobody has once the phone is registered nowhere`(contact: String) throws {
        let bench = try CoreBench(["unregister_policy": "remove"])
        try bench.register("<sip:bob@10.0.0.1:5060\(Self.push)t>;+sip.instance=\"<1>\"")
        try bench.register(contact, cseq: 2, expires: "0")
        #expect(bench.currentTokens() == ["t"])
        bench.store.endRegistrations(.all, of: "bob", now: SystemClock.wallSeconds())
        try bench.register(contact, cseq: 3, expires: "0")
        #expect(bench.currentTokens().isEmpty)
    }

    /// RFC 5626: each flow has a REGISTER of its own, and one of them may say nothing of push.
    @Test(arguments: [("", []), (";reg-id=1", []), (";reg-id=2", ["t"])])
    func `stays when another flow says nothing of push`(flow: String, tokens: [String]) throws {
        let bench = try CoreBench(["remove_at_nopn": "1"])
        try bench.register("<sip:bob@10.0.0.1:5060\(Self.push)t>;+sip.instance=\"<1>\";reg-id=1")
        try bench.register("<sip:bob@10.0.0.2:5060>;+sip.instance=\"<1>\"\(flow)", cseq: 2)
        #expect(bench.currentTokens() == tokens)
    }

    // MARK: A null token of a phone that says no instance

    @Test func `stays when a phone sends null that may be one of several others`() throws {
        let bench = try CoreBench()
        try bench.register("<sip:bob@10.0.0.1:5060\(Self.push)a>", callID: "a")
        try bench.register("<sip:bob@10.0.0.2:5060\(Self.push)b>", callID: "b")
        try bench.register("<sip:bob@10.0.0.3:5060>", headers: [("X-MPUSH", "null")], callID: "c")
        #expect(bench.currentTokens().sorted() == ["a", "b"])
        try bench.register("<sip:bob@10.0.0.2:5060>", headers: [("X-MPUSH", "null")], callID: "b", cseq: 2)
        #expect(bench.currentTokens() == ["a"])
    }

    @Test func `goes with all its tokens when a phone sends null from elsewhere`() throws {
        let bench = try CoreBench()
        let two = ";pn-provider=apns;pn-param=ABCDE12345.com.example.voip&remote;pn-prid=00fc:voip&01fc:remote"
        try bench.register("<sip:bob@10.0.0.1:5060\(two)>", callID: "a")
        #expect(bench.currentTokens().count == 2)
        try bench.register("<sip:bob@10.0.0.3:5060>", headers: [("X-MPUSH", "null")], callID: "c")
        #expect(bench.currentTokens().isEmpty)
    }

    @Test func `stays when another phone refreshes with null`() throws {
        let bench = try CoreBench()
        let null = [("X-MPUSH", "null")]
        try bench.register("<sip:bob@10.0.0.3:5060>", headers: null, callID: "c")
        try bench.register("<sip:bob@10.0.0.1:5060\(Self.push)a>", callID: "a")
        for cseq in 2...3 {
            try bench.register("<sip:bob@10.0.0.3:5060>", headers: null, callID: "c", cseq: Int64(cseq))
        }
        #expect(bench.currentTokens() == ["a"])
    }

    // MARK: A REGISTER that comes too late

    @Test func `is not reported as stored when a later REGISTER was faster`() throws {
        let bench = try CoreBench()
        try bench.register("<sip:bob@10.0.0.1:5060\(Self.push)new>", cseq: 5)
        let reply = try bench.register("<sip:bob@10.0.0.1:5060\(Self.push)old>", cseq: 4)
        #expect(EngineClient.number(.bindings, in: reply) == 0)
        #expect(EngineClient.text(.featureCaps, in: reply).isEmpty)
        #expect(EngineClient.text(.problem, in: reply).contains("CSeq"))
        #expect(RegisterOutcome(rawValue: Int(EngineClient.number(.outcome, in: reply))) == .ignored)
        #expect(bench.currentTokens() == ["new"])
    }
}
