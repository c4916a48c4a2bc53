// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Push queue` {
    private func drain(_ queue: inout PushQueue<Int>, now: Int64 = 0) -> [Int] {
        var out: [Int] = []
        while let element = queue.popNext(now: now) { out.append(element) }
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

    @Test(arguments: PushPriority.allCases) func `gives a turn back`(priority: PushPriority) {
        var queue = PushQueue<Int>(capacity: 2)
        for element in 1...2 { _ = queue.append(element, priority, at: Int64(element)) }
        let first = queue.popNext() ?? 0
        _ = queue.append(3, priority, at: 3)
        queue.putBack(first, priority, at: 1)
        expectEqual(queue.count, 3)
        expectEqual(drain(&queue), [1, 2, 3])
        for element in (0..<40).reversed() { queue.putBack(element, priority, at: Int64(element)) }
        expectEqual(drain(&queue), Array(0..<40))
    }

    @Test func `gives the call first whose time is over soonest`() {
        var queue = PushQueue<Int>(capacity: 10)
        _ = queue.append(1, .call, at: 0)
        _ = queue.append(2, .call, at: 100, for: 60_000)
        _ = queue.append(3, .call, at: 200, for: 1000)
        _ = queue.append(4, .call, at: 300, for: 2900)
        _ = queue.append(5, .message, at: 0, for: 500)
        expectEqual(drain(&queue, now: 300), [3, 1, 2, 4, 5])
    }

    @Test func `gives the newest call first once one has waited for longer than its caller is patient`() {
        var queue = PushQueue<Int>(capacity: 10)
        let patience = PushQueue<Int>.patience
        for element in 1...4 { _ = queue.append(element, .call, at: Int64(element) * 1000) }
        _ = queue.append(9, .message, at: 0)
        _ = queue.append(10, .message, at: 1)
        #expect(!queue.isLate(now: patience + 1000))
        #expect(queue.isLate(now: patience + 1001))
        expectEqual(queue.popNext(now: patience + 1000), 1)
        expectEqual(queue.popNext(now: patience + 2001), 4)
        expectEqual(queue.popNext(now: patience + 2001), 3)
        // As soon as nobody has waited for so long, in order again; texts are in order all the time.
        _ = queue.removeAll { $0 == 2 }
        for element in 5...6 { _ = queue.append(element, .call, at: patience + 2000 + Int64(element)) }
        expectEqual(drain(&queue, now: patience + 2010), [5, 6, 9, 10])
    }

    @Test func `gives calls that were tried after those that were not, while their callers wait`() {
        var queue = PushQueue<Int>(capacity: 10)
        let patience = PushQueue<Int>.patience
        _ = queue.append(1, .call, at: 10)
        _ = queue.append(2, .call, askedAt: 0, deadline: 30_000, isBack: true, now: 20)
        _ = queue.append(3, .call, at: 30)
        _ = queue.append(4, .message, at: 10)
        _ = queue.append(5, .message, askedAt: 0, deadline: 30_000, isBack: true, now: 20)
        expectEqual(drain(&queue, now: 30), [1, 2, 3, 5, 4])
        _ = queue.append(6, .call, at: patience)
        _ = queue.append(7, .call, askedAt: 0, deadline: 30_000, isBack: true, now: patience + 1)
        expectEqual(drain(&queue, now: patience + 1), [6, 7])
    }

    @Test func `lets the call go that has waited for too long when it is full`() {
        var queue = PushQueue<Int>(capacity: 2)
        for element in 1...2 { _ = queue.append(element, .call, at: Int64(element)) }
        guard case .refused = queue.append(3, .call, at: 100) else {
            Issue.record("nobody has waited for long")
            return
        }
        #expect(!queue.admits(.call, beside: 0))
        let late = PushQueue<Int>.patience + 2
        #expect(queue.admits(.call, now: late) && !queue.admits(.message, now: late))
        guard case .displaced(1) = queue.append(4, .call, at: late) else {
            Issue.record("the first should go")
            return
        }
        guard case .refused = queue.append(5, .message, at: late) else {
            Issue.record("a text is less urgent")
            return
        }
        expectEqual(queue.count, 2)
        expectEqual(queue.elements, [2, 4])
    }

    @Test func `takes out what matches and keeps the order of the rest`() {
        var queue = PushQueue<Int>(capacity: 1000)
        // Wrapped around, as it is after a while.
        for element in 0..<12 { _ = queue.append(element, .call) }
        for _ in 0..<10 { _ = queue.popNext() }
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
                expectEqual(queue.popNext(), expected)
                expected += 1
            }
        }
        expectEqual(drain(&queue), Array(expected..<20_000))
        #expect(queue.isEmpty)
    }
}

extension PushQueue<Int> {
    /// One that was asked for at `now` and is of use for so many milliseconds.
    fileprivate mutating func append(
        _ element: Int, _ priority: Priority, beside others: Int = 0, at now: Int64 = 0, for life: Int64 = 30_000
    ) -> Admission {
        append(element, priority, askedAt: now, deadline: now + life, beside: others, now: now)
    }

    fileprivate mutating func putBack(_ element: Int, _ priority: Priority, at now: Int64 = 0) {
        putBack(element, priority, askedAt: now, deadline: now + 30_000)
    }

    fileprivate mutating func popNext() -> Int? { popNext(now: 0) }

    fileprivate func admits(_ priority: Priority, beside others: Int) -> Bool {
        admits(priority, beside: others, now: 0)
    }
}
