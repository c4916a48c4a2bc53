// SPDX-License-Identifier: MIT

public import PushWakeCore

/// Bindings in a SQLite file (WAL). What a call stored outlives `kill -9` at once, and the loss of power too with
/// `durability: .everyCommit`.
///
/// Several processes may open one file; each sees what the others stored. A write that meets the lock of another
/// process waits for `busyTimeout` and fails then. One thread at a time uses a store.
///
/// A checkpoint is what may take long: call `SQLiteCheckpointer.run` from a thread of its own every few seconds.
/// Where nobody does, the store itself checkpoints when the log has grown to `logLimit` pages.
public final class SQLiteStore: BindingStore {
    /// When a stored binding is safe from the loss of power. The death of the process never loses one.
    public enum Durability: String, Sendable, CaseIterable {
        /// After the next checkpoint; a commit costs about 10 us.
        case checkpoint
        /// Before the call returns; a commit costs what the disk needs.
        case everyCommit
    }

    /// How a file is used.
    public struct Options: Sendable {
        /// When a binding is safe from the loss of power.
        public var durability: Durability
        /// Milliseconds to wait for the lock of another process.
        public var busyTimeout: Int32
        /// Kibibytes of pages kept in memory. A commit that has split a page may walk all of them, and the kernel caches
        /// the file anyway: more is slower.
        public var cacheSize: Int
        /// Pages in the log at which the store checkpoints by itself.
        public var logLimit: Int
        /// Pages that the file may have; 0 for no bound.
        public var pageLimit: Int
        /// Seconds for which tombstones stay.
        public var tombstoneLifetime: Int64
        /// Keeps in mind what `ending(after:by:refreshingThemselves:limit:)` looks for.
        public var findsEnds = false
        /// Bindings of one user; the oldest gives way.
        public var perUser = BindingLimits.perUser

        /// Takes defaults that suit a host of its own.
        public init(
            durability: Durability = .checkpoint, busyTimeout: Int32 = 50, cacheSize: Int = 32_768,
            logLimit: Int = 8192, pageLimit: Int = 0, tombstoneLifetime: Int64 = BindingLimits.tombstoneLifetime
        ) {
            self.durability = durability
            self.busyTimeout = busyTimeout
            self.cacheSize = cacheSize
            self.logLimit = logLimit
            self.pageLimit = pageLimit
            self.tombstoneLifetime = tombstoneLifetime
        }
    }

    /// Milliseconds for which opening waits: another process may be making the tables.
    private static let openTimeout: Int32 = 2000

    let path: String
    let database: SQLiteDatabase
    let users: UserTable
    let purrs: PURRTable
    let kinds: BindingKindTable
    let tombstoneLifetime: Int64
    /// Kept: of the statements with long texts it is the one that runs most.
    private var insertion: SQLiteStatement?
    let perUser: Int
    /// The newest times of rows; nil where there are none besides the table's.
    let times: TimesFile?
    /// Nil where nobody asks.
    var ends: RegistrationEnds?
    /// Text for the log when a row cannot be read, once for each.
    public var onDamage: ((String) -> Void)?
    private var damaged: Set<Int64> = []
    /// Rows that have newer times in the table once the transaction of `together` has ended; nil while there is none.
    var outdated: [StoredRow]?
    /// Why the newest times are neither read nor kept; nil when they are.
    public let lacksTimes: StoreError?
    /// Why nobody is found by a token; nil when all are.
    public let lacksTokens: StoreError?

    /// Opens the file, or makes it with mode 0600 (and its directory with 0750).
    public init(path: String, options: Options = Options()) throws(StoreError) {
        try SQLiteFile.prepare(path: path)
        self.path = path
        database = try SQLiteDatabase(path: path, busyTimeout: Self.openTimeout)
        kinds = BindingKindTable(database)
        users = UserTable(database)
        purrs = PURRTable(database)
        tombstoneLifetime = options.tombstoneLifetime
        perUser = min(options.perUser, BindingLimits.perUser)
        times = TimesFile(storePath: path)
        lacksTimes = times == nil ? SQLiteFile.error(opening: path + "-times") : nil
        ends = options.findsEnds ? RegistrationEnds() : nil
        try SQLiteSchema.prepare(database, path: path)
        try database.execute(
            """
            PRAGMA synchronous=\(options.durability == .everyCommit ? "FULL" : "NORMAL");
            PRAGMA cache_size=-\(options.cacheSize);
            PRAGMA wal_autocheckpoint=\(options.logLimit);
            PRAGMA journal_size_limit=\(options.logLimit &* 4096);
            PRAGMA temp_store=MEMORY;
            PRAGMA trusted_schema=OFF;
            PRAGMA cell_size_check=ON;
            """)
        if options.pageLimit > 0 { try database.execute("PRAGMA max_page_count=\(options.pageLimit)") }
        lacksTokens = try SQLiteSchema.makeIndices(in: database)
        database.setBusyTimeout(options.busyTimeout)
    }

