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
        var file = stat()
        try #require(stat(path, &file) == 0)
        try #require(disk.resize(kibibytes: Int(file.st_size) / 1024 + 152))
        var options = SQLiteStore.Options()
        options.findsTokens = true
        do {
            let store = try SQLiteStore(path: path, options: options)
            guard case .full? = store.lacksTokens else { return #expect(Bool(false), "there is room") }
            #expect(try store.users(withTokenOf: makeBinding(aor: "bob", token: "t5")).isEmpty)
            #expect(try store.bindings(of: "u5", now: start).count == 1)
            _ = try store.register([makeBinding(aor: "bob", token: "t5")], now: start)
        }
        try #require(disk.resize(kibibytes: 64 << 10))
        let store = try SQLiteStore(path: path, options: options)
        #expect(store.lacksTokens == nil)
        #expect(try store.users(withTokenOf: makeBinding(aor: "x", token: "t5")).sorted() == ["bob", "u5"])
    }

    /// Tokens of any length and bytes, beside such as begin or end alike.
    @Test(arguments: ["a", "abc", "abcd", "https://push.example.net/p/ü", String(repeating: "f", count: 200)])
    func `is found whole`(token: String) throws {
        try withTemporaryDirectory { directory in
            for findsTokens in [true, false] {
                var options = SQLiteStore.Options()
                options.findsTokens = findsTokens
                let store = try SQLiteStore(path: "\(directory)/\(findsTokens).db", options: options)
                for store in [store, MemoryStore(findsTokens: findsTokens)] as [any BindingStore] {
                    _ = try store.register([makeBinding(token: token)], now: start)
                    _ = try store.register([makeBinding(aor: "x", token: "x\(token)")], now: start)
                    _ = try store.register([makeBinding(aor: "y", token: "\(token)y")], now: start)
                    #expect(try store.users(withTokenOf: makeBinding(aor: "bob", token: token)) == [alice.aor])
                    #expect(try store.users(withTokenOf: makeBinding(aor: "bob", token: "z\(token)")).isEmpty)
                }
            }
        }
    }

    /// An address of UnifiedPush ends as all of its server do.
    @Test(arguments: [("https://ntfy.example.net/up", "?up=1"), ("", String(repeating: "ab", count: 24))])
    func `is found among very many that begin and end alike`(begin: String, end: String) throws {
        try withTemporaryDirectory { directory in
            var options = SQLiteStore.Options()
            options.findsTokens = true
            let store = try SQLiteStore(path: directory + "/bindings.db", options: options)
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

    @Test func `has an index in a file that was made without one, and none where nobody asks`() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/bindings.db"
            _ = try SQLiteStore(path: path).register([alice], now: start)
            for findsTokens in [true, true, false] {
                var options = SQLiteStore.Options()
                options.findsTokens = findsTokens
                let store = try SQLiteStore(path: path, options: options)
                #expect(try store.users(withTokenOf: bob) == [alice.aor])
                let database = try SQLiteDatabase(path: path, busyTimeout: 100)
                let names = "SELECT count(*) FROM sqlite_schema WHERE name IN ('bindings_by_token', 'users_by_uid')"
                #expect(try database.number(names) == (findsTokens ? 2 : 0))
                let plan = try database.statement("EXPLAIN QUERY PLAN \(UserTable.ofToken)")
                var steps: [String] = []
                while try plan.step() { steps.append(plan.text(3)) }
                plan.reset()
                #expect(steps.contains { $0.contains("INDEX bindings_by_token") } == findsTokens)
                #expect(steps.contains { $0.contains("INDEX users_by_uid") } == findsTokens)
            }
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

@Suite struct `A token that comes in for another user` {
    private func other(instance: String = "1", selector: String? = nil, callID: String = "a", expires: Int64 = 60)
        -> Binding
    {
        var binding = makeBinding(aor: "alice", token: "t", instance: instance, callID: callID, expires: expires)
        binding.attributes[.selector] = selector
        return binding
    }

    private func isTaken(_ old: Binding, instance: String = "1", after seconds: Int64, _ move: TokenMove) -> Bool {
        let now = start + seconds
        return move.takes(
            old, for: makeBinding(aor: "bob", token: "t", instance: instance, callID: "b", at: now), now: now)
    }

    @Test func `leaves an account whose registration has ended on the same phone`() {
        #expect(isTaken(other(), after: 60, .instance))
        #expect(!isTaken(other(), after: 59, .instance))
        #expect(!isTaken(other(instance: "2"), after: 60, .instance))
        #expect(!isTaken(other(instance: ""), instance: "", after: 60, .instance))
    }

    @Test func `stays with an account that the app tells apart, or that was reported alone`() {
        #expect(!isTaken(other(selector: "2"), after: 60, .instance))
        #expect(!isTaken(other(callID: "", expires: 0), after: 60, .instance))
    }

    @Test(arguments: [(TokenMove.always, true), (.never, false)])
    func `leaves all others at once or never where the operator says so`(move: TokenMove, isTaken: Bool) {
        for old in [other(), other(instance: "2"), other(instance: ""), other(selector: "2")] {
            #expect(self.isTaken(old, after: 1, move) == isTaken)
        }
    }

    @Test(arguments: TokenMove.allCases)
    func `leaves neither its own user nor another token`(move: TokenMove) {
        let new = makeBinding(aor: "bob", token: "t", instance: "1", at: start + 100)
        for old in [
            makeBinding(aor: "bob", token: "t", instance: "1", expires: 60),
            makeBinding(aor: "alice", token: "u", instance: "1", expires: 60),
            makeBinding(aor: "alice", provider: .fcm, token: "t", instance: "1", expires: 60),
            makeBinding(aor: "alice", environment: .sandbox, token: "t", instance: "1", expires: 60),
            makeBinding(aor: "alice", app: "com.example.other", token: "t", instance: "1", expires: 60),
        ] { #expect(!move.takes(old, for: new, now: start + 100)) }
    }
}
