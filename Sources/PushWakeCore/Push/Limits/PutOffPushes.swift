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

/// Pushes that were put off, in one line for each turn: calls before messages before refreshes, each class in the order in
/// which its pushes came, whatever else they have waited for.
///
/// Whoever waits for two turns waits for one after the other. Lines are bounded, and all of them together: a caller can
/// neither fill the memory nor the lines of others.
public struct PutOffPushes<Element> {
    /// Whose turn is sooner: the more urgent push's, then that of the one that came first.
    public struct Place: Comparable, Sendable {
        fileprivate let priority: PushPriority
        fileprivate let serial: UInt64

        public static func < (one: Place, other: Place) -> Bool {
            (one.priority.rawValue, one.serial) < (other.priority.rawValue, other.serial)
        }
    }

    /// One push with its place.
    public struct Entry {
        public let place: Place
        public let element: Element
    }

    /// What became of a push that came in.
    public enum Admission {
        case waits
        /// It waits in the stead of this one, which was less urgent and must be refused now.
        case displaced(Element)
        /// Too many wait that are as urgent, or more.
        case refused
    }

    private let most: Int
    private let capacity: Int
    private var lines: [LimitKey: [Entry]] = [:]
    private var lastSerial: UInt64 = 0
    /// Pushes in all lines.
    public private(set) var count = 0

    /// At most `most` in a line, and `capacity` in all.
    public init(most: Int = 1000, capacity: Int) {
        self.most = max(most, 1)
        self.capacity = max(capacity, 1)
    }

    /// The place of a push that comes now.
    public mutating func place(_ priority: PushPriority) -> Place {
        lastSerial &+= 1
        return Place(priority: priority, serial: lastSerial)
    }

    /// Who has this turn next; nil when nobody waits for it.
    public func first(for key: LimitKey) -> Entry? { lines[key]?.first }

    /// Whether another waits for this turn that has it before this place.
    public func isTaken(_ key: LimitKey, before place: Place) -> Bool {
        guard let first = lines[key]?.first else { return false }
        return first.place < place
    }

    /// Whether another push may only wait for this turn in the stead of one that does.
    public func isFull(_ key: LimitKey) -> Bool { count >= capacity || lines[key, default: []].count >= most }

    /// Lets a push wait, or says who must go.
    public mutating func add(_ element: Element, at place: Place, for key: LimitKey) -> Admission {
        guard isFull(key) else {
            putBack(Entry(place: place, element: element), for: key)
            return .waits
        }
        // The newest of the least urgent: the oldest has waited longest for its turn.
        guard let last = lines[key]?.last, last.place.priority.rawValue > place.priority.rawValue else {
            return .refused
        }
        lines[key]?.removeLast()
        count -= 1
        putBack(Entry(place: place, element: element), for: key)
        return .displaced(last.element)
    }

    /// Lets a push that was taken out wait on at its place, full or not: for the same turn or for another.
    public mutating func putBack(_ entry: Entry, for key: LimitKey) {
        var line = lines.removeValue(forKey: key) ?? []
        var (low, high) = (0, line.count)
        while low < high {
            let middle = (low + high) / 2
            if line[middle].place < entry.place { low = middle + 1 } else { high = middle }
        }
        line.insert(entry, at: low)
        lines[key] = line
        count += 1
    }

    /// Takes out whoever has this turn next.
    public mutating func popFirst(for key: LimitKey) -> Entry? {
        guard var line = lines.removeValue(forKey: key), !line.isEmpty else { return nil }
        let first = line.removeFirst()
        if !line.isEmpty { lines[key] = line }
        count -= 1
        return first
    }

    /// Takes out all that wait for this turn and match, in their order.
    public mutating func removeAll(for key: LimitKey, where matches: (Element) -> Bool) -> [Element] {
        guard let line = lines[key], line.contains(where: { matches($0.element) }) else { return [] }
        var (kept, removed): ([Entry], [Element]) = ([], [])
        for entry in line {
            if matches(entry.element) { removed.append(entry.element) } else { kept.append(entry) }
        }
        lines[key] = kept.isEmpty ? nil : kept
        count -= removed.count
        return removed
    }
}
