// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeSystem
import Testing

@testable import PushWakeStore

@Suite struct `Times of refreshes in a file beside the tables` {
    private let aor = "alice@example.com"
    private let first = makeBinding()

    /// The same REGISTER so many seconds later.
    private func refresh(after seconds: Int64, of binding: Binding = makeBinding()) -> Binding {
        var later = binding
        later.cseq += UInt32(clamping: seconds)
        later.registeredAt += seconds
        later.expiresAt += seconds
        later.forgetAt += seconds
        return later
    }

    /// A store with one binding that is in the tables.
    private func withStore(_ body: (_ store: BufferedStore, _ path: String) throws -> Void) throws {
        try withDatabasePath { path in
            let store = try aloneStore(path)
            _ = try store.register([first], now: start)
            try store.flush()
            try body(store, path)
        }
    }

    /// What the table itself has.
    private func tableTimes(_ path: String) throws -> Int64? {
        let database = try SQLiteDatabase(path: path, access: .readOnly, busyTimeout: 0)
        return try database.number("SELECT registered_at FROM bindings")
    }

    @Test func `keeps each refresh, for this process and for the next`() throws {
        try withStore { (store, path) throws in
            for seconds in [60, 120, 180] as [Int64] {
                _ = try store.register([refresh(after: seconds)], now: start + seconds)
                #expect(try store.bindings(of: aor, now: start + seconds) == [refresh(after: seconds)])
                #expect(try SQLiteStore(path: path).bindings(of: aor, now: start) == [refresh(after: seconds)])
                #expect(try SQLiteStore(reading: path).bindings(of: aor, now: start) == [refresh(after: seconds)])
            }
            #expect(try tableTimes(path) == start)
            #expect(try aloneStore(path).bindings(of: aor, now: start) == [refresh(after: 180)])
        }
    }

