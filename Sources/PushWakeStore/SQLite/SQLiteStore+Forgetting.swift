// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// What is over goes, a few rows at a time.
extension SQLiteStore {
    /// Drops what is over, at most `limit` rows; gives how many went.
    public func forget(now: Int64, limit: Int) throws(StoreError) -> Int {
        var touched: [Int64] = []
        return try forget(now: now, limit: limit, touched: &touched)
    }

    /// The same; `touched` gets the ids of rows that are gone or have other times now.
    func forget(now: Int64, limit: Int, touched: inout [Int64]) throws(StoreError) -> Int {
        guard limit > 0 else { return 0 }
        let count = try write { () throws(StoreError) -> Int in
            let bindings = try dropOver(now: now, limit: limit, &touched)
            try users.countLive(by: -bindings)
            let tombstones = try delete(
                "DELETE FROM marks WHERE id IN (SELECT id FROM marks WHERE removed_at <= ? LIMIT ?)",
                now.addingSaturating(-tombstoneLifetime), limit - bindings)
            try users.sweep(limit: limit, somethingWent: bindings + tombstones > 0)
            return bindings + tombstones
        }
        for id in touched { times?.clear(id) }
        return count
    }

    /// Deletes bindings whose time is over, at most `limit`; gives how many. Those that have registered since the table was
    /// written stay, with their times in it. `touched` gets the ids of all.
    func dropOver(now: Int64, limit: Int, _ touched: inout [Int64]) throws(StoreError) -> Int {
        var gone = 0
        // A round finds nothing but bindings that stay where many do.
        for _ in 0..<4 {
            let over = try over(now: now, limit: limit - gone)
            var stay = 0
            for row in over {
                touched.append(row.id)
                if let newest = newestTimes(of: row), newest.forgetAt > now {
                    try update(newest, id: row.id)
                    stay += 1
                } else {
                    try run("DELETE FROM purrs WHERE id = ?", row.id)
                    try run("DELETE FROM bindings WHERE id = ?", row.id)
                    gone += 1
                }
            }
            if stay == 0 || gone == limit { break }
        }
        return gone
    }

    func newestTimes(of row: (id: Int64, base: TimesFile.Base)) -> TimesFile.Times? {
        guard let times, TimesFile.hasPlace(row.id) else { return nil }
        let place = times.places(ofUser: row.id >> 8)[Int(row.id & 0xFF)]
        return place.flatMap { $0.base == row.base ? $0.times : nil }
    }

    private func over(now: Int64, limit: Int) throws(StoreError) -> [(id: Int64, base: TimesFile.Base)] {
        let query = try database.statement(
            "SELECT id, \(Self.baseColumns) FROM bindings WHERE forget_at <= ? ORDER BY forget_at, id LIMIT ?")
        defer { query.reset() }
        try query.bind(1, now)
        try query.bind(2, Int64(limit))
        var rows: [(id: Int64, base: TimesFile.Base)] = []
        while try query.step() { rows.append((query.number(0), base(query, at: 1))) }
        return rows
    }

    private func delete(_ sql: String, _ time: Int64, _ limit: Int) throws(StoreError) -> Int {
        let statement = try database.statement(sql)
        try statement.bind(1, time)
        try statement.bind(2, Int64(max(0, limit)))
        try statement.run()
        return database.changes
    }
}
