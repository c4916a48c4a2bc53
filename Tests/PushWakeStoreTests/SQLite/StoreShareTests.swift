// SPDX-License-Identifier: MIT

import Glibc
import PushWakeStore
import Testing

@Suite struct `Processes that share a store` {
    @Test func `rely on being alone only when they are`() throws {
        try withDatabasePath { path in
            let first = try #require(StoreShare(storePath: path))
            #expect(!first.hasOthers)
            #expect(first.rely())
            #expect(first.rely(), "again")
            #expect(!first.isReliedOn, "by another")

            let second = try #require(StoreShare(storePath: path))
            #expect(second.isReliedOn)
            #expect(first.hasOthers && second.hasOthers)
            #expect(!second.rely())
            #expect(first.rely() && second.isReliedOn, "until it says otherwise")
            first.relyNoMore()
            #expect(!second.isReliedOn)
            #expect(!first.rely() && !second.rely())
            #expect(!first.isReliedOn && !second.isReliedOn)
        }
    }

    @Test func `are forgotten when they end, however they end`() throws {
        try withDatabasePath { path in
            let first = try #require(StoreShare(storePath: path))
            do {
                let second = try #require(StoreShare(storePath: path))
                #expect(first.hasOthers)
                _ = second
            }
            #expect(!first.hasOthers)
            #expect(first.rely())
        }
    }

    @Test func `of two stores know nothing of each other`() throws {
        try withTemporaryDirectory { directory in
            let first = try #require(StoreShare(storePath: directory + "/one.db"))
            let second = try #require(StoreShare(storePath: directory + "/two.db"))
            #expect(first.rely() && second.rely())
        }
    }

    @Test func `cannot be told of where no file can be made`() throws {
        #expect(StoreShare(storePath: "/no/such/place/bindings.db") == nil)
        try withDatabasePath { path in
            mkdir(path + "-lock", 0o700)
            #expect(StoreShare(storePath: path) == nil)
        }
    }

    @Test func `leave a file that only the owner may open`() throws {
        try withDatabasePath { path in
            _ = try #require(StoreShare(storePath: path))
            var status = stat()
            #expect(stat(path + "-lock", &status) == 0)
            #expect(status.st_mode & 0o7777 == 0o600)
        }
    }
}
