// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

private let good = Verdict(.accepted)
/// Of the token, or of a setting.
private let suspect = Verdict(.tokenGone, reason: "BadDeviceToken", mayBeSetting: true)
/// Of the token.
private let bad = Verdict(.tokenGone, reason: "UNREGISTERED")

/// User `number` with a token of his own; `acceptedAt` is when it worked first, 0 for never.
private func user(_ number: Int, _ sample: Binding = Samples.android, acceptedAt: UInt32 = 0) -> Binding {
    var binding = sample
    (binding.aor, binding.token, binding.acceptedAt) = ("user\(number)", "token\(number)", acceptedAt)
    return binding
}

/// A guard in which so many users' tokens work.
private func makeGuard(working users: Range<Int> = 0..<0, now: Int64 = 1000) -> TokenRemovalGuard {
    var removalGuard = TokenRemovalGuard()
    for number in users { _ = removalGuard.decide(good, user(number), now: now) }
    return removalGuard
}

extension TokenRemovalGuard.Decision {
    fileprivate var trip: TokenRemovalGuard.Trip? {
        guard case .trip(let trip) = self else { return nil }
        return trip
    }
}

@Suite struct `Token removal guard` {
    @Test func `lets dead tokens go one by one, whoever else works`() {
        var removalGuard = makeGuard()
        expectEqual(removalGuard.decide(bad, user(1), now: 0), .remove)
        expectEqual(removalGuard.decide(bad, user(2, acceptedAt: 5), now: 0), .remove)
        for number in 11..<500 {
            expectEqual(removalGuard.decide(good, user(number), now: 0), .nothing)
            if number % 10 == 0 { expectEqual(removalGuard.decide(bad, user(number + 1000), now: 0), .remove) }
        }
    }

    @Test(arguments: [
        // Users who worked, of them again, then users whose tokens are called bad until it trips.
        (0, 3), (1, 3), (2, 5), (5, 10), (20, 10), (1200, 10),
    ])
    func `trips among the latest users, however many worked before`(working: Int, bads: Int) {
        var removalGuard = makeGuard(working: 0..<working)
        var trip: TokenRemovalGuard.Trip?
        for number in 0..<bads {
            expectEqual(trip, nil)
            trip = removalGuard.decide(bad, user(5000 + number, acceptedAt: 9), now: 2000 + Int64(number)).trip
        }
        #expect(trip?.bad == bads && trip?.since == 2000)
        #expect(trip?.removed.map(\.aor) == (0..<bads - 1).map { "user\(5000 + $0)" })
        #expect(trip?.removed.allSatisfy { $0.tokens.count == 1 } == true)
        expectEqual(removalGuard.decide(bad, user(7000), now: 2100), .keep(.tripped))
        #expect(removalGuard.tripped(now: 2100).map(\.app) == [Samples.android.app])
    }

    @Test func `names what is to come back by user and token`() throws {
        var removalGuard = makeGuard()
        var second = user(1)
        second.token = "another"
        for binding in [user(1), second, user(2)] { expectEqual(removalGuard.decide(bad, binding, now: 1), .remove) }
        let trip = try #require(removalGuard.decide(bad, user(3), now: 2).trip)
        #expect(trip.removed.map(\.aor) == ["user1", "user2"])
        #expect(trip.removed[0].tokens == [user(1), second].map(TokenRemovalGuard.digest))
    }

    @Test func `brings back what a user lost whose other token works`() throws {
        var removalGuard = makeGuard()
        var other = user(1)
        other.token = "another"
        expectEqual(removalGuard.decide(bad, user(1), now: 1), .remove)
        expectEqual(removalGuard.decide(good, other, now: 1), .nothing)
        for number in 2..<4 { expectEqual(removalGuard.decide(bad, user(number), now: 2), .remove) }
        let trip = try #require(removalGuard.decide(bad, user(4), now: 2).trip)
        #expect(trip.removed.first?.aor == "user1")
    }

    @Test func `is not tripped by one user, whatever tokens he brings`() {
        var removalGuard = makeGuard()
        for number in 0..<100 {
            var binding = user(1)
            binding.token = "token\(number)"
            expectEqual(removalGuard.decide(bad, binding, now: 1), .remove)
        }
    }

