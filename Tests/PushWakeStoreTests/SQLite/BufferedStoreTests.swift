// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeSystem
import Testing

@testable import PushWakeStore

@Suite struct `A store that writes refreshes and new users in groups` {
    /// A store in a directory of its own, and a second look at its file.
    private func withStore(
        _ body: (_ store: BufferedStore, _ path: String, _ table: () throws -> [Binding]) throws -> Void
    ) throws {
        try withDatabasePath { path in
            let store = try aloneStore(path)
            try body(store, path) {
                try SQLiteStore(reading: path).bindings(of: "alice@example.com", now: start)
            }
        }
    }

    private let first = makeBinding()
    private let moved = makeBinding(
        contact: "sip:alice@192.0.2.9:4711;pn-provider=apns;pn-prid=aToken", callID: "call-2", at: start + 60)

    @Test func `has new users and refreshes in the tables after the flush`() throws {
        try withStore { (store, path, table) throws in
            #expect(try store.register([first], now: start) == [])
            #expect(try table().isEmpty)
            #expect(try fileSize(path + "-refreshes") > 0)
            #expect(try store.bindings(of: "alice@example.com", now: start) == [first])
            #expect(try store.count() == 1)
            try store.flush()
            #expect(try table() == [first])
            #expect(try store.count() == 1)
            #expect(try fileSize(path + "-refreshes") == 0)
            #expect(try store.register([moved], now: start + 60) == [first.contact])
            #expect(try table() == [first])
            #expect(try store.bindings(of: "alice@example.com", now: start + 60) == [moved])
            try store.flush()
            #expect(try table() == [moved])
        }
    }

    @Test func `has what is registered together in the tables, without the journal`() throws {
        try withStore { (store, path, table) throws in
            try store.together { () throws(StoreError) in
                _ = try store.register([first], now: start)
                _ = try store.register([moved], now: start + 60)
                for index in 0..<200 { _ = try store.register([makeBinding(aor: "user\(index)")], now: start) }
            }
            #expect(try table() == [moved])
            #expect(try fileSize(path + "-refreshes") == 0)
            #expect(try store.count() == 201)
            _ = try store.register([makeBinding(aor: "user7", at: start + 9)], now: start + 9)
            #expect(try store.bindings(of: "user7", now: start + 9).map(\.registeredAt) == [start + 9])
        }
    }

