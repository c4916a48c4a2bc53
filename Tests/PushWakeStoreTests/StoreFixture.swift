// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import Testing

/// The stores that must pass the contract suite.
enum StoreKind: String, CaseIterable, CustomTestStringConvertible {
    case memory
    case sqlite
    case buffered
    case valkey
    case cluster

    var testDescription: String { rawValue }

    /// Runs `body` with an empty store of this kind.
    func withStore<Result>(_ body: (any BindingStore) throws -> Result) throws -> Result {
        switch self {
        case .memory: return try body(MemoryStore(findsTokens: true))
        case .sqlite: return try withTemporaryDirectory { try body(Self.sqlite($0)) }
        case .buffered:
            return try withTemporaryDirectory { try body(aloneStore(Self.sqlite($0))) }
        case .valkey: return try body(BlockingValkeyStore(.shared))
        case .cluster:
            return try body(
                BlockingValkeyStore(ValkeyCluster.shared.servers[0], access: ValkeyCluster.shared.access()))
        }
    }

    private static func sqlite(_ directory: String) throws -> SQLiteStore {
        var options = SQLiteStore.Options()
        options.findsEnds = true
        return try SQLiteStore(path: directory + "/bindings.db", options: options)
    }
}

/// A store that writes in groups, to which nobody else writes.
func aloneStore(_ tables: consuming SQLiteStore, inGroups: Bool = true) throws(StoreError) -> BufferedStore {
    let store = try BufferedStore(tables, inGroups: inGroups)
    store.isAlone = true
    return store
}

/// The same, of the tables in this file.
func aloneStore(_ path: String) throws -> BufferedStore { try aloneStore(SQLiteStore(path: path)) }

/// Seconds since 1970 at which the tests begin.
let start: Int64 = 1_790_000_000

/// A binding of a phone that registered at `at`.
func makeBinding(
    aor: String = "alice@example.com", provider: Provider = .apns, environment: Environment = .standard,
    app: String = "com.example.phone", team: String = "ABCDE12345", service: TokenUse? = .voip,
    token: String = "aToken", dialect: Dialect = .rfc8599, instance: String = "<urn:uuid:1>",
    contact: String? = nil, callID: String = "call-1", cseq: UInt32 = 1, at: Int64 = start, expires: Int64 = 3600,
    keep: Int64 = 30 * 86_400
) -> Binding {
    Binding(
        aor: aor, provider: provider, environment: environment, app: app, team: team, service: service, token: token,
        dialect: dialect, instance: instance,
        contact: contact ?? "sip:alice@192.0.2.1:5060;pn-provider=\(provider.name);pn-prid=\(token)", callID: callID,
        cseq: cseq, registeredAt: at, expiresAt: at + expires, forgetAt: at + keep)
}

/// A phone with an instance, a contact and a Call-ID of its own.
func makePhone(named name: String, at: Int64 = start) -> Binding {
    makeBinding(token: name, instance: name, contact: "sip:\(name)@192.0.2.1", callID: name, at: at)
}

extension BindingStore {
    func tokens(of aor: String, now: Int64 = start) throws(StoreError) -> [String] {
        try bindings(of: aor, now: now).map(\.token)
    }
}
