// SPDX-License-Identifier: MIT

import PushWakeCore

/// What was registered is written in groups.
extension SQLiteStore {
    /// Overwrites what has changed in rows that are there, and stores the bindings of users who have no row; all or
    /// nothing. Returns the first id of each of these users.
    func write(
        replacing rows: [WaitingRow], adding users: [[Binding]] = []
    ) throws(StoreError) -> [Int64] {
        try write { () throws(StoreError) in
            if !rows.isEmpty {
                let address = try database.statement(Self.addressUpdate)
                for row in rows {
                    switch row.change {
                    case .address: try updateAddress(row.binding, id: row.id, with: address)
                    case .everything: try insert(row.binding, id: row.id)
                    }
                }
            }
            guard !users.isEmpty else { return [] }
            var change = 0
            let known = try self.users.findOrAdd(users.map { $0.first?.aor ?? "" })
            for (user, bindings) in zip(known, users) {
                change += bindings.count - (try dropDamaged(of: user))
                for (index, binding) in bindings.enumerated() {
                    try insert(binding, id: user.slots.lowerBound &+ Int64(index))
                }
            }
            try self.users.countLive(by: change)
            return known.map(\.slots.lowerBound)
        }
    }

    private static let addressUpdate =
        "UPDATE bindings SET \(BindingRow.timeColumns), contact = ?, call_id = ?, flags = ? WHERE id = ?"

    private func updateAddress(_ binding: Binding, id: Int64, with update: SQLiteStatement) throws(StoreError) {
        try BindingRow.bind(TimesFile.Times(of: binding), to: update)
        try update.bind(BindingRow.times + 1, BindingRow.packedContact(binding))
        try update.bind(BindingRow.times + 2, TextPacking.plain.pack(binding.callID))
        try update.bind(BindingRow.times + 3, BindingRow.flags(of: binding))
        try update.bind(BindingRow.times + 4, id)
        try update.run()
        noteEnd(of: binding, id: id)
    }
}
