// SPDX-License-Identifier: MIT

import PushWakeCore

/// What of a row a REGISTER changes.
enum RowChange: Int, Comparable {
    /// Times and CSeq, which every one does.
    case times
    /// Where, by which flow and under which Call-ID the phone is registered as well: it has another address, or has started anew.
    case address
    case everything

    init(from old: Binding, to new: Binding) {
        let isSame =
            old.provider == new.provider && old.environment == new.environment && old.service == new.service
            && old.dialect == new.dialect && old.refreshesItself == new.refreshesItself
            && old.token.isSameBytes(as: new.token) && old.app.isSameBytes(as: new.app)
            && old.team.isSameBytes(as: new.team) && old.instance.isSameBytes(as: new.instance)
            && old.attributes == new.attributes
        let hasMoved =
            !old.contact.isSameBytes(as: new.contact) || !old.callID.isSameBytes(as: new.callID)
            || old.flowNumber != new.flowNumber
        self = !isSame ? .everything : hasMoved ? .address : .times
    }

    static func < (a: RowChange, b: RowChange) -> Bool { a.rawValue < b.rawValue }
}
