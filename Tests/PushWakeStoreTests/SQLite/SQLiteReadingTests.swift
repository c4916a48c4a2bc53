// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import Testing

@testable import PushWakeStore

@Suite struct `A store that is only read` {
    private func binding(_ token: String) -> Binding {
        Binding(
            aor: "bob", provider: .fcm, app: "com.example.phone", token: token, dialect: .mpush,
            contact: "sip:bob@192.0.2.1", callID: token, registeredAt: 1, expiresAt: 600, forgetAt: 1000)
    }

    @Test func `has what was stored, beside a writer and without one`() throws {
        let directory = try makeTemporaryDirectory()
        defer { removeDirectory(directory) }
        let path = directory + "/b.db"
        do {
            let writer = try SQLiteStore(path: path)
            _ = try writer.register([binding("one")], now: 1)
            let reader = try SQLiteStore(reading: path)
            #expect(try reader.bindings(of: "bob", now: 2).map(\.token) == ["one"])
            _ = try writer.register([binding("two")], now: 2)
            #expect(try reader.bindings(of: "bob", now: 3).map(\.token) == ["two"])
            #expect(throws: StoreError.self) { try reader.register([binding("three")], now: 3) }
        }
        #expect(try SQLiteStore(reading: path).bindings(of: "bob", now: 3).map(\.token) == ["two"])
    }

    @Test func `makes no file, and takes no other`() throws {
        let directory = try makeTemporaryDirectory()
        defer { removeDirectory(directory) }
        let path = directory + "/none.db"
        #expect(throws: StoreError.self) { try SQLiteStore(reading: path) }
        #expect(access(path, F_OK) != 0)
        #expect(throws: StoreError.self) { try SQLiteStore(reading: directory) }
        close(open(path, O_CREAT | O_WRONLY, 0o600))
        #expect(throws: StoreError.self) { try SQLiteStore(reading: path) }
    }

    @Test func `is read at rest where its directory may not be written to`() throws {
        let directory = try makeTemporaryDirectory()
        defer { removeDirectory(directory) }
        let path = directory + "/a%20?b#.db"
        do { _ = try SQLiteStore(path: path).register([binding("one")], now: 1) }
        let atRest = try SQLiteDatabase(path: path, access: .immutable, busyTimeout: 10)
        try SQLiteSchema.check(atRest, path: path)
        #expect(try atRest.number("SELECT count(*) FROM bindings") == 1)
    }
}
