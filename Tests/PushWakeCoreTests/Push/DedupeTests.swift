// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Duplicate window` {
    private func content(_ event: PushEvent, call: String) -> PushContent { PushContent(event: event, callID: call) }

    @Test func `lets a request reach a token once`() {
        var dedupe = Dedupe(window: 0, seed: 1)
        let notes = [0, 100, 179_999, 180_000].map {
            dedupe.note(Samples.android, content(.call, call: "a"), now: $0)
        }
        #expect(notes == [nil, .sameRequest, .sameRequest, nil])
    }

    @Test func `lets the same request through for another event, token or call`() {
        var dedupe = Dedupe(window: 0, seed: 1)
        var notes = [dedupe.note(Samples.android, content(.call, call: "a"), now: 0)]
        notes.append(dedupe.note(Samples.android, content(.cancel, call: "a"), now: 0))
        notes.append(dedupe.note(Samples.voip, content(.call, call: "a"), now: 0))
        notes.append(dedupe.note(Samples.android, content(.call, call: "b"), now: 0))
        #expect(notes == [nil, nil, nil, nil])
    }

    @Test func `keeps a second push of a kind from a device for a while, twice as long for messages`() {
        var dedupe = Dedupe(window: 5000, seed: 1)
        let calls = [(0, "a"), (4999, "b"), (5000, "c")].map {
            dedupe.note(Samples.android, content(.call, call: $0.1), now: $0.0)
        }
        let chats = [(10_000, "d"), (19_999, "e"), (20_000, "f")].map {
            dedupe.note(Samples.android, content(.chat, call: $0.1), now: $0.0)
        }
        #expect(calls == [nil, .tooSoon(wait: 1), nil])
        #expect(chats == [nil, .tooSoon(wait: 1), nil])
    }

    @Test func `knows a device by its instance, whatever its token`() {
        var dedupe = Dedupe(window: 5000, seed: 1)
        let first = dedupe.note(Samples.voip, content(.call, call: "a"), now: 0)
        let second = dedupe.note(Samples.remote, content(.call, call: "b"), now: 1)
        var stranger = Samples.remote
        stranger.aor = "carol"
        let third = dedupe.note(stranger, content(.call, call: "c"), now: 1)
        #expect([first, second, third] == [nil, .tooSoon(wait: 4999), nil])
    }

    @Test func `allows another push at once when the device has registered`() {
        var dedupe = Dedupe(window: 5000, seed: 1)
        var notes = [dedupe.note(Samples.voip, content(.call, call: "a"), now: 0)]
        dedupe.release(Samples.voip)
        notes.append(dedupe.note(Samples.voip, content(.call, call: "b"), now: 1))
        notes.append(dedupe.note(Samples.voip, content(.call, call: "a"), now: 2))
        #expect(notes == [nil, nil, .sameRequest])
    }

    @Test func `never holds back what an operator sends by hand`() {
        var dedupe = Dedupe(window: 5000, seed: 1)
        let notes = (0..<3).map { dedupe.note(Samples.android, content(.custom, call: "\($0)"), now: 0) }
        #expect(notes == [nil, nil, nil])
    }

    @Test func `forgets, so that memory stays bounded`() {
        var dedupe = Dedupe(window: 5000, capacity: 1000, seed: 1)
        for index in 0..<50_000 {
            _ = dedupe.note(Samples.android, content(.call, call: "c\(index)"), now: Int64(index) * 6000)
        }
        #expect(dedupe.count <= 1002)
        for index in 0..<5000 { _ = dedupe.note(Samples.voip, content(.call, call: "x\(index)"), now: 1_000_000_000) }
        #expect(dedupe.count <= 1002)
    }
}

@Suite struct `Token removal guard` {
    private let bad = Verdict(.tokenGone, reason: "BadDeviceToken")

    private func binding(_ sample: Binding = Samples.voip, of number: Int) -> Binding {
        var binding = sample
        binding.aor = "user\(number)"
        return binding
    }

    @Test func `lets dead tokens go while most are good`() {
        var removalGuard = TokenRemovalGuard()
        for index in 0..<100 {
            _ = removalGuard.decide(Verdict(.accepted), Samples.voip, now: 0)
            if index % 2 == 0 { expectEqual(removalGuard.decide(bad, Samples.voip, now: 0), .remove) }
        }
    }

    @Test func `stops when most are called bad, and alarms once`() {
        var removalGuard = TokenRemovalGuard()
        let decisions = (0..<7).map { removalGuard.decide(bad, binding(of: $0), now: 0) }
        #expect(decisions == [.remove, .remove, .remove, .remove, .keepAndAlarm, .keep, .keep])
    }

