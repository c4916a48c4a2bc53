// SPDX-License-Identifier: MIT

public import PushWakeCore

extension SQLiteStore {
    /// The PURR that a device is told now.
    public func purr(of binding: Binding, now: Int64, fresh: () -> PURR) throws(StoreError) -> PURR? {
        guard let user = try users.find(binding.aor) else { return nil }
        let ids = try ids(ofDeviceOf: binding, user)
        guard !ids.isEmpty else { return nil }
        if let current = try purrs.newest(of: ids), !purrs.limits.isOld(madeAt: current.madeAt, now: now) {
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
        guard let row = try purrs.find(purr, now: now), let user = try users.find(uid: row.id >> 8) else { return [] }
        let rows = try live(of: user).filter { $0.binding.forgetAt > now }
        guard let own = rows.first(where: { $0.id == row.id }) else { return [] }
        if PURRLimits.isDue(usedAt: row.usedAt, now: now) {
            // The phone shall be woken even when the disk is full.
            try? write { () throws(StoreError) in try purrs.note(purr, now: now) }
        }
        let device = DeviceIdentity(of: own.binding)
        return rows.map(\.binding).filter(device.owns).sortedByAge()
    }

    private func ids(ofDeviceOf binding: Binding, _ user: User) throws(StoreError) -> [Int64] {
        let device = DeviceIdentity(of: binding)
        return try live(of: user).filter { device.owns($0.binding) }.map(\.id)
    }
}
