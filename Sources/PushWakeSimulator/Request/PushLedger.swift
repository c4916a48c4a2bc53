// SPDX-License-Identifier: MIT

/// Every accepted push, so that lost and doubled ones can be told.
struct PushLedger: Sendable {
    /// More pushes than this are counted but not remembered.
    static let most = 8_000_000

    private var ids: Set<UInt64> = []
    private var contents: Set<UInt64> = []
    /// Ids of pushes that were accepted without an answer and have not come again.
    private var silent: Set<UInt64> = []
    /// Pushes whose id was accepted before.
    private(set) var duplicates = 0
    /// Pushes with a new id whose token and body were accepted before.
    private(set) var repeats = 0
    /// Pushes that came again with the same id after a first copy that was accepted without an answer: no sender
    /// can tell such a copy from one that was lost.
    private(set) var resends = 0
    /// Memory was full, so duplicates may have been missed.
    private(set) var isFull = false

    /// Number of different ids accepted.
    var distinct: Int { ids.count }

    /// Enters one push; false when it is doubled. `isAnswered`: its sender hears that it was accepted.
    mutating func enter(_ push: PushIdentity, isAnswered: Bool) -> Bool {
        guard ids.count < Self.most else {
            isFull = true
            return true
        }
        guard ids.insert(push.id).inserted else {
            if silent.remove(push.id) != nil {
                resends += 1
                if !isAnswered { silent.insert(push.id) }
                return true
            }
            duplicates += 1
            return false
        }
        if !isAnswered { silent.insert(push.id) }
        if !contents.insert(push.content).inserted { repeats += 1 }
        return true
    }
}
