// SPDX-License-Identifier: MIT

/// Decides whether a host takes a new request for phones that sleep. A host that takes more than it can do loses packets of
/// all its calls; callers and phones send them again, and fewer calls are put through than before (RFC 6357, 1). So it
/// takes as many as it ends, and refuses the rest at once, when that costs least.
///
/// A value of integers, since the processes of a host share it in memory of their own.
public struct CallAdmission: Equatable, Sendable {
    /// What the host measures when a request comes in.
    public struct HostLoad: Equatable, Sendable {
        /// How full the queue is in which the request waited, in parts of 100; negative: not known.
        public var queueFill: Int64
        /// Packets that the kernel has dropped because a queue was full: ever, of all queues; negative: not known.
        public var lost: Int64
        /// Bytes of the memory in which requests are held, and how many of them are free; 0: not known.
        public var memory: Int64
        public var freeMemory: Int64
        /// Requests that wait for phones.
        public var held: Int64

        public init(queueFill: Int64 = 0, lost: Int64 = 0, memory: Int64 = 0, freeMemory: Int64 = 0, held: Int64 = 0) {
            self.queueFill = queueFill
            self.lost = lost
            self.memory = memory
            self.freeMemory = freeMemory
            self.held = held
        }

        /// Whether what is free is more than those that are held need, with their legs, answers and BYEs, and the host
        /// besides.
        var hasRoom: Bool { memory <= 0 || freeMemory >= held &* 16_384 &+ memory / 32 }
    }

    public enum Decision: Equatable, Sendable {
        case take
        /// The host has more to do than it can.
        case refuseByLoad
        /// What memory is left is for those that are held: their legs and their final answers.
        case refuseByMemory
    }

    /// What has changed.
    public enum Change: Equatable, Sendable {
        /// So many requests a second are taken from now on.
        case limited(perSecond: Int64)
        /// All are taken again; so many were refused.
        case unlimited(refused: Int64)
        /// Requests are refused for lack of memory; said now and then.
        case outOfMemory(held: Int64)

        /// The line for the host's log.
        public var line: String {
            switch self {
            case .limited(let rate):
                """
                more calls to sleeping phones come than this host can put through: it takes about \(rate) a second, and \
                answers 503 to the others
                """
            case .unlimited(let refused):
                "all calls to sleeping phones are taken again; 503 was the answer to \(refused)"
            case .outOfMemory(let held):
                """
                memory is low: \(held) requests wait for phones, and further ones are answered 503; start the server with \
                more shared memory
                """
            }
        }
    }

    /// Milliseconds for which is counted before anything changes.
    static let window: Int64 = 250
    /// Milliseconds for which packets may be lost: a burst passes, and what it has cost is sent again in time.
    private static let patience: Int64 = 750
    /// Milliseconds within which the effect of a limit shows.
    private static let effect: Int64 = 500
    /// Milliseconds without a request after which what was before says nothing.
    private static let longest: Int64 = 4000
    /// Milliseconds between two lines about lack of memory.
    private static let pause: Int64 = 10_000
    /// With fewer requests than this in a window it is not they that keep the host busy.
    private static let leastSamples: Int64 = 8
    /// Nor is it they with so many REGISTERs for each: after a restart all phones register, and a call that wakes one phone
    /// has one.
    private static let mostRegisters: Int64 = 8
    /// So full, on average, is the queue of a host that falls behind, and also of one whose callers each wait for an answer
    /// before they go on: that one loses nothing.
    private static let crowded: Int64 = 50
    /// So full, on average, is the queue of a host that could do more.
    private static let empty: Int64 = 10
    /// Fewer requests in a window are never asked for.
    private static let leastLimit: Int64 = 5