    /// Opens a file for reading only: nothing is made, changed or brought up to date, and whoever writes goes on.
    public init(reading path: String) throws(StoreError) {
        try SQLiteFile.checkPresence(path: path)
        self.path = path
        database = try Self.open(reading: path)
        kinds = BindingKindTable(database)
        users = UserTable(database)
        purrs = PURRTable(database)
        tombstoneLifetime = BindingLimits.tombstoneLifetime
        perUser = BindingLimits.perUser
        times = TimesFile(storePath: path, isReadOnly: true)
        lacksTimes = nil
        lacksTokens = nil
        try database.execute("PRAGMA query_only=ON; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON")
    }

    /// Says why an engine would refuse this file; opens it for reading only.
    public static func check(path: String) throws(StoreError) {
        try SQLiteFile.checkPresence(path: path)
        try SQLiteFile.checkRights(path: path, beside: SQLiteFile.ofSQLite + SQLiteFile.ofStore)
        let database = try SQLiteDatabase(path: path, access: .readOnly, busyTimeout: openTimeout)
        try SQLiteSchema.checkFormat(of: database, path: path)
    }

    /// Without rights on the directory SQLite cannot read beside a writer; a file at rest it can.
    private static func open(reading path: String) throws(StoreError) -> SQLiteDatabase {
        do throws(StoreError) {
            return try open(path, .readOnly)
        } catch {
            guard case .unusable = error, !SQLiteFile.hasLog(path: path) else { throw error }
            guard let atRest = try? open(path, .immutable) else { throw error }
            return atRest
        }
    }

    private static func open(_ path: String, _ access: SQLiteDatabase.Access) throws(StoreError) -> SQLiteDatabase {
        let database = try SQLiteDatabase(path: path, access: access, busyTimeout: openTimeout)
        try SQLiteSchema.check(database, path: path)
        return database
    }

    /// Reads the bindings of one user, oldest REGISTER first.
    public func bindings(of aor: String, now: Int64) throws(StoreError) -> [Binding] {
        let found = try rows(of: aor).map(\.binding).filter { $0.forgetAt > now }
        return found.count < 2 ? found : found.sortedByAge()
    }

    /// Stores what one device registered.
    public func keep(_ bindings: [Binding], now: Int64) throws(StoreError) -> KeptRegistration? {
        guard let aor = bindings.first?.aor else { return KeptRegistration() }
        var replaced: [StoredRow] = []
        let kept = try write { () throws(StoreError) -> KeptRegistration? in
            let user = try users.findOrAdd(aor)
            let rows = try live(of: user)
            let lost = try dropDamaged(of: user)
            let tombstones = try tombstones(of: user)
            let plan = RegistrationPlan(
                storing: bindings, over: rows.map(\.binding), tombstones: tombstones.map(\.tombstone), perUser: perUser,
                now: now)
            guard !plan.isStale else {
                try users.countLive(by: -lost)
                return nil
            }
            // A refreshed binding keeps its row: that is the least to write.
            var free = SlotList(user: user, free: plan.replaced.map { rows[$0].id }, taken: rows.map(\.id))
            for index in plan.evicted { try purrs.delete(of: rows[index].id) }
            let ids = try plan.stored.map { binding throws(StoreError) in
                let id = free.take()
                try insert(binding, id: id)
                return id
            }
            for id in free.unused {
                try run("DELETE FROM bindings WHERE id = ?", id)
                if let heir = ids.first { try purrs.move(from: id, to: heir) }
            }
            for index in plan.cleared { try run("DELETE FROM marks WHERE id = ?", tombstones[index].id) }
            try users.countLive(by: plan.stored.count - plan.replaced.count - lost)
            replaced = plan.replaced.map { rows[$0] }
            return KeptRegistration(plan)
        }
        forgetTimes(of: replaced)
        return kept
    }

