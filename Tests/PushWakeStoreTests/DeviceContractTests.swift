// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import Testing

/// Which bindings a REGISTER replaces, in every store.
@Suite struct `A store that tells devices apart` {
    @Test(arguments: StoreKind.allCases)
    func `keeps each device of a user`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            for name in ["a", "b", "c"] { #expect(try store.register([makePhone(named: name)], now: start) == []) }
            #expect(try store.tokens(of: "alice@example.com") == ["a", "b", "c"])
            #expect(try store.count() == 3)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `replaces the token of the same instance and tells the contact it left`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            _ = try store.register([makeBinding(token: "old", contact: "sip:a@192.0.2.1;pn-prid=old")], now: start)
            let new = makeBinding(
                token: "new", contact: "sip:a@192.0.2.9;pn-prid=new", callID: "call-2", at: start + 5)
            #expect(try store.register([new], now: start + 5) == ["sip:a@192.0.2.1;pn-prid=old"])
            #expect(try store.bindings(of: "alice@example.com", now: start + 5) == [new])
            #expect(try store.count() == 1)
            #expect(try store.removed(of: "alice@example.com").isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `takes the times of a refresh and reports no contact for it`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            _ = try store.register([makeBinding()], now: start)
            let refresh = makeBinding(cseq: 2, at: start + 1800)
            #expect(try store.register([refresh], now: start + 1800) == [])
            #expect(try store.bindings(of: "alice@example.com", now: start + 1800) == [refresh])
        }
    }

    @Test(
        arguments: StoreKind.allCases,
        [
            ("same Call-ID", "sip:a@192.0.2.7:4000", "call-1", 1),
            (
                "same contact, push parameters aside", "sip:a@192.0.2.1:5060;transport=udp;pn-prid=new;PN-Param=x",
                "call-2", 1
            ),
            ("an @ in a token", "sip:a@192.0.2.1:5060;pn-prid=a@b;transport=udp", "call-2", 1),
            ("another address and Call-ID", "sip:a@192.0.2.7:5060;transport=udp", "call-2", 2),
            ("another transport", "sip:a@192.0.2.1:5060;transport=tcp", "call-2", 2),
            // Another app of the same user on the same phone (RFC 3261, 19.1.4: a port that differs makes another URI).
            ("another port", "sip:a@192.0.2.1:5062;transport=udp;pn-prid=new", "call-2", 2),
            ("no port", "sip:a@192.0.2.1;transport=udp;pn-prid=new", "call-2", 2),
        ])
    func `knows a phone without an instance again`(
        kind: StoreKind, refresh: (name: String, contact: String, callID: String, bindings: Int)
    ) throws {
        try kind.withStore { (store) throws in
            let old = "sip:a@192.0.2.1:5060;transport=udp;pn-prid=old"
            _ = try store.register([makeBinding(token: "old", instance: "", contact: old)], now: start)
            let new = makeBinding(
                token: "new", instance: "", contact: refresh.contact, callID: refresh.callID, cseq: 2, at: start + 1)
            let left = try store.register([new], now: start + 1)
            #expect(try store.bindings(of: "alice@example.com", now: start + 1).count == refresh.bindings)
            #expect(left == (refresh.bindings == 1 ? [old] : []))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `keeps two phones with instances behind one address`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            for name in ["a", "b"] {
                let phone = makeBinding(
                    token: name, instance: name, contact: "sip:a@192.0.2.1;pn-prid=\(name)", callID: "same")
                _ = try store.register([phone], now: start)
            }
            #expect(try store.tokens(of: "alice@example.com") == ["a", "b"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `keeps both contacts of one REGISTER`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            for name in ["a", "b", "a", "b"] {
                let contact = makeBinding(token: name, instance: "", contact: "sip:\(name)@192.0.2.1;pn-prid=\(name)")
                #expect(try store.register([contact], now: start) == [])
            }
            #expect(try store.tokens(of: "alice@example.com") == ["a", "b"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `reports no contact that another binding still has`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            let shared = "sip:a@192.0.2.1"
            for name in ["a", "b"] {
                _ = try store.register([makeBinding(token: name, instance: name, contact: shared)], now: start)
            }
            let moved = makeBinding(token: "a", instance: "a", contact: "sip:a@192.0.2.2", callID: "call-2", cseq: 2)
            #expect(try store.register([moved], now: start) == [])
        }
    }

    /// A phone may be registered at one of each (RFC 8599, 4.1), and says so by its instance alone.
    @Test(
        arguments: StoreKind.allCases,
        [
            ("sip:a@[2001:db8::1]:5060", "<urn:uuid:1>", false), ("sip:a@192.0.2.7:5060", "<urn:uuid:1>", true),
            ("sip:a@[2001:db8::1]:5060", "", true), ("sip:a@host.invalid", "<urn:uuid:1>", true),
        ])
    func `leaves no address for one of another family`(
        kind: StoreKind, row: (contact: String, instance: String, isLeft: Bool)
    ) throws {
        try kind.withStore { (store) throws in
            let first = makeBinding(instance: row.instance, contact: "sip:a@192.0.2.1:5060")
            _ = try store.register([first], now: start)
            let other = makeBinding(
                instance: row.instance, contact: row.contact, callID: "call-2", cseq: 2, at: start + 1)
            // A registrar that has no room for it is told all the same.
            #expect(try store.contactsLeft(by: [other], now: start + 1) == [first.contact])
            let kept = try store.keep([other], now: start + 1)
            #expect(kept?.leftContacts == (row.isLeft ? [first.contact] : []))
            #expect(kept?.otherFamily == (row.isLeft ? [] : [first.contact]))
            let back = makeBinding(instance: row.instance, contact: first.contact, cseq: 2, at: start + 2)
            #expect(try store.register([back], now: start + 2) == (row.isLeft ? [other.contact] : []))
        }
    }

    /// Two-token contacts of Linphone: any equal token is the same device, also under another instance.
    @Test(arguments: StoreKind.allCases, DuplicateCase.all)
    func `takes equal tokens for one device`(kind: StoreKind, duplicate: DuplicateCase) throws {
        try kind.withStore { (store) throws in
            _ = try store.register(duplicate.existing, now: start)
            _ = try store.register(duplicate.new, now: start)
            let stored = try store.bindings(of: "alice@example.com", now: start)
            #expect(Set(stored.map(\.instance)).count == duplicate.devices)
            #expect(stored.filter { $0.instance == "new" } == duplicate.new)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `ignores a REGISTER that a later one overtook`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            let later = makeBinding(token: "new", cseq: 3, at: start + 2)
            _ = try store.register([later], now: start + 2)
            let overtaken = makeBinding(token: "old", contact: "sip:old@192.0.2.1", cseq: 2, at: start + 3)
            #expect(try store.register([overtaken], now: start + 3) == nil)
            #expect(try store.bindings(of: "alice@example.com", now: start + 3) == [later])
        }
    }

    /// An app that keeps its Call-ID and counts anew each time it starts.
    @Test(arguments: StoreKind.allCases, [(32, false), (33, true)] as [(Int64, Bool)])
    func `takes a lower CSeq that comes too late to have been overtaken`(
        kind: StoreKind, row: (seconds: Int64, isTaken: Bool)
    ) throws {
        try kind.withStore { (store) throws in
            let old = makeBinding(token: "old", contact: "sip:a@192.0.2.1", cseq: 40_000)
            _ = try store.register([old], now: start)
            let time = start + row.seconds
            let restarted = makeBinding(token: "new", contact: "sip:a@192.0.2.2", cseq: 1, at: time)
            _ = try store.register([restarted], now: time)
            #expect(try store.bindings(of: "alice@example.com", now: time) == [row.isTaken ? restarted : old])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `takes a lower CSeq once the registration has expired`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            _ = try store.register([makeBinding(token: "old", cseq: 99)], now: start)
            let restarted = makeBinding(token: "new", cseq: 1, at: start + 3600)
            _ = try store.register([restarted], now: start + 3600)
            #expect(try store.bindings(of: "alice@example.com", now: start + 3600) == [restarted])
        }
    }
}
