// SPDX-License-Identifier: MIT

public import PushWakeCore

/// A SQLite store whose refreshes and new users are written in groups.
///
/// Most REGISTERs change when and from where a phone has registered, and no more. Such a row goes into a journal, which
/// outlives `kill -9` as the tables do, and into the tables with others of its kind at the next `flush()`. One that
/// changes times alone waits in memory: `kill -9` costs the times of the last moment. The first bindings of a user take
/// the same way. Whatever adds to a user who has some, or removes one, goes into the tables at once, as without this.
///
/// The rows of users with traffic are kept in memory, so this may only be done while no other process writes to the
/// file: see `isAlone`.
public final class BufferedStore: BindingStore {
    /// Users kept in memory; as many again until they are found to have no traffic.
    private static let recentUsers = 2048
    /// Rows that wait, at most.
    private static let longestQueue = 64
    private static let longestJournal = 4 << 20

    private final class Known {
        /// Live rows in the order of their ids, forgotten ones included.
        var rows: [RefreshJournal.Row]
        /// Nil until a REGISTER needs them.
        var tombstones: [RemovedBinding]?
        /// False while the rows have no ids yet: they are the first of a new user.
        let isInTables: Bool

        init(rows: [RefreshJournal.Row], tombstones: [RemovedBinding]? = nil, isInTables: Bool = true) {
            self.rows = rows
            self.tombstones = tombstones
            self.isInTables = isInTables
        }
    }

    private let store: SQLiteStore
    private let journal: RefreshJournal
    private var recent: [UserKey: Known] = [:]
    private var older: [UserKey: Known] = [:]
    private var waiting: [Int64: Binding] = [:]
    /// How each of them differs from the tables.
    private var changes: [Int64: RowChange] = [:]
    /// The first bindings of users who are not in the tables, in order.
    private var added: [(key: UserKey, bindings: [Binding])] = []
    private var buffers = false

    /// Takes over the store; nothing is kept until `isAlone` is set.
    public init(_ store: SQLiteStore) throws(StoreError) {
        self.store = store
        journal = try RefreshJournal(storePath: store.path)
    }

    /// Whether nobody else writes to the file. Setting it reads what a killed process has left; a failure leaves that
    /// where it is, and nothing is kept in memory. Setting it to false writes what waits; what cannot be written is left
    /// to whoever is alone next.
    public var isAlone: Bool {
        get { buffers }
        set {
            guard newValue != buffers else { return }
            buffers = newValue
            do throws(StoreError) {
                if newValue { try recover() } else { try flush() }
            } catch {
                failure = error
                buffers = false
            }
            // ORDER: from now on others may write, and what waits must not overwrite it. The journal still has it.
            if !buffers { (waiting, changes, added) = ([:], [:], []) }
            forgetUsers()
        }
    }

    private var failure: StoreError?

    /// What went wrong where nobody could be told, once.
    public func takeFailure() -> StoreError? {
        defer { failure = nil }
        return failure
    }

    /// Runs when a row begins to wait: `flush()` is to be called soon.
    public var onWaiting: (() -> Void)?

    /// Writes what waits. When it fails, all of it still waits.
    public func flush() throws(StoreError) {
        guard !waiting.isEmpty || !added.isEmpty else { return }
        // By their ids: rows of the same page come together.
        let rows = waiting.sorted { $0.key < $1.key }.map { (id: $0.key, binding: $0.value) }
        try store.write(replacing: rows, adding: added.map(\.bindings)) { changes[$0] ?? .everything }
        // Now they have ids, which whoever needs them reads.
        for user in added { recent[user.key] = nil }
        waiting.removeAll(keepingCapacity: true)
        changes.removeAll(keepingCapacity: true)
        added.removeAll(keepingCapacity: true)
        journal.clear()
    }

