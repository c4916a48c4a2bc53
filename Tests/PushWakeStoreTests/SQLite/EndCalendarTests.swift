// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeStore

@Suite struct `A calendar of registrations that end` {
    private func ids(_ places: [ExpiryCursor]) -> [Int64] { places.map(\.row) }

    @Test func `has them in their order, each once`() {
        var calendar = EndCalendar()
        let ends: [(id: Int64, end: Int64)] = [(3, 20), (1, 20), (2, 10), (1, 20), (4, 30)]
        for (id, end) in ends { calendar.note(id, end: end) }
        let some = calendar.places(after: ExpiryCursor(time: 0), by: 25, limit: 2)
        #expect(some == [ExpiryCursor(time: 10, row: 2), ExpiryCursor(time: 20, row: 1)])
        #expect(calendar.reached == some.last)
        #expect(ids(calendar.places(after: calendar.reached, by: 25, limit: 2)) == [3])
        #expect(calendar.reached == ExpiryCursor(time: 25))
        #expect(ids(calendar.places(after: calendar.reached, by: 30, limit: 2)) == [4])
    }

    @Test func `finds a row that has moved where it stands, and notes it anew only where it would be missed`() {
        var calendar = EndCalendar()
        calendar.note(1, end: 20)
        calendar.note(1, end: 30, insteadOf: 20)
        #expect(calendar.places(after: ExpiryCursor(time: 0), by: 20, limit: 9).map(\.time) == [20])
        // It is over, and would not be looked at again.
        calendar.note(1, end: 40, insteadOf: 20)
        calendar.note(1, end: 35, insteadOf: 40)
        #expect(calendar.places(after: calendar.reached, by: 50, limit: 9).map(\.time) == [35, 40])
    }

    @Test func `forgets what is over, wherever the clock goes`() {
        var calendar = EndCalendar()
        for end in [Int64.min, -1, 0, 10, .max] { calendar.note(1, end: end) }
        #expect(calendar.places(after: ExpiryCursor(time: 1 << 40), by: 1 << 40, limit: 9).isEmpty)
        calendar.note(2, end: 5)
        #expect(calendar.places(after: ExpiryCursor(time: .max - 1), by: .max - 1, limit: 9).isEmpty)
        #expect(calendar.places(after: ExpiryCursor(time: 0), by: 20, limit: 9).isEmpty)
        calendar.note(3, end: 30)
        #expect(ids(calendar.places(after: calendar.reached, by: 30, limit: 9)) == [3])
    }
}

@Suite struct `Ends that a SQLite store is asked for` {
    private func open(_ path: String, findsEnds: Bool = true) throws -> BufferedStore {
        var options = SQLiteStore.Options()
        options.findsEnds = findsEnds
        let store = try aloneStore(SQLiteStore(path: path, options: options))
        return store
    }

    private func found(
        _ store: some BindingStore, from: Int64 = 0, by end: Int64, own: Bool = false, limit: Int = 50
    ) throws -> [String] {
        try store.ending(
            after: ExpiryCursor(time: start + from), by: start + end, refreshingThemselves: own, limit: limit
        ).found.map { "\($0.binding.aor) \($0.binding.expiresAt - start)" }
    }

    private func put(_ user: Int, at: Int64, cseq: UInt32 = 1, expires: Int64 = 100, in store: BufferedStore) throws {
        let binding = makeBinding(
            aor: "u\(user)", token: "t\(user)", callID: "\(user)", cseq: cseq, at: start + at, expires: expires)
        _ = try store.register([binding], now: start + at)
    }

