// SPDX-License-Identifier: MIT

/// Requests that wait for a stream, first come first served. Gives its memory back when it has run empty.
struct ExchangeQueue {
    private var items: [HTTPExchange?] = []
    private var head = 0

    var count: Int { items.count - head }
    var isEmpty: Bool { head == items.count }

    mutating func append(_ exchange: HTTPExchange) { items.append(exchange) }

    /// Puts requests that were refused before those that came later.
    mutating func prepend(_ exchange: HTTPExchange) {
        if head > 0 {
            head -= 1
            items[head] = exchange
        } else {
            items.insert(exchange, at: 0)
        }
    }

    mutating func popFirst() -> HTTPExchange? {
        guard head < items.count else { return nil }
        let first = items[head]
        items[head] = nil
        head += 1
        if head == items.count {
            items.removeAll(keepingCapacity: items.capacity <= 1024)
            head = 0
        } else if head >= 4096, head > items.count / 2 {
            items.removeFirst(head)
            head = 0
        }
        return first
    }

    /// Takes out all that match, in order.
    mutating func removeAll(where matches: (HTTPExchange) -> Bool) -> [HTTPExchange] {
        var removed: [HTTPExchange] = []
        var kept: [HTTPExchange?] = []
        for case let exchange? in items[head...] {
            if matches(exchange) { removed.append(exchange) } else { kept.append(exchange) }
        }
        guard !removed.isEmpty else { return [] }
        items = kept
        head = 0
        return removed
    }

    /// The earliest deadline; nil when empty.
    var nextDeadline: Int64? {
        var earliest: Int64?
        for case let exchange? in items[head...] { earliest = min(earliest ?? .max, exchange.deadline) }
        return earliest
    }
}
