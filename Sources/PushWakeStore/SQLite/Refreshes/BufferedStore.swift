// SPDX-License-Identifier: MIT

public import PushWakeCore

/// A SQLite store whose refreshes and new users are written in groups.
///
/// Most REGISTERs change when and from where a phone has registered, and no more. Such a row goes into a journal, which
/// outlives `kill -9` as the tables do, and into the tables with others of its kind at the next `flush()`. One that
/// changes times alone goes to the place of its row in the file of times (`TimesFile`), where it has one, and into the
/// tables once a day. The first bindings of a user go into the journal too. Whatever adds to a user who has some, or
/// removes one, goes into the tables at once, as without this.
///
/// The rows of users with traffic are kept in memory, so this may only be done while no other process writes to the
/// file: see `isAlone`. Whoever wants each REGISTER on the disk at once makes one that writes in no groups: it takes what
/// another has left, and keeps users in memory.
public final class BufferedStore: BindingStore {
    /// Users kept in memory; as many again until they are found to have no traffic.
    private static let recentUsers = 2048
    /// Rows that wait, at most.
    private static let longestQueue = 64
    private static let longestJournal = 4 << 20
    /// Seconds after which times go into the tables again: whoever reads or copies the tables alone is no later than that.
    private static let latestTimes: Int64 = 86_400

    private final class Known {
        /// Live rows in the order of their ids, forgotten ones included.
        var rows: [StoredRow]
        /// Nil until a REGISTER needs them.
        var tombstones: [RemovedBinding]?
        /// False while the rows have no ids yet: they are the first of a new user.
        let isInTables: Bool

        init(rows: [StoredRow], tombstones: [RemovedBinding]? = nil, isInTables: Bool = true) {
            self.rows = rows
            self.tombstones = tombstones
            self.isInTables = isInTables
        }
    }

    private let store: SQLiteStore
    private let journal: RefreshJournal
    private let groups: Bool
    private var recent: [UserKey: Known] = [:]
    private var older: [UserKey: Known] = [:]
    /// Users whose refreshes need no look at the rows.
    private var index = RefreshIndex()
    /// What differs from the tables, and how.
    private var waiting: [Int64: WaitingRow] = [:]
    /// The first bindings of users who are not in the tables, in order.
    private var added: [(key: UserKey, bindings: [Binding])] = []
    private var buffers = false
    /// All that waits is in the tables when `together` ends, and the journal has nothing to keep.
    private var isTogether = false

    /// Takes over the store; nothing is kept until `isAlone` is set.
    public init(_ store: SQLiteStore, inGroups groups: Bool = true) throws(StoreError) {
        self.store = store
        self.groups = groups
        journal = try RefreshJournal(storePath: store.path)
    }

