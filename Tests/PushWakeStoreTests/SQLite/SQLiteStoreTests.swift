// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import Testing

@testable import PushWakeStore

@Suite struct `A SQLite store` {
    // MARK: The file

    @Test func `makes its file for nobody else and its directory for the group`() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/new/bindings.db"
            let store = try SQLiteStore(path: path)
            _ = try store.register([makeBinding()], now: start)
            for file in [path, path + "-wal", path + "-shm"] { #expect(mode(of: file) == 0o600) }
            #expect(mode(of: directory + "/new") == 0o750)
            #expect(try store.count() == 1)
        }
    }

    @Test func `keeps others from a file that they could read`() throws {
        try withDatabasePath { path in
            try write([], to: path)
            #expect(chmod(path, 0o644) == 0)
            let store = try SQLiteStore(path: path)
            _ = try store.register([makeBinding()], now: start)
            for file in [path, path + "-wal", path + "-shm"] { #expect(mode(of: file) == 0o640) }
        }
    }

    @Test func `numbers users who come in a group once each`() throws {
        try withTemporaryDirectory { directory in
            _ = try SQLiteStore(path: directory + "/bindings.db").register([makeBinding(aor: "old")], now: start)
            let database = try SQLiteDatabase(path: directory + "/bindings.db", busyTimeout: 100)
            let users = UserTable(database)
            let old = try users.findOrAdd("old").slots
            let group = try users.findOrAdd(["a", "old", "b", "a"])
            #expect(group.map(\.aor) == ["a", "old", "b", "a"])
            #expect(group[0].slots == group[3].slots && group[1].slots == old)
            #expect(Set(group.map(\.slots)).count == 3)
            #expect(try users.findOrAdd("c").slots.lowerBound > group[2].slots.lowerBound)
            #expect(try users.findOrAdd(["old", "b"]).map(\.slots) == [old, group[2].slots])
            #expect(try database.number("SELECT count(*) FROM users") == 4)
        }
    }

    @Test func `has its bindings after it was closed and opened again`() throws {
        try withDatabasePath { path in
            for index in 0..<3 {
                let store = try SQLiteStore(path: path)
                #expect(try store.count() == index)
                _ = try store.register([makeBinding(aor: "user\(index)")], now: start)
            }
            let store = try SQLiteStore(path: path)
            #expect(try store.aors(after: "", limit: 9, now: start) == ["user0", "user1", "user2"])
            #expect(try store.bindings(of: "user1", now: start) == [makeBinding(aor: "user1")])
        }
    }

    @Test(arguments: [":memory:", "file:x?mode=memory", "a b%20c'.db"])
    func `takes any name for a file`(name: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/" + name
            _ = try SQLiteStore(path: path).register([makeBinding()], now: start)
            #expect(try SQLiteStore(path: path).count() == 1)
            #expect(mode(of: path) == 0o600)
        }
    }

    @Test(arguments: [
        "", "/", "/dev/null", "/dev/full", "/proc/nothing/bindings.db", "/no/such/place/bindings.db", "a\u{0}b",
    ])
    func `says which path cannot be used and what to do`(path: String) throws {
        let error = #expect(throws: StoreError.self) { try SQLiteStore(path: path) }
        guard case .unusable(let text) = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect(text.contains(path))
        #expect(text.contains("; "))
    }

    @Test func `refuses a directory`() throws {
        try withTemporaryDirectory { directory in
            #expect(
                throws: StoreError.unusable(
                    "\(directory) is not a regular file; move it away, or set store_path to another place")
            ) {
                try SQLiteStore(path: directory)
            }
        }
    }

    // MARK: What is in it

    @Test(arguments: [100, 4096, 20_000])
    func `leaves a damaged file as it is`(size: Int) throws {
        try withDatabasePath { path in
            let bytes = [UInt8](repeating: 0x55, count: size)
            try write(bytes, to: path)
            let error = #expect(throws: StoreError.self) { try SQLiteStore(path: path) }
            guard case .corrupt(let text) = error else { return #expect(Bool(false), "\(String(describing: error))") }
            #expect(text.contains(path) && text.contains("move it away"))
            #expect(try read(path) == bytes)
        }
    }

    @Test func `gives up a row that cannot be read, says so once, and takes the phone back`() throws {
        try withDatabasePath { path in
            func phone(_ name: String, cseq: UInt32 = 1) -> Binding {
                makeBinding(token: name, instance: name, contact: "sip:\(name)@192.0.2.1", callID: name, cseq: cseq)
            }
            do {
                let store = try SQLiteStore(path: path)
                for name in ["a", "b"] { _ = try store.register([phone(name)], now: start) }
            }
            try SQLiteDatabase(path: path, busyTimeout: 0).execute(
                "UPDATE bindings SET extra = x'ff' WHERE id & 255 = 0")
            let store = try SQLiteStore(path: path)
            var lines: [String] = []
            store.onDamage = { lines.append($0) }
            for _ in 0..<3 { #expect(try store.bindings(of: "alice@example.com", now: start).map(\.token) == ["b"]) }
            #expect(lines.count == 1 && lines.first?.contains("alice@example.com cannot be read") == true)
            _ = try store.register([phone("a", cseq: 2)], now: start)
            #expect(Set(try store.bindings(of: "alice@example.com", now: start).map(\.token)) == ["a", "b"])
            #expect(try store.count() == 2)
            #expect(lines.count == 1)
        }
    }

    @Test func `answers damage in the middle with an error`() throws {
        try withDatabasePath { path in
            do {
                let store = try SQLiteStore(path: path)
                for index in 0..<500 { _ = try store.register([makeBinding(aor: "user\(index)")], now: start) }
            }
            let whole = try read(path)
            var random = SampleBindings(kind: .apns)
            var failures = 0
            for _ in 0..<20 {
                var bytes = whole
                for _ in 0..<20 {
                    let page = 1 + random.number(below: bytes.count / 4096 - 1)
                    let from = page * 4096 + random.number(below: 4000)
                    for index in from..<min(from + 60, bytes.count) { bytes[index] = UInt8(random.number(below: 256)) }
                }
                try write(bytes, to: path)
                do { try useEverything(of: SQLiteStore(path: path)) } catch is StoreError { failures += 1 }
                for end in ["-wal", "-shm"] { unlink(path + end) }
            }
            #expect(failures > 0)
        }
    }

    @Test func `refuses the file of another program`() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/other.db"
            try write([], to: path)
            do { try SQLiteDatabase(path: path, busyTimeout: 0).execute("CREATE TABLE cookies(x)") }
            let before = try read(path)
            let text = "\(path) is a SQLite file of another program; set store_path to another file"
            #expect(throws: StoreError.unusable(text)) {
                try SQLiteStore(path: path)
            }
            #expect(try read(path) == before)
        }
    }

    @Test func `refuses the file of a newer release`() throws {
        try withDatabasePath { path in
            do { _ = try SQLiteStore(path: path) }
            do { try SQLiteDatabase(path: path, busyTimeout: 0).execute("PRAGMA user_version=99") }
            let error = #expect(throws: StoreError.self) { try SQLiteStore(path: path) }
            guard case .unusable(let text) = error else { return #expect(Bool(false), "\(String(describing: error))") }
            #expect(text.contains("newer release"))
        }
    }

    @Test func `brings an older file up to date step by step`() throws {
        try withDatabasePath { path in
            do { _ = try SQLiteStore(path: path).register([makeBinding()], now: start) }
            let database = try SQLiteDatabase(path: path, busyTimeout: 0)
            let steps = SQLiteSchema.steps + ["ALTER TABLE users ADD COLUMN note TEXT", "UPDATE users SET note = 'x'"]
            try SQLiteSchema.prepare(database, path: path, steps: steps)
            #expect(try database.number("PRAGMA user_version") == Int64(steps.count))
            #expect(try database.text("SELECT note FROM users") == "x")
        }
    }

    @Test func `keeps the old format when a step fails`() throws {
        try withDatabasePath { path in
            do { _ = try SQLiteStore(path: path).register([makeBinding()], now: start) }
            let database = try SQLiteDatabase(path: path, busyTimeout: 0)
            let steps = SQLiteSchema.steps + ["DELETE FROM users; DELETE FROM no_such_table"]
            #expect(throws: StoreError.self) { try SQLiteSchema.prepare(database, path: path, steps: steps) }
            #expect(try database.number("PRAGMA user_version") == Int64(SQLiteSchema.steps.count))
            #expect(try database.number("SELECT count(*) FROM users") == 1)
        }
    }

    // MARK: Room

    @Test func `changes nothing and still reads when no room is left`() throws {
        try withDatabasePath { path in
            let store = try SQLiteStore(path: path, options: .init(pageLimit: 24))
            var stored = 0
            let error = #expect(throws: StoreError.self) {
                while stored < 10_000 {
                    _ = try store.register([makeBinding(aor: "user\(stored)")], now: start)
                    stored += 1
                }
            }
            guard case .full(let text) = error else { return #expect(Bool(false), "\(String(describing: error))") }
            #expect(text.contains(path) && text.contains("free space"))
            #expect(stored > 10)
            #expect(try store.count() == stored)
            #expect(try store.bindings(of: "user\(stored)", now: start).isEmpty)
            #expect(try store.bindings(of: "user\(stored - 1)", now: start).count == 1)
            #expect(try store.forget(now: .max, limit: stored) == stored)
            _ = try store.register([makeBinding()], now: start)
            #expect(try store.count() == 1)
        }
    }

    @Test(.enabled(if: SmallDisk.isAvailable)) func `bears a full disk and goes on when there is room again`() throws {
        let disk = try #require(SmallDisk(kibibytes: 600))
        defer { withExtendedLifetime(disk) {} }
        let path = disk.path + "/bindings.db"
        let store = try SQLiteStore(path: path)
        let ballast = [UInt8](repeating: 1, count: 300_000)
        try write(ballast, to: disk.path + "/ballast")
        var stored = 0
        let error = #expect(throws: StoreError.self) {
            while stored < 10_000 {
                _ = try store.register([makeBinding(aor: "user\(stored)")], now: start)
                stored += 1
            }
        }
        guard case .full(let text) = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect(text.contains(path) && text.contains("free space"))
        #expect(try store.count() == stored)
        for index in 0..<stored { #expect(try store.bindings(of: "user\(index)", now: start).count == 1) }
        // There may be room for a page or two.
        #expect(throws: StoreError.self) { for _ in 0..<200 { try store.tryWriting() } }

        unlink(disk.path + "/ballast")
        try store.tryWriting()
        _ = try store.register([makeBinding(aor: "late")], now: start)
        #expect(try SQLiteStore(path: path).count() == stored + 1)
    }

    @Test(.enabled(if: SmallDisk.isAvailable)) func `says that a full disk has no room for a new file`() throws {
        let disk = try #require(SmallDisk(kibibytes: 16))
        defer { withExtendedLifetime(disk) {} }
        try write([UInt8](repeating: 1, count: 64_000), to: disk.path + "/ballast", isWhole: false)
        let error = #expect(throws: StoreError.self) { try SQLiteStore(path: disk.path + "/bindings.db") }
        guard case .full = error else { return #expect(Bool(false), "\(String(describing: error))") }
    }

    @Test(.enabled(if: SmallDisk.isAvailable)) func `says that a disk cannot be written`() throws {
        let disk = try #require(SmallDisk(kibibytes: 600))
        defer { withExtendedLifetime(disk) {} }
        let path = disk.path + "/bindings.db"
        _ = try SQLiteStore(path: path).register([makeBinding()], now: start)
        #expect(disk.makeReadOnly())
        for name in [path, disk.path + "/new.db", disk.path + "/new/new.db"] {
            let error = #expect(throws: StoreError.self) { try SQLiteStore(path: name) }
            guard case .unusable(let text) = error else { return #expect(Bool(false), "\(String(describing: error))") }
            #expect(text.contains(name) && text.contains("Read-only file system"))
        }
    }

    @Test func `keeps apps past the table of kinds in the rows`() throws {
        try withDatabasePath { path in
            let store = try SQLiteStore(path: path)
            let database = try SQLiteDatabase(path: path, busyTimeout: 0)
            try database.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(BindingKindTable.limit - 1))
                INSERT INTO kinds SELECT i, 1, 0, 0, 1, 'app ' || i, '' FROM n
                """)
            for index in 0..<3 {
                var binding = makeBinding(aor: "user\(index)", app: "another.\(index)", service: nil)
                binding.attributes["pn-timeout"] = "0"
                _ = try store.register([binding], now: start)
                #expect(try store.bindings(of: binding.aor, now: start) == [binding])
                _ = try store.remove(.all, of: binding.aor, reason: "by hand", now: start)
                #expect(try store.removed(of: binding.aor).map(\.binding) == [binding])
            }
            #expect(try database.number("SELECT count(*) FROM kinds") == BindingKindTable.limit)
        }
    }

    @Test func `drops users of whom nothing is left`() throws {
        try withDatabasePath { path in
            let store = try SQLiteStore(path: path, options: .init(tombstoneLifetime: 10))
            for index in 0..<50 {
                _ = try store.register([makeBinding(aor: "user\(index)", keep: index == 7 ? 1000 : 10)], now: start)
            }
            _ = try store.remove(.all, of: "user9", reason: "by hand", now: start + 5)
            for _ in 0..<40 { _ = try store.forget(now: start + 20, limit: 4) }
            #expect(try SQLiteDatabase(path: path, busyTimeout: 0).number("SELECT count(*) FROM users") == 1)
            #expect(try store.count() == 1)
        }
    }

    // MARK: Others

    @Test func `shares its file with another store`() throws {
        try withDatabasePath { path in
            let stores = [try SQLiteStore(path: path), try SQLiteStore(path: path)]
            for index in 0..<40 {
                let binding = makeBinding(
                    aor: "user\(index % 7)", app: "app\(index % 3)", token: "t\(index)", cseq: UInt32(index))
                _ = try stores[index % 2].register([binding], now: start)
                #expect(try stores[1 - index % 2].bindings(of: binding.aor, now: start) == [binding])
            }
            #expect(try stores[0].count() == 7)
            #expect(try stores[1].count() == 7)
        }
    }

    @Test func `says that another process holds the lock`() throws {
        try withDatabasePath { path in
            let store = try SQLiteStore(path: path, options: .init(busyTimeout: 5))
            _ = try store.register([makeBinding()], now: start)
            let other = try SQLiteDatabase(path: path, busyTimeout: 0)
            try other.execute("BEGIN IMMEDIATE")
            let error = #expect(throws: StoreError.self) { try store.register([makeBinding(aor: "bob")], now: start) }
            guard case .unusable(let text) = error else { return #expect(Bool(false), "\(String(describing: error))") }
            #expect(text.contains("locked by another process"))
            #expect(try store.bindings(of: "alice@example.com", now: start).count == 1)
            try other.execute("ROLLBACK")
            _ = try store.register([makeBinding(aor: "bob")], now: start)
            #expect(try store.count() == 2)
        }
    }

    @Test func `empties its log without waiting for a reader`() throws {
        try withDatabasePath { path in
            let store = try SQLiteStore(path: path)
            let checkpointer = try SQLiteCheckpointer(path: path)
            _ = try store.register([makeBinding()], now: start)
            #expect(try checkpointer.run() == 0)

            let reader = try SQLiteDatabase(path: path, busyTimeout: 0)
            try reader.execute("BEGIN")
            _ = try reader.number("SELECT count(*) FROM users")
            _ = try store.register([makeBinding(aor: "bob")], now: start)
            #expect(try checkpointer.run() > 0)
            try reader.execute("COMMIT")
            #expect(try checkpointer.run() == 0)
        }
    }

    @Test func `has its log emptied by a thread that ends with its owner`() throws {
        try withDatabasePath { path in
            let store = try SQLiteStore(path: path)
            let before = size(of: path)
            let thread = try CheckpointThread(path: path, everyMilliseconds: 10)
            for index in 0..<200 { _ = try store.register([makeBinding(aor: "user\(index)")], now: start) }
            for _ in 0..<500 where size(of: path) < before + 8 * 4096 { usleep(10_000) }
            #expect(size(of: path) >= before + 8 * 4096)
            #expect(try store.count() == 200)
            #expect(thread.takeFailure() == nil)
        }
    }

    @Test(arguments: [Int64.min, -1, .max - 1, .max])
    func `stores phones whatever numbers its apps have`(id: Int64) throws {
        try withDatabasePath { path in
            let store = try SQLiteStore(path: path)
            try SQLiteDatabase(path: path, busyTimeout: 100).execute("INSERT INTO kinds(id) VALUES(\(id))")
            _ = try store.register([makeBinding()], now: start)
            #expect(try store.bindings(of: "alice@example.com", now: start) == [makeBinding()])
        }
    }

    @Test func `tells errors as text`() {
        #expect("\(StoreError.full("no room"))" == "no room")
    }

    @Test func `bounds its log when nobody checkpoints`() throws {
        try withDatabasePath { path in
            let store = try SQLiteStore(path: path, options: .init(logLimit: 64))
            for index in 0..<2000 { _ = try store.register([makeBinding(aor: "user\(index)")], now: start) }
            #expect(size(of: path + "-wal") < 128 * 4200)
            #expect(size(of: path) > 100_000)
        }
    }

    // MARK: Helpers

    private func useEverything(of store: SQLiteStore) throws {
        for index in stride(from: 0, to: 500, by: 23) {
            _ = try store.bindings(of: "user\(index)", now: start)
            _ = try store.register([makeBinding(aor: "user\(index)", cseq: 2)], now: start)
        }
        _ = try store.aors(after: "", limit: 1000, now: start)
        _ = try store.purr(of: makeBinding(aor: "user2"), now: start) { PURR(high: 1, low: 2) }
        _ = try store.bindings(ofPURR: PURR(high: 1, low: 2), now: start)
        _ = try store.remove(.all, of: "user1", reason: "by hand", now: start)
        _ = try store.forget(now: .max, limit: 1000)
    }

    private func mode(of path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : nil
    }

    private func size(of path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    private func write(_ bytes: [UInt8], to path: String, isWhole: Bool = true) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        #expect(Glibc.write(descriptor, bytes, bytes.count) == bytes.count || !isWhole)
    }

    private func read(_ path: String) throws -> [UInt8] {
        let descriptor = open(path, O_RDONLY)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: size(of: path))
        #expect(Glibc.read(descriptor, &bytes, bytes.count) == bytes.count)
        return bytes
    }
}