    @Test func `keeps the last refresh when the process is killed`() async throws {
        let directory = try makeTemporaryDirectory()
        defer { removeDirectory(directory) }
        let path = directory + "/bindings.db"
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let store = try aloneStore(path)
            _ = try store.register([makeBinding()], now: start)
            try store.flush()
            _ = try store.register([makeBinding(cseq: 2, at: start + 60)], now: start + 60)
            kill(getpid(), SIGKILL)
        }
        #expect(try SQLiteStore(path: path).bindings(of: aor, now: start) == [makeBinding(cseq: 2, at: start + 60)])
    }

    /// Of the third binding of a user, and of those that are forgotten with their registration.
    @Test(arguments: [(3, 86_400), (1, 3600)] as [(Int, Int64)])
    func `are kept where a row has no place when the process is killed`(count: Int, keep: Int64) async throws {
        let directory = try makeTemporaryDirectory()
        defer { removeDirectory(directory) }
        let path = directory + "/bindings.db"
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = path as String, count = count as Int, keep = keep as Int64] in
            let store = try aloneStore(path)
            for (cseq, seconds) in [(1, 0), (2, 60)] as [(UInt32, Int64)] {
                _ = try store.register(
                    (0..<count).map {
                        makeBinding(token: "token \($0)", cseq: cseq, at: start + seconds, keep: keep)
                    }, now: start + seconds)
                if seconds == 0 { try store.flush() }
            }
            kill(getpid(), SIGKILL)
        }
        #expect(
            try aloneStore(path).bindings(of: aor, now: start).map(\.registeredAt)
                == Array(repeating: start + 60, count: count))
    }

    /// Everything that a REGISTER can change besides times.
    private static let changes: [(String, @Sendable (inout Binding) -> Void)] = [
        ("environment", { $0.environment = .sandbox }), ("service", { $0.service = .remote }),
        ("dialect", { $0.dialect = .flexisip }), ("team", { $0.team = "ZYXWV98765" }),
        ("token", { $0.token = "bToken" }), ("app", { $0.app = "com.example.other" }),
        ("instance", { $0.instance = "<urn:uuid:2>" }), ("contact", { $0.contact = "sip:alice@192.0.2.1:5061" }),
        ("Call-ID", { $0.callID = "call-2" }), ("refreshes itself", { $0.refreshesItself = true }),
        ("an attribute", { $0.attributes["pn-timeout"] = "7" }),
        ("spelling", { $0.contact = $0.contact.dropLast() + "e\u{301}" }), ("none", { _ in }),
    ]

    @Test(arguments: changes.indices) func `overlooks no change of`(index: Int) throws {
        try withStore { (store, path) throws in
            // With the first refresh the user is known.
            _ = try store.register([refresh(after: 60)], now: start + 60)
            var changed = refresh(after: 120)
            changed.contact += ";x=\u{E9}"
            _ = try store.register([changed], now: start + 120)
            try store.flush()
            changed = refresh(after: 180, of: changed)
            _ = try store.register([changed], now: start + 180)
            changed = refresh(after: 240, of: changed)
            Self.changes[index].1(&changed)
            _ = try store.register([changed], now: start + 240)
            #expect(try store.bindings(of: aor, now: start + 240) == [changed])
            try store.flush()
            let table = try SQLiteStore(reading: path).bindings(of: aor, now: start + 240)
            #expect(table.map(\.contact.utf8.count) == [changed.contact.utf8.count])
            #expect(table == [changed])
        }
    }

    @Test func `leaves a REGISTER out that was overtaken`() throws {
        try withStore { (store, _) throws in
            for seconds in [60, 120] as [Int64] {
                _ = try store.register([refresh(after: seconds)], now: start + seconds)
            }
            var late = refresh(after: 60)
            late.registeredAt = start + 130
            _ = try store.register([late], now: start + 130)
            #expect(try store.bindings(of: aor, now: start + 130) == [refresh(after: 120)])
            // The registration is over: the phone has begun to count anew.
            (late.registeredAt, late.expiresAt, late.forgetAt) = (start + 9000, start + 9600, start + 90_000)
            _ = try store.register([late], now: start + 9000)
            #expect(try store.bindings(of: aor, now: start + 9000) == [late])
        }
    }

    @Test func `stores anew what was removed or forgotten since`() throws {
        try withStore { (store, path) throws in
            _ = try store.register([refresh(after: 60)], now: start + 60)
            let gone = try store.remove(.all, of: aor, reason: "by hand", now: start + 61)
            #expect(gone == [refresh(after: 60)])
            _ = try store.register([refresh(after: 120)], now: start + 120)
            try store.flush()
            #expect(try SQLiteStore(reading: path).bindings(of: aor, now: start) == [refresh(after: 120)])
            _ = try store.register([refresh(after: 180)], now: start + 180)
            #expect(try store.forget(now: .max, limit: 10) >= 1)
            #expect(try store.bindings(of: aor, now: start) == [])
            _ = try store.register([refresh(after: 240)], now: start + 240)
            try store.flush()
            #expect(try SQLiteStore(reading: path).bindings(of: aor, now: start) == [refresh(after: 240)])
            #expect(try store.count() == 1)
        }
    }

    @Test func `knows of another device of the user`() throws {
        try withStore { (store, path) throws in
            _ = try store.register([refresh(after: 60)], now: start + 60)
            let other = makeBinding(
                token: "other", instance: "<urn:uuid:2>", contact: "sip:alice@192.0.2.2", callID: "2", at: start + 70)
            _ = try store.register([other], now: start + 70)
            _ = try store.register([refresh(after: 80)], now: start + 80)
            _ = try store.register([refresh(after: 90, of: other)], now: start + 160)
            let all = [refresh(after: 80), refresh(after: 90, of: other)]
            #expect(try store.bindings(of: aor, now: start + 160) == all)
            #expect(try SQLiteStore(reading: path).bindings(of: aor, now: start + 160) == all)
            // Reinstalled: the token comes under another instance.
            var moved = refresh(after: 200)
            moved.instance = "<urn:uuid:3>"
            _ = try store.register([moved], now: start + 200)
            try store.flush()
            let table = try SQLiteStore(reading: path).bindings(of: aor, now: start)
            #expect(table.map(\.instance) == ["<urn:uuid:2>", "<urn:uuid:3>"])
        }
    }

    @Test(arguments: 1...4) func `keeps the times of all bindings of one REGISTER`(count: Int) throws {
        try withDatabasePath { path in
            let store = try aloneStore(path)
            let all = (0..<count).map { makeBinding(token: "token \($0)") }
            for seconds in [0, 60, 120, 180] as [Int64] {
                let now = all.map { refresh(after: seconds, of: $0) }
                _ = try store.register(now, now: start + seconds)
                #expect(try store.bindings(of: aor, now: start + seconds) == now)
                try store.flush()
                #expect(try SQLiteStore(reading: path).bindings(of: aor, now: start) == now)
            }
            #expect(try store.count() == count)
        }
    }

    @Test func `forgets a binding when its newest time is over, and not before`() throws {
        try withStore { (store, path) throws in
            _ = try store.register([refresh(after: 3600)], now: start + 3600)
            #expect(try store.forget(now: first.forgetAt + 10, limit: 10) == 0)
            #expect(try store.bindings(of: aor, now: first.forgetAt + 10) == [refresh(after: 3600)])
            #expect(try tableTimes(path) == start + 3600)
            #expect(try store.count() == 1)
            #expect(try store.forget(now: first.forgetAt + 3600, limit: 10) == 1)
            #expect(try store.count() == 0)
        }
    }

    @Test func `lists users by their newest times`() throws {
        try withStore { (store, _) throws in
            for index in 0..<5 {
                _ = try store.register([makeBinding(aor: "zoe\(index)", token: "token \(index)")], now: start)
            }
            for index in [1, 3] {
                let binding = makeBinding(aor: "zoe\(index)", token: "token \(index)")
                _ = try store.register([refresh(after: 3600, of: binding)], now: start + 3600)
            }
            let now = first.forgetAt + 10
            #expect(try store.aors(after: "", limit: 10, now: now) == ["zoe1", "zoe3"])
            #expect(try store.aors(after: "", limit: 1, now: now) == ["zoe1"])
            #expect(try store.aors(after: "zoe1", limit: 1, now: now) == ["zoe3"])
            #expect(try store.aors(after: "", limit: 3, now: start) == [aor, "zoe0", "zoe1"])
        }
    }

    @Test func `tells the tables once a day`() throws {
        try withStore { (store, path) throws in
            _ = try store.register([refresh(after: 86_399)], now: start + 86_399)
            try store.flush()
            #expect(try tableTimes(path) == start)
            for seconds in [86_400, 86_500] as [Int64] {
                _ = try store.register([refresh(after: seconds)], now: start + seconds)
                #expect(try store.bindings(of: aor, now: start + seconds) == [refresh(after: seconds)])
                try store.flush()
                #expect(try tableTimes(path) == start + 86_400)
                #expect(try SQLiteStore(reading: path).bindings(of: aor, now: start) == [refresh(after: seconds)])
            }
        }
    }

    @Test func `takes a REGISTER of a clock that was put back`() throws {
        try withStore { (store, path) throws in
            _ = try store.register([refresh(after: 60)], now: start + 60)
            for seconds in [-30, -20] as [Int64] {
                var earlier = makeBinding(cseq: 100, at: start + seconds)
                earlier.cseq += UInt32(40 + seconds)
                _ = try store.register([earlier], now: start + seconds)
                try store.flush()
                #expect(try store.bindings(of: aor, now: start) == [earlier])
                #expect(try SQLiteStore(reading: path).bindings(of: aor, now: start) == [earlier])
            }
        }
    }

    @Test func `ends a registration that was refreshed`() throws {
        try withStore { (store, path) throws in
            _ = try store.register([refresh(after: 60)], now: start + 60)
            try store.endRegistrations(.all, of: aor, now: start + 70)
            var ended = refresh(after: 60)
            ended.expiresAt = start + 70
            #expect(try store.bindings(of: aor, now: start + 70) == [ended])
            #expect(try SQLiteStore(reading: path).bindings(of: aor, now: start + 70) == [ended])
        }
    }

    @Test func `has the newest times in the tables when the clock jumps`() throws {
        try withStore { (store, path) throws in
            _ = try store.register([refresh(after: 60)], now: start + 60)
            let year: Int64 = 365 * 86_400
            try store.clockJumped(from: start + 100, to: start + 100 + year)
            #expect(try store.bindings(of: aor, now: start + 100 + year).map(\.registeredAt) == [start + 60 + year])
            #expect(TimesFile(storePath: path)?.isEmpty == true)
        }
    }

    @Test func `are not taken for a row that others have written since, or when the file is lost`() throws {
        try withStore { (store, path) throws in
            _ = try store.register([refresh(after: 60)], now: start + 60)
            let old = try SQLiteDatabase(path: path, busyTimeout: 0)
            try old.execute("UPDATE bindings SET registered_at = registered_at + 5")
            #expect(try SQLiteStore(reading: path).bindings(of: aor, now: start).map(\.registeredAt) == [start + 5])
            try old.execute("UPDATE bindings SET registered_at = registered_at - 5")
            #expect(try SQLiteStore(reading: path).bindings(of: aor, now: start) == [refresh(after: 60)])
            unlink(path + "-times")
            #expect(try SQLiteStore(reading: path).bindings(of: aor, now: start) == [first])
            #expect(try aloneStore(path).bindings(of: aor, now: start) == [first])
        }
    }

    @Test func `go to the tables where there can be no file`() throws {
        try withDatabasePath { path in
            #expect(mkdir(path + "-times", 0o700) == 0)
            let store = try aloneStore(path)
            for seconds in [0, 60, 120] as [Int64] {
                _ = try store.register([refresh(after: seconds)], now: start + seconds)
                try store.flush()
                #expect(try tableTimes(path) == start + seconds)
            }
        }
    }

    @Test func `are of the row as housekeeping has left it`() throws {
        try withDatabasePath { path in
            let store = try aloneStore(path)
            _ = try store.register([makeBinding(expires: 60, keep: 60)], now: start)
            try store.flush()
            _ = try store.bindings(of: aor, now: start)
            _ = try store.register([refresh(after: 30)], now: start + 30)
            #expect(try store.forget(now: start + 60, limit: 10) == 0)
            for seconds in [61, 80] as [Int64] {
                _ = try store.register([refresh(after: seconds)], now: start + seconds)
                try store.flush()
                let read = try SQLiteStore(reading: path).bindings(of: aor, now: start + seconds)
                #expect(read == [refresh(after: seconds)])
            }
            #expect(try store.forget(now: first.forgetAt + 70, limit: 10) == 0)
            #expect(try store.bindings(of: aor, now: first.forgetAt + 70) == [refresh(after: 80)])
        }
    }

    @Test(arguments: [600, 86_400, 90_000] as [Int64])
    func `may be lost without the loss of a phone that is registered`(keep: Int64) throws {
        try withDatabasePath { path in
            let store = try aloneStore(path)
            let first = makeBinding(expires: 600, keep: keep)
            for seconds in stride(from: 0, through: 86_100, by: 300) as StrideThrough<Int64> {
                _ = try store.register([refresh(after: seconds, of: first)], now: start + seconds)
                try store.flush()
            }
            unlink(path + "-times")
            let read = try SQLiteStore(reading: path).bindings(of: aor, now: start + 86_100 + 599)
            #expect(read.count == 1)
        }
    }

    @Test(arguments: [0, 60] as [Int64]) func `do not undo the end of a registration`(seconds: Int64) throws {
        try withStore { (store, path) throws in
            _ = try store.register([refresh(after: seconds)], now: start + seconds)
            let before = try #require(TimesFile(storePath: path)).places(ofUser: 1)
            try #require(before[0] != nil)
            try store.endRegistrations(.all, of: aor, now: start + 70)
            // As a process leaves them that is killed before they are cleared, or that knows of no places.
            try #require(TimesFile(storePath: path)).write([(first: 1 << 8, places: [#require(before[0])])])
            #expect(try SQLiteStore(reading: path).bindings(of: aor, now: start).map(\.expiresAt) == [start + 70])
        }
    }

    @Test func `have a place of their own for each of many rows`() throws {
        try withTemporaryDirectory { directory in
            let file = try #require(TimesFile(storePath: directory + "/bindings.db"))
            let users = (1...300 as ClosedRange<Int64>).map { uid in
                let places = (0..<(uid % 3)).map { slot in
                    TimesFile.Place(of: makeBinding(cseq: UInt32(uid * 4 + slot), at: start + uid))
                }
                return (first: uid << 8, places: places)
            }
            let rows = users.flatMap { user in
                user.places.enumerated().map { (id: user.first + Int64($0), place: $1) }
            }
            file.write(users)
            var found: [Int64: TimesFile.Place] = [:]
            try file.forEach(users: 7) { places throws(StoreError) in
                for (id, place) in places { found[id] = place }
            }
            #expect(found.count == rows.count)
            for row in rows { #expect(found[row.id] == row.place) }
            file.clear(rows[0].id)
            #expect(file.places(ofUser: 1) == [nil, nil])
            #expect(file.places(ofUser: 1 << 50) == [nil, nil])
        }
    }
}
