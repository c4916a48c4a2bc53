// SPDX-License-Identifier: MIT

import PushWakeCore

/// A question about one user on its way through the store, whatever its answer is.
final class ValkeyQuestion {
    /// What it does on the server.
    enum Kind: Equatable {
        /// Reads, and writes what has changed.
        case ask
        /// The same for a request, which is named.
        case hold(claim: String)
    }

    let aor: String
    let kind: Kind
    /// Seconds since 1970, of the question.
    let now: Int64
    let announcement: [UInt8]?
    /// Asks the bindings; keeps the answer for `finish`.
    let run: (MemoryStore) throws(StoreError) -> Void
    /// Tells the answer, or the failure. `isClaimed` belongs to `hold`.
    let finish: (_ failure: StoreError?, _ isClaimed: Bool) -> Void
    /// It is kept later when it fails.
    var keepsTrying: Bool
    /// It has failed before: what came later from the same device stays.
    var isLate = false
    var isOver = false
    var isClaimed = false
    /// It is only read, since the server takes no writes.
    var isPlain = false
    /// How often another node was faster.
    var conflicts = 0

    init(
        aor: String, kind: Kind = .ask, now: Int64, announcement: [UInt8]? = nil, keepsTrying: Bool = false,
        run: @escaping (MemoryStore) throws(StoreError) -> Void,
        finish: @escaping (_ failure: StoreError?, _ isClaimed: Bool) -> Void
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

/// REGISTERs that wait for a store that is away, in their order, up to a bound: one more is not kept. Pure.
struct RegisterBacklog<Entry> {
    private let most: Int
    private var entries: [Entry] = []
    private var first = 0
    /// Those for which there was no room.
    private(set) var lost = 0

    init(most: Int) { self.most = max(most, 0) }

    var count: Int { entries.count - first }

    /// Keeps one; false when there is no room.
    mutating func keep(_ entry: Entry) -> Bool {
        guard count < most else {
            lost += 1
            return false
        }
        entries.append(entry)
        return true
    }

    /// The oldest one.
    mutating func take() -> Entry? {
        guard first < entries.count else { return nil }
        defer {
            first += 1
            if first == entries.count || first > 256 && first * 2 > entries.count {
                entries.removeFirst(first)
                first = 0
            }
        }
        return entries[first]
    }

    /// Puts back what was taken and could not be kept.
    mutating func putBack(_ entry: Entry) {
        if first > 0 {
            first -= 1
            entries[first] = entry
        } else {
            entries.insert(entry, at: 0)
        }
    }
}
