// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// The wakes that are under way: what was pushed for which call, and who waits for it.
///
/// It bounds itself: an entry lives as long as the call may be held, and then a minute for late copies.
struct WakeRegister {
    /// One request that is being held somewhere.
    struct Wake {
        /// Monotonic milliseconds at which it is forgotten.
        var endsAt: Int64
        /// Pushes that were asked for, and those of them that have not ended.
        var pushed = 0
        var pushes: [PushJob] = []
        /// Pushes that have no outcome yet.
        var pending = 0
        var accepted = 0
        var lastReason = ""
        /// Bindings (by token) pushed, so that a copy of the request pushes none of them again.
        var tokens: Set<String> = []
        /// How the request ended; nil while it is held.
        var end: CallEnd?
        /// What the phones were told of: how it ended is about the same caller.
        var content: PushContent?
        /// Tokens whose provider took the push.
        var acceptedTokens: Set<String> = []
        /// Contacts that have registered since it began: a wait that starts late hears of them at once.
        var arrivals: [String] = []
        /// Channels that wait, by identity.
        var waiters: [any WakeWaiter] = []
    }

    private var wakes: [WakeKey: Wake] = [:]
    private var keysByAoR: [String: Set<WakeKey>] = [:]

    var count: Int { wakes.count }

    subscript(key: WakeKey) -> Wake? {
        get { wakes[key] }
        set {
            if let newValue {
                if wakes.updateValue(newValue, forKey: key) == nil { keysByAoR[key.aor, default: []].insert(key) }
            } else if wakes.removeValue(forKey: key) != nil {
                keysByAoR[key.aor]?.remove(key)
                if keysByAoR[key.aor]?.isEmpty == true { keysByAoR[key.aor] = nil }
            }
        }
    }

    /// Keys of the wakes of one user.
    func keys(of aor: String) -> Set<WakeKey> { keysByAoR[aor] ?? [] }

    /// Wakes whose time is over at `now` (monotonic milliseconds).
    func overdue(now: Int64) -> [WakeKey] { wakes.filter { $0.value.endsAt <= now }.map(\.key) }
}
