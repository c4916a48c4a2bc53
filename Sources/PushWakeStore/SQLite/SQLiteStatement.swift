// SPDX-License-Identifier: MIT

import CSQLite

/// One prepared statement, kept for the life of its database.
///
/// Use: `bind`, then `step` until it says false, then `reset`.
final class SQLiteStatement {
    private let handle: OpaquePointer
    private unowned let database: SQLiteDatabase

    /// Takes over `handle`.
    init(_ handle: OpaquePointer, of database: SQLiteDatabase) {
        self.handle = handle
        self.database = database
    }

    deinit { sqlite3_finalize(handle) }

    /// Binds a number to the parameter at `index`, counted from 1.
    func bind(_ index: Int32, _ number: Int64) throws(StoreError) {
        try database.check(sqlite3_bind_int64(handle, index, number))
    }

    /// Binds a text, NULs included.
    func bind(_ index: Int32, _ text: String) throws(StoreError) {
        // SAFETY: SQLite copies the bytes before the call returns (SQLITE_TRANSIENT).
        let code = sqlite3_bind_text(handle, index, text, Int32(clamping: text.utf8.count), csqlite_transient())
        try database.check(code)
    }

    /// Binds bytes; none at all becomes NULL.
    func bind(_ index: Int32, _ bytes: [UInt8]) throws(StoreError) {
        guard !bytes.isEmpty else { return try database.check(sqlite3_bind_null(handle, index)) }
        // SAFETY: as above.
        let code = sqlite3_bind_blob(handle, index, bytes, Int32(clamping: bytes.count), csqlite_transient())
        try database.check(code)
    }

    /// Goes to the next row; false when there is none.
    func step() throws(StoreError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code:
            // ORDER: the error is read before the reset that clears it.
            let error = database.error(for: code)
            reset()
            throw error
        }
    }

    /// Runs a statement that gives no rows.
    func run() throws(StoreError) {
        while try step() {}
        reset()
    }

    /// Makes ready for the next use.
    func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    /// A number of the current row, columns counted from 0.
    func number(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    /// A text of the current row.
    func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }

    /// Bytes of the current row; none for NULL.
    func bytes(_ column: Int32) -> [UInt8] {
        // ORDER: the pointer first, its length after (sqlite3.h, "sqlite3_column_blob").
        guard let start = sqlite3_column_blob(handle, column) else { return [] }
        // SAFETY: SQLite keeps the bytes until the next step or reset; they are copied here.
        return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }
}
