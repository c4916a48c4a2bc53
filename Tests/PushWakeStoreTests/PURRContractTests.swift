// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeStore

private let day: Int64 = 86_400
private let aor = "alice@example.com"

/// What every store does with PURRs: told once a day, good for seven days and one after the last use.
@Suite struct `PURRs of a store` {
    @Test(arguments: StoreKind.allCases)
    func `name the device that was told them, and no other`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            let phone = [makePhone("a", .voip), makePhone("a", .remote)]
            _ = try store.register(phone, now: start)
            _ = try store.register([makePhone("b")], now: start)
            _ = try store.register([makeBinding(aor: "bob", token: "c")], now: start)
            let first = try store.told(phone[0])
            let second = try store.told(makePhone("b"))
            let other = try store.told(makeBinding(aor: "bob"))
            #expect(Set([first, second, other]).count == 3)
            #expect(try store.told(phone[1]) == first)
            #expect(try store.tokens(first) == ["a voip", "a remote"])
            #expect(try store.tokens(second) == ["b voip"])
            #expect(try store.bindings(ofPURR: other, now: start).map(\.aor) == ["bob"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `are told to nobody who is not stored, and nobody can make one up`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            #expect(try store.purr(of: makePhone("a"), now: start) { makePURR(1) } == nil)
            _ = try store.register([makePhone("a")], now: start)
            #expect(try store.purr(of: makePhone("b"), now: start) { makePURR(1) } == nil)
            #expect(try store.bindings(ofPURR: makePURR(1), now: start).isEmpty)
            let told = try store.told(makePhone("a"))
            for bit in 0..<64 {
                let altered = [
                    PURR(high: told.high ^ 1 << UInt64(bit), low: told.low),
                    PURR(high: told.high, low: told.low ^ 1 << UInt64(bit)),
                ]
                for purr in altered { #expect(try store.bindings(ofPURR: purr, now: start).isEmpty) }
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `rotate every day, and the old ones stay good`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            var told: [PURR] = []
            for hour in stride(from: Int64(0), to: 72, by: 1) {
                let now = start + hour * 3600
                _ = try store.register([makePhone("a", cseq: UInt32(hour), at: now)], now: now)
                let purr = try store.told(makePhone("a"), now: now)
                if told.last != purr { told.append(purr) }
            }
            #expect(told.count == 3)
            #expect(Set(told).count == 3)
            for purr in told { #expect(try store.tokens(purr, now: start + 3 * day) == ["a voip"]) }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `rotate no sooner because a clock goes back`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            _ = try store.register([makePhone("a")], now: start)
            let purr = try store.told(makePhone("a"))
            let times: [Int64] = [start - day, 0, Int64.min, start + day - 1]
            for now in times {
                #expect(try store.told(makePhone("a"), now: now) == purr)
            }
            #expect(try store.told(makePhone("a"), now: .max) != purr)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `count no more eight days after the last use`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            _ = try store.register([makePhone("a", keep: 90 * day)], now: start)
            let unused = try store.told(makePhone("a"))
            let used = try store.told(makePhone("a"), now: start + day)
            // A dialog that lives on uses the one that it began with.
            for days in [Int64(2), 9, 16, 23, 30] {
                #expect(try store.tokens(used, now: start + days * day) == ["a voip"])
            }
            #expect(try store.tokens(unused, now: start + 8 * day) == ["a voip"])
            #expect(try store.tokens(used, now: start + 40 * day).isEmpty)
            #expect(try store.tokens(unused, now: start + 17 * day).isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `follow the device to another token, contact or instance`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            _ = try store.register([makePhone("a")], now: start)
            let first = try store.told(makePhone("a"))
            let steps = [
                makeBinding(token: "new", instance: "a", contact: "sip:x@192.0.2.9", callID: "other", cseq: 2),
                makeBinding(token: "new", instance: "reinstalled", contact: "sip:y@192.0.2.9", callID: "third"),
                makeBinding(token: "newer", instance: "", contact: "sip:z@192.0.2.9", callID: "third", cseq: 3),
                makeBinding(token: "newest", instance: "", contact: "sip:z@192.0.2.9;pn-prid=x", callID: "fourth"),
            ]
            for (number, step) in steps.enumerated() {
                _ = try store.register([step], now: start + Int64(number))
                #expect(try store.tokens(first) == [step.token])
                #expect(try store.told(step) == first)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `are one for all contacts of an instance`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            func contact(_ host: String, _ cseq: UInt32) -> Binding {
                makeBinding(token: host, instance: "a", contact: "sip:a@\(host)", cseq: cseq)
            }
            var told: Set<PURR> = []
            for cseq in UInt32(1)...3 {
                for host in ["192.0.2.1", "[2001:db8::1]"] {
                    _ = try store.register([contact(host, cseq)], now: start)
                }
                told.insert(try store.told(contact("192.0.2.1", cseq)))
                told.insert(try store.told(contact("[2001:db8::1]", cseq)))
            }
            #expect(told.count == 1)
            for purr in told { #expect(try store.tokens(purr) == ["192.0.2.1", "[2001:db8::1]"]) }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `go with the last binding of their device`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            let phone = [makePhone("a", .voip), makePhone("a", .remote)]
            _ = try store.register(phone, now: start)
            let purr = try store.told(phone[0])
            for (binding, left) in [(phone[0], ["a remote"]), (phone[1], [])] {
                let token = BindingSelector.token(provider: .apns, app: binding.app, token: binding.token)
                _ = try store.remove(token, of: aor, reason: "token-gone", now: start)
                #expect(try store.tokens(purr) == left)
            }
            // Whoever takes the place in the store takes no PURR with it, and neither does the phone that comes back.
            _ = try store.register([makePhone("b")], now: start)
            _ = try store.register(phone, now: start)
            #expect(try store.tokens(purr).isEmpty)
            #expect(try store.told(makePhone("b")) != purr)
            #expect(try store.told(phone[0]) != purr)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `are forgotten with their device`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            let phone = [makePhone("a", .voip, keep: 60), makePhone("a", .remote, keep: 60)]
            _ = try store.register(phone, now: start)
            let purr = try store.told(phone[0])
            #expect(try store.tokens(purr, now: start + 60).isEmpty)
            while try store.forget(now: start + 60, limit: 1) == 1 {}
            #expect(try store.count() == 0)
            _ = try store.register([makePhone("b", at: start + 61)], now: start + 61)
            #expect(try store.tokens(purr, now: start + 61).isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `of a phone that gives way are nobody's`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            var first: PURR?
            for index in 0..<BindingLimits.perUser {
                let phone = makePhone("phone \(index)", at: start + Int64(index))
                _ = try store.register([phone], now: start)
                if index == 0 { first = try store.told(phone) }
            }
            let purr = try #require(first)
            #expect(try store.tokens(purr) == ["phone 0 voip"])
            let last = makePhone("last", at: start + 1000)
            _ = try store.register([last], now: start + 1000)
            #expect(try store.tokens(purr).isEmpty)
            #expect(try store.told(last) != purr)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `of one device are no more than thirty-two`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            _ = try store.register([makePhone("a", keep: 400 * day)], now: start)
            var told: [PURR] = []
            for number in Int64(0)..<40 {
                // All are in use.
                for purr in told { _ = try store.bindings(ofPURR: purr, now: start + number * day) }
                told.append(try store.told(makePhone("a"), now: start + number * day))
            }
            let good = try told.filter { try !store.bindings(ofPURR: $0, now: start + 40 * day).isEmpty }
            #expect(good == Array(told.suffix(PURRLimits.perDevice)))
        }
    }

    @Test func `rotate no faster than they are kept`() {
        let most = Int64(PURRLimits.perDevice - 1)
        #expect(PURRLimits.lifetime + PURRLimits.noteAfter <= most * PURRLimits.rotation)
    }
}

extension BindingStore {
    /// The PURR of a device that has one to be told.
    func told(_ binding: Binding, now: Int64 = start) throws -> PURR {
        var system = SystemRandomNumberGenerator()
        return try #require(try purr(of: binding, now: now) { PURR(using: &system) })
    }

    fileprivate func tokens(_ purr: PURR, now: Int64 = start) throws(StoreError) -> [String] {
        try bindings(ofPURR: purr, now: now).map(\.token)
    }
}

private func makePURR(_ number: UInt64) -> PURR { PURR(high: number, low: number) }

private func makePhone(
    _ name: String, _ service: TokenUse = .voip, cseq: UInt32 = 1, at: Int64 = start, keep: Int64 = 30 * day
) -> Binding {
    makeBinding(
        service: service, token: "\(name) \(service.name)", instance: name, contact: "sip:\(name)@192.0.2.1",
        callID: name, cseq: cseq, at: at, keep: keep)
}
