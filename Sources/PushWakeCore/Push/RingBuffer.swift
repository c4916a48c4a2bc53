// SPDX-License-Identifier: MIT

/// A double-ended queue in a circle; grows by doubling and gives memory back when it runs empty.
struct RingBuffer<Element> {
    private var slots: [Element?] = []
    private var head = 0
    private(set) var count = 0

    private static var smallest: Int { 16 }
    private static var largestKept: Int { 1024 }

    mutating func append(_ element: Element) {
        if count == slots.count { grow() }
        slots[(head + count) & (slots.count - 1)] = element
        count += 1
    }

    mutating func prepend(_ element: Element) {
        if count == slots.count { grow() }
        head = (head + slots.count - 1) & (slots.count - 1)
        slots[head] = element
        count += 1
    }

    mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = slots[head].take()
        head = (head + 1) & (slots.count - 1)
        count -= 1
        shrinkWhenEmpty()
        return element
    }

    mutating func popLast() -> Element? {
        guard count > 0 else { return nil }
        let element = slots[(head + count - 1) & (slots.count - 1)].take()
        count -= 1
        shrinkWhenEmpty()
        return element
    }

    /// Takes out all that match, in order; the others keep theirs.
    mutating func removeAll(where matches: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        var kept = 0
        for offset in 0..<count {
            let place = (head + offset) & (slots.count - 1)
            guard let element = slots[place].take() else { continue }
            if matches(element) {
                removed.append(element)
            } else {
                slots[(head + kept) & (slots.count - 1)] = element
                kept += 1
            }
        }
        count = kept
        shrinkWhenEmpty()
        return removed
    }

    /// All of them, in order.
    var elements: [Element] { (0..<count).compactMap { slots[(head + $0) & (slots.count - 1)] } }

    private mutating func grow() {
        var larger = [Element?](repeating: nil, count: max(Self.smallest, slots.count * 2))
        for offset in 0..<count { larger[offset] = slots[(head + offset) & (slots.count - 1)].take() }
        (slots, head) = (larger, 0)
    }

    private mutating func shrinkWhenEmpty() {
        if count == 0, slots.count > Self.largestKept { (slots, head) = ([], 0) }
    }
}
