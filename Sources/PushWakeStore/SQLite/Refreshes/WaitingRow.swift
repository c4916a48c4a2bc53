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

/// What of a row a REGISTER changes, besides times and CSeq.
enum RowChange: Int, Comparable {
    /// Where, by which flow and under which Call-ID the phone is registered: it has another address, or has started anew.
    case address
    case everything

    /// Nil where it changes nothing else.
    init?(of row: StoredRow, to new: Binding) {
        let old = row.binding
        let isSame =
            !row.isRespelled && old.provider == new.provider && old.environment == new.environment
            && old.service == new.service
            && old.dialect == new.dialect && old.refreshesItself == new.refreshesItself
            && old.token.isSameBytes(as: new.token) && old.app.isSameBytes(as: new.app)
            && old.team.isSameBytes(as: new.team) && old.instance.isSameBytes(as: new.instance)
            && old.attributes == new.attributes
        let hasMoved =
            !old.contact.isSameBytes(as: new.contact) || !old.callID.isSameBytes(as: new.callID)
            || old.flowNumber != new.flowNumber
        if isSame && !hasMoved { return nil }
        self = isSame ? .address : .everything
    }

    static func < (a: RowChange, b: RowChange) -> Bool { a.rawValue < b.rawValue }
}
