// SPDX-License-Identifier: MIT

/// Hands out the row ids of a user: freed ones first, so that a refresh overwrites its row.
struct SlotList {
    private let user: User
    private var taken: Set<Int64>
    private var free: ArraySlice<Int64>
    private var next: Int64

    init(user: User, free: [Int64], taken: [Int64]) {
        self.user = user
        self.free = free.sorted()[...]
        self.taken = Set(taken)
        next = (taken.max() ?? (user.slots.lowerBound &- 1)) &+ 1
    }

    /// Freed ids that nobody took.
    var unused: ArraySlice<Int64> { free }

    /// An id for a new row. There is one: `BindingLimits` keeps a user within the slots.
    mutating func take() -> Int64 {
        if let id = free.popFirst() { return id }
        if next > user.slots.upperBound { next = user.slots.first { !taken.contains($0) } ?? user.slots.upperBound }
        defer {
            taken.insert(next)
            next &+= 1
            while taken.contains(next) { next &+= 1 }
        }
        return next
    }
}