    @Test func `are learned some rows at a time, the newest times of each`() throws {
        try withDatabasePath { path in
            do {
                let store = try open(path, findsEnds: false)
                for user in 0..<25 { try put(user, at: 0, in: store) }
                try store.flush()
                // In the file of times alone.
                for user in 0..<5 { try put(user, at: 60, cseq: 2, in: store) }
                #expect(try store.learnEnds(limit: 1) && found(store, by: 999).isEmpty)
                store.isAlone = false
            }
            let store = try open(path)
            #expect(try found(store, by: 99).isEmpty)
            var turns = 1
            while try !store.learnEnds(limit: 10) { turns += 1 }
            #expect(turns == 3)
            #expect(try found(store, by: 100).count == 20)
            #expect(try found(store, from: 100, by: 160) == (0..<5).map { "u\($0) 160" })
        }
    }

    @Test func `are those of refreshes, moves and short registrations too`() throws {
        try withTemporaryDirectory { directory in
            let store = try open(directory + "/bindings.db")
            for user in 0..<3 { try put(user, at: 0, in: store) }
            try store.flush()
            _ = try store.learnEnds(limit: 9)
            // The first time the rows are looked at, then only the file of times.
            for seconds in [40, 50, 60] as [Int64] { try put(0, at: seconds, cseq: UInt32(seconds), in: store) }
            try put(1, at: 40, cseq: 2, expires: 30, in: store)
            #expect(try found(store, by: 99) == ["u1 70"])
            #expect(try found(store, from: 99, by: 120) == ["u2 100"])
            // After its push, which is behind the place that was reached.
            try put(2, at: 110, cseq: 2, in: store)
            #expect(try found(store, from: 120, by: 200) == ["u0 160"])
            #expect(try found(store, from: 200, by: 300) == ["u2 210"])
            try store.endRegistrations(.all, of: "u2", now: start + 205)
            #expect(try found(store, from: 200, by: 300).isEmpty)
        }
    }

    @Test func `are found page by page where thousands of phones have refreshed`() throws {
        try withTemporaryDirectory { directory in
            let store = try open(directory + "/bindings.db")
            for user in 0..<60 { try put(user, at: 0, in: store) }
            try store.flush()
            for user in 0..<59 { try put(user, at: 50, cseq: 2, in: store) }
            var reached = ExpiryCursor(time: start)
            var (pages, found) = (0, 0)
            while reached.time < start + 149 {
                let page = try store.ending(after: reached, by: start + 149, refreshingThemselves: false, limit: 2)
                #expect(page.reached > reached)
                (pages, found, reached) = (pages + 1, found + page.found.count, page.reached)
            }
            #expect(pages == 4 && found == 1)
        }
    }

    @Test func `are learned anew when the clock is set back, and where others write`() throws {
        try withDatabasePath { path in
            let store = try open(path)
            try put(0, at: 0, in: store)
            try store.flush()
            #expect(try found(store, by: 3600) == ["u0 100"])
            #expect(try found(store, from: -900, by: 100).isEmpty)
            #expect(try store.learnEnds(limit: 9))
            #expect(try found(store, from: -900, by: 100) == ["u0 100"])
            store.isAlone = false
            let other = try SQLiteStore(path: path)
            _ = try other.register([makeBinding(aor: "u9", at: start, expires: 100)], now: start)
            _ = try store.learnEnds(limit: 9)
            _ = try store.learnEnds(limit: 9)
            #expect(try found(store, from: 0, by: 100).contains("u9 100"))
        }
    }

    @Test func `keep nobody waiting when the store is opened`() throws {
        try withDatabasePath { path in
            do {
                let store = try open(path, findsEnds: false)
                for user in 0..<4000 { try put(user, at: 0, in: store) }
                try store.flush()
                for user in 0..<4000 { try put(user, at: 60, cseq: 2, in: store) }
                store.isAlone = false
            }
            func time(_ findsEnds: Bool) throws -> Duration {
                try ContinuousClock().measure { _ = try open(path, findsEnds: findsEnds) }
            }
            _ = try time(false)
            let times = try (0..<5).map { _ in try (without: time(false), with: time(true)) }
            let (without, with) = (times.map(\.without).min() ?? .zero, times.map(\.with).min() ?? .zero)
            #expect(with < without * 4)
        }
    }
}
