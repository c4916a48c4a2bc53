// SPDX-License-Identifier: MIT

public import PushWakeCore

/// Bindings in memory: gone with the process. For tests, trials, and hosts that want no file.
public final class MemoryStore: BindingStore {
    /// A binding with a number of its own.
    struct Row: Equatable {
        let id: Int
        var binding: Binding
    }

    /// A PURR, and a row of the device that was told it.
    struct PURRUse: Equatable {
        let purr: PURR
        var row: Int
        let madeAt: Int64
        var usedAt: Int64
    }

    struct User: Equatable {
        var live: [Row] = []
        var tombstones: [RemovedBinding] = []
        /// In the order in which they were made.
        var purrs: [PURRUse] = []
    }

    var users: [[UInt8]: User] = [:]
    /// Whose each PURR is.
    var owners: [PURR: [UInt8]] = [:]
    /// Who has a token, by its hash; nil where nobody asks.
    private var tokenUsers: [Int: [[UInt8]]]?
    private let tombstoneLifetime: Int64
    private let perUser: Int
    private(set) var lastID = 0

    /// Keeps tombstones for `tombstoneLifetime` seconds. `findsTokens`: finds users by a token without a look at all.
    public init(
        tombstoneLifetime: Int64 = BindingLimits.tombstoneLifetime, perUser: Int = BindingLimits.perUser,
        findsTokens: Bool = false
    ) {
        tokenUsers = findsTokens ? [:] : nil
        self.perUser = perUser
        self.tombstoneLifetime = tombstoneLifetime
    }

    /// Takes one user as another store keeps it.
    func load(_ user: User, of aor: String) {
        let key = Array(aor.utf8)
        users[key] = user
        for told in user.purrs { owners[told.purr] = key }
        lastID = max(lastID, user.live.map(\.id).max() ?? 0)
    }

    /// Reads the bindings of one user, oldest REGISTER first.
    public func bindings(of aor: String, now: Int64) -> [Binding] {
        (users[Array(aor.utf8)]?.live ?? []).map(\.binding).filter { $0.forgetAt > now }.sortedByAge()
    }

    /// `keep` for those who ask for nothing but the contacts that were left.
    @discardableResult
    public func register(_ bindings: [Binding], now: Int64) -> [String]? { keep(bindings, now: now)?.leftContacts }

    /// Stores what one device registered.
    public func keep(_ bindings: [Binding], now: Int64) -> KeptRegistration? {
        guard let aor = bindings.first?.aor else { return KeptRegistration() }
        var user = users[Array(aor.utf8)] ?? User()
        let plan = RegistrationPlan(
            storing: bindings, over: user.live.map(\.binding), tombstones: user.tombstones, perUser: perUser, now: now)
        guard !plan.isStale else { return nil }
        let stored = plan.stored.map { binding in
            lastID += 1
            return Row(id: lastID, binding: binding)
        }
        for index in plan.replaced {
            user.handOver(user.live[index].id, to: plan.evicted.contains(index) ? nil : stored.first?.id)
        }
        user.live = user.live.indices.filter { !plan.replaced.contains($0) }.map { user.live[$0] } + stored
        user.tombstones = user.tombstones.indices.filter { !plan.cleared.contains($0) }.map { user.tombstones[$0] }
        put(user, for: aor)
        return KeptRegistration(plan)
    }

    /// Other users with the token of each binding.
    public func users(withTokensOf bindings: [Binding]) -> [[String]] { bindings.map(users(withTokenOf:)) }

