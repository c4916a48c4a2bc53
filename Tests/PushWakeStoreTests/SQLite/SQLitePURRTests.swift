// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeStore

@Suite struct `PURRs in a SQLite file` {
    @Test func `are there after it was closed`() throws {
        try withDatabasePath { path in
            let purr: PURR
            do {
                let store = try SQLiteStore(path: path)
                _ = try store.register([makeBinding()], now: start)
                purr = try store.told(makeBinding())
            }
            let store = try SQLiteStore(path: path)
            #expect(try store.bindings(ofPURR: purr, now: start) == [makeBinding()])
            #expect(try store.told(makeBinding()) == purr)
            #expect(try SQLiteStore(reading: path).bindings(ofPURR: purr, now: start + 2 * 86_400) == [makeBinding()])
        }
    }

    @Test func `cost a refresh no write but one a day`() throws {
        try withTemporaryDirectory { directory in
            let store = try SQLiteStore(path: directory + "/bindings.db")
            let other = try SQLiteDatabase(path: directory + "/bindings.db", busyTimeout: 100)
            var changes = 0
            var seen = try other.number("PRAGMA data_version")
            _ = try store.register([makeBinding()], now: start)
            let purr = try store.told(makeBinding())
            seen = try other.number("PRAGMA data_version")
            for hour in Int64(1)...71 {
                let now = start + hour * 3600
                _ = try store.told(makeBinding(), now: now)
                _ = try store.bindings(ofPURR: purr, now: now)
                let version = try other.number("PRAGMA data_version")
                if version != seen { changes += 1 }
                seen = version
            }
            // Two days end: each time another PURR is told, and the use of the first is noted.
            #expect(changes == 2)
        }
    }

    @Test func `leave no rows when their users have gone`() throws {
        try withTemporaryDirectory { directory in
            let store = try SQLiteStore(path: directory + "/bindings.db")
            for index in 0..<20 {
                let binding = makeBinding(aor: "user\(index)", keep: 60)
                _ = try store.register([binding], now: start)
                _ = try store.told(binding)
            }
            _ = try store.remove(.all, of: "user3", reason: "by hand", now: start)
            while try store.forget(now: start + 60, limit: 7) == 7 {}
            let database = try SQLiteDatabase(path: directory + "/bindings.db", busyTimeout: 100)
            #expect(try database.number("SELECT count(*) FROM purrs") == 0)
        }
    }

    @Test func `come to a file that was made before there were any`() throws {
        try withDatabasePath { path in
            do { _ = try SQLiteStore(path: path).register([makeBinding()], now: start) }
            do {
                let database = try SQLiteDatabase(path: path, busyTimeout: 100)
                try database.execute("DROP TABLE purrs; PRAGMA user_version=1")
            }
            let store = try SQLiteStore(path: path)
            let purr = try store.told(makeBinding())
            #expect(try store.bindings(ofPURR: purr, now: start) == [makeBinding()])
        }
    }

    @Test func `wake a phone also when nothing can be written`() throws {
        try withTemporaryDirectory { directory in
            let store = try SQLiteStore(path: directory + "/bindings.db", options: .init(busyTimeout: 0))
            _ = try store.register([makeBinding()], now: start)
            let purr = try store.told(makeBinding())
            let other = try SQLiteDatabase(path: directory + "/bindings.db", busyTimeout: 0)
            try other.execute("BEGIN IMMEDIATE")
            #expect(try store.bindings(ofPURR: purr, now: start + 86_400) == [makeBinding()])
            #expect(throws: StoreError.self) { try store.told(makeBinding(), now: start + 86_400) }
            try other.execute("ROLLBACK")
            #expect(try store.told(makeBinding(), now: start + 86_400) != purr)
        }
    }
}
