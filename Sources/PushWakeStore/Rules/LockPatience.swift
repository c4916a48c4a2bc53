// SPDX-License-Identifier: MIT

/// Decides how long to wait for a lock of another process: `limit` milliseconds at first, and not at all for a while after
/// that was in vain.
///
/// Whoever holds the file holds it for many writes in a row, and each of them would wait anew on the loop on which calls
/// wait as well. A write that does not wait succeeds as soon as the lock is gone. Pure: times are milliseconds on one
/// clock.
struct LockPatience {
    /// Milliseconds without waiting after a wait in vain: at a limit of 50 ms the loop waits a twentieth of the time.
    static let rest: Int64 = 1000
    /// Milliseconds between two looks whether the lock is gone, as SQLite has them, the last one again and again.
    private static let pauses: [Int64] = [1, 2, 5, 10, 15, 20, 25]

    /// Milliseconds of a wait.
    var limit: Int64
    private var begin: Int64 = 0
    private var restsUntil = Int64.min

    init(limit: Int64) { self.limit = limit }

    /// The last wait was in vain, a moment ago.
    func isResting(now: Int64) -> Bool { now < restsUntil }

    /// How long to wait before the next look; nil: give up. `look` counts the looks of one wait from 0.
    mutating func pause(look: Int, now: Int64) -> Int64? {
        guard limit > 0, !isResting(now: now) else { return nil }
        if look == 0 { begin = now }
        let left = begin + limit - now
        guard left > 0 else {
            restsUntil = now + Self.rest
            return nil
        }
        return min(Self.pauses[min(max(look, 0), Self.pauses.count - 1)], left)
    }
}
