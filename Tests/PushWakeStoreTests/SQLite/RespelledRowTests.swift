// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeStore

/// Earlier releases kept a token of Apple as its phone wrote it.
@Suite struct `A row with a token in capital letters` {
    private let token = String(repeating: "ab12cd34", count: 8)
    private func binding(cseq: UInt32 = 1, at: Int64 = start, host: String = "192.0.2.1") -> Binding {
        makeBinding(
            token: token, contact: "sip:alice@\(host);pn-provider=apns;pn-prid=\(token.uppercased())", cseq: cseq,
            at: at)
    }

    private func withStore(_ body: (_ store: BufferedStore, _ path: String) throws -> Void) throws {
        try withDatabasePath { path in
            let old = try SQLiteStore(path: path)
            _ = try old.register([binding()], now: start)
            let kind = BindingKind(of: binding())
            let packing = BindingRow.contactPacking(aor: binding().aor, token: token.uppercased(), kind: kind)
            let update = try old.database.statement("UPDATE bindings SET token = ?, contact = ?")
            try update.bind(1, TextPacking.plain.pack(token.uppercased()))
            try update.bind(2, packing.pack(binding().contact))
            try update.run()
            let store = try aloneStore(path)
            try body(store, path)
        }
    }

    @Test func `is read with the token that all others have`() throws {
        try withStore { (store, _) throws in
            #expect(try store.bindings(of: binding().aor, now: start) == [binding()])
            let gone = try store.remove(
                .token(provider: .apns, app: binding().app, token: token), of: binding().aor, reason: "by hand",
                now: start)
            #expect(gone == [binding()])
        }
    }

    @Test(arguments: ["192.0.2.1", "192.0.2.77"])
    func `is written anew by the next REGISTER, all of it`(host: String) throws {
        try withStore { (store, path) throws in
            let bob = makeBinding(aor: "bob", token: token)
            #expect(try store.users(withTokenOf: bob).isEmpty)
            for cseq in 2...4 as ClosedRange<UInt32> {
                let refresh = binding(cseq: cseq, at: start + Int64(cseq), host: host)
                #expect(try store.keep([refresh], now: refresh.registeredAt)?.newTokens == [])
                #expect(try store.bindings(of: refresh.aor, now: refresh.registeredAt) == [refresh])
                try store.flush()
                let read = try SQLiteStore(reading: path).bindings(of: refresh.aor, now: refresh.registeredAt)
                #expect(read == [refresh])
                #expect(try store.users(withTokenOf: bob) == [refresh.aor])
            }
        }
    }

    @Test func `is one device with all others of its token`() throws {
        try withStore { (store, _) throws in
            var other = binding(cseq: 1, at: start + 5)
            (other.instance, other.callID, other.contact) = ("<urn:uuid:2>", "other", "sip:alice@192.0.2.2")
            _ = try store.register([other], now: start + 5)
            #expect(try store.bindings(of: other.aor, now: start + 5) == [other])
        }
    }
}
