// SPDX-License-Identifier: MIT

import PushWakeCore

/// A row that is to be written, and how it differs from that of the tables.
struct WaitingRow {
    let id: Int64
    private(set) var binding: Binding
    private(set) var change: RowChange

    init(id: Int64, binding: Binding, change: RowChange = .everything) {
        (self.id, self.binding, self.change) = (id, binding, change)
    }

    /// The row has changed once more.
    mutating func take(_ newer: WaitingRow) {
        binding = newer.binding
        change = max(change, newer.change)
    }
}
