// SPDX-License-Identifier: MIT

/// Moves the log of a store into its file, over a connection of its own.
///
/// Made on any thread and used by one other: that is what keeps the disk's pace away from the loop.
public final class SQLiteCheckpointer: @unchecked Sendable {
    private let database: SQLiteDatabase

    /// Opens the file that a `SQLiteStore` has made.
    public init(path: String) throws(StoreError) {
        database = try SQLiteDatabase(path: path, busyTimeout: 0)
        // A connection that has read nothing does not know of the log and would have nothing to move.
        _ = try database.number("SELECT count(*) FROM sqlite_schema")
    }

    /// Moves all that no reader holds back, without keeping any reader or writer waiting; pages left in the log.
    public func run() throws(StoreError) -> Int { try database.checkpoint() }
}