    /// Whether nobody else writes to the file. Setting it reads what a killed process has left, which then waits as if it
    /// had been registered here: it counts although the disk is full. A failure to read leaves that where it is, and
    /// nothing is kept in memory. Setting it to false writes what waits; what cannot be written is left to whoever is
    /// alone next.
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
            guard !buffers else { return }
            // ORDER: from now on others may write, and what waits must not overwrite it. The journal still has it.
            forgetAll()
        }
    }

    private func forgetAll() {
        (waiting, added) = ([:], [])
        forgetUsers()
        index.forgetAll()
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
        let rows = waiting.keys.sorted().compactMap { waiting[$0] }
        let firsts = try store.write(replacing: rows, adding: added.map(\.bindings))
        // Now they have ids, which whoever needs them reads.
        for user in added { recent[user.key] = nil }
        prepareRefreshes(of: firsts)
        waiting.removeAll(keepingCapacity: true)
        added.removeAll(keepingCapacity: true)
        journal.clear()
    }

    /// The next REGISTER of a new user needs no look at the rows. They have these ids, in the order of `added`.
    private func prepareRefreshes(of firsts: [Int64]) {
        var places: [(first: Int64, places: [TimesFile.Place])] = []
        for (first, user) in zip(firsts, added)
        where user.bindings.count <= TimesFile.rowsPerUser && user.bindings.allSatisfy(Self.outlivesTables) {
            places.append((first, user.bindings.map(TimesFile.Place.init(of:))))
            index.note(user.bindings, in: .init(first: first, count: Int32(user.bindings.count)))
        }
        store.times?.write(places)
    }

    private func recover() throws(StoreError) {
        let left = journal.leftRows()
        // One REGISTER may have brought several.
        var users: [UserKey: [Binding]] = [:]
        for row in left where row.id == RefreshJournal.newRow {
            users[UserKey(row.binding.aor), default: []].append(row.binding)
        }
        for (key, bindings) in users where try store.rows(of: key.aor).isEmpty {
            // Where it has come and gone since, it is over.
            let tombstones = try store.removed(of: key.aor)
            let rows = bindings.filter { binding in
                !tombstones.contains { $0.removedAt >= binding.registeredAt && $0.binding.hasSameToken(as: binding) }
            }
            guard !rows.isEmpty else { continue }
            added.append((key, rows))
            recent[key] = Known(rows: rows.map { StoredRow(id: RefreshJournal.newRow, $0) }, isInTables: false)
        }
        for row in left where row.id != RefreshJournal.newRow {
            let key = UserKey(row.binding.aor)
            var user = recent[key]
            if user == nil { user = Known(rows: try store.rows(of: key.aor)) }
            // Where it was replaced since, by a process that kept no journal, it is over.
            guard let user, let index = user.rows.firstIndex(where: { $0.id == row.id }),
                user.rows[index].binding.registeredAt <= row.binding.registeredAt
            else { continue }
            store.forgetTimes(of: [user.rows[index]])
            var binding = row.binding
            let known = user.rows[index].binding
            if binding.hasSameToken(as: known) { binding.acceptedAt = known.acceptedAt }
            user.rows[index] = StoredRow(id: row.id, binding)
            waiting[row.id] = WaitingRow(id: row.id, binding: binding)
            recent[key] = user
        }
        if waiting.isEmpty, added.isEmpty { journal.clear() } else { onWaiting?() }
    }

    // MARK: What stays in memory

    public func bindings(of aor: String, now: Int64) throws(StoreError) -> [Binding] {
        guard buffers else { return try store.bindings(of: aor, now: now) }
        let found = try known(aor, UserKey(aor)).rows.map(\.binding).filter { $0.forgetAt > now }
        return found.count < 2 ? found : found.sortedByAge()
    }

    public func keep(_ bindings: [Binding], now: Int64) throws(StoreError) -> KeptRegistration? {
        guard buffers, let aor = bindings.first?.aor else { return try store.keep(bindings, now: now) }
        let key = UserKey(aor)
        guard groups else { return try keepInTables(bindings, key, now) }
        if renew(bindings, key, now) { return KeptRegistration() }
        var user = try known(aor, key)
        if !user.isInTables {
            try flush()
            user = try known(aor, key)
        }
        if user.tombstones == nil { user.tombstones = try store.removed(of: aor, with: user.rows) }
        let plan = RegistrationPlan(
            storing: bindings, over: user.rows.map(\.binding), tombstones: user.tombstones ?? [],
            perUser: store.perUser, now: now
        )
        guard !plan.isStale else { return nil }
        if user.rows.isEmpty, user.tombstones?.isEmpty == true { return try add(plan, key, now) }
        guard plan.keepsRows, let first = user.rows.first, !store.hasDamage(besides: first.id) else {
            return try keepInTables(bindings, key, now)
        }
        // In the order of their ids, as what is stored takes their places.
        let places = plan.replaced.count < 2 ? plan.replaced : plan.replaced.sorted()
        let changes = zip(places, plan.stored).map { RowChange(of: user.rows[$0], to: $1) }
        if changes.allSatisfy({ $0 == nil }), renew(user, places, plan.stored) {
            if places.count == user.rows.count, user.tombstones?.isEmpty == true {
                index.note(bindings, in: .init(first: first.id, count: Int32(places.count)))
            }
            return KeptRegistration(plan)
        }
        try makeRoomInQueue()
        let rows = zip(zip(places, plan.stored), changes).map { row, change in
            WaitingRow(id: user.rows[row.0].id, binding: row.1, change: change ?? .address)
        }
        guard isTogether || journal.append(rows) else { return try keepInTables(bindings, key, now) }
        index.forget(aor)
        let isFirst = waiting.isEmpty && added.isEmpty
        // There may have been no room for one who is only read. The queue bounds how many these are.
        recent[key] = user
        for (place, row) in zip(places, rows) {
            waiting[row.id, default: row].take(row)
            // What stands in the file of times is of the row as it was.
            store.forgetTimes(of: [user.rows[place]])
            user.rows[place] = StoredRow(id: row.id, row.binding)
        }
        if isFirst { onWaiting?() }
        return KeptRegistration(plan)
    }

    // MARK: Nothing but times

    /// Takes a REGISTER that changes nothing but times of a user's only bindings, without a look at the rows; false when
    /// more is to be looked at.
    private func renew(_ bindings: [Binding], _ key: UserKey, _ now: Int64) -> Bool {
        guard let rows = index.rows(of: bindings), rows.count == bindings.count, let file = store.times else {
            return false
        }
        let known = file.places(ofUser: rows.first >> 8).dropFirst(Int(rows.first & 0xFF))
        var places: [TimesFile.Place] = []
        for (place, binding) in zip(known, bindings) {
            // Overtaken by a later REGISTER? The rules say so, and have all that it takes.
            guard let place, place.times.cseq <= binding.cseq || place.times.expiresAt <= now,
                let renewed = renewed(place, binding)
            else { return false }
            places.append(renewed)
        }
        guard places.count == bindings.count, file.write(places, of: rows.first) else { return false }
        if store.ends != nil {
            for (offset, place) in known.prefix(bindings.count).enumerated() {
                guard let old = place?.times.expiresAt else { continue }
                store.noteEnd(of: bindings[offset], id: rows.first &+ Int64(offset), insteadOf: old)
            }
        }
        if let user = recent[key] ?? older[key] {
            for (offset, place) in places.enumerated() where offset < user.rows.count {
                place.times.apply(to: &user.rows[offset].binding)
            }
        }
        return true
    }

    /// The same for rows that were read: `places` are those in the user's list.
    private func renew(_ user: Known, _ places: [Int], _ bindings: [Binding]) -> Bool {
        guard let file = store.times, let first = places.first,
            places.last == first + places.count - 1
        else { return false }
        var renewed: [TimesFile.Place] = []
        for (place, binding) in zip(places, bindings) {
            let row = user.rows[place]
            // What waits for the tables has no place yet.
            guard waiting[row.id] == nil, row.id == user.rows[first].id + Int64(renewed.count),
                let next = self.renewed(TimesFile.Place(base: row.base, times: .init(of: row.binding)), binding)
            else { return false }
            renewed.append(next)
        }
        guard file.write(renewed, of: user.rows[first].id) else { return false }
        for (place, next) in zip(places, renewed) {
            let old = user.rows[place].binding.expiresAt
            next.times.apply(to: &user.rows[place].binding)
            store.noteEnd(of: user.rows[place].binding, id: user.rows[place].id, insteadOf: old)
            user.rows[place].isRenewed = true
        }
        return true
    }

    /// A place with the times of a REGISTER; nil where the tables have to hear of it: because they have not for long,
    /// because the binding is soon forgotten (`persist` of 0 and 1), or because the clock was put back.
    private func renewed(_ place: TimesFile.Place, _ binding: Binding) -> TimesFile.Place? {
        guard binding.registeredAt >= place.times.registeredAt,
            place.base.age(at: binding.registeredAt) < Self.latestTimes,
            Self.outlivesTables(binding)
        else { return nil }
        return TimesFile.Place(base: place.base, times: .init(of: binding))
    }

    /// Who has the tables alone, as old as they may be, does not forget it while its phone is registered.
    private static func outlivesTables(_ binding: Binding) -> Bool {
        binding.forgetAt >= binding.expiresAt.addingSaturating(latestTimes)
    }

    /// Takes the first bindings of a user.
    private func add(
        _ plan: RegistrationPlan, _ key: UserKey, _ now: Int64
    ) throws(StoreError) -> KeptRegistration? {
        let bindings = plan.stored
        guard !bindings.isEmpty else { return KeptRegistration(plan) }
        try makeRoomInQueue()
        makeRoomForUser()
        guard isTogether || journal.append(bindings.map { WaitingRow(id: RefreshJournal.newRow, binding: $0) })
        else { return try keepInTables(bindings, key, now) }
        let isFirst = waiting.isEmpty && added.isEmpty
        added.append((key, bindings))
        recent[key] = Known(
            rows: bindings.map { StoredRow(id: RefreshJournal.newRow, $0) }, tombstones: [], isInTables: false)
        if isFirst { onWaiting?() }
        return KeptRegistration(plan)
    }

    private func makeRoomInQueue() throws(StoreError) {
        if waiting.count + added.count >= Self.longestQueue || journal.size >= Self.longestJournal { try flush() }
    }

    private func keepInTables(
        _ bindings: [Binding], _ key: UserKey, _ now: Int64
    ) throws(StoreError) -> KeptRegistration? {
        try flushAndForget(key)
        return try store.keep(bindings, now: now)
    }

    private func known(_ aor: String, _ key: UserKey) throws(StoreError) -> Known {
        if let user = recent[key] { return user }
        if let user = older[key] {
            if makeRoomForUser() { recent[key] = user }
            return user
        }
        guard let rows = try store.rowsIfKnown(of: aor) else { return Known(rows: [], tombstones: []) }
        let user = Known(rows: rows)
        if !rows.isEmpty, makeRoomForUser() { recent[key] = user }
        return user
    }

    /// False while nobody may be forgotten: a user who is only read is then read each time.
    @discardableResult private func makeRoomForUser() -> Bool {
        guard recent.count >= Self.recentUsers else { return true }
        // ORDER: what is read again from the tables has to be there.
        guard (try? flush()) != nil else { return false }
        swap(&recent, &older)
        // Its room is kept: a table that grows hashes each of its users again and again.
        recent.removeAll(keepingCapacity: true)
        return true
    }

    /// Writes what waits, and forgets this user, whose rows are about to change.
    private func flushAndForget(_ key: UserKey) throws(StoreError) {
        // ORDER: while something waits, memory alone knows it.
        try flush()
        recent[key] = nil
        older[key] = nil
        index.forget(key.aor)
    }

    private func forgetUsers() { (recent, older) = ([:], [:]) }

    // MARK: What goes to the tables

    public func remove(
        _ selector: BindingSelector, of aor: String, reason: String, now: Int64
    ) throws(StoreError) -> [Binding] {
        try flushAndForget(UserKey(aor))
        return try store.remove(selector, of: aor, reason: reason, now: now)
    }

    public func endRegistrations(_ selector: BindingSelector, of aor: String, now: Int64) throws(StoreError) {
        // Most phones that unregister have no binding.
        guard !(try bindings(of: aor, now: now)).isEmpty else { return }
        try flushAndForget(UserKey(aor))
        try store.endRegistrations(selector, of: aor, now: now)
    }

    public func clockJumped(from old: Int64, to new: Int64) throws(StoreError) {
        try flush()
        forgetUsers()
        index.forgetAll()
        try store.clockJumped(from: old, to: new)
    }

    public func removed(of aor: String) throws(StoreError) -> [RemovedBinding] { try store.removed(of: aor) }

    public func restore(
        of aor: String, now: Int64, where isMeant: (RemovedBinding) -> Bool
    ) throws(StoreError) -> [RemovedBinding] {
        try flushAndForget(UserKey(aor))
        return try store.restore(of: aor, now: now, where: isMeant)
    }

    public func users(
        removedSince time: Int64, after cursor: String, limit: Int
    ) throws(StoreError) -> (aors: [String], next: String?) {
        try store.users(removedSince: time, after: cursor, limit: limit)
    }

    public func noteAccepted(_ bindings: [Binding], at now: Int64) throws(StoreError) {
        // ORDER: what waits would overwrite it, and new users have no ids before.
        try flush()
        var rows: [(user: Known, place: Int)] = []
        var others: [Binding] = []
        for binding in bindings {
            let key = UserKey(binding.aor)
            guard let user = recent[key] ?? older[key] else {
                others.append(binding)
                continue
            }
            for place in user.rows.indices where user.rows[place].binding.isFirstAccepted(as: binding) {
                rows.append((user, place))
            }
        }
        try store.noteAccepted(others, rows: rows.map { $0.user.rows[$0.place].id }, at: now)
        for (user, place) in rows { user.rows[place].binding.acceptedAt = UInt32(clamping: now) }
    }

    public func users(withTokensOf bindings: [Binding]) throws(StoreError) -> [[String]] {
        // ORDER: what waits is not in the tables.
        try flush()
        return try store.users(withTokensOf: bindings)
    }

    public func forget(now: Int64, limit: Int) throws(StoreError) -> Int {
        try flush()
        var touched: [Int64] = []
        let count = try store.forget(now: now, limit: limit, touched: &touched)
        // A row that stays may have other times in the table: what memory takes for them is not believed.
        if count > 0 || !touched.isEmpty { forgetUsers() }
        return count
    }

    public func learnEnds(limit: Int) throws(StoreError) -> Bool {
        guard try store.learnEnds(limit: limit) else { return false }
        if !buffers { store.learnEndsAgain() }
        return true
    }

    public func ending(
        after cursor: ExpiryCursor, by end: Int64, refreshingThemselves: Bool, limit: Int
    ) throws(StoreError) -> EndingPage {
        try flush()
        return try store.ending(after: cursor, by: end, refreshingThemselves: refreshingThemselves, limit: limit)
    }

    public func aors(after cursor: String, limit: Int, now: Int64) throws(StoreError) -> [String] {
        try? flush()
        let found = try store.aors(after: cursor, limit: limit, now: now)
        let new = added.filter { user in
            cursor.utf8.lexicographicallyPrecedes(user.key.aor.utf8) && user.bindings.contains { $0.forgetAt > now }
        }
        guard !new.isEmpty else { return found }
        let all = (found + new.map(\.key.aor)).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        return Array(all.prefix(max(0, limit)))
    }

    public func purr(of binding: Binding, now: Int64, fresh: () -> PURR) throws(StoreError) -> PURR? {
        try flush()
        return try store.purr(of: binding, now: now, fresh: fresh)
    }

    public func bindings(ofPURR purr: PURR, now: Int64) throws(StoreError) -> [Binding] {
        try store.rows(ofPURR: purr, now: now).map { waiting[$0.id]?.binding ?? $0.binding }.sortedByAge()
    }

    public func count() throws(StoreError) -> Int {
        try store.count() + added.reduce(0) { $0 + $1.bindings.count }
    }

    public func tryWriting() throws(StoreError) {
        try flush()
        try store.tryWriting()
    }

    public func together<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        // ORDER: what waits counts although the rest fails.
        try flush()
        isTogether = true
        defer { isTogether = false }
        do throws(StoreError) {
            return try store.together { () throws(StoreError) in
                let result = try body()
                try flush()
                return result
            }
        } catch {
            forgetAll()
            throw error
        }
    }
}

extension RegistrationPlan {
    /// Changes rows that there are, and nothing else.
    fileprivate var keepsRows: Bool {
        cleared.isEmpty && evicted.isEmpty && replaced.count == stored.count && !stored.isEmpty
    }
}
