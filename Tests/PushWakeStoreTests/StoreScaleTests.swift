// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeStore
import Testing

/// Room and time per binding. `PUSHWAKE_SCALE=1000000 swift test -c release --filter Scale` measures in full.
@Suite struct `The scale of a SQLite store` {
    @Test(arguments: [(SampleKind.apns, 360), (.fcm, 420)])
    func `keeps a binding in few bytes, indices included`(kind: SampleKind, limit: Int) throws {
        let count = scale ?? 5000
        try withDatabasePath { path in
            try fill(path, with: kind, count: count)
            let perBinding = Double(try fileSize(path)) / Double(count)
            if scale != nil { print("scale: \(kind.rawValue): \(count) bindings, \(perBinding) bytes each") }
            #expect(perBinding <= Double(limit))
        }
    }

    @Test func `keeps a PURR in few bytes, and finds its device as fast among many as among few`() throws {
        let users = scale.map { $0 / 10 } ?? 600
        try withDatabasePath { path in
            try fill(path, with: .apns, count: users)
            let before = try fileSize(path)
            let purrs = try tell(path, users: users, days: 8)
            let perPURR = Double(try fileSize(path) - before) / Double(purrs.count)
            let times = try [10, users].map { count in
                try purrTime(SQLiteStore(path: path), purrs.prefix(count * 8))
            }
            if scale != nil { print("scale: \(purrs.count) PURRs, \(perPURR) bytes each, us per use: \(times)") }
            #expect(perPURR <= 100)
            #expect(times[1] < 4 * times[0])
        }
    }

    @Test func `looks up as fast among many as among few`() throws {
        let many = scale ?? 5000
        try withTemporaryDirectory { directory in
            let times = try [1000, many].map { count in
                let path = directory + "/\(count).db"
                try fill(path, with: .apns, count: count)
                let store = try SQLiteStore(path: path)
                return try (lookup: lookupTime(in: store, users: count), refresh: refreshTime(in: store, users: count))
            }
            if scale != nil { for time in times { print("scale: us per lookup and refresh: \(time)") } }
            #expect(times[1].lookup < 4 * times[0].lookup)
        }
    }

    private var scale: Int? { getenv("PUSHWAKE_SCALE").flatMap { Int(String(cString: $0)) } }

    /// Registers users one by one; closing the store empties the log into the file.
    private func fill(_ path: String, with kind: SampleKind, count: Int) throws {
        let store = try SQLiteStore(path: path)
        var samples = SampleBindings(kind: kind)
        for index in 0..<count { _ = try store.register([samples.make(user: index)], now: start) }
        #expect(try store.count() == count)
    }

    /// Tells every user's phone a PURR a day.
    private func tell(_ path: String, users: Int, days: Int64) throws -> [PURR] {
        let store = try SQLiteStore(path: path)
        var purrs: [PURR] = []
        for user in 0..<users {
            let now = start + Int64(user)
            let binding = try #require(store.bindings(of: SampleBindings.aor(of: user), now: now).first)
            for day in 0..<days { purrs.append(try store.told(binding, now: now + day * 86_400)) }
        }
        return purrs
    }

    /// Microseconds of one use of a PURR, from the first of the list to the last and again.
    private func purrTime(_ store: SQLiteStore, _ purrs: ArraySlice<PURR>) throws -> Double {
        let calls = 4000
        let step = 7919
        let begin = microseconds()
        for call in 0..<calls {
            let purr = purrs[purrs.startIndex + call * step % purrs.count]
            #expect(try store.bindings(ofPURR: purr, now: start).count == 1)
        }
        return (microseconds() - begin) / Double(calls)
    }

    private func lookupTime(in store: SQLiteStore, users: Int) throws -> Double {
        var random = SampleBindings(kind: .apns)
        let calls = scale == nil ? 2000 : 20_000
        let begin = microseconds()
        for _ in 0..<calls {
            let aor = SampleBindings.aor(of: random.number(below: users))
            #expect(try store.bindings(of: aor, now: start).count == 1)
        }
        return (microseconds() - begin) / Double(calls)
    }

    private func refreshTime(in store: SQLiteStore, users: Int) throws -> Double {
        var random = SampleBindings(kind: .apns)
        let calls = scale == nil ? 500 : 5000
        let begin = microseconds()
        for _ in 0..<calls {
            let aor = SampleBindings.aor(of: random.number(below: users))
            var bindings = try store.bindings(of: aor, now: start)
            for index in bindings.indices { bindings[index].cseq += 1; bindings[index].forgetAt += 60 }
            _ = try store.register(bindings, now: start)
        }
        return (microseconds() - begin) / Double(calls)
    }

    private func fileSize(_ path: String) throws -> Int {
        var status = stat()
        #expect(stat(path, &status) == 0)
        return Int(status.st_size)
    }

    /// Processor time of this thread: the machine is shared.
    private func microseconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }
}
