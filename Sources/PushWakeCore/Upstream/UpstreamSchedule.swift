// SPDX-License-Identifier: MIT

/// Which account is looked at when: a heap of times, 16 bytes an entry. Times in monotonic milliseconds.
///
/// A time that was replaced stays in the heap until it comes, or until most of the heap are such times; it is known by
/// its serial to be none.
public struct UpstreamSchedule: ~Copyable {
    private struct Entry {
        let time: Int64
        let account: UInt32
        let serial: UInt32
    }

    private var heap: [Entry] = []
    private var serials: [UInt32] = []

    /// Empty.
    public init() {}

    /// When the next look may be due; nil when there is none.
    public var next: Int64? { heap.first?.time }

    /// Times that are kept, replaced ones too.
    public var count: Int { heap.count }

    /// Looks at an account then, and at no other time.
    public mutating func set(_ account: UInt32, at time: Int64) {
        let serial = renew(account)
        // Each account has one time at most: the rest are replaced ones.
        if heap.count > 64 + 2 * serials.count { dropReplaced() }
        add(Entry(time: time, account: account, serial: serial))
    }

    private mutating func dropReplaced() {
        let all = heap
        heap = []
        for entry in all where serials[Int(entry.account)] == entry.serial { add(entry) }
    }

    private mutating func add(_ entry: Entry) {
        heap.append(entry)
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].time < heap[parent].time else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    /// Looks at it no more.
    public mutating func clear(_ account: UInt32) { _ = renew(account) }

    /// An account whose time has come; nil when there is none.
    public mutating func pop(now: Int64) -> UInt32? {
        while let top = heap.first, top.time <= now {
            removeTop()
            if serials[Int(top.account)] == top.serial {
                _ = renew(top.account)
                return top.account
            }
        }
        return nil
    }

    private mutating func renew(_ account: UInt32) -> UInt32 {
        while serials.count <= Int(account) { serials.append(0) }
        serials[Int(account)] &+= 1
        return serials[Int(account)]
    }

    private mutating func removeTop() {
        let last = heap.removeLast()
        guard !heap.isEmpty else { return }
        heap[0] = last
        var parent = 0
        while true {
            var child = 2 * parent + 1
            guard child < heap.count else { return }
            if child + 1 < heap.count, heap[child + 1].time < heap[child].time { child += 1 }
            guard heap[child].time < heap[parent].time else { return }
            heap.swapAt(parent, child)
            parent = child
        }
    }
}

/// How fast the gateway may send one server REGISTERs that no phone asked for, and when it leaves it alone.
///
///     answering --silent or 5xx--> down: one tries after 2, 4, … 30 s --any answer--> answering
///
/// While it answers, at most twice what keeping all its registrations takes anyway: after a time when it was away, or
/// a restart, there is no wave. Times in monotonic milliseconds.
public struct UpstreamPace: Sendable {
    /// A refresh comes after seven tenths of the interval on average.
    private static let share = 0.7
    private static let most = 2.0
    /// REGISTERs a second that are always allowed.
    private static let least = 10.0

    private var backoff = Backoff(first: 2000, cap: 30_000)
    private var nextTry: Int64?
    /// A try is under way until then.
    private var tryEnds: Int64 = 0
    /// REGISTERs a second that all registrations take.
    private var steady = 0.0
    /// When the next may go.
    private var slot = 0.0
    private var accounts = 0

    /// The server answers.
    public init() {}

    /// One account more is there.
    public mutating func join() { accounts += 1 }

    /// One less; true when there is none any more, and nothing to be remembered.
    public mutating func leave() -> Bool {
        accounts -= 1
        return accounts <= 0
    }

    /// A registration with this interval is kept there.
    public mutating func add(interval: Int64) { if interval > 0 { steady += 1000 / Double(interval) } }

    /// It is no more.
    public mutating func remove(interval: Int64) {
        if interval > 0 { steady = max(0, steady - 1000 / Double(interval)) }
    }

    /// Milliseconds between two.
    private var gap: Double { 1000 / max(Self.least, Self.most * steady / Self.share) }

    /// When a REGISTER may go: at `now` or later. The place is then taken.
    public mutating func reserve(now: Int64) -> Int64 {
        slot = max(slot, Double(now))
        let place = Int64(slot)
        slot += gap
        return place
    }

    /// Whether one whose time has come may really go; else when to ask again.
    public mutating func admit(now: Int64, random: UInt64) -> Int64? {
        guard let nextTry else { return nil }
        if now >= nextTry, now >= tryEnds {
            // One tries, the others wait for what comes of it.
            tryEnds = now + 40_000
            return nil
        }
        // Spread, so that they do not all ask again at once.
        let wait = max(nextTry, now >= tryEnds ? nextTry : now) - now
        return now + max(wait, 500) + Int64(random % 2000)
    }

    /// The server said something.
    public mutating func answered() {
        backoff.reset()
        nextTry = nil
        tryEnds = 0
    }

    /// It was silent, or out of order; `retryAfter` in seconds.
    public mutating func failed(now: Int64, retryAfter: UInt32?, random: UInt64) {
        // Those that were under way with it tell nothing new.
        if let nextTry, now < nextTry { return }
        tryEnds = 0
        let pause = backoff.next(random: random)
        nextTry = now + max(pause, min(Int64(retryAfter ?? 0), 600) * 1000)
    }
}

/// Numbers that look random and are the same for the same seed (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators").
public struct SplitMix: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Begins with a seed.
    public init(_ seed: UInt64) { state = seed }

    /// The next number.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z &>> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z &>> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z &>> 31)
    }
}