    @Test func `is not stopped by one user, whatever tokens he brings`() {
        var removalGuard = TokenRemovalGuard()
        for round in 0..<20 as Range<Int64> {
            expectEqual(removalGuard.decide(bad, binding(of: 1), now: round), .remove)
        }
        _ = removalGuard.decide(Verdict(.accepted), binding(of: 2), now: 20)
        // He counts again when the counts have faded.
        for round in 1..<9 as Range<Int64> {
            expectEqual(removalGuard.decide(bad, binding(of: 1), now: round * 600), .remove)
        }
    }

    @Test func `counts tokens that are pushed to by hand each for itself`() {
        func byHand(_ token: String) -> Binding {
            var binding = Samples.voip
            (binding.aor, binding.token) = ("", token)
            return binding
        }
        var removalGuard = TokenRemovalGuard()
        for _ in 0..<9 { expectEqual(removalGuard.decide(bad, byHand("same"), now: 0), .remove) }
        for number in 0..<3 { expectEqual(removalGuard.decide(bad, byHand("\(number)"), now: 0), .remove) }
        expectEqual(removalGuard.decide(bad, byHand("last"), now: 0), .keepAndAlarm)
    }

    @Test func `names the app, and of Web Push the service`() {
        #expect(TokenRemovalGuard.topic(of: Samples.android) == Samples.android.app)
        let browser = Binding(provider: .webpush, token: "https://push.example.com:444/secret", dialect: .rfc8599)
        #expect(TokenRemovalGuard.topic(of: browser) == "push.example.com:444")
    }

    @Test func `counts each service of Web Push by itself`() {
        func binding(_ service: String, _ user: Int) -> Binding {
            Binding(aor: "u\(user)", provider: .webpush, token: "https://\(service)/\(user)", dialect: .rfc8599)
        }
        var removalGuard = TokenRemovalGuard()
        for user in 0..<9 { _ = removalGuard.decide(bad, binding("push.attacker.example:444", user), now: 0) }
        expectEqual(removalGuard.decide(bad, binding("push.attacker.example:444", 9), now: 0), .keep)
        expectEqual(removalGuard.decide(bad, binding("push.attacker.example", 9), now: 0), .remove)
        expectEqual(removalGuard.decide(bad, binding("updates.push.services.mozilla.com", 1), now: 0), .remove)
    }

    @Test func `lets go in time although the clock was put back`() {
        var removalGuard = TokenRemovalGuard()
        let year: Int64 = 31_536_000
        for user in 0..<9 { _ = removalGuard.decide(bad, binding(of: user), now: year) }
        expectEqual(removalGuard.decide(bad, binding(of: 9), now: 0), .keep)
        for round in 1..<4 as Range<Int64> { _ = removalGuard.decide(bad, binding(of: 1), now: round * 600) }
        expectEqual(removalGuard.decide(bad, binding(of: 2), now: 2400), .remove)
    }

    @Test func `counts each topic and environment by itself`() {
        var removalGuard = TokenRemovalGuard()
        for user in 0..<10 { _ = removalGuard.decide(bad, binding(of: user), now: 0) }
        var sandbox = Samples.voip
        sandbox.environment = .sandbox
        expectEqual(removalGuard.decide(bad, sandbox, now: 0), .remove)
        expectEqual(removalGuard.decide(bad, Samples.android, now: 0), .remove)
    }

    @Test func `never keeps a token whose time of death is known`() {
        var removalGuard = TokenRemovalGuard()
        let gone = Verdict(.tokenGone, reason: "Unregistered", goneSince: 1)
        let decisions = Set((0..<50).map { _ in removalGuard.decide(gone, Samples.voip, now: 0) })
        #expect(decisions == [.remove])
        expectEqual(removalGuard.decide(bad, Samples.voip, now: 0), .remove)
    }

    @Test func `lets go when the setup is right again, or after a while`() {
        var removalGuard = TokenRemovalGuard()
        for user in 0..<6 { _ = removalGuard.decide(bad, binding(of: user), now: 0) }
        for _ in 0..<8 { _ = removalGuard.decide(Verdict(.accepted), Samples.voip, now: 1) }
        expectEqual(removalGuard.decide(bad, Samples.voip, now: 1), .remove)
        for user in 0..<8 { _ = removalGuard.decide(bad, binding(Samples.android, of: user), now: 0) }
        expectEqual(removalGuard.decide(bad, Samples.android, now: 599), .keep)
        expectEqual(removalGuard.decide(bad, Samples.android, now: 1800), .remove)
    }

    @Test func `has nothing to say about other outcomes`() {
        var removalGuard = TokenRemovalGuard()
        expectEqual(removalGuard.decide(Verdict(.rejected), Samples.voip, now: 0), nil)
        expectEqual(removalGuard.decide(Verdict(.accepted), Samples.voip, now: 0), nil)
    }
}
