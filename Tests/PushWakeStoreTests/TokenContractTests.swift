// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import Testing

@testable import PushWakeStore

/// What every store knows of tokens that several users have.
@Suite struct `A token in a store` {
    private let alice = makeBinding(token: "t")
    private let bob = makeBinding(aor: "bob", token: "t", callID: "call-2")

    @Test(arguments: StoreKind.allCases)
    func `is new to a user once`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            #expect(try store.keep([alice], now: start)?.newTokens == [alice])
            for cseq in 2...3 as ClosedRange<UInt32> {
                let refresh = makeBinding(token: "t", cseq: cseq, at: start + Int64(cseq))
                #expect(try store.keep([refresh], now: start + Int64(cseq))?.newTokens == [])
            }
            let moved = makeBinding(token: "t", contact: "sip:alice@192.0.2.9", callID: "again", at: start + 9)
            #expect(try store.keep([moved], now: start + 9)?.newTokens == [])
            let another = makeBinding(token: "u", callID: "again", cseq: 2, at: start + 10)
            #expect(try store.keep([another], now: start + 10)?.newTokens == [another])
            _ = try store.remove(.all, of: alice.aor, reason: "by hand", now: start + 11)
            let back = makeBinding(token: "u", callID: "again", cseq: 3, at: start + 12)
            #expect(try store.keep([back], now: start + 12)?.newTokens == [back])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `leads to the other user who has it`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            _ = try store.register([alice], now: start)
            _ = try store.register([makeBinding(aor: "carol", token: "another t")], now: start)
            #expect(try store.users(withTokenOf: alice).isEmpty)
            _ = try store.register([bob], now: start)
            #expect(try store.users(withTokenOf: bob) == [alice.aor])
        }
    }

    @Test(arguments: [StoreKind.memory, .sqlite, .buffered])
    func `leads to those who have it still`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            for binding in [alice, bob, makeBinding(aor: "carol", token: "t")] {
                _ = try store.register([binding], now: start)
            }
            #expect(Set(try store.users(withTokenOf: bob)) == [alice.aor, "carol"])
            _ = try store.remove(.all, of: "carol", reason: "by hand", now: start)
            #expect(try store.users(withTokenOf: bob) == [alice.aor])
            _ = try store.register([makeBinding(token: "u", cseq: 2, at: start + 1)], now: start + 1)
            _ = try store.forget(now: start + 2, limit: 10)
            #expect(try store.users(withTokenOf: bob).isEmpty)
        }
    }

    @Test(arguments: [StoreKind.memory, .sqlite, .buffered])
    func `of very many users leads to a few`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            for user in 0..<100 { _ = try store.register([makeBinding(aor: "u\(user)", token: "t")], now: start) }
            #expect(!(try store.users(withTokenOf: bob)).isEmpty)
            #expect(try store.users(withTokenOf: bob).count <= 64 + BindingLimits.usersPerToken)
        }
    }

    @Test(.enabled(if: SmallDisk.isAvailable)) func `is looked for when there is room for the index`() throws {
        let disk = try #require(SmallDisk(kibibytes: 64 << 10))
        defer { withExtendedLifetime(disk) {} }
        let path = disk.path + "/bindings.db"
        do {
            let store = try SQLiteStore(path: path)
            for user in 0..<4000 {
                _ = try store.register([makeBinding(aor: "u\(user)", token: "t\(user)")], now: start)
            }
        }
        // Of an earlier release.
        try SQLiteDatabase(path: path, busyTimeout: 100).execute("DROP INDEX bindings_by_token; VACUUM")
        var file = stat()
        try #require(stat(path, &file) == 0)
        try #require(disk.resize(kibibytes: Int(file.st_size) / 1024 + 100))
        do {
            let store = try SQLiteStore(path: path)
            guard case .full? = store.lacksTokens else { return #expect(Bool(false), "there is room") }
            #expect(try store.users(withTokenOf: makeBinding(aor: "bob", token: "t5")).isEmpty)
            #expect(try store.bindings(of: "u5", now: start).count == 1)
            _ = try store.register([makeBinding(aor: "bob", token: "t5")], now: start)
        }
        try #require(disk.resize(kibibytes: 64 << 10))
        let store = try SQLiteStore(path: path)
        #expect(store.lacksTokens == nil)
        #expect(try store.users(withTokenOf: makeBinding(aor: "x", token: "t5")).sorted() == ["bob", "u5"])
    }

    /// Tokens of any length and bytes, beside such as begin or end alike.
    @Test(arguments: ["a", "abc", "abcd", "https://push.example.net/p/ü", String(repeating: "f", count: 200)])
    func `is found whole`(token: String) throws {
        try withTemporaryDirectory { directory in
            let stores: [any BindingStore] = [
                try SQLiteStore(path: directory + "/bindings.db"), MemoryStore(), MemoryStore(findsTokens: true),
            ]
            for store in stores {
                _ = try store.register([makeBinding(token: token)], now: start)
                _ = try store.register([makeBinding(aor: "x", token: "x\(token)")], now: start)
                _ = try store.register([makeBinding(aor: "y", token: "\(token)y")], now: start)
                #expect(try store.users(withTokenOf: makeBinding(aor: "bob", token: token)) == [alice.aor])
                #expect(try store.users(withTokenOf: makeBinding(aor: "bob", token: "z\(token)")).isEmpty)
            }
        }
    }

    /// An address of UnifiedPush ends as all of its server do.
    @Test(arguments: [("https://ntfy.example.net/up", "?up=1"), ("", String(repeating: "ab", count: 24))])
    func `is found among very many that begin and end alike`(begin: String, end: String) throws {
        try withTemporaryDirectory { directory in
            let store = try SQLiteStore(path: directory + "/bindings.db")
            for user in 0..<400 {
                let digits = "\(user * 1_234_567 + 100_000_000_000_000)"
                _ = try store.register([makeBinding(aor: "u\(user)", token: begin + digits + end)], now: start)
            }
            for user in stride(from: 0, to: 400, by: 50) {
                let digits = "\(user * 1_234_567 + 100_000_000_000_000)"
                let binding = makeBinding(aor: "bob", token: begin + digits + end)
                #expect(try store.users(withTokenOf: binding) == ["u\(user)"])
            }
        }
    }

    @Test func `is looked for among some where all have the same bytes`() throws {
        try withTemporaryDirectory { directory in
            let store = try SQLiteStore(path: directory + "/bindings.db")
            for user in 0..<200 {
                let token = "phone+\(user % 10)" + String(repeating: "+", count: 200)
                _ = try store.register([makeBinding(aor: "u\(user)", token: token)], now: start)
            }
            let binding = makeBinding(aor: "bob", token: "phone+1" + String(repeating: "+", count: 200))
            #expect(try store.users(withTokenOf: binding).count <= BindingLimits.usersPerToken)
        }
    }

    @Test func `has an index, also in a file of a release that made none`() throws {
        try withDatabasePath { path in
            _ = try SQLiteStore(path: path).register([alice], now: start)
            let database = try SQLiteDatabase(path: path, busyTimeout: 100)
            try database.execute(
                "DROP INDEX bindings_by_token; CREATE INDEX bindings_by_end ON bindings(registered_at + expires_in)")
            let store = try SQLiteStore(path: path)
            #expect(try store.users(withTokenOf: bob) == [alice.aor])
            #expect(try database.number("SELECT count(*) FROM sqlite_schema WHERE name = 'bindings_by_end'") == 0)
            let plan = try database.statement("EXPLAIN QUERY PLAN \(UserTable.ofToken)")
            var steps: [String] = []
            while try plan.step() { steps.append(plan.text(3)) }
            plan.reset()
            #expect(steps.contains { $0.contains("INDEX bindings_by_token") })
            #expect(steps.contains { $0.contains("INDEX users_by_uid") })
        }
    }

    @Test func `that nodes share is due once in a while, however often its phone refreshes`() throws {
        let store = MemoryStore()
        var due = 0
        for hour in 0..<(24 * 40) as Range<Int64> {
            let now = start + hour * 3600
            let refresh = makeBinding(token: "t", cseq: UInt32(hour + 1), at: now)
            due += store.keep([refresh], now: now)?.dueTokens.count ?? 0
        }
        #expect(due == 4)
    }
}
