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
        expectEqual(queue.fill, 100)
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
