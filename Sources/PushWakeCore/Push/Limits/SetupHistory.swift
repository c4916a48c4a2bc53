// SPDX-License-Identifier: MIT

/// The latest users of one setup with what became of them, and whether the guard has tripped. Times in seconds.
struct SetupHistory {
    /// Users who are looked at.
    private static let window = 20
    /// Bad ones among them that are too many, or few others beside `fewest`; as many good ones and no bad one are enough.
    private static let mostBad = 10
    private static let fewest = 3
    /// A user who was not pushed for so long no longer counts, nor does the setup.
    private static let memory: Int64 = 86_400
    /// Nothing goes for so long after a setup works again: answers of before may still be under way (`request_timeout`).
    private static let settling: Int64 = 15
    /// A clock that goes back by more was put back.
    private static let slack: Int64 = 60

    /// A user who was pushed.
    private struct Entry {
        let user: Int
        var isBad: Bool
        var at: Int64
        /// Since when its tokens have been called bad, and which was the last one.
        var badSince: Int64 = 0
        var badToken = 0
        /// Empty while nothing of it was removed.
        var aor = ""
        var removed: [Int] = []
    }

    private enum Mode {
        case watching
        /// Since when, and which tokens have failed: one that works was never bad.
        case tripped(since: Int64, tokens: [Int])
        case settling(until: Int64)
    }

    /// Of one user, and of one trip.
    private static let mostTokens = 32

    /// The latest last.
    private var entries: [Entry] = []
    private var mode = Mode.watching
    private var bad = 0
    private(set) var usedAt: Int64
    /// When a push was accepted last.
    private(set) var goodAt: Int64 = .min / 2

    /// Nobody was pushed yet.
    init(_ now: Int64) { usedAt = now }

    /// Most tokens are called bad, and none that worked before has worked since.
    var isTripped: Bool {
        guard case .tripped = mode else { return false }
        return true
    }

    /// It works again, and not for long.
    func isSettling(_ now: Int64) -> Bool {
        guard case .settling(let until) = mode else { return false }
        return now < until
    }

    /// It was not used for so long that nothing depends on it.
    func isOver(_ now: Int64) -> Bool { now.subtractingReportingOverflow(usedAt).partialValue > Self.memory }

    /// Users whose tokens work, and those whose are called bad.
    var counts: (good: Int, bad: Int) { (entries.count - bad, bad) }

    /// Too many are bad.
    var isAlarming: Bool { bad >= Self.mostBad || bad >= Self.fewest && bad > 2 * (entries.count - bad) }

    /// Forgets who was good or bad, and not that it has tripped.
    mutating func beginAnew() {
        (entries, bad) = ([], 0)
        goodAt = .min / 2
    }

    /// Something is about to be noted.
    mutating func use(_ now: Int64) {
        if isOver(now) {
            beginAnew()
            mode = .watching
        } else if now < usedAt - Self.slack {
            // The clock was put back: what was noted before would count until it has caught up.
            beginAnew()
            if case .settling = mode { mode = .settling(until: now + Self.settling) }
        }
        usedAt = now
    }

    /// A push was accepted; whether that ends a trip.
    mutating func noteGood(_ binding: Binding, _ now: Int64) -> Bool {
        goodAt = now
        if case .tripped(let since, let tokens) = mode {
            return noteGood(binding, trippedSince: since, tokens, now)
        }
        // Most pushes are such ones: who was the last does not matter while all are good.
        guard bad > 0 || entries.count < Self.window else { return false }
        note(binding.aor.hashValue, isBad: false, now)
        return false
    }

    /// One that worked before ends it, or one that was called bad; and many, of whom nobody knows. That of one who has just
    /// come may be of the very environment that is wrong.
    private mutating func noteGood(_ binding: Binding, trippedSince since: Int64, _ tokens: [Int], _ now: Int64) -> Bool
    {
        note(binding.aor.hashValue, isBad: false, now)
        let first = Int64(binding.acceptedAt)
        // A time to come is that of a clock that was wrong.
        let isKnown =
            first > 0 && (first < since || first > now) || tokens.contains(TokenRemovalGuard.digest(of: binding))
        guard isKnown || bad == 0 && entries.count >= Self.mostBad else { return false }
        beginAnew()
        goodAt = now
        note(binding.aor.hashValue, isBad: false, now)
        mode = .settling(until: now + Self.settling)
        return true
    }

    /// A token was called bad.
    mutating func noteBad(_ binding: Binding, _ now: Int64) {
        // While all were good, nobody has noted who.
        if bad == 0 { for place in entries.indices { entries[place].at = max(entries[place].at, goodAt) } }
        entries.removeAll { now - $0.at > Self.memory }
        bad = entries.count { $0.isBad }
        note(binding.aor.hashValue, isBad: true, now)
        let token = TokenRemovalGuard.digest(of: binding)
        entries[entries.count - 1].badToken = token
        if case .tripped(let since, var tokens) = mode, tokens.count < Self.mostTokens, !tokens.contains(token) {
            tokens.append(token)
            mode = .tripped(since: since, tokens: tokens)
        }
    }

    /// Makes the user the latest, in place of the one who was pushed longest ago.
    private mutating func note(_ user: Int, isBad: Bool, _ now: Int64) {
        var entry = Entry(user: user, isBad: isBad, at: now, badSince: now)
        if let place = entries.firstIndex(where: { $0.user == user }) {
            let before = remove(at: place)
            (entry.aor, entry.removed) = (before.aor, before.removed)
            if before.isBad { entry.badSince = before.badSince }
        } else if entries.count >= Self.window {
            _ = remove(at: 0)
        }
        if isBad { bad += 1 }
        entries.append(entry)
    }

    private mutating func remove(at place: Int) -> Entry {
        let entry = entries.remove(at: place)
        if entry.isBad { bad -= 1 }
        return entry
    }

    /// What goes of the user who was noted last is remembered.
    mutating func noteRemoval(_ binding: Binding) {
        let place = entries.count - 1
        guard place >= 0 else { return }
        entries[place].aor = binding.aor
        if entries[place].removed.count >= Self.mostTokens { entries[place].removed.removeFirst() }
        entries[place].removed.append(TokenRemovalGuard.digest(of: binding))
    }

    /// Nothing goes from now on.
    mutating func trip(_ setup: TokenRemovalGuard.Setup, _ now: Int64) -> TokenRemovalGuard.Trip {
        let failing = entries.filter(\.isBad)
        let since = failing.map(\.badSince).min() ?? now
        let removed = entries.filter { !$0.removed.isEmpty }.map {
            TokenRemovalGuard.Removed(aor: $0.aor, tokens: $0.removed)
        }
        mode = .tripped(since: since, tokens: failing.map(\.badToken))
        let trip = TokenRemovalGuard.Trip(setup: setup, bad: bad, users: entries.count, since: since, removed: removed)
        for place in entries.indices { entries[place].removed = [] }
        return trip
    }
}