    private func recover() throws(StoreError) {
        let left = journal.leftRows()
        // One REGISTER may have brought several.
        var users: [UserKey: [Binding]] = [:]
        for row in left where row.id == RefreshJournal.newRow {
            users[UserKey(row.binding.aor), default: []].append(row.binding)
        }
        for bindings in users.values where try store.rows(of: bindings[0].aor).isEmpty {
            try store.write(replacing: [], adding: [bindings])
        }
        for row in left where row.id != RefreshJournal.newRow {
            // Where it was replaced since, by a process that kept no journal, it is over.
            let rows = try store.rows(of: row.binding.aor)
            guard let known = rows.first(where: { $0.id == row.id }),
                known.binding.registeredAt <= row.binding.registeredAt
            else { continue }
            try store.write(replacing: [row])
        }
        journal.clear()
    }

    // MARK: What stays in memory

    public func bindings(of aor: String, now: Int64) throws(StoreError) -> [Binding] {
        guard buffers else { return try store.bindings(of: aor, now: now) }
        let found = try known(aor, UserKey(aor)).rows.map(\.binding).filter { $0.forgetAt > now }
        return found.count < 2 ? found : found.sortedByAge()
    }

    public func register(_ bindings: [Binding], now: Int64) throws(StoreError) -> [String] {
        guard buffers, let aor = bindings.first?.aor else { return try store.register(bindings, now: now) }
        let key = UserKey(aor)
        var user = try known(aor, key)
        if !user.isInTables {
            try flush()
            user = try known(aor, key)
        }
        if user.tombstones == nil { user.tombstones = try store.removed(of: aor) }
        let plan = RegistrationPlan(
            storing: bindings, over: user.rows.map(\.binding), tombstones: user.tombstones ?? [],
            perUser: store.perUser, now: now
        )
        guard !plan.isStale else { return [] }
        if user.rows.isEmpty, user.tombstones?.isEmpty == true { return try add(plan.stored, key, now) }
        guard plan.keepsRows, let first = user.rows.first, !store.hasDamage(besides: first.id) else {
            return try registerInTables(bindings, key, now)
        }
        try makeRoomInQueue()
        let ids = plan.replaced.map { user.rows[$0].id }.sorted()
        let rows = zip(ids, plan.stored).map { (id: $0, binding: $1) }
        let changes = rows.map { row in
            user.rows.first { $0.id == row.id }.map { RowChange(from: $0.binding, to: row.binding) } ?? .everything
        }
        guard changes.allSatisfy({ $0 == .times }) || journal.append(rows) else {
            return try registerInTables(bindings, key, now)
        }
        let isFirst = waiting.isEmpty && added.isEmpty
        for (row, change) in zip(rows, changes) {
            waiting[row.id] = row.binding
            self.changes[row.id] = max(self.changes[row.id] ?? .times, change)
            if let index = user.rows.firstIndex(where: { $0.id == row.id }) { user.rows[index].binding = row.binding }
        }
        if isFirst { onWaiting?() }
        return plan.leftContacts
    }

    /// Takes the first bindings of a user.
    private func add(_ bindings: [Binding], _ key: UserKey, _ now: Int64) throws(StoreError) -> [String] {
        guard !bindings.isEmpty else { return [] }
        try makeRoomInQueue()
        try makeRoomForUser()
        guard journal.append(bindings.map { (id: RefreshJournal.newRow, binding: $0) }) else {
            return try registerInTables(bindings, key, now)
        }
        let isFirst = waiting.isEmpty && added.isEmpty
        added.append((key, bindings))
        recent[key] = Known(
            rows: bindings.map { (id: RefreshJournal.newRow, binding: $0) }, tombstones: [], isInTables: false)
        if isFirst { onWaiting?() }
        return []
    }

    private func makeRoomInQueue() throws(StoreError) {
        if waiting.count + added.count >= Self.longestQueue || journal.size >= Self.longestJournal { try flush() }
    }

    private func registerInTables(
        _ bindings: [Binding], _ key: UserKey, _ now: Int64
    ) throws(StoreError) -> [String] {
        try settle(key)
        return try store.register(bindings, now: now)
    }

