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
        #expect(reply[.bindings] == 0)
        #expect(EngineClient.text(.featureCaps, in: reply).isEmpty)
        #expect(EngineClient.text(.problem, in: reply).contains("CSeq"))
        #expect(RegisterOutcome(rawValue: Int(reply[.outcome])) == .ignored)
        #expect(bench.currentTokens() == ["new"])
    }
}

@Suite struct `A token that registers for another user` {
    private static let contact =
        "<sip:bob@10.0.0.1:5060;pn-provider=fcm;pn-param=project;pn-prid=t>;+sip.instance=\"<1>\""

    private func tokens(_ bench: CoreBench, of aor: String) -> [String] {
        bench.store.bindings(of: aor, now: SystemClock.wallSeconds()).map(\.token)
    }

    /// Registered some seconds ago, for as many as `expires`.
    private func put(_ aor: String, age: Int64, expires: Int64, in store: MemoryStore) {
        let now = SystemClock.wallSeconds()
        let binding = Binding(
            aor: aor, provider: .fcm, app: "project", token: "t", dialect: .rfc8599, instance: "<1>",
            contact: "sip:\(aor)@10.0.0.1", callID: aor, cseq: 1, registeredAt: now - age,
            expiresAt: now - age + expires, forgetAt: now + 86_400)
        _ = store.register([binding], now: now - age)
    }

    @Test(arguments: [("never", false), ("never", true), ("always", false), ("always", true)])
    func `stays with both, or leaves the first as the setting says`(setting: String, isOver: Bool) throws {
        let bench = try CoreBench(["one_aor_per_token": setting])
        put("alice", age: 700, expires: isOver ? 600 : 3600, in: bench.store)
        try bench.register(Self.contact)
        if setting == "never" { bench.core.registrations.lookForClaims() }
        let isMoved = setting == "always"
        #expect(tokens(bench, of: "alice") == (isMoved ? [] : ["t"]))
        #expect(bench.currentTokens() == ["t"])
        #expect(bench.store.removed(of: "alice").map(\.reason) == (isMoved ? ["moved to bob"] : []))
        #expect(bench.core.context.statistics.removals[.moved, default: 0] == (isMoved ? 1 : 0))
        #expect(bench.core.context.statistics.claimed == (isMoved ? 0 : 1))
    }

    @Test func `is claimed once, and not by another token of the same text`() throws {
        let bench = try CoreBench()
        put("alice", age: 700, expires: 3600, in: bench.store)
        for cseq in 1...3 { try bench.register(Self.contact, cseq: Int64(cseq)) }
        bench.core.registrations.lookForClaims()
        #expect(bench.core.context.statistics.claimed == 1)
        try bench.register(Self.contact.replacing("project", with: "other"), callID: "carol", aor: "carol")
        bench.core.registrations.lookForClaims()
        #expect(bench.core.context.statistics.claimed == 1)
    }

    @Test func `is claimed by the later of two users who come within a moment`() throws {
        let bench = try CoreBench()
        for (number, user) in ["alice", "bob", "alice"].enumerated() {
            try bench.register(Self.contact, callID: user, cseq: Int64(number + 1), aor: user)
        }
        bench.core.registrations.lookForClaims()
        #expect(bench.core.context.statistics.claimed == 1)
    }

    /// A push for one account wakes the app, which may refresh that account alone.
    @Test func `stays with both accounts of a phone that sleeps and refreshes one of them`() throws {
        let bench = try CoreBench()
        put("alice", age: 700, expires: 600, in: bench.store)
        put("bob", age: 650, expires: 600, in: bench.store)
        for cseq in 2...5 { try bench.register(Self.contact, callID: "bob", cseq: Int64(cseq)) }
        try bench.register(Self.contact, callID: "after a restart")
        try bench.register("<sip:bob@10.0.0.2:5060;pn-provider=fcm;pn-param=project;pn-prid=t>;+sip.instance=\"<1>\"")
        #expect(tokens(bench, of: "alice") == ["t"])
        #expect(bench.currentTokens() == ["t"])
    }

    @Test func `stays with both when a phone adds an account`() throws {
        let bench = try CoreBench()
        try bench.register(Self.contact, callID: "alice", aor: "alice")
        try bench.register(Self.contact, callID: "bob")
        bench.store.endRegistrations(.all, of: "alice", now: SystemClock.wallSeconds())
        for cseq in 2...4 { try bench.register(Self.contact, callID: "bob", cseq: Int64(cseq)) }
        #expect(tokens(bench, of: "alice") == ["t"])
        try bench.register(Self.contact, callID: "alice", cseq: 2, aor: "alice")
        #expect(tokens(bench, of: "alice") == ["t"])
        #expect(bench.currentTokens() == ["t"])
    }

    @Test(arguments: ["never", "always"])
    func `is claimed from another node, and leaves its user where the setting says so`(setting: String) throws {
        let host = try SharedStoreHost(["one_aor_per_token": setting])
        host.store.runs = 2
        let old = SharedStoreHost.binding(age: 700)
        var alice = old
        alice.aor = "alice"
        alice.expiresAt = SystemClock.wallSeconds()
        _ = host.store.bindings.register([alice], now: old.registeredAt)
        try host.register()
        host.store.answer()
        #expect(host.store.noted == ["abc:def"])
        let left = host.store.bindings.bindings(of: "alice", now: SystemClock.wallSeconds())
        #expect(left.isEmpty == (setting == "always"))
        #expect(host.store.bindings.removed(of: "alice").map(\.reason) == (left.isEmpty ? ["moved to bob"] : []))
        try host.register()
        host.store.answer()
        #expect(host.store.noted.count == 1)
    }
}
