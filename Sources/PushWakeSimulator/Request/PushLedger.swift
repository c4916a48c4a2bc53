// SPDX-License-Identifier: MIT

/// Every accepted push, so that lost and doubled ones can be told.
struct PushLedger: Sendable {
    /// More pushes than this are counted but not remembered.
    static let most = 8_000_000

    private var ids: Set<UInt64> = []
    private var contents: Set<UInt64> = []
    /// Pushes whose id was accepted before.
    private(set) var duplicates = 0
    /// Pushes with a new id whose token and body were accepted before.
    private(set) var repeats = 0
    /// Memory was full, so duplicates may have been missed.
    private(set) var isFull = false

    /// Number of different ids accepted.
    var distinct: Int { ids.count }

    /// Enters one push; true when its id is new.
    mutating func enter(_ push: PushIdentity) -> Bool {
        guard ids.count < Self.most else {
            isFull = true
            return true
        }
        guard ids.insert(push.id).inserted else {
            duplicates += 1
            return false
        }
        if !contents.insert(push.content).inserted { repeats += 1 }
        return true
    }
}
