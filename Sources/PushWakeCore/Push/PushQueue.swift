// SPDX-License-Identifier: MIT

/// Pushes that wait to be sent: bounded, calls before messages before refreshes, first in first out in each
/// class; to let one in or take one out costs the same however many wait.
public struct PushQueue<Element> {
    public typealias Priority = PushPriority

    /// What became of a push that came in.
    public enum Admission {
        case queued
        /// Queued in the place of this one, which was less urgent and must be refused now.
        case displaced(Element)
        /// Full of what is as urgent, or more.
        case refused
    }

    private let capacity: Int
    private var lines: [RingBuffer<Element>]
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

    /// Whether an element of this class would be let in.
    public func admits(_ priority: Priority, beside others: Int = 0) -> Bool {
        count + others < capacity
            || Priority.allCases.contains { $0.rawValue > priority.rawValue && lines[$0.rawValue].count > 0 }
    }

    /// Lets an element in, or says who must go. `others` are places that are taken by what waits elsewhere.
    public mutating func append(_ element: Element, _ priority: Priority, beside others: Int = 0) -> Admission {
        guard count + others >= capacity else {
            lines[priority.rawValue].append(element)
            count += 1
            return .queued
        }
        for lower in Priority.allCases.reversed() where lower.rawValue > priority.rawValue {
            // The newest of the least urgent: the oldest has waited longest for its turn.
            guard let victim = lines[lower.rawValue].popLast() else { continue }
            lines[priority.rawValue].append(element)
            return .displaced(victim)
        }
        return .refused
    }

    /// Gives back its turn to an element that was taken out and could not be sent, full or not.
    public mutating func putBack(_ element: Element, _ priority: Priority) {
        lines[priority.rawValue].prepend(element)
        count += 1
    }

    /// Takes the most urgent element, the oldest of its class.
    public mutating func popFirst() -> Element? {
        for index in lines.indices {
            if let element = lines[index].popFirst() {
                count -= 1
                return element
            }
        }
        return nil
    }

    /// All that wait, the most urgent first.
    public var elements: [Element] { lines.flatMap { $0.elements } }

    /// Takes out all that match, the most urgent first.
    public mutating func removeAll(where matches: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        for index in lines.indices { removed += lines[index].removeAll(where: matches) }
        count -= removed.count
        return removed
    }
}
