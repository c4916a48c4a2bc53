// SPDX-License-Identifier: MIT

/// What a push that was put off waits for, by fingerprint: the next push that a limit allows to its name, or the end of
/// `ignore_same` for its device.
public enum LimitKey: Hashable, Sendable {
    case device(UInt64)
    case caller(UInt64)
    case user(UInt64)
    case window(UInt64)

    /// The setting by which somebody waits for it.
    public enum Setting: UInt8, Sendable {
        case devicePushes
        case callerPushes
        case userPushes
        case ignoreSame

        /// As people know it.
        var name: String {
            let key: SettingKey =
                switch self {
                case .devicePushes: .devicePushes
                case .callerPushes: .callerPushes
                case .userPushes: .aorPushes
                case .ignoreSame: .ignoreSame
                }
            return SettingsTable.description(of: key).name.description
        }

        /// What a phone has to wait for, after its name.
        var words: String {
            switch self {
            case .devicePushes: "had many pushes"
            case .callerPushes: "has a caller who has caused many pushes"
            case .userPushes: "has a user who had many pushes"
            case .ignoreSame: "was pushed a moment ago"
            }
        }
    }

    public var setting: Setting {
        switch self {
        case .device: .devicePushes
        case .caller: .callerPushes
        case .user: .userPushes
        case .window: .ignoreSame
        }
    }
}

/// Pushes that were put off, in one line for each turn: AoRs take turns, and of an AoR's pushes calls go before messages before
/// refreshes, then callers take turns. So neither somebody else's user nor another caller keeps a push of hers from going,
/// however many of his wait for the same device.
///
/// Whoever waits for two turns waits for one after the other. Lines are bounded, and all of them together: a caller can
/// neither fill the memory nor the lines of others.
public struct PutOffPushes<Element> {
    public typealias Line = TurnLine<Element>
    public typealias Place = Line.Place
    public typealias Entry = Line.Entry

    /// What became of a push that came in.
    public enum Admission {
        case waits
        /// It waits in the stead of this one, which must be refused now.
        case displaced(Element)
        /// Too many wait that are as urgent, or more.
        case refused
    }

    private let most: Int
    private let capacity: Int
    private var lines: [LimitKey: Line] = [:]
    private var lastSerial: UInt64 = 0
    /// Pushes in all lines.
    public private(set) var count = 0

    /// At most `most` in a line, and `capacity` in all.
    public init(most: Int = 1000, capacity: Int) {
        self.most = max(most, 1)
        self.capacity = max(capacity, 1)
    }

    /// The place of a push that comes now, for an AoR and because of a caller.
    public mutating func place(_ priority: PushPriority, of names: PushLimits.Names) -> Place {
        lastSerial &+= 1
        return Place(priority, owner: names.user, cause: names.caller, serial: lastSerial)
    }

    /// Who has this turn next; nil when nobody waits for it.
    public func first(for key: LimitKey) -> Entry? { lines[key]?.first }

    /// Whether another waits for this turn that has it before this place.
    public func isTaken(_ key: LimitKey, before place: Place) -> Bool { lines[key]?.isTaken(before: place) ?? false }

    /// Whether another push may only wait for this turn in the stead of one that does.
    public func isFull(_ key: LimitKey) -> Bool { count >= capacity || (lines[key]?.count ?? 0) >= most }

    /// Lets a push wait, or says who must go.
    public mutating func add(_ element: Element, at place: Place, for key: LimitKey) -> Admission {
        guard isFull(key) else {
            insert(element, at: place, for: key)
            return .waits
        }
        guard let other = lines[key]?.popLast(for: place) else { return .refused }
        count -= 1
        insert(element, at: place, for: key)
        return .displaced(other)
    }

    private mutating func insert(_ element: Element, at place: Place, for key: LimitKey) {
        lines[key, default: Line()].insert(element, at: place)
        count += 1
    }

    /// Lets a push that was taken out wait on at its place, full or not: for the same turn or for another.
    public mutating func putBack(_ entry: Entry, for key: LimitKey) { insert(entry.element, at: entry.place, for: key) }

    /// Takes out whoever has this turn next.
    public mutating func popFirst(for key: LimitKey) -> Entry? {
        guard let first = lines[key]?.popFirst() else { return nil }
        dropEmpty(key)
        count -= 1
        return first
    }

    /// One that was taken out goes now.
    public mutating func noteTurn(_ place: Place, for key: LimitKey) { lines[key]?.noteTurn(place) }

    private mutating func dropEmpty(_ key: LimitKey) { if lines[key]?.isEmpty == true { lines[key] = nil } }

    /// Takes out all that wait for this turn and match, as they came.
    public mutating func removeAll(for key: LimitKey, where matches: (Element) -> Bool) -> [Element] {
        guard let removed = lines[key]?.removeAll(where: matches) else { return [] }
        dropEmpty(key)
        count -= removed.count
        return removed
    }
}
