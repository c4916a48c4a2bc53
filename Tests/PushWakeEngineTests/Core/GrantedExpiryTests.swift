// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

/// What the registrar has granted each Contact of a REGISTER (RFC 3261, 10.3).
@Suite struct `What a contact was granted` {
    private static func uri(_ number: Int, of provider: String) -> String {
        "sip:bob@10.0.0.\(number);pn-provider=\(provider);pn-param=ABCDE12345.com.example;pn-prid=0\(number)fc"
    }

    private static let uris = [uri(1, of: "fcm"), uri(2, of: "apns")]

    /// One REGISTER with two Contacts; `granted` to each, and to all where that is 0.
    private static func register(_ bench: CoreBench, _ granted: [Int64], all: Int64 = -1) throws -> MessageReader {
        try bench.ask(.register) { writer in
            writer.put(.aor, "bob")
            writer.put(.callID, "a@b")
            writer.put(.cseq, 1)
            writer.put(.granted, all)
            writer.put(.headerName, "Contact")
            writer.put(.headerValue, uris.map { "<\($0)>;expires=600" }.joined(separator: ", "))
            // The registrar's order is its own.
            for (uri, granted) in zip(uris, granted).reversed() {
                writer.put(.contactURI, uri)
                if granted != 0 { writer.put(.contactExpires, granted) }
                writer.put(.contactReachable, 0)
            }
        }
    }

    @Test(
        arguments: [
            ([120, 3600], -1, [120, 3600]), ([0, 3600], 900, [900, 3600]), ([0, 0], -1, [600, 600]),
            ([-1, 60], 900, [Int64(UInt32.max), 60]), ([.max, .min], -1, [Int64(UInt32.max), Int64(UInt32.max)]),
        ] as [([Int64], Int64, [Int64])])
    func `is its own`(granted: [Int64], all: Int64, expires: [Int64]) throws {
        let bench = try CoreBench()
        _ = try Self.register(bench, granted, all: all)
        let stored = bench.store.bindings(of: "bob", now: SystemClock.wallSeconds())
        let found = Self.uris.map { uri in stored.first { $0.contact == uri }.map { $0.expiresAt - $0.registeredAt } }
        #expect(found == expires)
    }

    @Test(
        arguments: [
            ([120, 3600], ["apns"]), ([3600, 120], ["fcm"]), ([3600, 3600], ["apns", "fcm"]), ([60, 60], []),
        ] as [([Int64], [String])])
    func `decides about the promise of its service alone`(granted: [Int64], promised: [String]) throws {
        let bench = try CoreBench(["min_expires": "600"])
        let reply = try Self.register(bench, granted)
        let caps = EngineClient.text(.featureCaps, in: reply)
        #expect(["apns", "fcm"].filter { caps.contains("+sip.pns=\"\($0)\"") } == promised)
        #expect(EngineClient.number(.bindings, in: reply) == 2)
    }
}
