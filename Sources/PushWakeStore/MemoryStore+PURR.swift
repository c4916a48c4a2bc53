// SPDX-License-Identifier: MIT

public import PushWakeCore

extension MemoryStore {
    /// The PURR that a device is told now.
    public func purr(of binding: Binding, now: Int64, fresh: () -> PURR) -> PURR? {
        let key = Array(binding.aor.utf8)
        guard var user = users[key] else { return nil }
        let device = DeviceIdentity(of: binding)
        let rows = user.live.filter { device.owns($0.binding) }.map(\.id)
        guard let first = rows.first else { return nil }
        let own = user.purrs.indices.filter { rows.contains(user.purrs[$0].row) }
        if let newest = own.last, !limits.isOld(madeAt: user.purrs[newest].madeAt, now: now) {
            if PURRLimits.isDue(usedAt: user.purrs[newest].usedAt, now: now) {
                user.purrs[newest].usedAt = now
                users[key] = user
            }
            return user.purrs[newest].purr
        }
        let over = own.filter { limits.isOver(usedAt: user.purrs[$0].usedAt, now: now) }
        let excess = own.filter { !over.contains($0) }.dropLast(PURRLimits.perDevice - 1)
        let gone = Set((over + excess).map { user.purrs[$0].purr })
        user.purrs.removeAll { gone.contains($0.purr) }
        let purr = fresh()
        user.purrs.append(Told(purr: purr, row: first, madeAt: now, usedAt: now))
        put(user, for: binding.aor)
        owners[purr] = key
        return purr
    }

    /// Bindings of the device that was told a PURR.
    public func bindings(ofPURR purr: PURR, now: Int64) -> [Binding] {
        guard let key = owners[purr], var user = users[key],
            let place = user.purrs.firstIndex(where: { $0.purr == purr }),
            !limits.isOver(usedAt: user.purrs[place].usedAt, now: now)
        else { return [] }
        let live = user.live.filter { $0.binding.forgetAt > now }
        guard let own = live.first(where: { $0.id == user.purrs[place].row }) else { return [] }
        if PURRLimits.isDue(usedAt: user.purrs[place].usedAt, now: now) {
            user.purrs[place].usedAt = now
            users[key] = user
        }
        let device = DeviceIdentity(of: own.binding)
        return live.map(\.binding).filter(device.owns).sortedByAge()
    }
}
