// SPDX-License-Identifier: MIT

/// A double-ended queue in a circle; grows by doubling and gives memory back when it runs empty.
public struct RingBuffer<Element> {
    @usableFromInline var slots: [Element?] = []
    @usableFromInline var head = 0
    @usableFromInline var filled = 0

    /// An empty one, without memory.
    @inlinable public init() {}

    /// Elements in it.
    @inlinable public var count: Int { filled }

    /// Nothing is in it.
    @inlinable public var isEmpty: Bool { count == 0 }

    @inlinable static var smallest: Int { 16 }
    @inlinable static var largestKept: Int { 1024 }

    /// Puts one at the end.
    @inlinable public mutating func append(_ element: Element) {
        if count == slots.count { grow() }
        slots[(head + count) & (slots.count - 1)] = element
        filled += 1
    }

    /// Puts one before all others.
    @inlinable public mutating func prepend(_ element: Element) {
        if count == slots.count { grow() }
        head = (head + slots.count - 1) & (slots.count - 1)
        slots[head] = element
        filled += 1
    }

    /// Puts one behind the last of those that `goesBefore` says true of, where all of these come first. Costs a move of each
    /// element between that place and the nearer end.
    @inlinable public mutating func insert(_ element: Element, behind goesBefore: (Element) -> Bool) {
        var (low, high) = (0, count)
        // Most are the last.
        if count > 0, slots[place(count - 1)].map(goesBefore) ?? true { low = count }
        while low < high {
            let middle = (low + high) / 2
            if slots[place(middle)].map(goesBefore) ?? true { low = middle + 1 } else { high = middle }
        }
        if low * 2 < count {
            prepend(element)
            for offset in 0..<low { slots.swapAt(place(offset), place(offset + 1)) }
        } else {
            append(element)
            for offset in stride(from: count - 1, to: low, by: -1) { slots.swapAt(place(offset - 1), place(offset)) }
        }
    }

    /// Takes the first; nil when it is empty.
    @inlinable public mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = slots[head].take()
        head = (head + 1) & (slots.count - 1)
        filled -= 1
        shrinkWhenEmpty()
        return element
    }

    /// Takes the last; nil when it is empty.
    @inlinable public mutating func popLast() -> Element? {
        guard count > 0 else { return nil }
        let element = slots[(head + count - 1) & (slots.count - 1)].take()
        filled -= 1
        shrinkWhenEmpty()
        return element
    }

    /// Takes out all that match, in order; the others keep theirs.
    @inlinable public mutating func removeAll(where matches: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        var kept = 0
        for offset in 0..<count {
            let index = (head + offset) & (slots.count - 1)
            guard let element = slots[index].take() else { continue }
            if matches(element) {
                removed.append(element)
            } else {
                slots[(head + kept) & (slots.count - 1)] = element
                kept += 1
            }
        }
        filled = kept
        shrinkWhenEmpty()
        return removed
    }

    @inlinable func place(_ offset: Int) -> Int { (head + offset) & (slots.count - 1) }

    /// The first; nil when it is empty.
    @inlinable public var first: Element? { count == 0 ? nil : slots[head] }

    /// Runs for each, in order.
    @inlinable public func forEach(_ body: (Element) -> Void) {
        for offset in 0..<count {
            if let element = slots[(head + offset) & (slots.count - 1)] { body(element) }
        }
    }

    /// All of them, in order.
    @inlinable public var elements: [Element] { (0..<count).compactMap { slots[(head + $0) & (slots.count - 1)] } }

    @inlinable mutating func grow() {
        var larger = [Element?](repeating: nil, count: max(Self.smallest, slots.count * 2))
        for offset in 0..<count { larger[offset] = slots[(head + offset) & (slots.count - 1)].take() }
        (slots, head) = (larger, 0)
    }

    @inlinable mutating func shrinkWhenEmpty() {
        if count == 0, slots.count > Self.largestKept { (slots, head) = ([], 0) }
    }
}

extension RingBuffer: Sendable where Element: Sendable {}
