// SPDX-License-Identifier: MIT

/// Who is next of those that wait for one thing: owners take turns, and of one owner's entries the more urgent go first, then
/// those who caused them take turns, then the oldest goes. Whoever adds many entries waits longer for his own, and nobody else
/// does.
public struct TurnLine<Element> {
    /// Whose turn it is and how urgent.
    public struct Place: Equatable, Sendable {
        public let priority: PushPriority
        fileprivate let owner: UInt64
        fileprivate let cause: UInt64
        fileprivate let serial: UInt64

        /// `owner` and `cause` are fingerprints; a cause is one of its owner's. `serial` grows with each place.
        public init(_ priority: PushPriority, owner: UInt64, cause: UInt64, serial: UInt64) {
            (self.priority, self.owner, self.cause, self.serial) = (priority, owner, cause, serial)
        }
    }

    /// One that waits.
    public struct Entry {
        public let place: Place
        public let element: Element
        /// Whoever has the lower number is next; who has had a turn gets the highest.
        fileprivate var ownerNumber: UInt64
        fileprivate var causeNumber: UInt64

        fileprivate func goes(before other: Entry) -> Bool {
            (ownerNumber, place.priority.rawValue, causeNumber, place.serial)
                < (other.ownerNumber, other.place.priority.rawValue, other.causeNumber, other.place.serial)
        }
    }

    /// In no order.
    private var entries: [Entry] = []
    private var numbers: [UInt64: UInt64] = [:]
    private var lastNumber: UInt64 = 0

    public init() {}

    public var count: Int { entries.count }
    public var isEmpty: Bool { entries.isEmpty }

    /// Who has the next turn.
    public var first: Entry? { firstIndex.map { entries[$0] } }

    private var firstIndex: Int? {
        guard var first = entries.indices.first else { return nil }
        for index in entries.indices where entries[index].goes(before: entries[first]) { first = index }
        return first
    }

    /// Whether another that waits has its turn before this place.
    public func isTaken(before place: Place) -> Bool {
        guard let first, first.place != place else { return false }
        let own = Entry(
            place: place, element: first.element, ownerNumber: numbers[place.owner] ?? .max,
            causeNumber: numbers[place.cause] ?? .max)
        return first.goes(before: own)
    }

    /// Lets one wait at its place; who comes new has his turn after those who wait.
    public mutating func insert(_ element: Element, at place: Place) {
        let (owner, cause) = (number(place.owner), number(place.cause))
        entries.append(Entry(place: place, element: element, ownerNumber: owner, causeNumber: cause))
    }

    private mutating func number(_ name: UInt64) -> UInt64 {
        if let known = numbers[name] { return known }
        lastNumber += 1
        numbers[name] = lastNumber
        return lastNumber
    }

    /// Takes out who has the next turn; `noteTurn` says that it was had.
    public mutating func popFirst() -> Entry? { firstIndex.map { entries.remove(at: $0) } }

    /// One that was taken out has had its turn: its owner and its cause have theirs after all others. Whoever waits no more is
    /// forgotten.
    public mutating func noteTurn(_ place: Place) {
        for name in [place.owner, place.cause] { numbers[name] = nil }
        let before = numbers
        numbers = [:]
        for index in entries.indices {
            let other = entries[index].place
            for name in [other.owner, other.cause] { numbers[name] = before[name] ?? number(name) }
            entries[index].ownerNumber = numbers[other.owner] ?? 0
            entries[index].causeNumber = numbers[other.cause] ?? 0
        }
    }

    /// Takes out all that match, as they came.
    public mutating func removeAll(where matches: (Element) -> Bool) -> [Element] {
        var removed: [Entry] = []
        entries.removeAll { entry in
            guard matches(entry.element) else { return false }
            removed.append(entry)
            return true
        }
        return removed.sorted { $0.place.serial < $1.place.serial }.map(\.element)
    }

    /// Takes out whom a full line gives up for one at this place; nil when that one has to go elsewhere.
    ///
    /// Who has most entries gives up one: the newest of the least urgent, of the cause that has most of them.
    public mutating func popLast(for place: Place) -> Element? {
        var counts = [place.owner: 1]
        for entry in entries { counts[entry.place.owner, default: 0] += 1 }
        guard let most = counts.max(by: { $0.value < $1.value })?.value else { return nil }
        let owner = counts[place.owner] == most ? place.owner : counts.first { $0.value == most }?.key
        let own = entries.filter { $0.place.owner == owner }
        let isOwn = owner == place.owner
        guard let least = own.map(\.place.priority.rawValue).max() else { return nil }
        if isOwn, least < place.priority.rawValue { return nil }
        var causes: [UInt64: Int] = isOwn && least == place.priority.rawValue ? [place.cause: 1] : [:]
        for entry in own where entry.place.priority.rawValue == least { causes[entry.place.cause, default: 0] += 1 }
        guard let mostOfCause = causes.values.max() else { return nil }
        if causes[place.cause] == mostOfCause, isOwn, least == place.priority.rawValue { return nil }
        let victims = entries.indices.filter {
            let other = entries[$0].place
            return other.owner == owner && other.priority.rawValue == least && causes[other.cause] == mostOfCause
        }
        guard let newest = victims.max(by: { entries[$0].place.serial < entries[$1].place.serial }) else { return nil }
        return entries.remove(at: newest).element
    }
}