    /// Other users with the token of a binding.
    public func users(withTokenOf binding: Binding) -> [String] {
        let own = Array(binding.aor.utf8)
        let known = tokenUsers.map { $0[Self.hash(ofToken: binding)] ?? [] } ?? Array(users.keys)
        let others = known.lazy.filter { [users] key in
            key != own && users[key]?.live.contains { $0.binding.hasSameToken(as: binding) } == true
        }
        return others.prefix(BindingLimits.usersPerToken).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Removes bindings and leaves tombstones; gives those removed.
    public func remove(_ selector: BindingSelector, of aor: String, reason: String, now: Int64) -> [Binding] {
        guard var user = users[Array(aor.utf8)] else { return [] }
        let gone = selector.select(from: user.live.map(\.binding).filter { $0.forgetAt > now }, now: now).sortedByAge()
        user.drop { gone.contains($0.binding) }
        user.tombstones += gone.map { RemovedBinding(binding: $0, reason: reason, removedAt: now) }
        user.tombstones = user.tombstones.suffix(BindingLimits.tombstonesPerUser)
        put(user, for: aor)
        return gone
    }

    /// Notes that registrations are over while their bindings stay.
    public func endRegistrations(_ selector: BindingSelector, of aor: String, now: Int64) {
        guard var user = users[Array(aor.utf8)] else { return }
        let selected = selector.select(from: user.live.map(\.binding), now: now)
        for index in user.live.indices {
            let binding = user.live[index].binding
            if binding.expiresAt > now && selected.contains(binding) { user.live[index].binding.expiresAt = now }
        }
        put(user, for: aor)
    }

    /// Reads the tombstones of one user, newest first.
    public func removed(of aor: String) -> [RemovedBinding] {
        (users[Array(aor.utf8)]?.tombstones ?? []).sortedByRemoval()
    }

    /// Brings removed bindings back; gives those.
    public func restore(of aor: String, now: Int64, where isMeant: (RemovedBinding) -> Bool) -> [RemovedBinding] {
        guard var user = users[Array(aor.utf8)] else { return [] }
        let back = RestorePlan.tombstones(
            user.tombstones, beside: user.live.map(\.binding), perUser: perUser, now: now, where: isMeant)
        guard !back.isEmpty else { return [] }
        let restored = back.map { user.tombstones[$0] }
        user.tombstones = user.tombstones.indices.filter { !back.contains($0) }.map { user.tombstones[$0] }
        for tombstone in restored {
            lastID += 1
            user.live.append(Row(id: lastID, binding: tombstone.binding))
        }
        put(user, for: aor)
        return restored
    }

    /// Lists users with removed bindings.
    public func users(
        removedSince time: Int64, after cursor: String, limit: Int
    ) -> (aors: [String], next: String?) {
        let cursor = Array(cursor.utf8)
        let rest = users.keys.filter(cursor.lexicographicallyPrecedes).sorted { $0.lexicographicallyPrecedes($1) }
        let looked = rest.prefix(max(limit, 1))
        let found = looked.filter { users[$0]?.tombstones.contains { $0.removedAt >= time } == true }
        let next = looked.count < rest.count ? looked.last : nil
        return (found.map { String(decoding: $0, as: UTF8.self) }, next.map { String(decoding: $0, as: UTF8.self) })
    }

    /// Notes that pushes to these were accepted.
    public func noteAccepted(_ bindings: [Binding], at now: Int64) {
        for binding in bindings {
            guard var user = users[Array(binding.aor.utf8)] else { continue }
            for index in user.live.indices where user.live[index].binding.isFirstAccepted(as: binding) {
                user.live[index].binding.acceptedAt = UInt32(clamping: now)
            }
            users[Array(binding.aor.utf8)] = user
        }
    }

    /// Keeps the age of what is stored when the clock is put right.
    public func clockJumped(from old: Int64, to new: Int64) {
        let shift = ClockShift(from: old, to: new)
        for key in Array(users.keys) {
            guard var user = users[key] else { continue }
            for index in user.live.indices where shift.concerns(user.live[index].binding) {
                shift.apply(to: &user.live[index].binding)
            }
            put(user, forKey: key)
        }
    }

    /// Drops what is over, at most `limit` rows; gives how many went.
    public func forget(now: Int64, limit: Int) -> Int {
        var left = limit
        for (key, var user) in users where left > 0 {
            let before = user.live.count + user.tombstones.count
            let over = Set(user.live.filter { $0.binding.forgetAt <= now }.prefix(left).map(\.id))
            user.drop { over.contains($0.id) }
            user.tombstones.removeFirst(left - (before - user.live.count - user.tombstones.count)) {
                $0.removedAt <= now.addingSaturating(-tombstoneLifetime)
            }
            left -= before - user.live.count - user.tombstones.count
            put(user, forKey: key)
        }
        return limit - left
    }

    /// Finds registrations that end soon.
    public func ending(
        after cursor: ExpiryCursor, by end: Int64, refreshingThemselves: Bool, limit: Int
    ) -> EndingPage {
        var found: [EndingBinding] = []
        for binding in users.values.lazy.flatMap({ $0.live.map(\.binding) })
        where binding.refreshesItself == refreshingThemselves && binding.expiresAt <= end {
            guard binding.expiresAt >= cursor.time else { continue }
            // Any number will do that stays the same while this process lives.
            var hasher = Hasher()
            hasher.combine(binding.aor)
            hasher.combine(binding.token)
            let own = ExpiryCursor(time: binding.expiresAt, row: Int64(hasher.finalize()))
            if own > cursor { found.append(EndingBinding(binding: binding, cursor: own)) }
        }
        found = Array(found.sorted { $0.cursor < $1.cursor }.prefix(max(0, limit)))
        return EndingPage(
            found: found, reached: found.count < limit ? ExpiryCursor(time: end) : found.last?.cursor ?? cursor)
    }

    /// Lists users after `cursor` in the order of bytes.
    public func aors(after cursor: String, limit: Int, now: Int64) -> [String] {
        guard limit > 0 else { return [] }
        let cursor = Array(cursor.utf8)
        var found: [[UInt8]] = []
        // Most users lie behind the page: they are not sorted.
        var end: [UInt8]?
        for (key, user) in users where cursor.lexicographicallyPrecedes(key) {
            if let end, !key.lexicographicallyPrecedes(end) { continue }
            guard user.live.contains(where: { $0.binding.forgetAt > now }) else { continue }
            found.append(key)
            guard found.count / 2 >= limit else { continue }
            found.sort { $0.lexicographicallyPrecedes($1) }
            found.removeLast(found.count - limit)
            end = found.last
        }
        found.sort { $0.lexicographicallyPrecedes($1) }
        return found.prefix(limit).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Counts live bindings.
    public func count() -> Int { users.values.reduce(0) { $0 + $1.live.count } }

    func put(_ user: User, for aor: String) { put(user, forKey: Array(aor.utf8)) }

    private func put(_ user: User, forKey key: [UInt8]) {
        if let old = users[key]?.purrs, !old.isEmpty {
            let kept = Set(user.purrs.map(\.purr))
            for told in old where !kept.contains(told.purr) { owners[told.purr] = nil }
        }
        if tokenUsers != nil { noteTokens(of: user, forKey: key) }
        users[key] = user.live.isEmpty && user.tombstones.isEmpty ? nil : user
    }

    private func noteTokens(of user: User, forKey key: [UInt8]) {
        let old = Set((users[key]?.live ?? []).map { Self.hash(ofToken: $0.binding) })
        let new = Set(user.live.map { Self.hash(ofToken: $0.binding) })
        for hash in old.subtracting(new) {
            tokenUsers?[hash]?.removeAll { $0 == key }
            if tokenUsers?[hash]?.isEmpty == true { tokenUsers?[hash] = nil }
        }
        for hash in new.subtracting(old) { tokenUsers?[hash, default: []].append(key) }
    }

    private static func hash(ofToken binding: Binding) -> Int {
        var hasher = Hasher()
        for byte in binding.token.utf8 { hasher.combine(byte) }
        return hasher.finalize()
    }
}

extension MemoryStore.User {
    /// Gives the PURRs of one row to another; without one they go.
    mutating func handOver(_ row: Int, to heir: Int?) {
        guard let heir else { return purrs.removeAll { $0.row == row } }
        for index in purrs.indices where purrs[index].row == row { purrs[index].row = heir }
    }

    /// Drops rows; their PURRs go to what is left of the device.
    mutating func drop(where isGone: (MemoryStore.Row) -> Bool) {
        let gone = live.filter(isGone)
        live.removeAll(where: isGone)
        for row in gone {
            let device = DeviceIdentity(of: row.binding)
            handOver(row.id, to: live.first { device.owns($0.binding) }?.id)
        }
    }
}

extension Array {
    /// Removes at most `limit` elements that fit.
    fileprivate mutating func removeFirst(_ limit: Int, where fits: (Element) -> Bool) {
        var left = limit
        removeAll { element in
            guard left > 0, fits(element) else { return false }
            left -= 1
            return true
        }
    }
}

extension [Binding] {
    /// Oldest REGISTER first, equal ages in the order stored.
    func sortedByAge() -> [Binding] {
        enumerated().sorted { ($0.element.registeredAt, $0.offset) < ($1.element.registeredAt, $1.offset) }
            .map(\.element)
    }
}

extension [RemovedBinding] {
    /// Newest removal first.
    func sortedByRemoval() -> [RemovedBinding] {
        enumerated().sorted { ($0.element.removedAt, $0.offset) > ($1.element.removedAt, $1.offset) }.map(\.element)
    }
}

extension Int64 {
    /// Adds without leaving the range.
    func addingSaturating(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other > 0 ? .max : .min) : sum
    }
}

extension MemoryStore {
    /// The PURR that a device is told now.
    public func purr(of binding: Binding, now: Int64, fresh: () -> PURR) -> PURR? {
        let key = Array(binding.aor.utf8)
        guard var user = users[key] else { return nil }
        let device = DeviceIdentity(of: binding)
        let rows = user.live.filter { device.owns($0.binding) }.map(\.id)
        guard let first = rows.first else { return nil }
        let own = user.purrs.indices.filter { rows.contains(user.purrs[$0].row) }
        if let newest = own.last, !PURRLimits.isOld(madeAt: user.purrs[newest].madeAt, now: now) {
            if PURRLimits.isDue(usedAt: user.purrs[newest].usedAt, now: now) {
                user.purrs[newest].usedAt = now
                users[key] = user
            }
            return user.purrs[newest].purr
        }
        let over = own.filter { PURRLimits.isOver(usedAt: user.purrs[$0].usedAt, now: now) }
        let excess = own.filter { !over.contains($0) }.dropLast(PURRLimits.perDevice - 1)
        let gone = Set((over + excess).map { user.purrs[$0].purr })
        user.purrs.removeAll { gone.contains($0.purr) }
        let purr = fresh()
        user.purrs.append(PURRUse(purr: purr, row: first, madeAt: now, usedAt: now))
        put(user, for: binding.aor)
        owners[purr] = key
        return purr
    }

    /// Bindings of the device that was told a PURR.
    public func bindings(ofPURR purr: PURR, now: Int64) -> [Binding] {
        guard let key = owners[purr], var user = users[key],
            let index = user.purrs.firstIndex(where: { $0.purr == purr }),
            !PURRLimits.isOver(usedAt: user.purrs[index].usedAt, now: now)
        else { return [] }
        let live = user.live.filter { $0.binding.forgetAt > now }
        guard let own = live.first(where: { $0.id == user.purrs[index].row }) else { return [] }
        if PURRLimits.isDue(usedAt: user.purrs[index].usedAt, now: now) {
            user.purrs[index].usedAt = now
            users[key] = user
        }
        let device = DeviceIdentity(of: own.binding)
        return live.map(\.binding).filter(device.owns).sortedByAge()
    }
}
