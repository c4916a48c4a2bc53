// SPDX-License-Identifier: MIT

public import PushWakeCore

/// The table `purrs`.
final class PURRTable {
    private let database: SQLiteDatabase

    /// One row of it.
    struct Row {
        let purr: PURR
        /// A binding of the device.
        let id: Int64
        let madeAt: Int64
        let usedAt: Int64
    }

    init(_ database: SQLiteDatabase) { self.database = database }

    /// The row of a PURR; nil when it was never told or counts no more.
    func find(_ purr: PURR, now: Int64) throws(StoreError) -> Row? {
        let query = try database.statement("SELECT id, made_at, used_at FROM purrs WHERE purr = ?")
        defer { query.reset() }
        try query.bind(1, purr.bytes)
        guard try query.step() else { return nil }
        let row = Row(purr: purr, id: query.number(0), madeAt: query.number(1), usedAt: query.number(2))
        return PURRLimits.isOver(usedAt: row.usedAt, now: now) ? nil : row
    }

    /// The one that was made last for a device with these bindings; nil when there is none.
    func newest(of ids: [Int64]) throws(StoreError) -> Row? {
        let query = try database.statement(
            "SELECT purr, made_at, used_at FROM purrs WHERE id = ? ORDER BY made_at DESC LIMIT 1")
        var newest: Row?
        for id in ids {
            defer { query.reset() }
            try query.bind(1, id)
            guard try query.step(), let purr = PURR(bytes: query.bytes(0)) else { continue }
            let row = Row(purr: purr, id: id, madeAt: query.number(1), usedAt: query.number(2))
            if newest.map({ $0.madeAt < row.madeAt }) ?? true { newest = row }
        }
        return newest
    }

    /// Stores a new one. What counts no more goes, and the oldest where there would be too many.
    func insert(_ purr: PURR, of id: Int64, now: Int64) throws(StoreError) {
        let query = try database.statement("SELECT purr, used_at FROM purrs WHERE id = ? ORDER BY made_at DESC")
        try query.bind(1, id)
        var kept = 1
        var gone: [[UInt8]] = []
        while try query.step() {
            if kept >= PURRLimits.perDevice || PURRLimits.isOver(usedAt: query.number(1), now: now) {
                gone.append(query.bytes(0))
            } else {
                kept += 1
            }
        }
        query.reset()
        for bytes in gone {
            let deletion = try database.statement("DELETE FROM purrs WHERE purr = ?")
            try deletion.bind(1, bytes)
            try deletion.run()
        }
        let insertion = try database.statement("INSERT INTO purrs(purr, id, made_at, used_at) VALUES(?, ?, ?, ?)")
        try insertion.bind(1, purr.bytes)
        try insertion.bind(2, id)
        try insertion.bind(3, now)
        try insertion.bind(4, now)
        try insertion.run()
    }

    /// Notes that one was told or used.
    func note(_ purr: PURR, now: Int64) throws(StoreError) {
        let update = try database.statement("UPDATE purrs SET used_at = ? WHERE purr = ?")
        try update.bind(1, now)
        try update.bind(2, purr.bytes)
        try update.run()
    }

    /// Hands those of one binding over to another one of the same device.
    func move(from old: Int64, to new: Int64) throws(StoreError) {
        let update = try database.statement("UPDATE purrs SET id = ? WHERE id = ?")
        try update.bind(1, new)
        try update.bind(2, old)
        try update.run()
    }

    /// Drops those of a binding.
    func delete(of id: Int64) throws(StoreError) {
        let deletion = try database.statement("DELETE FROM purrs WHERE id = ?")
        try deletion.bind(1, id)
        try deletion.run()
    }
}

extension SQLiteStore {
    /// The PURR that a device is told now.
    public func purr(of binding: Binding, now: Int64, fresh: () -> PURR) throws(StoreError) -> PURR? {
        guard let user = try users.find(binding.aor) else { return nil }
        let ids = try ids(ofDeviceOf: binding, user)
        guard !ids.isEmpty else { return nil }
        if let current = try purrs.newest(of: ids), !PURRLimits.isOld(madeAt: current.madeAt, now: now) {
            guard PURRLimits.isDue(usedAt: current.usedAt, now: now) else { return current.purr }
            try write { () throws(StoreError) in try purrs.note(current.purr, now: now) }
            return current.purr
        }
        return try write { () throws(StoreError) in
            // Another process may have written meanwhile.
            guard let first = try self.ids(ofDeviceOf: binding, user).first else { return nil }
            let purr = fresh()
            try purrs.insert(purr, of: first, now: now)
            return purr
        }
    }

    /// Bindings of the device that was told a PURR.
    public func bindings(ofPURR purr: PURR, now: Int64) throws(StoreError) -> [Binding] {
        try rows(ofPURR: purr, now: now).map(\.binding).sortedByAge()
    }

    /// Their rows.
    func rows(ofPURR purr: PURR, now: Int64) throws(StoreError) -> [StoredRow] {
        guard let row = try purrs.find(purr, now: now), let user = try users.find(uid: row.id >> 8) else { return [] }
        let rows = try live(of: user).filter { $0.binding.forgetAt > now }
        guard let own = rows.first(where: { $0.id == row.id }) else { return [] }
        if PURRLimits.isDue(usedAt: row.usedAt, now: now) {
            // The phone shall be woken even when the disk is full.
            try? write { () throws(StoreError) in try purrs.note(purr, now: now) }
        }
        let device = DeviceIdentity(of: own.binding)
        return rows.filter { device.owns($0.binding) }
    }

    private func ids(ofDeviceOf binding: Binding, _ user: User) throws(StoreError) -> [Int64] {
        let device = DeviceIdentity(of: binding)
        return try live(of: user).filter { device.owns($0.binding) }.map(\.id)
    }
}
