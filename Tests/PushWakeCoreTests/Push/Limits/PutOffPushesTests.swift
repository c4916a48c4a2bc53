// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Pushes that were put off` {
    private let turn = LimitKey.device(1)

    private func names(_ aor: String = "alice", _ caller: String = "bob") -> PushLimits.Names {
        let none = PushLimits.Rate(burst: 0, interval: 1)
        return PushLimits(device: none, caller: none, user: none, seed: 7).names(
            Binding(aor: aor, provider: .apns, token: "t", dialect: .rfc8599),
            PushContent(event: .call, fromURI: caller))
    }

    private func add(
        _ name: String, _ priority: PushPriority, _ pushes: inout PutOffPushes<String>, aor: String = "alice",
        caller: String = "bob"
    ) -> String {
        let place = pushes.place(priority, of: names(aor, caller))
        return switch pushes.add(name, at: place, for: turn) {
        case .waits: "waits"
        case .displaced(let other): "instead of \(other)"
        case .refused: "refused"
        }
    }

    private func drain(_ pushes: inout PutOffPushes<String>, _ turn: LimitKey) -> [String] {
        var all: [String] = []
        while let entry = pushes.popFirst(for: turn) {
            pushes.noteTurn(entry.place, for: turn)
            all.append(entry.element)
        }
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

    @Test func `take turns by user, whatever each of them has waiting`() {
        var pushes = PutOffPushes<String>(capacity: 100)
        for number in 1...5 { _ = add("mallory \(number)", .call, &pushes, aor: "mallory", caller: "m\(number)") }
        _ = add("alice's text", .message, &pushes)
        _ = add("alice's call", .call, &pushes)
        _ = add("carol's text", .message, &pushes, aor: "carol")
        let order = drain(&pushes, turn)
        let expected = [
            "mallory 1", "alice's call", "carol's text", "mallory 2", "alice's text", "mallory 3", "mallory 4",
            "mallory 5",
        ]
        #expect(order == expected)
    }

    @Test func `take turns by caller at one user`() {
        var pushes = PutOffPushes<String>(capacity: 100)
        for number in 1...4 { _ = add("mallory \(number)", .call, &pushes, caller: "mallory") }
        for number in 1...2 { _ = add("bob \(number)", .call, &pushes) }
        _ = add("dave", .message, &pushes, caller: "dave")
        let order = drain(&pushes, turn)
        #expect(order == ["mallory 1", "bob 1", "mallory 2", "bob 2", "mallory 3", "mallory 4", "dave"])
    }

    @Test func `come next when they come new, and after others once they have had a turn`() {
        var pushes = PutOffPushes<String>(capacity: 100)
        var order: [String] = []
        for number in 1...3 { _ = add("mallory \(number)", .call, &pushes, aor: "mallory") }
        for number in 1...8 {
            // One comes for each that goes.
            _ = add("mallory \(number + 3)", .call, &pushes, aor: "mallory")
            if number == 4 { _ = add("alice", .call, &pushes) }
            guard let entry = pushes.popFirst(for: turn) else { continue }
            pushes.noteTurn(entry.place, for: turn)
            order.append(entry.element)
        }
        #expect(order.firstIndex(of: "alice").map { $0 <= 4 } == true, "\(order)")
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
        #expect(!pushes.isTaken(other, before: first.place))
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

    @Test func `give way where they are many, to a user or a caller who has fewer`() {
        var pushes = PutOffPushes<String>(most: 4, capacity: 100)
        for number in 1...3 { _ = add("mallory \(number)", .call, &pushes, aor: "mallory") }
        _ = add("mallory's friend", .call, &pushes, aor: "mallory", caller: "friend")
        let first = add("alice 1", .message, &pushes)
        #expect(first == "instead of mallory 3")
        let second = add("alice 2", .message, &pushes)
        #expect(second == "instead of mallory 2")
        // Now each has two.
        let third = add("alice 3", .message, &pushes)
        let fourth = add("mallory 4", .call, &pushes, aor: "mallory")
        #expect(third == "refused" && fourth == "refused")
        let other = add("alice's other caller", .message, &pushes, caller: "carol")
        #expect(other == "instead of alice 2")
    }

    @Test func `are bounded together, and take no place from other turns`() {
        var pushes = PutOffPushes<String>(capacity: 2)
        let others = [LimitKey.device(2), .device(3)]
        for other in others {
            let place = pushes.place(.message, of: names())
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

    /// Whatever comes and goes: nobody is lost, and of those who wait none has more than one turn more than another had since
    /// both began to wait.
    @Test(arguments: 1...20) func `starve nobody`(seed: UInt64) {
        var random = SplitMix(seed)
        var pushes = PutOffPushes<String>(capacity: 10_000)
        var (added, gone) = (0, 0)
        var turnsSince: [String: [String: Int]] = [:]
        var waiting: [String: Int] = [:]
        for _ in 0..<2000 {
            if Int.random(in: 0..<10, using: &random) < 6 {
                let aor = "\(Int.random(in: 0..<5, using: &random) * Int.random(in: 0...1, using: &random))"
                _ = add(aor, PushPriority.allCases.randomElement(using: &random) ?? .call, &pushes, aor: aor)
                added += 1
                if waiting[aor, default: 0] == 0 { turnsSince[aor] = [:] }
                waiting[aor, default: 0] += 1
            } else if let entry = pushes.popFirst(for: turn) {
                pushes.noteTurn(entry.place, for: turn)
                gone += 1
                waiting[entry.element, default: 1] -= 1
                turnsSince[entry.element] = [:]
                for other in turnsSince.keys where other != entry.element && waiting[other, default: 0] > 0 {
                    turnsSince[other]?[entry.element, default: 0] += 1
                    #expect(turnsSince[other]?[entry.element] == 1, "\(other) waits while \(entry.element) goes")
                }
            }
        }
        #expect(pushes.count == added - gone)
        let rest = drain(&pushes, turn).count
        #expect(rest == added - gone)
    }
}