    // MARK: Token or setting

    @Test func `never removes a token that worked, where a setting may be to blame`() {
        var removalGuard = makeGuard(working: 0..<20)
        expectEqual(removalGuard.decide(suspect, user(100, acceptedAt: 1), now: 1001), .keep(.hasWorked))
    }

    @Test(arguments: [(0, false), (1, false), (2, false), (3, true), (20, true)])
    func `removes one that never worked while others work`(others: Int, isRemoved: Bool) {
        var removalGuard = makeGuard(working: 0..<others)
        expectEqual(removalGuard.decide(suspect, user(100), now: 1001), isRemoved ? .remove : .keep(.othersFail))
    }

    @Test func `asks whether others work now`() {
        var removalGuard = makeGuard(working: 0..<20)
        expectEqual(removalGuard.decide(suspect, user(100), now: 1000 + 3601), .keep(.othersFail))
        _ = removalGuard.decide(good, user(1), now: 1000 + 3602)
        expectEqual(removalGuard.decide(suspect, user(100), now: 1000 + 3603), .remove)
    }

    @Test func `keeps all of three users with a wrong environment, and says so`() {
        var removalGuard = makeGuard()
        let decisions = (0..<5).map { removalGuard.decide(suspect, user($0), now: 1) }
        #expect(decisions[0..<2] == [.keep(.othersFail), .keep(.othersFail)])
        #expect(decisions[2].trip?.removed == [])
        #expect(decisions[3...] == [.keep(.tripped), .keep(.tripped)])
    }

    @Test func `begins anew when keys or settings are read again`() {
        var removalGuard = makeGuard(working: 0..<1200)
        removalGuard.beginAnew(.apns)
        expectEqual(removalGuard.decide(suspect, user(2000), now: 1001), .remove)
        removalGuard.beginAnew(.fcm)
        expectEqual(removalGuard.decide(suspect, user(2000), now: 1001), .keep(.othersFail))
        expectEqual(removalGuard.decide(bad, user(2001, acceptedAt: 1), now: 1001), .remove)
        #expect(removalGuard.decide(bad, user(2002, acceptedAt: 1), now: 1001).trip?.bad == 3)
    }

    @Test func `keeps a token whose topic is another kind's apart`() {
        var removalGuard = TokenRemovalGuard()
        for number in 0..<20 { _ = removalGuard.decide(good, user(number, Samples.voip), .voip, now: 0) }
        expectEqual(removalGuard.decide(suspect, user(30, Samples.remote), .alert, now: 0), .keep(.othersFail))
        expectEqual(removalGuard.decide(suspect, user(30, Samples.voip), .voip, now: 0), .remove)
        var sandbox = user(31, Samples.voip)
        sandbox.environment = .sandbox
        expectEqual(removalGuard.decide(suspect, sandbox, .voip, now: 0), .keep(.othersFail))
    }

    // MARK: The end of it

    /// Trips in the seconds from 2000 to 2010.
    private func tripped(_ verdict: Verdict = bad) -> TokenRemovalGuard {
        var removalGuard = makeGuard(working: 0..<20)
        for number in 0..<10 { _ = removalGuard.decide(verdict, user(100 + number, acceptedAt: 9), now: 2000) }
        #expect(removalGuard.tripped(now: 2000).count == 1)
        return removalGuard
    }

    @Test func `stays tripped until a token works that worked before`() {
        var removalGuard = tripped()
        // One that came while it was wrong may be right for what is wrong.
        for at in [0, 2000, 2001] as [UInt32] {
            expectEqual(removalGuard.decide(good, user(300, acceptedAt: at), now: 2002), .nothing)
        }
        expectEqual(removalGuard.decide(bad, user(301), now: 2002), .keep(.tripped))
        guard case .release(let setup) = removalGuard.decide(good, user(302, acceptedAt: 1999), now: 2003) else {
            Issue.record("it is not released")
            return
        }
        #expect(setup.provider == .fcm && removalGuard.tripped(now: 2003).isEmpty)
    }

