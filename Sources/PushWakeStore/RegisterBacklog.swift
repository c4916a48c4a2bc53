// SPDX-License-Identifier: MIT

import PushWakeCore

/// REGISTERs that wait for a store that takes no changes: those of one user in their order, users in the order in which
/// they came, up to a bound: one more is not kept. Pure.
public struct RegisterBacklog<Entry> {
    /// One that was taken, and its place among those of its user.
    public struct Taken {
        public let entry: Entry
        fileprivate let aor: String
        fileprivate let number: UInt64
    }

    private let most: Int
    private var users: [UserKey: [Taken]] = [:]
    /// Users who may have some; who has come twice waits at the first place.
    private(set) var queue = RingBuffer<String>()
    private var lastNumber: UInt64 = 0
    public private(set) var count = 0

    public init(most: Int) { self.most = max(most, 0) }

    /// Keeps one, behind all others of the user; false when there is no room.
    public mutating func keep(_ entry: Entry, of aor: String) -> Bool {
        guard count < most else { return false }
        lastNumber += 1
        insert(Taken(entry: entry, aor: aor, number: lastNumber))
        return true
    }

    /// Users of whom some wait, in no order.
    public var aors: [String] { users.keys.map(\.aor) }

    /// Some of this user wait.
    public func hasAny(of aor: String) -> Bool { users[UserKey(aor)] != nil }

    /// All of the user who waits longest and can be stored now, in their order; empty when there is none. Users who cannot
    /// wait behind the others then.
    public mutating func take(where canGo: (_ aor: String) -> Bool = { _ in true }) -> [Taken] {
        // Who cannot go now is not looked at a second time.
        for _ in 0..<queue.count {
            guard let aor = queue.popFirst() else { break }
            guard users[UserKey(aor)] != nil else { continue }
            if canGo(aor) { return take(of: aor) }
            queue.append(aor)
        }
        return []
    }

    /// All of one user, in their order.
    public mutating func take(of aor: String) -> [Taken] {
        let taken = users.removeValue(forKey: UserKey(aor)) ?? []
        count -= taken.count
        return taken
    }

    /// Puts back what was taken and could not be stored, where it stood.
    public mutating func putBack(_ taken: Taken) { insert(taken) }

    private mutating func insert(_ taken: Taken) {
        count += 1
        let user = UserKey(taken.aor)
        var line = users[user] ?? []
        if line.isEmpty { queue.append(taken.aor) }
        line.insert(taken, at: line.firstIndex { $0.number > taken.number } ?? line.endIndex)
        users[user] = line
        if queue.count > 2 * users.count + 16 { clearQueue() }
    }

    /// Takes out the places of users who went out of turn.
    private mutating func clearQueue() {
        let users = users
        var seen: Set<UserKey> = []
        _ = queue.removeAll { users[UserKey($0)] == nil || !seen.insert(UserKey($0)).inserted }
    }
}
