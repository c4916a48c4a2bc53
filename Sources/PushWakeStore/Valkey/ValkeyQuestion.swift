// SPDX-License-Identifier: MIT

import PushWakeCore

/// A question about one user on its way through the store, whatever its answer is.
final class ValkeyQuestion {
    /// What it does on the server.
    enum Kind: Equatable {
        /// Reads, and writes what has changed.
        case ask
        /// The same for a request, which is named and may be held for so many seconds.
        case hold(claim: String, seconds: Int64)
        /// The same for requests that are held already.
        case holdAgain(seconds: Int64)
    }

    let aor: String
    let kind: Kind
    /// Seconds since 1970, of the question.
    let now: Int64
    let announcement: () -> [UInt8]?
    /// Asks the bindings; keeps the answer for `finish`.
    let run: (MemoryStore) throws(StoreError) -> Void
    /// Tells the answer, or the failure; the state belongs to `hold`.
    let finish: (_ failure: StoreError?, HoldState) -> Void
    /// It is kept later when it fails.
    var keepsTrying: Bool
    /// It has failed before: what came later from the same device stays.
    var isLate = false
    var isOver = false
    var state = HoldState()
    /// It is only read, since the server takes no writes.
    var isPlain = false
    /// How often another node was faster.
    var conflicts = 0

    init(
        aor: String, kind: Kind = .ask, now: Int64, announcement: @escaping () -> [UInt8]? = { nil },
        keepsTrying: Bool = false,
        run: @escaping (MemoryStore) throws(StoreError) -> Void,
        finish: @escaping (_ failure: StoreError?, HoldState) -> Void
    ) {
        self.aor = aor
        self.kind = kind
        self.now = now
        self.announcement = announcement
        self.keepsTrying = keepsTrying
        self.run = run
        self.finish = finish
    }

    /// The same once more, for nobody who waits.
    func again(finish: @escaping (StoreError?) -> Void) -> ValkeyQuestion {
        let copy = ValkeyQuestion(
            aor: aor, kind: kind, now: now, announcement: announcement, run: run,
            finish: { failure, _ in finish(failure) })
        copy.isLate = true
        return copy
    }
}

/// REGISTERs that wait for a store that is away: those of one user in their order, users in the order in which they
/// came, up to a bound: one more is not kept. Pure.
struct RegisterBacklog<Entry> {
    /// One that was taken, and its place among those of its user.
    struct Taken {
        let entry: Entry
        fileprivate let aor: String
        fileprivate let number: UInt64
    }

    private let most: Int
    private var users: [UserKey: [Taken]] = [:]
    /// Users who may have some; who has come twice waits at the first place.
    private(set) var queue = RingBuffer<String>()
    private var lastNumber: UInt64 = 0
    private(set) var count = 0
    /// Those for which there was no room.
    private(set) var lost = 0

    init(most: Int) { self.most = max(most, 0) }

    /// Keeps one, behind all others of the user; false when there is no room.
    mutating func keep(_ entry: Entry, of aor: String) -> Bool {
        guard count < most else {
            lost += 1
            return false
        }
        lastNumber += 1
        insert(Taken(entry: entry, aor: aor, number: lastNumber))
        return true
    }

    /// Some of this user wait.
    func hasAny(of aor: String) -> Bool { users[UserKey(aor)] != nil }

    /// All of the user who waits longest and can be stored now, in their order; empty when there is none. Users who cannot
    /// wait behind the others then.
    mutating func take(where canGo: (_ aor: String) -> Bool = { _ in true }) -> [Taken] {
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
    mutating func take(of aor: String) -> [Taken] {
        let taken = users.removeValue(forKey: UserKey(aor)) ?? []
        count -= taken.count
        return taken
    }

    /// Puts back what was taken and could not be stored, where it stood.
    mutating func putBack(_ taken: Taken) { insert(taken) }

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