    private func known(_ aor: String, _ key: UserKey) throws(StoreError) -> Known {
        if let user = recent[key] { return user }
        if let user = older[key] {
            try keep(user, key)
            return user
        }
        guard let rows = try store.rowsIfKnown(of: aor) else { return Known(rows: [], tombstones: []) }
        let user = Known(rows: rows)
        if !rows.isEmpty { try keep(user, key) }
        return user
    }

    private func keep(_ user: Known, _ key: UserKey) throws(StoreError) {
        try makeRoomForUser()
        recent[key] = user
    }

    private func makeRoomForUser() throws(StoreError) {
        guard recent.count >= Self.recentUsers else { return }
        // ORDER: what is read again from the tables has to be there.
        try flush()
        older = recent
        recent = [:]
    }

    /// Writes what waits, and forgets this user, whose rows are about to change.
    private func settle(_ key: UserKey) throws(StoreError) {
        // ORDER: while something waits, memory alone knows it.
        try flush()
        recent[key] = nil
        older[key] = nil
    }

    private func forgetUsers() { (recent, older) = ([:], [:]) }

    // MARK: What goes to the tables

    public func remove(
        _ selector: BindingSelector, of aor: String, reason: String, now: Int64
    ) throws(StoreError) -> [Binding] {
        try settle(UserKey(aor))
        return try store.remove(selector, of: aor, reason: reason, now: now)
    }

    public func endRegistrations(_ selector: BindingSelector, of aor: String, now: Int64) throws(StoreError) {
        // Most phones that unregister have no binding.
        guard !(try bindings(of: aor, now: now)).isEmpty else { return }
        try settle(UserKey(aor))
        try store.endRegistrations(selector, of: aor, now: now)
    }

    public func clockJumped(from old: Int64, to new: Int64) throws(StoreError) {
        try flush()
        forgetUsers()
        try store.clockJumped(from: old, to: new)
    }

    public func removed(of aor: String) throws(StoreError) -> [RemovedBinding] { try store.removed(of: aor) }

    public func forget(now: Int64, limit: Int) throws(StoreError) -> Int {
        try flush()
        let count = try store.forget(now: now, limit: limit)
        if count > 0 { forgetUsers() }
        return count
    }

    public func ending(
        after cursor: ExpiryCursor, by end: Int64, refreshingThemselves: Bool, limit: Int
    ) throws(StoreError) -> [EndingBinding] {
        try flush()
        return try store.ending(after: cursor, by: end, refreshingThemselves: refreshingThemselves, limit: limit)
    }

    public func aors(after cursor: String, limit: Int, now: Int64) throws(StoreError) -> [String] {
        try flush()
        return try store.aors(after: cursor, limit: limit, now: now)
    }

    public func purr(of binding: Binding, now: Int64, fresh: () -> PURR) throws(StoreError) -> PURR? {
        try flush()
        return try store.purr(of: binding, now: now, fresh: fresh)
    }

    public func bindings(ofPURR purr: PURR, now: Int64) throws(StoreError) -> [Binding] {
        try flush()
        return try store.bindings(ofPURR: purr, now: now)
    }

    public func count() throws(StoreError) -> Int {
        try store.count() + added.reduce(0) { $0 + $1.bindings.count }
    }
}

extension SQLiteStore {
    /// Overwrites what has changed in rows that are there, and stores the bindings of users who have no row; all or
    /// nothing.
    fileprivate func write(
        replacing rows: [(id: Int64, binding: Binding)], adding users: [[Binding]] = [],
        change: (Int64) -> RowChange = { _ in .everything }
    ) throws(StoreError) {
        try write { () throws(StoreError) in
            if !rows.isEmpty {
                let times = try database.statement(Self.timesUpdate)
                let address = try database.statement(Self.addressUpdate)
                for row in rows {
                    switch change(row.id) {
                    case .times: try update(row.binding, id: row.id, with: times)
                    case .address: try updateAddress(row.binding, id: row.id, with: address)
                    case .everything: try insert(row.binding, id: row.id)
                    }
                }
            }
            guard !users.isEmpty else { return }
            var change = 0
            for (user, bindings) in zip(try self.users.findOrAdd(users.map { $0.first?.aor ?? "" }), users) {
                change += bindings.count - (try dropDamaged(of: user))
                for (index, binding) in bindings.enumerated() {
                    try insert(binding, id: user.slots.lowerBound &+ Int64(index))
                }
            }
            try self.users.countLive(by: change)
        }
    }

