// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `FCM access token` {
    private let start: Int64 = 1_000_000

    private func ready() -> FCMCredential {
        var credential = FCMCredential()
        _ = credential.authorization(now: start)
        credential.fetched(Array("one".utf8), lifetime: 3599, now: start)
        return credential
    }

    @Test func `is fetched once, however many pushes wait`() {
        var credential = FCMCredential()
        let actions = [credential.authorization(now: start), credential.authorization(now: start)]
        credential.fetched(Array("one".utf8), lifetime: 3599, now: start)
        let last = credential.authorization(now: start)
        #expect(actions == [.fetch, .wait])
        #expect(last == .use(Array("Bearer one".utf8), generation: 1))
    }

    @Test func `is refreshed five minutes ahead while the old one is in use`() {
        var credential = ready()
        let deadline = credential.deadline
        let due = (-1...1).map { credential.refreshIsDue(now: start + 3_299_000 + $0) }
        let old = credential.authorization(now: start + 3_598_999)
        let tooOld = credential.authorization(now: start + 3_599_000)
        credential.fetched(Array("two".utf8), lifetime: 3599, now: start + 3_599_000)
        let new = credential.authorization(now: start + 3_599_000)
        #expect(deadline == start + 3_299_000)
        #expect(due == [false, true, false])
        #expect(old == .use(Array("Bearer one".utf8), generation: 1))
        #expect(tooOld == .wait)
        #expect(new == .use(Array("Bearer two".utf8), generation: 2))
    }

    @Test func `is fetched at once when the clock was set since Google refused it`() {
        var credential = FCMCredential()
        _ = credential.authorization(now: start)
        credential.fetchFailed(reason: "invalid_grant", after: nil, now: start, clock: 5000, random: 0)
        let still = [4999, 5000, 5001].map { credential.clockWasSet(to: $0) }
        let wasSet = credential.clockWasSet(to: 8600)
        let action = credential.authorization(now: start)
        let later = credential.clockWasSet(to: 1)
        #expect(still == [false, false, false])
        #expect(wasSet)
        #expect(action == .fetch)
        #expect(!later)
    }

    @Test func `of a short life is refreshed at half time`() {
        var credential = FCMCredential()
        credential.fetched([1], lifetime: 42, now: start)
        let deadline = credential.deadline
        #expect(deadline == start + 21_000)
    }

    @Test func `that has served is renewed however soon it is refused`() {
        var credential = FCMCredential()
        credential.fetched([1], lifetime: 3600, now: start)
        let first = credential.refused(generation: 1, now: start)
        credential.fetched([2], lifetime: 3600, now: start)
        credential.accepted(generation: 1)
        credential.accepted(generation: 2)
        let second = credential.refused(generation: 2, now: start + 1000)
        credential.fetched([3], lifetime: 3600, now: start + 1000)
        let third = credential.refused(generation: 3, now: start + 2000)
        #expect(first == .resend)
        #expect(second == .resend)
        #expect(third == .giveUp)
    }

    /// Or its first use would lead to the next fetch, and that to the next.
    @Test(arguments: [Int64.min, -1, 0, 1]) func `is used for a second, however short its life`(lifetime: Int64) {
        var credential = FCMCredential()
        credential.fetched(Array("one".utf8), lifetime: lifetime, now: start)
        let used = credential.authorization(now: start + 999)
        let deadline = credential.deadline
        let isDue = credential.refreshIsDue(now: start + 999)
        let later = credential.authorization(now: start + 1000)
        #expect(used == .use(Array("Bearer one".utf8), generation: 1))
        #expect(deadline == nil)
        #expect(!isDue)
        #expect(later == .fetch)
    }

    @Test func `backs off after a failure, longer each time, or as long as the server says`() {
        var credential = FCMCredential()
        var actions = [credential.authorization(now: start)]
        credential.fetchFailed(reason: "HTTP 503", after: nil, now: start, random: 0)
        actions += [499, 500].map { credential.authorization(now: start + $0) }
        credential.fetchFailed(reason: "HTTP 503", after: nil, now: start + 500, random: 0)
        actions += [501, 1500].map { credential.authorization(now: start + $0) }
        credential.fetchFailed(reason: "busy", after: 20_000, now: start + 1500, random: 0)
        actions.append(credential.authorization(now: start + 1501))
        #expect(
            actions == [
                .fetch, .backOff(until: start + 500, reason: "HTTP 503"), .fetch,
                .backOff(until: start + 1500, reason: "HTTP 503"), .fetch,
                .backOff(until: start + 21_500, reason: "busy"),
            ])
    }

    @Test func `backs off for a minute at most, whatever the server says`() {
        var credential = FCMCredential()
        for after in [Int64(60_000), 3_600_000, .max] {
            _ = credential.authorization(now: start)
            credential.fetchFailed(reason: "HTTP 503", after: after, now: start, random: 0)
            let backOff = FCMCredential.Action.backOff(until: start + 60_000, reason: "HTTP 503")
            #expect(credential.authorization(now: start + 59_999) == backOff)
            #expect(credential.authorization(now: start + 60_000) == .fetch)
            credential = FCMCredential()
        }
    }

    @Test func `stays in use when its refresh fails`() {
        var credential = ready()
        let due = start + 3_299_000
        _ = credential.refreshIsDue(now: due)
        credential.fetchFailed(reason: "HTTP 500", after: nil, now: due, random: 0)
        let action = credential.authorization(now: due)
        let deadline = credential.deadline
        let again = credential.refreshIsDue(now: due + 500)
        #expect(action == .use(Array("Bearer one".utf8), generation: 1))
        #expect(deadline == due + 500)
        #expect(again)
    }

    @Test func `is usable until its end, whatever becomes of its refresh, and not after a 401`() {
        var credential = FCMCredential()
        let before = credential.isUsable(now: start)
        credential = ready()
        credential.fetchFailed(reason: "HTTP 503", after: nil, now: start + 3_598_000, random: 0)
        let after = [3_598_999, 3_599_000].map { credential.isUsable(now: start + $0) }
        credential = ready()
        _ = credential.refused(generation: 1, now: start)
        let refused = credential.isUsable(now: start)
        #expect(!before && after == [true, false] && !refused)
    }

    @Test func `is fetched anew once after a 401`() {
        var credential = ready()
        let first = credential.refused(generation: 1, now: start + 10)
        let fetch = credential.authorization(now: start + 10)
        let late = credential.refused(generation: 1, now: start + 11)
        credential.fetched(Array("two".utf8), lifetime: 3599, now: start + 20)
        let second = credential.refused(generation: 2, now: start + 30)
        let used = credential.authorization(now: start + 30)
        let later = credential.refused(generation: 2, now: start + 90_000)
        #expect(first == .resend)
        #expect(fetch == .fetch)
        #expect(late == .resend)
        #expect(second == .giveUp)
        #expect(used == .use(Array("Bearer two".utf8), generation: 2))
        #expect(later == .resend)
    }

    @Test(arguments: [Int64.min, -1, 0, .max]) func `survives any lifetime`(lifetime: Int64) {
        var credential = FCMCredential()
        credential.fetched([1], lifetime: lifetime, now: start)
        let deadline = credential.deadline ?? start
        #expect(deadline >= start)
        #expect(deadline <= start + 86_400_000)
    }
}
