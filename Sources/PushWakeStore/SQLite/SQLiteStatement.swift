// SPDX-License-Identifier: MIT

import CSQLite
internal import PushWakeCore

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
        // Handed over as it is, a text would be copied once more, for the NUL behind it.
        let code = text.utf8.span.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else {
                return sqlite3_bind_text(handle, index, "", 0, csqlite_transient())
            }
            return sqlite3_bind_text(
                handle, index, start.assumingMemoryBound(to: CChar.self), Int32(clamping: bytes.count),
                csqlite_transient())
        }
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
    func text(_ column: Int32) -> String { withBytes(column) { $0.text() } }

    /// A copy of bytes of the current row; none for NULL.
    func bytes(_ column: Int32) -> [UInt8] {
        withBytes(column) { $0.copy() }
    }

    /// Lends bytes of the current row to `body`; none for NULL.
    @inline(__always)
    func withBytes<Result>(_ column: Int32, _ body: (Span<UInt8>) -> Result) -> Result {
        // ORDER: the pointer first, its length after (sqlite3.h, "sqlite3_column_blob").
        let start = sqlite3_column_blob(handle, column)
        // SAFETY: SQLite keeps the bytes until the next step or reset, and `body` cannot keep the span.
        let bytes = UnsafeRawBufferPointer(
            start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(handle, column)))
        return body(bytes.assumingMemoryBound(to: UInt8.self).span)
    }
}
