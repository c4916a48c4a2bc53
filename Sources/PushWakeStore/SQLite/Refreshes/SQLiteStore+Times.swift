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
    /// The table has its token in another spelling, as an earlier release took it: the next REGISTER writes all of the row,
    /// since its other columns refer to the token.
    let isRespelled: Bool

    /// A row as the table has it.
    init(id: Int64, _ binding: Binding, isRespelled: Bool = false) {
        self.id = id
        self.binding = binding
        self.isRespelled = isRespelled
        base = TimesFile.Base(of: TimesFile.Times(of: binding))
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
    /// ORDER: after the transaction. A process that is killed before leaves places that fit no row any more.
    func forgetTimes(of rows: [StoredRow]) {
        guard outdated == nil else {
            outdated?.append(contentsOf: rows)
            return
        }
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
        let query = try database.statement("SELECT \(Self.baseColumns) FROM bindings WHERE id = ?")
        defer { query.reset() }
        try query.bind(1, id)
        guard try query.step() else { return nil }
        return base(query, at: 0)
    }

    /// What `base(_:at:)` reads.
    static let baseColumns = "registered_at, cseq, expires_in"

    /// The columns from there on.
    func base(_ row: SQLiteStatement, at column: Int32) -> TimesFile.Base {
        TimesFile.Base(
            registeredAt: row.number(column), cseq: UInt32(truncatingIfNeeded: row.number(column + 1)),
            expiresIn: row.number(column + 2))
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
