// SPDX-License-Identifier: MIT

public import PushWakeCore

/// A SQLite store whose refreshes are written in groups.
///
/// Most REGISTERs change when and from where a phone has registered, and no more. Such a row goes into a journal, which
/// outlives `kill -9` as the tables do, and into the tables with others of its kind at the next `flush()`. One that
/// changes times alone waits in memory: `kill -9` costs the times of the last moment. Whatever adds or removes a binding
/// goes into the tables at once, as without this.
///
/// The rows of users with traffic are kept in memory, so this may only be done while no other process writes to the
/// file: see `isAlone`.
public final class BufferedStore: BindingStore {
    /// Users kept in memory; as many again until they are found to have no traffic.
    private static let recentUsers = 2048
    /// Rows that wait, at most.
    private static let longestQueue = 64
    private static let longestJournal = 4 << 20

    private struct Known {
        /// Live rows in the order of their ids, forgotten ones included.
        var rows: [RefreshJournal.Row]
        /// Nil until a REGISTER needs them.
        var tombstones: [RemovedBinding]?
    }

    private let store: SQLiteStore
    private let journal: RefreshJournal
    /// By the bytes of the AoR: texts are equal where bytes are not.
    private var recent: [[UInt8]: Known] = [:]
    private var older: [[UInt8]: Known] = [:]
    private var waiting: [Int64: Binding] = [:]
    /// Those of them that differ from the tables in more than times.
    private var moved: Set<Int64> = []
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
            if !buffers { (waiting, moved) = ([:], []) }
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
        guard !waiting.isEmpty else { return }
        // By their ids: rows of the same page come together.
        try store.replace(waiting.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }) { moved.contains($0) }
        waiting.removeAll(keepingCapacity: true)
        moved.removeAll(keepingCapacity: true)
        journal.clear()
    }

    private func recover() throws(StoreError) {
        for row in journal.leftRows() {
            // Where it was replaced since, by a process that kept no journal, it is over.
            let rows = try store.rows(of: row.binding.aor)
            guard let known = rows.first(where: { $0.id == row.id }),
                known.binding.registeredAt <= row.binding.registeredAt
            else { continue }
            try store.replace([row])
        }
        journal.clear()
    }

    // MARK: What stays in memory

    public func bindings(of aor: String, now: Int64) throws(StoreError) -> [Binding] {
        guard buffers else { return try store.bindings(of: aor, now: now) }
        let found = try known(aor, Array(aor.utf8)).rows.map(\.binding).filter { $0.forgetAt > now }
        return found.count < 2 ? found : found.sortedByAge()
    }

    public func register(_ bindings: [Binding], now: Int64) throws(StoreError) -> [String] {
        guard buffers, let aor = bindings.first?.aor else { return try store.register(bindings, now: now) }
        let key = Array(aor.utf8)
        var user = try known(aor, key)
        if user.tombstones == nil { user.tombstones = try store.removed(of: aor) }
        let plan = RegistrationPlan(
            storing: bindings, over: user.rows.map(\.binding), tombstones: user.tombstones ?? [],
            perUser: store.perUser, now: now
        )
        guard !plan.isStale else { return [] }
        guard plan.keepsRows, let first = user.rows.first, !store.hasDamage(besides: first.id) else {
            return try registerInTables(bindings, key, now)
        }
        if waiting.count >= Self.longestQueue || journal.size >= Self.longestJournal { try flush() }
        let ids = plan.replaced.map { user.rows[$0].id }.sorted()
        let rows = zip(ids, plan.stored).map { (id: $0, binding: $1) }
        let changesTimesAlone = rows.allSatisfy { row in
            user.rows.contains { $0.id == row.id && $0.binding.isSame(as: row.binding) }
        }
        guard changesTimesAlone || journal.append(rows) else { return try registerInTables(bindings, key, now) }
        let isFirst = waiting.isEmpty
        // The only copy of the rows is the one that changes.
        recent[key] = nil
        for row in rows {
            waiting[row.id] = row.binding
            if !changesTimesAlone { moved.insert(row.id) }
            if let index = user.rows.firstIndex(where: { $0.id == row.id }) { user.rows[index].binding = row.binding }
        }
        recent[key] = user
        if isFirst { onWaiting?() }
        return plan.leftContacts
    }

    private func registerInTables(
        _ bindings: [Binding], _ key: [UInt8], _ now: Int64
    ) throws(StoreError) -> [String] {
        try settle(key)
        return try store.register(bindings, now: now)
    }

    private func known(_ aor: String, _ key: [UInt8]) throws(StoreError) -> Known {
        if let user = recent[key] { return user }
        if let user = older[key] {
            try keep(user, key)
            return user
        }
        let user = Known(rows: try store.rows(of: aor))
        if !user.rows.isEmpty { try keep(user, key) }
        return user
    }

    private func keep(_ user: Known, _ key: [UInt8]) throws(StoreError) {
        if recent.count >= Self.recentUsers {
            // ORDER: what is read again from the tables has to be there.
            try flush()
            older = recent
            recent = [:]
        }
        recent[key] = user
    }

    /// Writes what waits, and forgets this user, whose rows are about to change.
    private func settle(_ key: [UInt8]) throws(StoreError) {
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
        try settle(Array(aor.utf8))
        return try store.remove(selector, of: aor, reason: reason, now: now)
    }

    public func endRegistrations(_ selector: BindingSelector, of aor: String, now: Int64) throws(StoreError) {
        // Most phones that unregister have no binding.
        guard !(try bindings(of: aor, now: now)).isEmpty else { return }
        try settle(Array(aor.utf8))
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

    public func count() throws(StoreError) -> Int { try store.count() }
}

extension Binding {
    /// Times and CSeq aside, which every REGISTER changes.
    fileprivate func isSame(as other: Binding) -> Bool {
        var moved = other
        (moved.cseq, moved.registeredAt, moved.expiresAt, moved.forgetAt) = (cseq, registeredAt, expiresAt, forgetAt)
        return self == moved
    }
}

extension RegistrationPlan {
    /// Changes rows that there are, and nothing else.
    fileprivate var keepsRows: Bool {
        cleared.isEmpty && evicted.isEmpty && replaced.count == stored.count && !stored.isEmpty
    }
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