    @Test func `has nothing of what is registered together when one of it fails, and all that was there`() throws {
        try withStore { (store, path, table) throws in
            _ = try store.register([first], now: start)
            try store.flush()
            let refreshed = makeBinding(at: start + 60)
            _ = try store.register([refreshed], now: start + 60)
            _ = try store.register([makeBinding(aor: "waits")], now: start)
            #expect(throws: StoreError.self) {
                try store.together { () throws(StoreError) in
                    _ = try store.register([moved], now: start + 60)
                    for index in 0..<200 { _ = try store.register([makeBinding(aor: "user\(index)")], now: start) }
                    throw StoreError.full("no room")
                }
            }
            #expect(try store.bindings(of: "alice@example.com", now: start + 60) == [refreshed])
            #expect(try store.count() == 2)
            #expect(try store.bindings(of: "user7", now: start).isEmpty)
            // It is new, and no row of its counts as known.
            _ = try store.register([makeBinding(aor: "user7", at: start + 9)], now: start + 9)
            try store.flush()
            #expect(try SQLiteStore(reading: path).bindings(of: "user7", now: start + 9).count == 1)
            #expect(try SQLiteStore(reading: path).bindings(of: "waits", now: start).count == 1)
        }
    }

    @Test func `does not wait again and again for another process, and writes as soon as its lock is gone`() throws {
        try withStore { (store, path, _) throws in
            _ = try store.register([first], now: start)
            try store.flush()
            let other = try SQLiteDatabase(path: path, busyTimeout: 0)
            try other.execute("BEGIN IMMEDIATE")
            let begin = SystemClock.monotonicMilliseconds()
            var refused = 0
            for index in 0..<200 {
                do throws(StoreError) {
                    _ = try store.register([makeBinding(aor: "user\(index)")], now: start)
                } catch {
                    refused += 1
                    #expect("\(error)".contains("is locked by"))
                }
            }
            #expect(refused == 200 - 64)
            // Each would have waited 50 ms.
            #expect(SystemClock.monotonicMilliseconds() - begin < 2000)
            try other.execute("ROLLBACK")
            _ = try store.register([makeBinding(aor: "last")], now: start)
            try store.flush()
            #expect(try SQLiteStore(reading: path).count() == 1 + 64 + 1)
        }
    }

    @Test func `writes all that several REGISTERs have changed`() throws {
        try withStore { (store, _, table) throws in
            _ = try store.register([first], now: start)
            try store.flush()
            _ = try store.register([moved], now: start + 60)
            var later = moved
            (later.cseq, later.registeredAt, later.expiresAt) = (moved.cseq + 1, start + 70, start + 670)
            _ = try store.register([later], now: start + 70)
            try store.flush()
            #expect(try table() == [later])
            (later.refreshesItself, later.attributes["pn-timeout"]) = (true, "7")
            (later.contact, later.cseq) = ("sip:alice@192.0.2.10:5060", later.cseq + 1)
            _ = try store.register([later], now: start + 80)
            later.cseq += 1
            _ = try store.register([later], now: start + 80)
            try store.flush()
            #expect(try table() == [later])
        }
    }

    @Test func `writes the first bindings of a user before their refresh`() throws {
        try withStore { (store, _, table) throws in
            let second = makeBinding(token: "second")
            let later = [makeBinding(cseq: 7, at: start + 60), makeBinding(token: "second", cseq: 7, at: start + 60)]
            _ = try store.register([first, second], now: start)
            _ = try store.register(later, now: start + 60)
            #expect(try table() == later)
            #expect(try store.bindings(of: "alice@example.com", now: start + 60) == later)
        }
    }

    @Test func `lets everybody see at once a refresh that changes times alone, and writes no row for it`() throws {
        try withStore { (store, path, table) throws in
            _ = try store.register([first], now: start)
            let later = makeBinding(cseq: 7, at: start + 60)
            #expect(try store.register([later], now: start + 60) == [])
            #expect(try fileSize(path + "-refreshes") == 0)
            #expect(try table() == [later])
            #expect(try store.bindings(of: "alice@example.com", now: start + 60) == [later])
            try store.flush()
            #expect(try table() == [later])
            let database = try SQLiteDatabase(path: path, access: .readOnly, busyTimeout: 0)
            #expect(try database.number("SELECT registered_at FROM bindings") == start)
            _ = try store.register([moved], now: start + 70)
            #expect(try fileSize(path + "-refreshes") > 0)
        }
    }

    private func fileSize(_ path: String) throws -> Int {
        var status = stat()
        try #require(stat(path, &status) == 0)
        return Int(status.st_size)
    }

    @Test func `says once that something waits`() throws {
        try withStore { (store, _, _) throws in
            var count = 0
            store.onWaiting = { count += 1 }
            _ = try store.register([first], now: start)
            _ = try store.register([makeBinding(aor: "bob@example.com", token: "bob's")], now: start)
            #expect(count == 1)
            try store.flush()
            count = 0
            _ = try store.register([moved], now: start + 60)
            _ = try store.register([makeBinding(callID: "call-3", at: start + 90)], now: start + 90)
            #expect(count == 1)
            try store.flush()
            _ = try store.register([moved], now: start + 120)
            #expect(count == 2)
        }
    }

    @Test func `writes what waits before anything else of a user`() throws {
        try withStore { (store, _, table) throws in
            _ = try store.register([first], now: start)
            _ = try store.register([moved], now: start + 60)
            let other = makeBinding(
                token: "other", instance: "<urn:uuid:2>", contact: "sip:alice@192.0.2.2", callID: "2")
            _ = try store.register([other], now: start + 70)
            #expect(Set(try table().map(\.contact)) == [moved.contact, other.contact])
            _ = try store.register([first], now: start + 80)
            let gone = try store.remove(.all, of: "alice@example.com", reason: "by hand", now: start + 90)
            #expect(gone.count == 2)
            #expect(try table().isEmpty)
        }
    }

    @Test func `leaves its refreshes to the next process when it is killed`() async throws {
        let directory = try makeTemporaryDirectory()
        defer { removeDirectory(directory) }
        let path = directory + "/bindings.db"
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let store = try aloneStore(path)
            let full = Binding(
                aor: "bob", provider: .webpush, environment: .sandbox, app: "an.app", team: "A1B2C3D4E5",
                service: .remote,
                token: "https://push.example.net/p", dialect: .flexisip, instance: "", contact: "sip:bob@[2001:db8::1]",
                callID: "", cseq: .max, attributes: .init([.init(name: "pn-auth", value: "\u{1}\u{0}ü")]),
                registeredAt: start, expiresAt: start + 60, forgetAt: start + 86_400, refreshesItself: true)
            for at in [start, start + 5] {
                var binding = full
                binding.registeredAt = at
                binding.contact = "sip:bob@[2001:db8::1]:\(at)"
                _ = try store.register([binding], now: at)
            }
            _ = try store.register([makeBinding()], now: start)
            _ = try store.register([makeBinding(callID: "call-2", at: start + 60)], now: start + 60)
            kill(getpid(), SIGKILL)
        }
        #expect(try SQLiteStore(path: path).bindings(of: "alice@example.com", now: start).map(\.callID) == ["call-1"])
        let store = try aloneStore(path)
        #expect(store.takeFailure() == nil)
        #expect(
            try store.bindings(of: "alice@example.com", now: start) == [makeBinding(callID: "call-2", at: start + 60)])
        let bob = try #require(try store.bindings(of: "bob", now: start).first)
        #expect(bob.registeredAt == start + 5)
        #expect(bob.attributes == .init([.init(name: "pn-auth", value: "\u{1}\u{0}ü")]))
        #expect(bob.cseq == .max && bob.refreshesItself && bob.provider == .webpush)
    }

    @Test func `leaves new users to the next process when it is killed`() async throws {
        let directory = try makeTemporaryDirectory()
        defer { removeDirectory(directory) }
        let path = directory + "/bindings.db"
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let store = try aloneStore(path)
            _ = try store.register([makeBinding(), makeBinding(token: "second")], now: start)
            _ = try store.register([makeBinding(aor: "bob@example.com", token: "bob's")], now: start)
            kill(getpid(), SIGKILL)
        }
        #expect(try SQLiteStore(path: path).count() == 0)
        let store = try aloneStore(path)
        #expect(store.takeFailure() == nil)
        #expect(
            try store.bindings(of: "alice@example.com", now: start) == [makeBinding(), makeBinding(token: "second")])
        #expect(try store.bindings(of: "bob@example.com", now: start).map(\.token) == ["bob's"])
        #expect(try store.count() == 3)
    }

    @Test func `adds no user again whom a killed process had written`() throws {
        try withDatabasePath { path in
            let newer = makeBinding(token: "newer", callID: "call-9", at: start + 9)
            do {
                let store = try aloneStore(path)
                _ = try store.register([first], now: start)
            }
            _ = try SQLiteStore(path: path).register([newer], now: start + 9)
            let store = try aloneStore(path)
            #expect(try store.bindings(of: "alice@example.com", now: start) == [newer])
            #expect(try store.count() == 1)
        }
    }

    @Test func `keeps a new user through a time in which the tables cannot be written`() throws {
        try withLockedTables { (store, path, unlock) throws in
            let bob = makeBinding(aor: "bob@example.com", token: "bob's")
            _ = try store.register([bob], now: start)
            #expect(throws: StoreError.self) { try store.flush() }
            #expect(try store.bindings(of: "bob@example.com", now: start) == [bob])
            try unlock()
            try store.flush()
            #expect(try SQLiteStore(reading: path).bindings(of: "bob@example.com", now: start) == [bob])
        }
    }

    @Test(arguments: [1, 7, 8, 30]) func `takes what is whole of a journal that was cut off`(missing: Int) throws {
        try withDatabasePath { path in
            do {
                let store = try aloneStore(path)
                _ = try store.register([first], now: start)
                _ = try store.register([moved], now: start + 60)
                _ = try store.register([makeBinding(callID: "call-3", at: start + 90)], now: start + 90)
                var status = stat()
                #expect(stat(path + "-refreshes", &status) == 0)
                #expect(truncate(path + "-refreshes", status.st_size - off_t(missing)) == 0)
            }
            let store = try aloneStore(path)
            #expect(try store.bindings(of: "alice@example.com", now: start) == [moved])
        }
    }

    @Test func `leaves alone what another process has written since`() throws {
        try withDatabasePath { path in
            do {
                let store = try aloneStore(path)
                _ = try store.register([first], now: start)
                _ = try store.register([moved], now: start + 60)
            }
            let newer = makeBinding(callID: "call-4", at: start + 600)
            _ = try SQLiteStore(path: path).register([newer], now: start + 600)
            let store = try aloneStore(path)
            #expect(try store.bindings(of: "alice@example.com", now: start) == [newer])
        }
    }

    @Test func `keeps nothing in memory while others may write`() throws {
        try withDatabasePath { path in
            let store = try BufferedStore(SQLiteStore(path: path))
            let other = try SQLiteStore(path: path)
            _ = try store.register([first], now: start)
            store.isAlone = true
            _ = try store.register([moved], now: start + 60)
            store.isAlone = false
            #expect(try other.bindings(of: "alice@example.com", now: start) == [moved])
            _ = try other.register([makeBinding(callID: "call-5", at: start + 90)], now: start + 90)
            #expect(try store.bindings(of: "alice@example.com", now: start).map(\.callID) == ["call-5"])
        }
    }

    /// A store whose refresh waits while another process holds the lock, and that process.
    private func withLockedTables(
        _ body: (_ store: BufferedStore, _ path: String, _ unlock: () throws -> Void) throws -> Void
    ) throws {
        try withDatabasePath { path in
            let store = try aloneStore(SQLiteStore(path: path, options: .init(busyTimeout: 5)))
            _ = try store.register([first], now: start)
            _ = try store.register([moved], now: start + 60)
            let other = try SQLiteDatabase(path: path, busyTimeout: 0)
            try other.execute("BEGIN IMMEDIATE")
            try body(store, path) { try other.execute("ROLLBACK") }
        }
    }

    @Test func `answers with what waits while the tables cannot be written`() throws {
        try withLockedTables { (store, path, unlock) throws in
            let other = makeBinding(
                token: "other", instance: "<urn:uuid:2>", contact: "sip:alice@192.0.2.2", callID: "2")
            #expect(throws: StoreError.self) { try store.register([other], now: start + 70) }
            #expect(throws: StoreError.self) { try store.flush() }
            #expect(try store.bindings(of: "alice@example.com", now: start) == [moved])
            try unlock()
            try store.flush()
            #expect(try SQLiteStore(reading: path).bindings(of: "alice@example.com", now: start) == [moved])
        }
    }

    @Test func `reads users who are not in memory while the tables cannot be written`() throws {
        try withStore { (store, path, _) throws in
            let users = (0..<2100).map { makeBinding(aor: "user\($0)", token: "token \($0)") }
            for user in users { _ = try store.register([user], now: start) }
            let purr = PURR(high: 1, low: 2)
            _ = try store.register([first], now: start)
            #expect(try store.purr(of: first, now: start) { purr } == purr)
            for user in users.prefix(2048) { _ = try store.bindings(of: user.aor, now: start) }
            let other = try SQLiteDatabase(path: path, busyTimeout: 0)
            try other.execute("BEGIN IMMEDIATE")
            _ = try store.register([moved], now: start + 60)
            let new = makeBinding(aor: "a new user")
            _ = try store.register([new], now: start + 60)
            #expect(throws: StoreError.self) { try store.flush() }
            for user in users { #expect(try store.bindings(of: user.aor, now: start) == [user]) }
            #expect(try store.bindings(of: "alice@example.com", now: start) == [moved])
            #expect(try store.bindings(of: new.aor, now: start) == [new])
            #expect(try store.bindings(ofPURR: purr, now: start) == [moved])
            #expect(try store.aors(after: "", limit: 2, now: start) == [new.aor, "alice@example.com"])
            #expect(try store.aors(after: "a new user", limit: 5000, now: start).count == 2101)
        }
    }

    /// The path of a store whose process has left these bindings in the journal.
    private func withLeftJournal(_ bindings: [Binding], _ body: (_ path: String) throws -> Void) throws {
        try withDatabasePath { path in
            let store = try aloneStore(path)
            for binding in bindings { _ = try store.register([binding], now: binding.registeredAt) }
            try body(path)
            withExtendedLifetime(store) {}
        }
    }

    @Test func `knows what a killed process has left before it can be written`() throws {
        try withLeftJournal([first, moved, makeBinding(aor: "bob", token: "bob's")]) { (path) throws in
            let store = try BufferedStore(SQLiteStore(path: path, options: .init(busyTimeout: 5)))
            var waits = 0
            store.onWaiting = { waits += 1 }
            let other = try SQLiteDatabase(path: path, busyTimeout: 0)
            try other.execute("BEGIN IMMEDIATE")
            store.isAlone = true
            #expect(store.isAlone && waits == 1)
            #expect(throws: StoreError.self) { try store.flush() }
            #expect(try store.bindings(of: "alice@example.com", now: start) == [moved])
            #expect(try store.bindings(of: "bob", now: start).map(\.token) == ["bob's"])
            #expect(try store.aors(after: "", limit: 9, now: start) == ["alice@example.com", "bob"])
            _ = try store.register([makeBinding(aor: "carol", token: "carol's")], now: start)
            try other.execute("ROLLBACK")
            try store.flush()
            let tables = try SQLiteStore(reading: path)
            #expect(try tables.bindings(of: "alice@example.com", now: start) == [moved])
            for user in ["bob", "carol"] { #expect(try tables.bindings(of: user, now: start).count == 1) }
            #expect(try fileSize(path + "-refreshes") == 0)
        }
    }

    @Test func `appends behind what a killed process has left`() throws {
        try withLeftJournal([first]) { (path) throws in
            let journal = open(path + "-refreshes", O_WRONLY | O_APPEND)
            #expect(write(journal, [UInt8](repeating: 7, count: 20), 20) == 20)
            close(journal)
            do {
                let store = try aloneStore(path)
                _ = try store.register([makeBinding(aor: "bob", token: "bob's")], now: start)
            }
            let store = try aloneStore(path)
            #expect(try store.bindings(of: "alice@example.com", now: start) == [first])
            #expect(try store.bindings(of: "bob", now: start).count == 1)
        }
    }

    @Test func `brings nothing back that has come and gone since`() throws {
        try withLeftJournal([first]) { (path) throws in
            do {
                let other = try SQLiteStore(path: path)
                _ = try other.register([moved], now: start + 60)
                _ = try other.remove(.all, of: "alice@example.com", reason: "by hand", now: start + 90)
            }
            let store = try aloneStore(path)
            #expect(try store.bindings(of: "alice@example.com", now: start).isEmpty)
            #expect(try fileSize(path + "-refreshes") == 0)
        }
    }

    @Test func `takes what was left, and writes each REGISTER at once, where nothing may wait`() throws {
        try withLeftJournal([first]) { (path) throws in
            let store = try aloneStore(SQLiteStore(path: path), inGroups: false)
            #expect(try store.bindings(of: "alice@example.com", now: start) == [first])
            #expect(try store.register([moved], now: start + 60) == [first.contact])
            #expect(try fileSize(path + "-refreshes") == 0)
            _ = try store.register([makeBinding(aor: "bob", token: "bob's")], now: start)
            #expect(try fileSize(path + "-refreshes") == 0)
            for _ in 0..<2 { #expect(try store.bindings(of: "alice@example.com", now: start) == [moved]) }
            let tables = try SQLiteStore(reading: path)
            #expect(try tables.bindings(of: "alice@example.com", now: start) == [moved])
            #expect(try tables.bindings(of: "bob", now: start).count == 1)
        }
    }

    @Test func `overwrites nothing that others have written since they may`() throws {
        try withLockedTables { (store, path, unlock) throws in
            store.isAlone = false
            #expect(store.takeFailure() != nil)
            try unlock()
            let newer = makeBinding(callID: "call-6", at: start + 90)
            _ = try SQLiteStore(path: path).register([newer], now: start + 90)
            try store.flush()
            #expect(try store.bindings(of: "alice@example.com", now: start) == [newer])
            store.isAlone = true
            #expect(store.takeFailure() == nil)
            #expect(try store.bindings(of: "alice@example.com", now: start) == [newer])
        }
    }

    @Test func `takes up again what waited when it could not be written before others might`() throws {
        try withLockedTables { (store, _, unlock) throws in
            store.isAlone = false
            try unlock()
            store.isAlone = true
            #expect(try store.bindings(of: "alice@example.com", now: start) == [moved])
        }
    }

    @Test func `answers for more users than it keeps in memory`() throws {
        try withStore { (store, _, _) throws in
            for round in 0..<2 {
                for index in 0..<5000 {
                    let at = start + Int64(round)
                    let binding = makeBinding(aor: "user\(index)", token: "token \(index)", at: at)
                    _ = try store.register([binding], now: at)
                }
            }
            for index in stride(from: 0, to: 5000, by: 7) {
                #expect(try store.bindings(of: "user\(index)", now: start).map(\.registeredAt) == [start + 1])
            }
        }
    }
}
