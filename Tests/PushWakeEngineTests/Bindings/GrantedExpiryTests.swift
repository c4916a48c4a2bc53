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

    /// One REGISTER with two Contacts; `granted` to each, and to all where that is 0. `saved`: how the registrar writes
    /// them.
    private static func register(
        _ bench: CoreBench, _ granted: [Int64], all: Int64 = -1, saved: [String] = uris,
        instances: [String] = ["", ""], requested: [Int] = [600, 600]
    ) throws -> MessageReader {
        try bench.ask(.register) { writer in
            writer.put(.aor, "bob")
            writer.put(.callID, "a@b")
            writer.put(.cseq, 1)
            writer.put(.granted, all)
            writer.put(.headerName, "Contact")
            let named = uris.indices.map { index in
                "<\(uris[index])>;expires=\(requested[index])"
                    + (instances[index].isEmpty ? "" : ";+sip.instance=\"\(instances[index])\"")
            }
            writer.put(.headerValue, named.joined(separator: ", "))
            // The registrar's order is its own.
            for (index, granted) in granted.enumerated().reversed() where requested[index] > 0 {
                writer.put(.contactURI, saved[index])
                if !instances[index].isEmpty { writer.put(.contactInstance, instances[index]) }
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
        #expect(Self.stored(bench) == expires)
    }

    /// For how long each of the two is stored.
    private static func stored(_ bench: CoreBench) -> [Int64?] {
        let stored = bench.store.bindings(of: "bob", now: SystemClock.wallSeconds())
        return uris.map { uri in stored.first { $0.contact == uri }.map { $0.expiresAt - $0.registeredAt } }
    }

    private static let aliases = uris.map { $0 + ";alias=192.0.2.1~5060~1" }

    @Test(
        arguments: [
            (aliases, ["", ""], [120, 120]), ([uris[0], aliases[1]], ["", ""], [3600, 120]),
            (aliases, ["<urn:uuid:1>", "<urn:uuid:2>"], [3600, 120]), (aliases, ["<urn:uuid:1>", ""], [3600, 120]),
            (aliases, ["<urn:uuid:1>", "<urn:uuid:1>"], [120, 120]),
        ] as [([String], [String], [Int64])])
    func `is found where the registrar writes it otherwise`(
        saved: [String], instances: [String], expires: [Int64]
    ) throws {
        let bench = try CoreBench()
        _ = try Self.register(bench, [3600, 120], saved: saved, instances: instances)
        #expect(Self.stored(bench) == expires)
    }

    @Test func `is found beside an address that the phone leaves`() throws {
        let bench = try CoreBench()
        _ = try Self.register(bench, [0, 120], saved: Self.aliases, requested: [0, 600])
        #expect(Self.stored(bench) == [nil, 120])
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
        #expect(reply[.bindings] == 2)
    }
}
