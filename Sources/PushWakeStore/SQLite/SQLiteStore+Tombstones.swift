// SPDX-License-Identifier: MIT

public import PushWakeCore

/// What was removed: it stays listed with its reason until the phone registers again, and can be brought back.
extension SQLiteStore {
    /// Reads the tombstones of one user, newest first.
    public func removed(of aor: String) throws(StoreError) -> [RemovedBinding] {
        // One statement, as in `rows(of:)`: this runs for the first refresh of each phone.
        let query = try database.statement(
            """
            SELECT \(BindingRow.columns), removed_at, reason FROM users JOIN marks ON id BETWEEN uid << 8 AND uid << 8 | 255
            WHERE aor = ? ORDER BY id
            """)
        defer { query.reset() }
        try query.bind(1, aor)
        return try tombstones(query, aor).map(\.tombstone).sortedByRemoval()
    }

    /// The same for a user whose rows were read, without a look for the user.
    func removed(of aor: String, with rows: [StoredRow]) throws(StoreError) -> [RemovedBinding] {
        guard let first = rows.first else { return try removed(of: aor) }
        return try tombstones(of: User(aor: aor, uid: first.id >> 8)).map(\.tombstone).sortedByRemoval()
    }

    /// Brings removed bindings back; gives those.
    public func restore(
        of aor: String, now: Int64, where isMeant: (RemovedBinding) -> Bool
    ) throws(StoreError) -> [RemovedBinding] {
        try write { () throws(StoreError) -> [RemovedBinding] in
            guard let user = try users.find(aor) else { return [] }
            let (rows, removed) = (try live(of: user), try tombstones(of: user))
            let lost = try dropDamaged(of: user)
            let back = RestorePlan.tombstones(
                removed.map(\.tombstone), beside: rows.map(\.binding), perUser: perUser, now: now, where: isMeant)
            var free = SlotList(user: user, free: [], taken: rows.map(\.id))
            for index in back {
                let id = free.take()
                // What stood at the place of an earlier row is not of this one.
                times?.clear(id)
                try insert(removed[index].tombstone.binding, id: id)
                try run("DELETE FROM marks WHERE id = ?", removed[index].id)
            }
            try users.countLive(by: back.count - lost)
            return back.map { removed[$0].tombstone }
        }
    }

    /// Lists users with removed bindings.
    public func users(
        removedSince time: Int64, after cursor: String, limit: Int
    ) throws(StoreError) -> (aors: [String], next: String?) {
        // Users and not marks in their order, for which it would take an index.
        let query = try database.statement(
            """
            SELECT aor, EXISTS(SELECT 1 FROM marks WHERE id BETWEEN uid << 8 AND uid << 8 | 255 AND removed_at >= ?)
            FROM users WHERE aor > ? ORDER BY aor LIMIT ?
            """)
        defer { query.reset() }
        try query.bind(1, time)
        try query.bind(2, cursor)
        try query.bind(3, Int64(max(limit, 1)))
        var (found, count, last): ([String], Int, String?) = ([], 0, nil)
        while try query.step() {
            let aor = query.text(0)
            if query.number(1) != 0 { found.append(aor) }
            (count, last) = (count + 1, aor)
        }
        return (found, count < max(limit, 1) ? nil : last)
    }

    func tombstones(of user: User) throws(StoreError) -> [(id: Int64, tombstone: RemovedBinding)] {
        let query = try database.statement(
            "SELECT \(BindingRow.columns), removed_at, reason FROM marks WHERE id BETWEEN ? AND ? ORDER BY id")
        defer { query.reset() }
        try query.bind(1, user.slots.lowerBound)
        try query.bind(2, user.slots.upperBound)
        return try tombstones(query, user.aor)
    }

    private func tombstones(
        _ query: SQLiteStatement, _ aor: String
    ) throws(StoreError) -> [(id: Int64, tombstone: RemovedBinding)] {
        var rows: [(id: Int64, tombstone: RemovedBinding)] = []
        while try query.step() {
            // One that cannot be read is overwritten by the next.
            guard let row = try BindingRow.read(query, aor: aor, kinds: kinds) else { continue }
            let mark = RemovedBinding(
                binding: row.binding, reason: query.text(BindingRow.end + 1), removedAt: query.number(BindingRow.end))
            rows.append((row.id, mark))
        }
        return rows
    }

    /// Remembers what was removed; the oldest give way.
    func mark(_ removed: [RemovedBinding], of user: User) throws(StoreError) {
        let known = try tombstones(of: user)
        let excess = max(0, known.count + removed.count - BindingLimits.tombstonesPerUser)
        let oldest = known.sorted { ($0.tombstone.removedAt, $0.id) < ($1.tombstone.removedAt, $1.id) }.prefix(excess)
        for row in oldest { try run("DELETE FROM marks WHERE id = ?", row.id) }
        var free = SlotList(
            user: user, free: [], taken: known.map(\.id).filter { id in !oldest.contains { $0.id == id } })
        let insertion = try database.statement(
            """
            INSERT OR REPLACE INTO marks(\(BindingRow.columns), removed_at, reason)
            VALUES(\(BindingRow.parameters), ?, ?)
            """)
        for mark in removed.suffix(BindingLimits.tombstonesPerUser) {
            let kindID = try kinds.id(of: BindingKind(of: mark.binding))
            try BindingRow.bind(mark.binding, id: free.take(), kindID: kindID, to: insertion)
            try insertion.bind(BindingRow.end + 1, mark.removedAt)
            try insertion.bind(BindingRow.end + 2, mark.reason)
            try insertion.run()
        }
    }
}

extension SQLiteStore {
    /// Notes that pushes to these were accepted: a part of the column `flags`.
    public func noteAccepted(_ bindings: [Binding], at now: Int64) throws(StoreError) {
        try noteAccepted(bindings, rows: [], at: now)
    }

    /// The same of some rows as well whose ids are known.
    func noteAccepted(_ bindings: [Binding], rows: [Int64], at now: Int64) throws(StoreError) {
        guard !bindings.isEmpty || !rows.isEmpty else { return }
        let change = "UPDATE bindings SET flags = flags | ?1 << 8 WHERE flags >> 8 = 0"
        try write { () throws(StoreError) in
            if !rows.isEmpty {
                let update = try database.statement("\(change) AND id = ?2")
                // Rows of the same page come together.
                for id in rows.sorted() {
                    try update.bind(1, Int64(UInt32(clamping: now)))
                    try update.bind(2, id)
                    try update.run()
                }
            }
            guard !bindings.isEmpty else { return }
            let update = try database.statement("\(change) AND id BETWEEN ?2 AND ?3 AND token = ?4")
            for binding in bindings {
                guard let user = try users.find(binding.aor) else { continue }
                try update.bind(1, Int64(UInt32(clamping: now)))
                try update.bind(2, user.slots.lowerBound)
                try update.bind(3, user.slots.upperBound)
                try update.bind(4, TextPacking.plain.pack(binding.token))
                try update.run()
            }
        }
    }
}