    @Test func `or one that was called bad`() {
        var removalGuard = makeGuard()
        for number in 0..<3 { _ = removalGuard.decide(suspect, user(number), now: 2000) }
        removalGuard.beginAnew(.fcm)
        expectEqual(removalGuard.decide(good, user(50), now: 2001), .nothing)
        expectEqual(removalGuard.decide(good, user(2), now: 2001), .release(setupOf(user(2))))
    }

    private func setupOf(_ binding: Binding) -> TokenRemovalGuard.Setup {
        var removalGuard = TokenRemovalGuard()
        for number in 0..<3 { _ = removalGuard.decide(suspect, user(number, binding), now: 0) }
        return removalGuard.tripped(now: 0)[0]
    }

    @Test func `or many of whom nobody knows`() {
        var removalGuard = tripped()
        removalGuard.beginAnew(.fcm)
        let decisions = (0..<10).map { removalGuard.decide(good, user(500 + $0), now: 2100) }
        #expect(decisions.dropLast().allSatisfy { $0 == .nothing })
        #expect(decisions.last == .release(setupOf(user(0))))
    }

    @Test func `a reload alone does not end it`() {
        var removalGuard = tripped()
        removalGuard.beginAnew(.fcm)
        expectEqual(removalGuard.decide(bad, user(300), now: 2002), .keep(.tripped))
    }

    @Test func `lets nothing go for a moment after it: answers of before may be under way`() {
        var removalGuard = tripped()
        _ = removalGuard.decide(good, user(1, acceptedAt: 9), now: 3000)
        expectEqual(removalGuard.decide(bad, user(300), now: 3001), .keep(.tripped))
        for number in 0..<20 { _ = removalGuard.decide(good, user(number), now: 3010) }
        expectEqual(removalGuard.decide(bad, user(300), now: 3014), .keep(.tripped))
        expectEqual(removalGuard.decide(bad, user(300), now: 3015), .remove)
    }

    @Test func `trips again within that moment`() {
        var removalGuard = tripped()
        _ = removalGuard.decide(good, user(1, acceptedAt: 9), now: 3000)
        let decisions = (0..<3).map { removalGuard.decide(bad, user(300 + $0), now: 3001) }
        #expect(decisions.last?.trip?.removed == [])
    }

    @Test func `forgets a setup that nobody uses for a day`() {
        var removalGuard = tripped()
        #expect(removalGuard.tripped(now: 2000 + 86_400).count == 1)
        #expect(removalGuard.tripped(now: 2000 + 86_401).isEmpty)
        expectEqual(removalGuard.decide(bad, user(300), now: 2000 + 86_401), .remove)
    }

    @Test func `counts nobody who was called bad a day ago`() {
        var removalGuard = makeGuard()
        let day: Int64 = 86_401
        let decisions = (0..<20).map { removalGuard.decide(bad, user($0), now: Int64($0) * day / 2) }
        #expect(decisions == Array(repeating: .remove, count: 20))
    }

    @Test func `knows that those still work of whom all did for days`() {
        var removalGuard = makeGuard(working: 0..<20)
        for hour in 1..<60 as Range<Int64> { _ = removalGuard.decide(good, user(1), now: hour * 3600) }
        let now: Int64 = 60 * 3600
        #expect((100..<105).map { removalGuard.decide(bad, user($0), now: now) } == Array(repeating: .remove, count: 5))
    }

    @Test func `goes on although the clock was put back`() {
        var removalGuard = makeGuard()
        let year: Int64 = 31_536_000
        for number in 0..<2 { _ = removalGuard.decide(bad, user(number), now: year) }
        expectEqual(removalGuard.decide(bad, user(2), now: 0), .remove)
        expectEqual(removalGuard.decide(bad, user(2), now: 61), .remove)
    }

    // MARK: What does not count

    @Test func `never keeps a token whose time of death is known`() {
        var removalGuard = TokenRemovalGuard()
        let dead = Verdict(.tokenGone, reason: "Unregistered", goneSince: 1)
        let decisions = (0..<50).map { removalGuard.decide(dead, user($0, acceptedAt: 1), now: 0) }
        #expect(decisions == Array(repeating: .remove, count: 50))
        expectEqual(removalGuard.decide(bad, user(60), now: 0), .remove)
    }

