// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Pushes that were put off` {
    private let turn = LimitKey.device(1)

    private func add(_ name: String, _ priority: PushPriority, _ pushes: inout PutOffPushes<String>) -> String {
        let place = pushes.place(priority)
        return switch pushes.add(name, at: place, for: turn) {
        case .waits: "waits"
        case .displaced(let other): "instead of \(other)"
        case .refused: "refused"
        }
    }

    private func drain(_ pushes: inout PutOffPushes<String>, _ turn: LimitKey) -> [String] {
        var all: [String] = []
        while let entry = pushes.popFirst(for: turn) { all.append(entry.element) }
        return all
    }

    @Test func `have their turns by urgency and then as they came`() {
        var pushes = PutOffPushes<String>(capacity: 100)
        for (name, priority) in [
            ("text 1", .message), ("refresh", .refresh), ("call 1", .call), ("text 2", .message), ("call 2", .call),
        ] as [(String, PushPriority)] {
            let outcome = add(name, priority, &pushes)
            #expect(outcome == "waits")
        }
        let order = drain(&pushes, turn)
        #expect(order == ["call 1", "call 2", "text 1", "text 2", "refresh"])
        #expect(pushes.count == 0)
    }

    @Test func `keep their place when they wait for another turn`() {
        var pushes = PutOffPushes<String>(capacity: 100)
        for name in ["one", "two", "three"] { _ = add(name, .message, &pushes) }
        guard let first = pushes.popFirst(for: turn), let second = pushes.popFirst(for: turn) else {
            Issue.record("they do not wait")
            return
        }
        let other = LimitKey.caller(1)
        pushes.putBack(second, for: other)
        #expect(!pushes.isTaken(other, before: first.place))
        pushes.putBack(first, for: other)
        #expect(pushes.isTaken(other, before: second.place))
        #expect(pushes.first(for: turn)?.element == "three")
        let order = drain(&pushes, other)
        #expect(order == ["one", "two"])
        #expect(pushes.count == 1)
    }

    @Test func `are bounded for each turn, and give way to what is more urgent`() {
        var pushes = PutOffPushes<String>(most: 3, capacity: 100)
        let outcomes = (1...4).map { add("text \($0)", .message, &pushes) }
        #expect(outcomes == ["waits", "waits", "waits", "refused"])
        let (call, refresh) = (add("call 1", .call, &pushes), add("refresh", .refresh, &pushes))
        #expect(call == "instead of text 3")
        #expect(refresh == "refused")
        let order = drain(&pushes, turn)
        #expect(order == ["call 1", "text 1", "text 2"])
    }

    @Test func `are bounded together, and take no place from other turns`() {
        var pushes = PutOffPushes<String>(capacity: 2)
        let others = [LimitKey.device(2), .device(3)]
        for other in others {
            let place = pushes.place(.message)
            _ = pushes.add("text", at: place, for: other)
        }
        let before = add("call", .call, &pushes)
        #expect(before == "refused")
        let taken = pushes.popFirst(for: others[0])
        #expect(taken != nil)
        let after = add("call", .call, &pushes)
        #expect(after == "waits")
    }

    @Test func `go when they are of no use`() {
        var pushes = PutOffPushes<String>(capacity: 100)
        for number in 1...5 { _ = add("\(number)", .message, &pushes) }
        let removed = pushes.removeAll(for: turn) { ["1", "3", "5"].contains($0) }
        #expect(removed == ["1", "3", "5"])
        #expect(pushes.count == 2)
        let rest = drain(&pushes, turn)
        #expect(rest == ["2", "4"])
        let none = pushes.removeAll(for: turn) { _ in true }
        #expect(none.isEmpty)
    }
}