    private static let timesUpdate = "UPDATE bindings SET \(BindingRow.timeColumns) WHERE id = ?"
    private static let addressUpdate =
        "UPDATE bindings SET \(BindingRow.timeColumns), contact = ?, call_id = ? WHERE id = ?"

    private func update(_ binding: Binding, id: Int64, with update: SQLiteStatement) throws(StoreError) {
        try BindingRow.bindTimes(binding, to: update)
        try update.bind(BindingRow.times + 1, id)
        try update.run()
    }

    private func updateAddress(_ binding: Binding, id: Int64, with update: SQLiteStatement) throws(StoreError) {
        try BindingRow.bindTimes(binding, to: update)
        try update.bind(BindingRow.times + 1, BindingRow.packedContact(binding))
        try update.bind(BindingRow.times + 2, TextPacking.plain.pack(binding.callID))
        try update.bind(BindingRow.times + 3, id)
        try update.run()
    }
}

/// What of a row a REGISTER changes.
private enum RowChange: Int, Comparable {
    /// Times and CSeq, which every one does.
    case times
    /// Where and under which Call-ID the phone is registered as well: it has another address, or has started anew.
    case address
    case everything

    init(from old: Binding, to new: Binding) {
        let isSame =
            old.provider == new.provider && old.environment == new.environment && old.service == new.service
            && old.dialect == new.dialect && old.refreshesItself == new.refreshesItself
            && old.token.isSameBytes(as: new.token) && old.app.isSameBytes(as: new.app)
            && old.team.isSameBytes(as: new.team) && old.instance.isSameBytes(as: new.instance)
            && old.attributes == new.attributes
        let hasMoved = !old.contact.isSameBytes(as: new.contact) || !old.callID.isSameBytes(as: new.callID)
        self = !isSame ? .everything : hasMoved ? .address : .times
    }

    static func < (a: RowChange, b: RowChange) -> Bool { a.rawValue < b.rawValue }
}

extension RegistrationPlan {
    /// Changes rows that there are, and nothing else.
    fileprivate var keepsRows: Bool {
        cleared.isEmpty && evicted.isEmpty && replaced.count == stored.count && !stored.isEmpty
    }
}

/// A user by the bytes of the AoR: texts are equal where bytes are not.
private struct UserKey: Hashable {
    let aor: String

    init(_ aor: String) { self.aor = aor }

    static func == (a: UserKey, b: UserKey) -> Bool { a.aor.isSameBytes(as: b.aor) }

    // Texts of the same bytes are equal.
    func hash(into hasher: inout Hasher) { hasher.combine(aor) }
}

/// A user with the number that stands for the AoR in all other tables.
struct User {
    let aor: String
    let uid: Int64

    /// Row ids of this user.
    var slots: ClosedRange<Int64> { (uid << 8)...(uid << 8 | 255) }
}

/// Hands out the row ids of a user: freed ones first, so that a refresh overwrites its row.
struct SlotList {
    private let user: User
    private var taken: Set<Int64>
    private var free: ArraySlice<Int64>
    private var next: Int64

    init(user: User, free: [Int64], taken: [Int64]) {
        self.user = user
        self.free = free.sorted()[...]
        self.taken = Set(taken)
        next = (taken.max() ?? (user.slots.lowerBound &- 1)) &+ 1
    }

    /// Freed ids that nobody took.
    var unused: ArraySlice<Int64> { free }

    /// An id for a new row. There is one: `BindingLimits` keeps a user within the slots.
    mutating func take() -> Int64 {
        if let id = free.popFirst() { return id }
        if next > user.slots.upperBound { next = user.slots.first { !taken.contains($0) } ?? user.slots.upperBound }
        defer {
            taken.insert(next)
            next &+= 1
            while taken.contains(next) { next &+= 1 }
        }
        return next
    }
}
