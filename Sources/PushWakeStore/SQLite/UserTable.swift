// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// The tables `users` and `counters`.
final class UserTable {
    private let database: SQLiteDatabase
    /// Users before this were looked at; nil when no user without rows can be left.
    private var sweepCursor: String? = ""

    init(_ database: SQLiteDatabase) { self.database = database }

    /// The user with this AoR; nil when there is none.
    func find(_ aor: String) throws(StoreError) -> User? {
        let query = try database.statement("SELECT uid FROM users WHERE aor = ?")
        defer { query.reset() }
        try query.bind(1, aor)
        return try query.step() ? User(aor: aor, uid: query.number(0)) : nil
    }

    /// The user with this number; slow without the index `users_by_uid`.
    func find(uid: Int64) throws(StoreError) -> User? {
        let query = try database.statement("SELECT aor FROM users WHERE uid = ?")
        defer { query.reset() }
        try query.bind(1, uid)
        return try query.step() ? User(aor: query.text(0), uid: uid) : nil
    }

    /// Rows are few that have the samples of a token in common. Where many do, some are looked at: this runs for each new
    /// user. His own row, as a rule the only one, is left out before SQLite looks it up.
    static let ofToken = """
        SELECT aor FROM (
            SELECT id AS found FROM bindings WHERE \(
                zip(SQLiteSchema.tokenSamples("token"), SQLiteSchema.tokenSamples("?1"))
                    .map { "\($0) = \($1)" }.joined(separator: " AND ")
            ) LIMIT 64
        ) CROSS JOIN users ON uid = found >> 8 CROSS JOIN bindings ON id = found
        WHERE aor <> ?2 AND token = ?1 LIMIT ?3
        """

    /// Users other than `aor` with a row of a token, given as it is packed; at most `limit`. Slow without the indices
    /// `bindings_by_token` and `users_by_uid`, in whose order the join is.
    func find(token: [UInt8], besides aor: String, limit: Int) throws(StoreError) -> [String] {
        let query = try database.statement(Self.ofToken)
        defer { query.reset() }
        try query.bind(1, token)
        try query.bind(2, aor)
        try query.bind(3, Int64(limit))
        var found: [String] = []
        while try query.step() {
            let user = query.text(0)
            if !found.contains(where: user.isSameBytes) { found.append(user) }
        }
        return found
    }

    /// The user with this AoR, stored when new.
    func findOrAdd(_ aor: String) throws(StoreError) -> User {
        if let user = try find(aor) { return user }
        let uid = try counter("next_uid")
        try count("next_uid", by: 1)
        try add(aor, uid)
        return User(aor: aor, uid: uid)
    }

    /// The same for several, most of whom are new, with one look at the counter.
    func findOrAdd(_ aors: [String]) throws(StoreError) -> [User] {
        let first = try counter("next_uid")
        var next = first
        let users = try aors.map { aor throws(StoreError) in
            if try add(aor, next) {
                defer { next &+= 1 }
                return User(aor: aor, uid: next)
            }
            guard let user = try find(aor) else {
                throw StoreError.unusable("the table users is damaged; stop the engine and restore the file")
            }
            return user
        }
        if next != first { try count("next_uid", by: Int(clamping: next &- first)) }
        return users
    }

    /// False when there is one with this AoR already.
    @discardableResult private func add(_ aor: String, _ uid: Int64) throws(StoreError) -> Bool {
        let insertion = try database.statement("INSERT INTO users(aor, uid) VALUES(?, ?) ON CONFLICT(aor) DO NOTHING")
        try insertion.bind(1, aor)
        try insertion.bind(2, uid)
        try insertion.run()
        return database.changes > 0
    }

    /// Number of live bindings.
    func liveCount() throws(StoreError) -> Int { Int(clamping: try counter("live")) }

    /// Adds to the number of live bindings.
    func countLive(by change: Int) throws(StoreError) {
        if change != 0 { try count("live", by: change) }
    }

    /// Looks at up to `limit` users, from where the last call stopped, and drops those without a row.
    func sweep(limit: Int, somethingWent: Bool) throws(StoreError) {
        guard let cursor = sweepCursor ?? (somethingWent ? "" : nil) else { return }
        let query = try database.statement(
            """
            SELECT aor, EXISTS(SELECT 1 FROM bindings WHERE id BETWEEN uid << 8 AND uid << 8 | 255)
                OR EXISTS(SELECT 1 FROM marks WHERE id BETWEEN uid << 8 AND uid << 8 | 255)
            FROM users WHERE aor >= ? ORDER BY aor LIMIT ?
            """)
        try query.bind(1, cursor)
        try query.bind(2, Int64(limit))
        var seen: [(aor: String, isUsed: Bool)] = []
        while try query.step() { seen.append((query.text(0), query.number(1) != 0)) }
        query.reset()
        for user in seen where !user.isUsed { try drop(user.aor) }
        // Dropped while the sweep was past them: the next one finds them.
        // A NUL at the end makes the next text in the order of bytes.
        sweepCursor = seen.count == limit ? seen.last.map { $0.aor + "\0" } : (somethingWent ? "" : nil)
    }

    private func drop(_ aor: String) throws(StoreError) {
        let deletion = try database.statement("DELETE FROM users WHERE aor = ?")
        try deletion.bind(1, aor)
        try deletion.run()
    }

    private func counter(_ name: String) throws(StoreError) -> Int64 {
        let query = try database.statement("SELECT value FROM counters WHERE name = ?")
        defer { query.reset() }
        try query.bind(1, name)
        return try query.step() ? query.number(0) : 0
    }

    private func count(_ name: String, by change: Int) throws(StoreError) {
        let update = try database.statement("UPDATE counters SET value = value + ? WHERE name = ?")
        try update.bind(1, Int64(change))
        try update.bind(2, name)
        try update.run()
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
