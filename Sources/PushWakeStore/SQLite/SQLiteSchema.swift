// SPDX-License-Identifier: MIT

/// The tables of the file, and the steps that bring an older file up to date.
///
///     users(aor, uid)                 every user once
///     bindings(id = uid * 256 + slot) the bindings of one user lie next to each other
///     marks(id = uid * 256 + slot)    removed bindings
///     kinds(id)                       what bindings have in common: provider, app, team, ...
///     counters(name, value)           live bindings, next uid
///     purrs(purr, id)                 which device was told a PURR: `id` is a binding of it
///
/// Rejected: a table keyed by AoR, since random insertion leaves its pages a third empty and every
/// further index repeats the AoR. Numbers make the rows append in order.
enum SQLiteSchema {
    /// "PWke": tells our files from other SQLite files.
    static let applicationID: Int64 = 0x5057_6B65

    /// `steps[n]` leads from version n to n + 1. Released steps never change.
    static let steps = [
        """
        CREATE TABLE users(aor TEXT PRIMARY KEY, uid INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE bindings(
            id INTEGER PRIMARY KEY, kind INTEGER, cseq INTEGER, registered_at INTEGER, expires_in INTEGER,
            forget_at INTEGER, flags INTEGER, token BLOB, instance BLOB, contact BLOB, call_id BLOB, extra BLOB);
        CREATE INDEX bindings_by_forget_at ON bindings(forget_at);
        CREATE TABLE marks(
            id INTEGER PRIMARY KEY, kind INTEGER, cseq INTEGER, registered_at INTEGER, expires_in INTEGER,
            forget_at INTEGER, flags INTEGER, token BLOB, instance BLOB, contact BLOB, call_id BLOB, extra BLOB,
            removed_at INTEGER, reason TEXT);
        CREATE INDEX marks_by_removed_at ON marks(removed_at);
        CREATE TABLE kinds(
            id INTEGER PRIMARY KEY, provider INTEGER, environment INTEGER, service INTEGER, dialect INTEGER,
            app TEXT, team TEXT, UNIQUE(app, team, provider, environment, service, dialect));
        CREATE TABLE counters(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
        INSERT INTO counters VALUES('live', 0), ('next_uid', 1);
        """,
        """
        CREATE TABLE purrs(
            purr BLOB PRIMARY KEY, id INTEGER NOT NULL, made_at INTEGER NOT NULL, used_at INTEGER NOT NULL) WITHOUT ROWID;
        CREATE INDEX purrs_by_id ON purrs(id, made_at);
        """,
    ]

    /// What finds bindings by their token, and users by their number. No part of the format: an engine makes them in a file
    /// that has none, in 2.4 s for a million bindings.
    private static let indices = """
        CREATE INDEX IF NOT EXISTS users_by_uid ON users(uid);
        CREATE INDEX IF NOT EXISTS bindings_by_token ON bindings(\(tokenSamples("token").joined(separator: ", ")));
        """

    /// Gives why tokens cannot be looked for: where the disk is full, that is no reason to wake nobody.
    static func makeIndices(in database: SQLiteDatabase) throws(StoreError) -> StoreError? {
        var lack: StoreError?
        do throws(StoreError) {
            try database.execute(indices)
        } catch {
            guard case .full = error else { throw error }
            lack = error
            // What was written in vain takes the room of bindings.
            try? database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        }
        // Of an earlier release; one too many costs time, and no more.
        try? database.execute("DROP INDEX IF EXISTS bindings_by_end")
        return lack
    }

    /// What the index of tokens has of a packed one: some bytes of its beginning, its middle and its end. Tokens that are URIs
    /// have hosts in common, and may have ends; whole ones would make the file half as large again.
    static func tokenSamples(_ token: String) -> [String] {
        ["substr(\(token), 7, 4)", "substr(\(token), length(\(token)) / 2, 3)", "substr(\(token), -7)"]
    }

    /// Makes an empty file ours, brings an older one up to date, and refuses all others.
    static func prepare(_ database: SQLiteDatabase, path: String, steps: [String] = steps) throws(StoreError) {
        let version = try checkFormat(of: database, path: path, steps: steps)
        guard try database.text("PRAGMA journal_mode=WAL") == "wal" else {
            throw .unusable(
                "\(path): its file system cannot share memory (network file system?); set store_path to a local disk")
        }
        guard version < steps.count else { return }
        try database.write { () throws(StoreError) in
            // Another process may have done it while this one waited for the lock.
            let version = Int(try database.number("PRAGMA user_version") ?? 0)
            guard version < steps.count else { return }
            for step in steps[version...] { try database.execute(step) }
            try database.execute("PRAGMA application_id=\(applicationID); PRAGMA user_version=\(steps.count)")
        }
    }

    /// Refuses what `prepare` refuses; changes nothing. Gives the version.
    @discardableResult
    static func checkFormat(
        of database: SQLiteDatabase, path: String, steps: [String] = steps
    ) throws(StoreError) -> Int {
        let version = try checkOwner(of: database, path: path)
        guard version <= steps.count else {
            throw .unusable(
                "\(path) was written by a newer release (format \(version), this one knows \(steps.count)); "
                    + "install that release again, or set store_path to another file")
        }
        return version
    }

    /// Refuses a file that this release cannot read as it is; changes nothing.
    static func check(_ database: SQLiteDatabase, path: String) throws(StoreError) {
        let version = try checkOwner(of: database, path: path)
        guard version == steps.count else {
            throw .unusable(
                "\(path) has format \(version), this release reads \(steps.count); start the engine once, or use its release"
            )
        }
    }

    private static func checkOwner(of database: SQLiteDatabase, path: String) throws(StoreError) -> Int {
        let tables = try database.number("SELECT count(*) FROM sqlite_schema") ?? 0
        let version = try database.number("PRAGMA user_version") ?? 0
        let owner = try database.number("PRAGMA application_id") ?? 0
        if tables == 0, version == 0, owner == 0 { return 0 }
        guard owner == applicationID, version > 0 else {
            throw .unusable("\(path) is a SQLite file of another program; set store_path to another file")
        }
        return Int(clamping: version)
    }
}
