// SPDX-License-Identifier: MIT

import PushWakeCore

/// A row of the table `bindings`, decoded, with its newest times.
struct StoredRow {
    let id: Int64
    var binding: Binding
    /// What the table has; the binding may have newer times from the file beside it.
    var base: TimesFile.Base
    /// Its times are from that file.
    var isRenewed = false

    /// A row as the table has it.
    init(id: Int64, _ binding: Binding) {
        self.id = id
        self.binding = binding
        base = TimesFile.Base(registeredAt: binding.registeredAt, cseq: binding.cseq)
    }
}

extension SQLiteStore {
    /// Gives the rows of one user the times of their last REGISTER.
    func renew(_ rows: inout [StoredRow]) {
        guard let times, let first = rows.first, TimesFile.hasPlace(first.id) else { return }
        let places = times.places(ofUser: first.id >> 8)
        for index in rows.indices {
            let slot = Int(rows[index].id & 0xFF)
            guard slot < places.count, let place = places[slot], place.base == rows[index].base else { continue }
            place.times.apply(to: &rows[index].binding)
            rows[index].isRenewed = true
        }
    }

    /// The table has newer times of these rows, or they are gone.
    ///
    /// ORDER: after the transaction. A process that is killed before leaves places of rows that are no more, which nobody
    /// takes for others.
    func forgetTimes(of rows: [StoredRow]) {
        for row in rows where row.isRenewed { times?.clear(row.id) }
    }

    private static let timesUpdate = "UPDATE bindings SET \(BindingRow.timeColumns) WHERE id = ?"

    /// Overwrites the times of a row.
    func update(_ times: TimesFile.Times, id: Int64) throws(StoreError) {
        let update = try database.statement(Self.timesUpdate)
        try BindingRow.bind(times, to: update)
        try update.bind(BindingRow.times + 1, id)
        try update.run()
    }

    /// Brings the times of all rows into the table, for what looks at all of them there. It takes some 10 us for each row,
    /// and is rare.
    func foldTimes() throws(StoreError) {
        guard let times, !times.isEmpty else { return }
        try times.forEach { places throws(StoreError) in
            try write { () throws(StoreError) in
                for (id, place) in places where try base(of: id) == place.base { try update(place.times, id: id) }
            }
        }
        // ORDER: when all of them are in the table.
        times.clearAll()
    }

    private func base(of id: Int64) throws(StoreError) -> TimesFile.Base? {
        let query = try database.statement("SELECT registered_at, cseq FROM bindings WHERE id = ?")
        defer { query.reset() }
        try query.bind(1, id)
        guard try query.step() else { return nil }
        return TimesFile.Base(registeredAt: query.number(0), cseq: UInt32(truncatingIfNeeded: query.number(1)))
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

    private func newestTimes(of row: (id: Int64, base: TimesFile.Base)) -> TimesFile.Times? {
        guard let times, TimesFile.hasPlace(row.id) else { return nil }
        let place = times.places(ofUser: row.id >> 8)[Int(row.id & 0xFF)]
        return place.flatMap { $0.base == row.base ? $0.times : nil }
    }

    private func over(now: Int64, limit: Int) throws(StoreError) -> [(id: Int64, base: TimesFile.Base)] {
        let query = try database.statement(
            "SELECT id, registered_at, cseq FROM bindings WHERE forget_at <= ? ORDER BY forget_at, id LIMIT ?")
        defer { query.reset() }
        try query.bind(1, now)
        try query.bind(2, Int64(limit))
        var rows: [(id: Int64, base: TimesFile.Base)] = []
        while try query.step() {
            let base = TimesFile.Base(
                registeredAt: query.number(1), cseq: UInt32(truncatingIfNeeded: query.number(2)))
            rows.append((query.number(0), base))
        }
        return rows
    }

    /// Users with rows after `cursor` in the order of bytes, and when the last of these is over by the table.
    func usersWithRows(after cursor: String, limit: Int) throws(StoreError) -> [(aor: String, forgetAt: Int64)] {
        // The order of the join is the one that gives users in order.
        let query = try database.statement(
            """
            SELECT aor, max(+forget_at) FROM users CROSS JOIN bindings ON id BETWEEN uid << 8 AND uid << 8 | 255
            WHERE aor > ? GROUP BY aor ORDER BY aor LIMIT ?
            """)
        defer { query.reset() }
        try query.bind(1, cursor)
        try query.bind(2, Int64(limit))
        var users: [(aor: String, forgetAt: Int64)] = []
        while try query.step() { users.append((query.text(0), query.number(1))) }
        return users
    }
}
