// SPDX-License-Identifier: MIT

import PushWakeCore

/// Upstream registrations in a SQLite file of their own (WAL): whatever store the bindings are in, they belong to this
/// host, whose Contact the SIP servers have. One process and one thread at a time uses it.
///
/// What a call stored outlives the death of the process. A write that meets a lock fails soon. Checkpoints are for a
/// `CheckpointThread`.
public final class UpstreamFile {
    /// "PWup": tells these files from those with bindings.
    private static let applicationID: Int64 = 0x5057_7570
    private static let version: Int64 = 1
    /// Milliseconds for which opening waits: an engine may be ending.
    private static let openTimeout: Int32 = 2000
    /// Milliseconds for a write: the loop waits with it.
    private static let writeTimeout: Int32 = 50
    /// Pages in the log at which a write empties it, should nobody else do it.
    private static let logLimit = 8192

    private let database: SQLiteDatabase

    /// Says why an engine would refuse this file; opens it for reading only.
    public static func check(path: String) throws(StoreError) {
        try SQLiteFile.checkPresence(path: path)
        try SQLiteFile.checkRights(path: path, beside: [""] + SQLiteFile.ofSQLite)
        try checkFormat(of: SQLiteDatabase(path: path, access: .readOnly, busyTimeout: openTimeout), path: path)
    }

    /// Opens the file, or makes it with mode 0600.
    public init(path: String) throws(StoreError) {
        try SQLiteFile.prepare(path: path)
        database = try SQLiteDatabase(path: path, busyTimeout: Self.openTimeout)
        try Self.checkFormat(of: database, path: path)
        try database.execute(
            """
            PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA trusted_schema=OFF; PRAGMA secure_delete=ON;
            CREATE TABLE IF NOT EXISTS upstream(
                name TEXT PRIMARY KEY, user TEXT, request_uri TEXT, server_aor TEXT, next_hop TEXT, server TEXT,
                local TEXT, call_id TEXT, from_tag TEXT, cseq INTEGER, username TEXT, ends_at INTEGER,
                interval INTEGER, aor TEXT, secret BLOB, algorithm TEXT, devices BLOB) WITHOUT ROWID;
            PRAGMA application_id=\(Self.applicationID); PRAGMA user_version=\(Self.version);
            PRAGMA wal_autocheckpoint=\(Self.logLimit); PRAGMA journal_size_limit=\(Self.logLimit * 4096);
            """)
        database.setBusyTimeout(Self.writeTimeout)
    }

    /// Refuses what is neither empty nor a file of this release; changes nothing.
    private static func checkFormat(of database: SQLiteDatabase, path: String) throws(StoreError) {
        let owner = try database.number("PRAGMA application_id") ?? 0
        let version = try database.number("PRAGMA user_version") ?? 0
        let tables = try database.number("SELECT count(*) FROM sqlite_schema") ?? 0
        guard owner == applicationID && version <= Self.version || owner == 0 && version == 0 && tables == 0 else {
            throw .unusable(
                "\(path) is not a file of upstream registrations of this release; move it away, or set store_path to another place"
            )
        }
    }

    /// All that is remembered, in no order.
    public func rows() throws(StoreError) -> [UpstreamRow] {
        let query = try database.statement(
            """
            SELECT user, request_uri, server_aor, next_hop, server, local, call_id, from_tag, cseq, username, ends_at,
                interval, aor, secret, algorithm, devices FROM upstream
            """)
        defer { query.reset() }
        var rows: [UpstreamRow] = []
        while try query.step() {
            let target = UpstreamTarget(
                user: query.text(0), requestURI: query.text(1), serverAOR: query.text(2), nextHop: query.text(3),
                server: query.text(4))
            rows.append(
                UpstreamRow(
                    target: target, local: query.text(5), callID: query.text(6), fromTag: query.text(7),
                    cseq: UInt32(clamping: query.number(8)), username: query.text(9), until: query.number(10),
                    interval: query.number(11), aor: query.text(12), secret: query.bytes(13),
                    algorithm: DigestAlgorithm(rawValue: query.text(14)), devices: Self.devices(query.bytes(15))))
        }
        return rows
    }

    /// Stores rows in place of those of the same name, and removes others, all of it or nothing.
    public func write(_ rows: [UpstreamRow], removing names: [String]) throws(StoreError) {
        guard !rows.isEmpty || !names.isEmpty else { return }
        try database.write { () throws(StoreError) in
            for name in names {
                let deletion = try database.statement("DELETE FROM upstream WHERE name = ?")
                try deletion.bind(1, name)
                try deletion.run()
            }
            for row in rows { try put(row) }
        }
    }

    private func put(_ row: UpstreamRow) throws(StoreError) {
        let insertion = try database.statement(
            "INSERT OR REPLACE INTO upstream VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        let target = row.target
        let texts: [(Int32, String)] = [
            (1, target.name), (2, target.user), (3, target.requestURI), (4, target.serverAOR), (5, target.nextHop),
            (6, target.server), (7, row.local), (8, row.callID), (9, row.fromTag), (11, row.username), (14, row.aor),
            (16, row.algorithm?.rawValue ?? ""),
        ]
        for (column, text) in texts { try insertion.bind(column, text) }
        for (column, number) in [(10, Int64(row.cseq)), (12, row.until), (13, row.interval)] as [(Int32, Int64)] {
            try insertion.bind(column, number)
        }
        try insertion.bind(15, row.secret)
        try insertion.bind(17, Self.bytes(row.devices))
        try insertion.run()
    }

    static func bytes(_ devices: [(device: UInt64, endsAt: Int64)]) -> [UInt8] {
        devices.flatMap { entry in
            [entry.device, UInt64(bitPattern: entry.endsAt)].flatMap { word in
                (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) }
            }
        }
    }

    static func devices(_ bytes: [UInt8]) -> [(device: UInt64, endsAt: Int64)] {
        func word(_ at: Int) -> UInt64 {
            (0..<8).reduce(0) { $0 | UInt64(bytes[at + $1]) << UInt64(8 * $1) }
        }
        return stride(from: 0, to: bytes.count / 16 * 16, by: 16).map { at in
            (word(at), Int64(bitPattern: word(at + 8)))
        }
    }
}
