// SPDX-License-Identifier: MIT

/// Pushes that wait to be sent: bounded, calls before messages before refreshes; to let one in or take one out costs the same
/// however many wait.
///
/// Messages and refreshes go in the order in which they were asked for. Of calls the one goes first whose time is over
/// soonest: its own deadline, or its caller's patience. Once that of the first is over, there is more than can be sent:
/// then the newest goes first ("adaptive LIFO": Maurer, "Fail at Scale", ACM Queue 13/8, 2015). First come, first served
/// would make every call late; so most ring at once, and the others when there is time. A call that comes back goes after those
/// that have not been tried, as long as its caller waits.
public struct PushQueue<Element> {
    public typealias Priority = PushPriority

    /// Milliseconds for which a caller waits for the first sign of a ringing phone: what ITU-T E.721 (table 2) has for the
    /// mean of a local call.
    public static var patience: Int64 { 3000 }

    /// What became of a push that came in.
    public enum Admission {
        case queued
        /// Queued in the place of this one, which must be refused now: it was less urgent, or its caller has waited for too long.
        case displaced(Element)
        /// Full of what is as urgent, or more.
        case refused
    }

    private struct Entry {
        /// Milliseconds: of a call, when it is of use no more; of all others, when it was asked for.
        let due: Int64
        let element: Element
    }

    private let capacity: Int
    private var lines: [RingBuffer<Entry>]
    /// Elements of all classes.
    public private(set) var count = 0

    /// Holds at most `capacity` elements, at least 1.
    public init(capacity: Int) {
        self.capacity = max(capacity, 1)
        lines = Priority.allCases.map { _ in RingBuffer() }
    }

    /// Whether nothing waits, in any class.
    public var isEmpty: Bool { count == 0 }

    /// How full it is, in parts of 100, when so many places are taken by what waits elsewhere.
    public func fill(beside others: Int = 0) -> Int { (count + others) * 100 / capacity }

    /// Whether calls have waited for so long that the newest goes first. `now` in milliseconds.
    public func isLate(now: Int64) -> Bool { lines[Priority.call.rawValue].first.map { $0.due < now } ?? false }

    /// Whether an element of this class would be let in.
    public func admits(_ priority: Priority, beside others: Int = 0, now: Int64) -> Bool {
        count + others < capacity
            || Priority.allCases.contains { $0.rawValue > priority.rawValue && lines[$0.rawValue].count > 0 }
            || priority == .call && isLate(now: now)
    }

    /// Lets an element in, or says who must go. It was asked for at `askedAt` and is of use until `deadline`; `isBack`: it was
    /// sent, and is to be sent again. `others` are places that are taken by what waits elsewhere.
    public mutating func append(
        _ element: Element, _ priority: Priority, askedAt: Int64, deadline: Int64, isBack: Bool = false,
        beside others: Int = 0, now: Int64
    ) -> Admission {
        let isTriedAgain = isBack && priority == .call && now &- askedAt < Self.patience
        let askedAt = isTriedAgain ? now : askedAt
        guard count + others >= capacity else {
            insert(element, priority, askedAt, deadline, isLast: true)
            return .queued
        }
        guard let victim = takeLeastUseful(below: priority, now) else { return .refused }
        insert(element, priority, askedAt, deadline, isLast: true)
        return .displaced(victim)
    }

    private mutating func takeLeastUseful(below priority: Priority, _ now: Int64) -> Element? {
        for lower in Priority.allCases.reversed() where lower.rawValue > priority.rawValue {
            // The newest of the least urgent: the oldest has waited longest for its turn.
            guard let victim = lines[lower.rawValue].popLast() else { continue }
            count -= 1
            return victim.element
        }
        guard priority == .call, isLate(now: now), let victim = lines[priority.rawValue].popFirst() else { return nil }
        count -= 1
        return victim.element
    }

    /// Lets an element in, full or not, before those of its time: it was taken out and could not be sent.
    public mutating func putBack(_ element: Element, _ priority: Priority, askedAt: Int64, deadline: Int64) {
        insert(element, priority, askedAt, deadline, isLast: false)
    }

    private mutating func insert(
        _ element: Element, _ priority: Priority, _ askedAt: Int64, _ deadline: Int64, isLast: Bool
    ) {
        let due =
            priority == .call ? min(deadline, askedAt.addingReportingOverflow(Self.patience).partialValue) : askedAt
        lines[priority.rawValue].insert(Entry(due: due, element: element)) { $0.due < due || isLast && $0.due == due }
        count += 1
    }

    /// Takes the one that goes next at `now`.
    public mutating func popNext(now: Int64) -> Element? {
        for index in lines.indices where !lines[index].isEmpty {
            let isNewestFirst = index == Priority.call.rawValue && isLate(now: now)
            guard let entry = isNewestFirst ? lines[index].popLast() : lines[index].popFirst() else { continue }
            count -= 1
            return entry.element
        }
        return nil
    }

    /// All that wait, the most urgent class first.
    public var elements: [Element] { lines.flatMap { $0.elements.map(\.element) } }

    /// Takes out all that match, the most urgent class first.
    public mutating func removeAll(where matches: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        for index in lines.indices { removed += lines[index].removeAll { matches($0.element) }.map(\.element) }
        count -= removed.count
        return removed
    }
}
