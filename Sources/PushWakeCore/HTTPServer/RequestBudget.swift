// SPDX-License-Identifier: MIT

/// How much an address may ask for: a rate, and as much again for some seconds at once.
///
/// A fixed number of places remembers who has asked last, found by a hash that nobody outside can foresee, so that a flood
/// from many addresses costs no memory. Each address has a bucket of its own. Where a newcomer finds no place free, whoever
/// owes least is forgotten: those who asked too much stay known, and burden nobody else. Addresses of one IPv6
/// network (/64) are one address.
public struct RequestBudget: Sendable {
    private struct Place: Sendable {
        /// Whose it is; 0 for nobody's.
        var owner: UInt64 = 0
        var tokens = 0.0
        var at: Int64 = 0
    }

    /// Places in which one owner can be.
    private static let ways = 16
    private let rate: Double
    private let burst: Double
    private var places: [Place]

    /// `rate` in requests per second, `seconds` of which may come at once; so many `owners` are told apart.
    public init(rate: Double, seconds: Double = 2, owners: Int = 4096) {
        self.rate = max(rate, 0)
        burst = max(rate * seconds, 1)
        places = Array(repeating: Place(), count: max(1, owners / Self.ways) * Self.ways)
    }

    /// Takes `cost` from the budget of an address (an IP literal), or of one `user` there; false when there is not so
    /// much. `now` in monotonic milliseconds.
    public mutating func take(_ ip: String, user: String = "", cost: Double = 1, now: Int64) -> Bool {
        let owner = Self.owner(ip, user)
        let index = place(of: owner) ?? claim(owner, now)
        places[index].tokens = tokens(places[index], now)
        places[index].at = max(now, places[index].at)
        guard places[index].tokens >= cost else { return false }
        places[index].tokens -= cost
        return true
    }

    /// Whether anything is left; whoever is not known has all.
    public func hasRest(_ ip: String, user: String = "", now: Int64) -> Bool {
        place(of: Self.owner(ip, user)).map { tokens(places[$0], now) >= 1 } ?? true
    }

    /// Whether it is remembered.
    func knows(_ ip: String, user: String) -> Bool { place(of: Self.owner(ip, user)) != nil }

    private func tokens(_ place: Place, _ now: Int64) -> Double {
        min(burst, place.tokens + Double(max(0, now &- place.at)) / 1000 * rate)
    }

    private func set(of owner: UInt64) -> Range<Int> {
        let start = Int(owner % UInt64(places.count / Self.ways)) * Self.ways
        return start..<(start + Self.ways)
    }

    private func place(of owner: UInt64) -> Int? { set(of: owner).first { places[$0].owner == owner } }

    private mutating func claim(_ owner: UInt64, _ now: Int64) -> Int {
        let set = set(of: owner)
        func owes(_ index: Int) -> (Double, Int64) {
            places[index].owner == 0 ? (-1, 0) : (burst - tokens(places[index], now), places[index].at)
        }
        let index = set.min { owes($0) < owes($1) } ?? set.lowerBound
        places[index] = Place(owner: owner, tokens: burst, at: now)
        return index
    }

    private static func owner(_ ip: String, _ user: String) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(IPAddressText.v6(ip).map { Array($0.prefix(8)) } ?? Array(ip.utf8))
        hasher.combine(Array(user.utf8))
        return max(1, UInt64(truncatingIfNeeded: hasher.finalize()))
    }
}

/// Who may try passwords: an address may show ten wrong ones, and then one in ten seconds. A user who has shown the right
/// one from there has a budget apart from what others show from the same address, as those behind one proxy do.
public struct PasswordAttempts: Sendable {
    private static let most: Double = 10
    private static let seconds: Double = 100
    private var addresses = RequestBudget(rate: most / seconds, seconds: seconds, owners: 16_384)
    private var users = RequestBudget(rate: most / seconds, seconds: seconds)

    /// Nobody has tried.
    public init() {}

    /// Whether a password is looked at that comes from this address (an IP literal) with this name. `now` in monotonic
    /// milliseconds.
    public func mayTry(_ user: String, at ip: String, now: Int64) -> Bool {
        users.knows(ip, user: user) ? users.hasRest(ip, user: user, now: now) : addresses.hasRest(ip, now: now)
    }

    /// It was wrong.
    public mutating func wasWrong(_ user: String, at ip: String, now: Int64) {
        if users.knows(ip, user: user) {
            _ = users.take(ip, user: user, now: now)
        } else {
            _ = addresses.take(ip, now: now)
        }
    }

    /// It was right.
    public mutating func wasRight(_ user: String, at ip: String, now: Int64) {
        _ = users.take(ip, user: user, cost: 0, now: now)
    }
}