    @Test func `has nothing to say about other outcomes, nor of a token that was pushed by hand`() {
        var removalGuard = TokenRemovalGuard()
        var byHand = Samples.voip
        byHand.aor = ""
        for number in 0..<9 {
            byHand.token = "\(number)"
            expectEqual(removalGuard.decide(bad, byHand, now: 0), .nothing)
            expectEqual(removalGuard.decide(Verdict(.misconfigured), user(number), now: 0), .nothing)
        }
        #expect(removalGuard.tripped(now: 0).isEmpty)
    }

    @Test func `counts each service of Web Push by itself`() {
        func browser(_ service: String, _ number: Int) -> Binding {
            Binding(
                aor: "u\(number)", provider: .webpush, token: "https://\(service)/secret\(number)", dialect: .rfc8599)
        }
        var removalGuard = TokenRemovalGuard()
        for number in 0..<9 { _ = removalGuard.decide(bad, browser("push.attacker.example:444", number), now: 0) }
        #expect(removalGuard.tripped(now: 0).map(\.app) == ["push.attacker.example:444"])
        expectEqual(removalGuard.decide(bad, browser("push.attacker.example", 9), now: 0), .remove)
        expectEqual(removalGuard.decide(bad, browser("updates.push.services.mozilla.com", 1), now: 0), .remove)
    }

    @Test func `a flood of apps takes neither memory nor what has tripped`() {
        var removalGuard = tripped()
        for number in 0..<2000 {
            var binding = user(number)
            binding.app = "app\(number)"
            _ = removalGuard.decide(bad, binding, now: 2001)
        }
        expectEqual(removalGuard.decide(bad, user(300), now: 2002), .keep(.tripped))
        #expect(MemoryLayout<TokenRemovalGuard>.size <= 16)
    }

    // MARK: A day of mistakes

    /// 400 phones, some of which die for good; each mistake hits all of them, and the others ring again when it is put right.
    @Test(arguments: [suspect, bad], [true, false])
    func `loses nobody by mistakes that come one after another`(mistake: Verdict, isReloaded: Bool) {
        var removalGuard = TokenRemovalGuard()
        var random = SystemRandomNumberGenerator()
        var bound = Dictionary(uniqueKeysWithValues: (0..<400).map { ($0, user($0)) })
        var removed: [String: Binding] = [:]
        var dead: Set<Int> = []
        var now: Int64 = 1_000_000
        func call(_ number: Int, _ verdict: Verdict) {
            guard var binding = bound[number] else { return }
            switch removalGuard.decide(dead.contains(number) ? bad : verdict, binding, now: now) {
            case .remove:
                removed[binding.aor] = binding
                bound[number] = nil
            case .trip(let trip):
                for back in trip.removed {
                    guard let binding = removed[back.aor] else { continue }
                    #expect(back.tokens == [TokenRemovalGuard.digest(of: binding)])
                    bound[Int(back.aor.dropFirst(4)) ?? -1] = binding
                }
            case .nothing, .keep, .release: break
            }
            if verdict == good, !dead.contains(number), binding.acceptedAt == 0 {
                binding.acceptedAt = UInt32(now)
                bound[number] = binding
            }
        }
        func calls(_ verdict: Verdict, count: Int) {
            for _ in 0..<count {
                now += Int64.random(in: 0...1, using: &random)
                call(Int.random(in: 0..<400, using: &random), verdict)
            }
        }
        for number in 0..<400 { call(number, good) }
        for round in 0..<20 {
            dead.insert(round * 7)
            if isReloaded { removalGuard.beginAnew(.fcm) }
            calls(mistake, count: 300)
            if isReloaded { removalGuard.beginAnew(.fcm) }
            calls(good, count: 600)
        }
        now += 100
        for _ in 0..<3 { for number in 0..<400 { call(number, good) } }
        #expect(Set(0..<400).subtracting(bound.keys).subtracting(dead).isEmpty, "nobody is lost")
        #expect(dead.isDisjoint(with: bound.keys), "what is dead goes")
    }
}
