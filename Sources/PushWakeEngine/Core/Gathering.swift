// SPDX-License-Identifier: MIT

internal import PushWakeSystem

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

extension Loop {
    /// Does at once, or in a moment, what a step of a `Gathering` asks its owner for.
    func take<Element, Owner: AnyObject>(
        _ step: Gathering<Element>.Step, _ owner: Owner, _ action: @escaping (Owner) -> Void
    ) {
        switch step {
        case .wait: break
        case .take: action(owner)
        case .schedule:
            schedule(after: Gathering<Element>.pause) { [weak owner] in
                if let owner { action(owner) }
            }
        }
    }
}
