// SPDX-License-Identifier: MIT

/// Pushes that wait to be sent: bounded, calls before messages before refreshes, first in first out in each
/// class; every operation takes the same time however many wait.
public struct PushQueue<Element> {
    /// The classes, most urgent first.
    public enum Priority: Int, CaseIterable, Sendable {
        case call
        case message
        case refresh

        /// The class of an event: what tells a phone to ring or to stop goes first.
        public init(of event: PushEvent) {
            switch event {
            case .call, .cancel, .answeredElsewhere: self = .call
            case .chat, .custom, .missed, .groupChat: self = .message
            case .refresh: self = .refresh
            }
        }
    }

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
    public private(set) var count = 0

    /// Holds at most `capacity` elements, at least 1.
    public init(capacity: Int) {
        self.capacity = max(capacity, 1)
        lines = Priority.allCases.map { _ in RingBuffer() }
    }

    public var isEmpty: Bool { count == 0 }

    /// How full it is, in parts of 100.
    public var fill: Int { count * 100 / capacity }

    /// Lets an element in, or says who must go.
    public mutating func append(_ element: Element, _ priority: Priority) -> Admission {
        guard count >= capacity else {
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
}