    /// Removes bindings and leaves tombstones; gives those removed.
    public func remove(
        _ selector: BindingSelector, of aor: String, reason: String, now: Int64
    ) throws(StoreError) -> [Binding] {
        var gone: [StoredRow] = []
        let removed = try write { () throws(StoreError) -> [Binding] in
            guard let user = try users.find(aor) else { return [] }
            let rows = try live(of: user).filter { $0.binding.forgetAt > now }
            let selected = selector.select(from: rows.map(\.binding), now: now)
            gone = rows.filter { selected.contains($0.binding) }
            guard !gone.isEmpty else { return [] }
            for row in gone {
                try run("DELETE FROM bindings WHERE id = ?", row.id)
                let device = DeviceIdentity(of: row.binding)
                let heir = rows.first { other in !gone.contains { $0.id == other.id } && device.owns(other.binding) }
                if let heir { try purrs.move(from: row.id, to: heir.id) } else { try purrs.delete(of: row.id) }
            }
            let binding = gone.map(\.binding).sortedByAge()
            try mark(binding.map { RemovedBinding(binding: $0, reason: reason, removedAt: now) }, of: user)
            try users.countLive(by: -gone.count)
            return binding
        }
        forgetTimes(of: gone)
        return removed
    }

    /// Notes that registrations are over while their bindings stay.
    public func endRegistrations(_ selector: BindingSelector, of aor: String, now: Int64) throws(StoreError) {
        func running(_ bindings: [Binding]) -> [Binding] {
            selector.select(from: bindings, now: now).filter { $0.expiresAt > now }
        }
        // Most phones that unregister have no binding.
        guard !running(try bindings(of: aor, now: now)).isEmpty else { return }
        var changed: [StoredRow] = []
        try write { () throws(StoreError) in
            guard let user = try users.find(aor) else { return }
            let rows = try live(of: user)
            let ended = running(rows.map(\.binding))
            changed = rows.filter { ended.contains($0.binding) }
            for row in changed {
                var times = TimesFile.Times(of: row.binding)
                times.expiresAt = now
                try update(times, id: row.id)
            }
        }
        forgetTimes(of: changed)
    }

    /// Other users who may have the token of each binding.
    public func users(withTokensOf bindings: [Binding]) throws(StoreError) -> [[String]] {
        // Without its index this would go through all rows for each new binding.
        guard lacksTokens == nil else { return bindings.map { _ in [] } }
        return try database.read { () throws(StoreError) in
            try bindings.map { (binding) throws(StoreError) in
                try users.find(
                    token: TextPacking.plain.pack(binding.token), besides: binding.aor,
                    limit: BindingLimits.usersPerToken)
            }
        }
    }

    /// Keeps the age of what is stored when the clock is put right. All in one statement: that is rare, and no half of it
    /// is right.
    public func clockJumped(from old: Int64, to new: Int64) throws(StoreError) {
        let shift = ClockShift(from: old, to: new)
        try foldTimes()
        if ends != nil { ends = RegistrationEnds() }
        try write { () throws(StoreError) in
            let update = try database.statement(
                """
                UPDATE bindings SET registered_at = registered_at + ?3, forget_at = forget_at + ?3
                WHERE \(ClockShift.condition)
                """)
            try update.bind(1, old)
            try update.bind(2, new)
            try update.bind(3, shift.seconds)
            try update.run()
        }
    }

    /// Lists users after `cursor` in the order of bytes.
    public func aors(after cursor: String, limit: Int, now: Int64) throws(StoreError) -> [String] {
        guard limit > 0 else { return [] }
        var (found, cursor): ([String], String) = ([], cursor)
        while found.count < limit {
            let wanted = limit - found.count
            let users = try usersWithRows(after: cursor, limit: wanted)
            for user in users {
                // The newest times may be in the file beside the table.
                if user.forgetAt <= now, try bindings(of: user.aor, now: now).isEmpty { continue }
                found.append(user.aor)
            }
            guard users.count == wanted, let last = users.last else { break }
            cursor = last.aor
        }
        return found
    }

    /// Counts live bindings.
    public func count() throws(StoreError) -> Int { try users.liveCount() }

