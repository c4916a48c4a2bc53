// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Push queue` {
    private func drain(_ queue: inout PushQueue<Int>) -> [Int] {
        var out: [Int] = []
        while let element = queue.popFirst() { out.append(element) }
        return out
    }

    @Test func `gives calls before messages before refreshes, each in order`() {
        var queue = PushQueue<Int>(capacity: 100)
        for (element, priority) in [
            (1, PushQueue<Int>.Priority.refresh), (2, .message), (3, .call), (4, .message), (5, .call),
        ] {
            guard case .queued = queue.append(element, priority) else {
                Issue.record("not queued")
                return
            }
        }
        expectEqual(drain(&queue), [3, 5, 2, 4, 1])
    }

    @Test func `refuses the least urgent when it is full`() {
        var queue = PushQueue<Int>(capacity: 3)
        _ = queue.append(1, .refresh)
        _ = queue.append(2, .message)
        _ = queue.append(3, .message)
        expectEqual(queue.fill(), 100)
        guard case .displaced(1) = queue.append(4, .message) else {
            Issue.record("the refresh should go")
            return
        }
        guard case .refused = queue.append(5, .message) else {
            Issue.record("as urgent as the rest")
            return
        }
        guard case .displaced(4) = queue.append(6, .call) else {
            Issue.record("the newest message should go")
            return
        }
        guard case .refused = queue.append(7, .refresh) else {
            Issue.record("nothing is less urgent")
            return
        }
        expectEqual(queue.count, 3)
        expectEqual(drain(&queue), [6, 2, 3])
    }

    @Test(arguments: PushEvent.allCases) func `has a class for every event`(event: PushEvent) {
        let expected: PushQueue<Int>.Priority =
            switch event {
            case .call, .cancel, .answeredElsewhere: .call
            case .refresh: .refresh
            default: .message
            }
        #expect(PushQueue<Int>.Priority(of: event) == expected)
    }

    @Test func `counts places that are taken elsewhere`() {
        var queue = PushQueue<Int>(capacity: 4)
        _ = queue.append(1, .refresh)
        expectEqual(queue.fill(beside: 2), 75)
        #expect(queue.admits(.refresh, beside: 2))
        #expect(!queue.admits(.refresh, beside: 3))
        #expect(queue.admits(.message, beside: 3))
        guard case .refused = queue.append(2, .refresh, beside: 3) else {
            Issue.record("all places are taken")
            return
        }
        guard case .displaced(1) = queue.append(3, .call, beside: 3) else {
            Issue.record("the refresh should go")
            return
        }
        #expect(!queue.admits(.call, beside: 3))
        expectEqual(drain(&queue), [3])
    }

    @Test func `gives a turn back`() {
        var queue = PushQueue<Int>(capacity: 2)
        for element in 1...2 { _ = queue.append(element, .call) }
        let first = queue.popFirst() ?? 0
        _ = queue.append(3, .call)
        queue.putBack(first, .call)
        expectEqual(queue.count, 3)
        expectEqual(drain(&queue), [1, 2, 3])
        for element in 0..<40 { queue.putBack(element, .refresh) }
        expectEqual(drain(&queue), Array((0..<40).reversed()))
    }

    @Test func `takes out what matches and keeps the order of the rest`() {
        var queue = PushQueue<Int>(capacity: 1000)
        // Wrapped around, as it is after a while.
        for element in 0..<12 { _ = queue.append(element, .call) }
        for _ in 0..<10 { _ = queue.popFirst() }
        for element in 12..<22 { _ = queue.append(element, .call) }
        _ = queue.append(30, .refresh)
        _ = queue.append(31, .message)
        expectEqual(queue.elements, Array(10..<22) + [31, 30])
        expectEqual(queue.removeAll { $0 % 3 == 0 }, [12, 15, 18, 21, 30])
        expectEqual(queue.count, 9)
        expectEqual(drain(&queue), [10, 11, 13, 14, 16, 17, 19, 20, 31])
        expectEqual(queue.removeAll { _ in true }, [])
    }

    @Test func `keeps order through growth and wrap-around`() {
        var queue = PushQueue<Int>(capacity: 100_000)
        var expected = 0
        for element in 0..<20_000 {
            _ = queue.append(element, .call)
            if element % 3 == 0 {
                expectEqual(queue.popFirst(), expected)
                expected += 1
            }
        }
        expectEqual(drain(&queue), Array(expected..<20_000))
        #expect(queue.isEmpty)
    }
}
