// SPDX-License-Identifier: MIT

/// How many pushes requests may cause: to a device, for an AoR, and by one caller at one AoR. A device that is called
/// without end is woken now and then, not each time; the requests wait for it all the same. Whose phone it is besides does not
/// hold up an AoR whose last push to it is long ago: it may have been registered by somebody else, who calls himself.
///
/// Remembers one number per name, the time at which all its pushes would have been made one by one (GCRA), in two tables
/// that take turns: what is not used for two turns is forgotten.
public struct PushLimits: Sendable {
    /// So many at once, and one more after each `interval` milliseconds; 0: no bound.
    public struct Rate: Equatable, Sendable {
        public let burst: Int64
        public let interval: Int64

        public init(burst: Int64, interval: Int64) {
            self.burst = min(max(burst, 0), 1_000_000)
            self.interval = min(max(interval, 1), 3_600_000)
        }
    }

    /// Names in one table, and milliseconds until the tables change places at the latest.
    private static let turn: Int64 = 120_000
    private let capacity: Int
    private let device: Rate
    private let caller: Rate
    private let user: Rate
    private let seed: UInt64
    private var current: [UInt64: Int64] = [:]
    private var before: [UInt64: Int64] = [:]
    private var turnedAt: Int64?

    /// `seed` keeps callers from making names that collide.
    public init(device: Rate, caller: Rate, user: Rate, capacity: Int = 100_000, seed: UInt64) {
        (self.device, self.caller, self.user) = (device, caller, user)
        self.capacity = max(capacity, 1)
        self.seed = seed
    }

    /// Whom a push counts for.
    public struct Names: Equatable, Sendable {
        let user: UInt64
        fileprivate let device: UInt64
        /// The device as one of this AoR.
        fileprivate let own: UInt64
        let caller: UInt64
    }

    /// Whom this push counts for.
    public func names(_ binding: Binding, _ content: PushContent) -> Names {
        let aor = Fingerprint.of(binding.aor, from: seed)
        let device = Fingerprint.of(binding.token, from: seed ^ UInt64(binding.provider.rawValue) << 8 ^ 0xD)
        return Names(
            user: aor, device: device, own: aor ^ device,
            caller: Fingerprint.of(content.callerKey.isEmpty ? content.fromURI : content.callerKey, from: aor ^ 0xC))
    }

    /// Milliseconds until one more push may go; 0: now. Counts nothing.
    public func pause(_ names: Names, now: Int64) -> Int64 {
        max(pause(names.user, user, now), pauseOfDevice(names, now), pause(names.caller, caller, now))
    }

    private func pauseOfDevice(_ names: Names, _ now: Int64) -> Int64 {
        let pause = pause(names.device, device, now)
        return pause > 0 && isLongAgo(names, now) ? 0 : pause
    }

    /// The device has had no push for this AoR since it may have had a whole burst again.
    private func isLongAgo(_ names: Names, _ now: Int64) -> Bool { time(names.own).map { $0 <= now } ?? true }

    /// The turns that a push with these names may have to wait for.
    public func turns(of names: Names, now: Int64) -> [LimitKey] {
        let others: [LimitKey] = [.caller(names.caller), .user(names.user)]
        return isLongAgo(names, now) ? others : [.device(names.device)] + others
    }

    /// The turn for which a push has to wait longest, and milliseconds until then; nil when it may go now.
    public func longestPause(_ names: Names, now: Int64) -> (turn: LimitKey, wait: Int64)? {
        // Most pushes wait for nothing: no list is made for them.
        guard pause(names, now: now) > 0 else { return nil }
        let pauses: [(turn: LimitKey, wait: Int64)] = [
            (.device(names.device), pauseOfDevice(names, now)),
            (.caller(names.caller), pause(names.caller, caller, now)),
            (.user(names.user), pause(names.user, user, now)),
        ]
        return pauses.max { $0.wait < $1.wait }
    }

    /// A push goes.
    public mutating func note(_ names: Names, now: Int64) {
        if current.count >= capacity || now &- (turnedAt ?? now) > Self.turn {
            before = current
            current = [:]
            turnedAt = now
        }
        if turnedAt == nil { turnedAt = now }
        note(names.user, user, now)
        note(names.device, device, now)
        note(names.caller, caller, now)
        if device.burst > 0 { current[names.own] = now &+ device.burst * device.interval }
    }

    private mutating func note(_ name: UInt64, _ rate: Rate, _ now: Int64) {
        guard rate.burst > 0 else { return }
        current[name] = max(time(name) ?? now, now) &+ rate.interval
    }

    private func time(_ name: UInt64) -> Int64? { current[name] ?? before[name] }

    private func pause(_ name: UInt64, _ rate: Rate, _ now: Int64) -> Int64 {
        guard rate.burst > 0, let time = time(name) else { return 0 }
        return max(0, time &- now &- (rate.burst - 1) * rate.interval)
    }
}

extension PushLimits {
    /// As the settings say.
    public init(_ settings: Settings, seed: UInt64) {
        self.init(
            device: Rate(burst: settings.integer(.devicePushes), interval: 5000),
            caller: Rate(burst: settings.integer(.callerPushes), interval: 5000),
            user: Rate(burst: settings.integer(.aorPushes), interval: 1000), seed: seed)
    }
}