    /// Writes the first page as it is.
    public func tryWriting() throws(StoreError) {
        try write { () throws(StoreError) in
            // SQLite leaves a row out that stays as it is, and this not.
            try database.execute("PRAGMA user_version=\(SQLiteSchema.steps.count)")
        }
    }

    // MARK: Rows

    func write<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        guard outdated == nil else { return try body() }
        do throws(StoreError) {
            return try database.write(body)
        } catch {
            kinds.refresh()
            throw error
        }
    }

    /// Runs the changes of `body` in one transaction.
    public func together<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        var rows: [StoredRow] = []
        let result = try write { () throws(StoreError) in
            outdated = []
            defer {
                rows = outdated ?? []
                outdated = nil
            }
            return try body()
        }
        forgetTimes(of: rows)
        return result
    }

    func live(of user: User) throws(StoreError) -> [StoredRow] {
        let query = try database.statement(
            "SELECT \(BindingRow.columns) FROM bindings WHERE id BETWEEN ? AND ? ORDER BY id")
        defer { query.reset() }
        try query.bind(1, user.slots.lowerBound)
        try query.bind(2, user.slots.upperBound)
        var rows: [StoredRow] = []
        while try query.step() {
            if let row = try read(query, aor: user.aor) { rows.append(row) }
        }
        renew(&rows)
        return rows
    }

    /// One statement, so that no transaction is needed for one state of the file.
    private static let rowsOfUser = """
        SELECT \(BindingRow.columns), id IS NULL FROM users LEFT JOIN bindings ON id BETWEEN uid << 8 AND uid << 8 | 255
        WHERE aor = ? ORDER BY id
        """

    /// Rows of a user in the order of their ids, forgotten ones included.
    func rows(of aor: String) throws(StoreError) -> [StoredRow] {
        try rowsIfKnown(of: aor) ?? []
    }

    /// The same; nil where there is no such user, who has no mark either.
    func rowsIfKnown(of aor: String) throws(StoreError) -> [StoredRow]? {
        // One statement, so that no transaction is needed for one state of the file.
        let query = try database.statement(Self.rowsOfUser)
        defer { query.reset() }
        try query.bind(1, aor)
        var rows: [StoredRow] = []
        var isKnown = false
        while try query.step() {
            isKnown = true
            guard query.number(BindingRow.end) == 0 else { break }
            if let row = try read(query, aor: aor) { rows.append(row) }
        }
        renew(&rows)
        return isKnown ? rows : nil
    }

    /// A row of the user whom this row belongs to cannot be read.
    func hasDamage(besides id: Int64) -> Bool {
        !damaged.isEmpty && damaged.contains { $0 >> 8 == id >> 8 }
    }

    /// Rows that nobody can read make room for what the phone registers now; how many there were.
    func dropDamaged(of user: User) throws(StoreError) -> Int {
        guard !damaged.isEmpty else { return 0 }
        let gone = damaged.filter { user.slots.contains($0) }
        for id in gone {
            try run("DELETE FROM bindings WHERE id = ?", id)
            try purrs.delete(of: id)
        }
        damaged.subtract(gone)
        return gone.count
    }

    /// Nil when the row is damaged: a user loses that binding until the phone registers again, and no other.
    func read(_ row: SQLiteStatement, aor: String) throws(StoreError) -> StoredRow? {
        if let read = try BindingRow.read(row, aor: aor, kinds: kinds) { return read }
        if damaged.count < 10_000, damaged.insert(row.number(0)).inserted {
            onDamage?(
                "\(path): row \(row.number(0)) of \(aor) cannot be read and counts as missing until its phone registers; "
                    + "`sqlite3 \(path) 'PRAGMA integrity_check'` tells whether there are more")
        }
        return nil
    }

    func insert(_ binding: Binding, id: Int64) throws(StoreError) {
        let kindID = try kinds.id(of: BindingKind(of: binding))
        let insertion = try bindingInsertion()
        try BindingRow.bind(binding, id: id, kindID: kindID, to: insertion)
        try insertion.run()
        noteEnd(of: binding, id: id)
    }

    private func bindingInsertion() throws(StoreError) -> SQLiteStatement {
        if let insertion { return insertion }
        let made = try database.statement(BindingRow.writing)
        insertion = made
        return made
    }

    func run(_ sql: String, _ number: Int64) throws(StoreError) {
        let statement = try database.statement(sql)
        try statement.bind(1, number)
        try statement.run()
    }
}