    /// Monotonic milliseconds: when the window began.
    public var began: Int64 = 0
    /// Requests of this window, and the sum of what they found the queue filled with.
    public var samples: Int64 = 0
    public var fill: Int64 = 0
    public var taken: Int64 = 0
    /// How many may be taken in a window; 0: all.
    public var limit: Int64 = 0
    /// What that was when it came.
    public var firstLimit: Int64 = 0
    /// Monotonic milliseconds: when the limit was lowered last; while there is none, since when the queue is crowded and has
    /// lost packets, 0 when it is not.
    public var markedAt: Int64 = 0
    /// Requests refused by load: in this window, and since the limit came.
    public var refusedNow: Int64 = 0
    public var refused: Int64 = 0
    /// Monotonic milliseconds: when lack of memory was said last.
    public var saidAt: Int64 = 0
    /// Requests that have ended: ever, which the host counts, and before this window.
    public var ended: Int64 = 0
    public var endedBefore: Int64 = 0
    /// REGISTERs: ever, which the host counts, and before this window.
    public var registers: Int64 = 0
    public var registersBefore: Int64 = 0
    /// Packets lost ever, as the host said last, and before this window.
    public var lost: Int64 = 0
    public var lostBefore: Int64 = 0

    public init() {}

    /// Decides about a request that is there at `now` (monotonic milliseconds).
    public mutating func admit(_ load: HostLoad, now: Int64) -> (decision: Decision, change: Change?) {
        let change = now &- began >= Self.window || now < began ? beginWindow(now) : nil
        if load.queueFill >= 0 {
            samples &+= 1
            fill &+= load.queueFill
            lost = load.lost
        }
        guard load.hasRoom else {
            guard now &- saidAt >= Self.pause || saidAt == 0 else { return (.refuseByMemory, change) }
            saidAt = now
            return (.refuseByMemory, .outOfMemory(held: load.held))
        }
        // Evenly, lest all come at the beginning of the window.
        guard limit == 0 || taken &* Self.window <= limit &* (now &- began) else {
            refusedNow &+= 1
            refused &+= 1
            return (.refuseByLoad, change)
        }
        taken &+= 1
        return (.take, change)
    }

    private mutating func beginWindow(_ now: Int64) -> Change? {
        let elapsed = now &- began
        defer {
            (began, samples, fill, taken, refusedNow) = (now, 0, 0, 0, 0)
            (endedBefore, registersBefore, lostBefore) = (ended, registers, lost)
        }
        guard (0...Self.longest).contains(elapsed) else { return lift() }
        func perWindow(_ count: Int64) -> Int64 { count &* Self.window / max(1, elapsed) }
        guard samples >= max(Self.leastSamples, (registers &- registersBefore) / Self.mostRegisters),
            fill >= samples &* Self.crowded
        else {
            return relax(taken: perWindow(taken))
        }
        let wasUnlimited = limit == 0
        if wasUnlimited {
            guard lost != lostBefore else { return nil }
            if markedAt == 0 { markedAt = now }
        }
        guard now &- markedAt >= (wasUnlimited ? Self.patience : Self.effect) else { return nil }
        let most = wasUnlimited ? perWindow(taken) : min(limit, perWindow(taken))
        // What it ends is what it can do, once the first phones have come.
        let least = most / 10 &* (wasUnlimited ? 5 : 7)
        limit = max(Self.leastLimit, firstLimit / 3, min(most, max(perWindow(ended &- endedBefore), least)))
        if wasUnlimited { firstLimit = limit }
        markedAt = now
        return wasUnlimited ? .limited(perSecond: limit &* 1000 / Self.window) : nil
    }

    private mutating func relax(taken: Int64) -> Change? {
        guard limit > 0 else {
            markedAt = 0
            return nil
        }
        if refusedNow == 0, limit > 2 &* taken { return lift() }
        // Slowly where it may have been too much before.
        let isLow = refusedNow == 0 || limit < firstLimit && fill <= samples &* Self.empty
        limit &+= max(1, limit / (isLow ? 5 : 25))
        return nil
    }

    private mutating func lift() -> Change? {
        defer { (limit, firstLimit, refused, markedAt) = (0, 0, 0, 0) }
        return limit > 0 ? .unlimited(refused: refused) : nil
    }
}
