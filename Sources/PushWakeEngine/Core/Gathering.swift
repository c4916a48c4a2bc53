// SPDX-License-Identifier: MIT

/// What can wait a second for others, so that all of it goes to the store at once.
struct Gathering<Element> {
    /// Milliseconds for which the first waits.
    static var pause: Int64 { 1000 }
    /// How many go together at the most.
    private static var most: Int { 64 }

    /// What is to be done about one more.
    enum Step {
        /// It is the first: `take()` is due after `pause`.
        case schedule
        /// `take()` is due soon.
        case wait
        /// `take()` is due now.
        case take
    }

    private var elements: [Element] = []

    mutating func add(_ element: Element) -> Step {
        elements.append(element)
        return elements.count >= Self.most ? .take : elements.count == 1 ? .schedule : .wait
    }

    mutating func take() -> [Element] {
        defer { elements = [] }
        return elements
    }
}
