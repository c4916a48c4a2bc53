// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeStore

private let alice = "alice@example.com"

/// What comes back that was removed, and what is known of tokens that worked.
@Suite struct `A store that restores` {
    /// Registers phones of alice's and removes all of them, one a second.
    private func remove(_ names: [String], in store: any BindingStore) throws {
        for (index, name) in names.enumerated() {
            let now = start + Int64(index)
            _ = try store.register([makePhone(named: name)], now: start)
            let token = BindingSelector.token(provider: .apns, app: "com.example.phone", token: name)
            _ = try store.remove(token, of: alice, reason: "token-gone \(name)", now: now)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `brings back what is meant, as it was`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            try remove(["one", "two", "three"], in: store)
            #expect(try store.count() == 0)
            let meant: (RemovedBinding) -> Bool = { $0.removedAt > start }
            let possible = try store.restorable(of: alice, now: start + 9, where: meant)
            #expect(
                possible.map(\.binding.token) == ["three", "two"] && possible.map(\.reason).last == "token-gone two")
            #expect(try store.bindings(of: alice, now: start + 9).isEmpty, "so far nothing has changed")
            #expect(try store.restore(of: alice, now: start + 9, where: meant) == possible)
            #expect(
                try Set(store.bindings(of: alice, now: start + 9).map(\.token)) == ["two", "three"]
                    && store.bindings(of: alice, now: start + 9).contains(makePhone(named: "two")))
            #expect(try store.removed(of: alice).map(\.binding.token) == ["one"])
            #expect(try store.count() == 2)
            #expect(try store.restore(of: alice, now: start + 9, where: meant).isEmpty)
            #expect(try store.restore(of: "bob", now: start + 9) { _ in true }.isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `goes on with what it has brought back`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            try remove(["one", "two"], in: store)
            _ = try store.restore(of: alice, now: start + 9) { _ in true }
            var again = makePhone(named: "one", at: start + 20)
            again.cseq = 2
            #expect(try store.register([again], now: start + 20) == [])
            #expect(try store.bindings(of: alice, now: start + 20).contains(again))
            #expect(try store.remove(.all, of: alice, reason: "by hand", now: start + 21).count == 2)
            #expect(try store.count() == 0)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `leaves out what its phone has superseded`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            // Two tokens of one phone, of which one goes; the other one stays, and is no reason against it.
            let pair = ["voip", "remote"].map { makeBinding(token: $0, instance: "one", callID: "one") }
            _ = try store.register(pair, now: start)
            let token = BindingSelector.token(provider: .apns, app: "com.example.phone", token: "remote")
            _ = try store.remove(token, of: alice, reason: "token-gone", now: start + 5)
            #expect(try store.restorable(of: alice, now: start + 6) { _ in true }.map(\.binding.token) == ["remote"])
            // Its next REGISTER has the voip token alone.
            let again = makeBinding(token: "voip", instance: "one", callID: "one", cseq: 2, at: start + 10)
            _ = try store.register([again], now: start + 10)
            #expect(try store.restore(of: alice, now: start + 11) { _ in true }.isEmpty)
        }
    }

    @Test func `decides what is superseded by token and phone`() {
        func removed(_ token: String, instance: String, at: Int64) -> RemovedBinding {
            RemovedBinding(binding: makeBinding(token: token, instance: instance), reason: "x", removedAt: at)
        }
        let tombstones = [
            removed("a", instance: "1", at: start + 5), removed("a", instance: "1", at: start + 7),
            removed("b", instance: "2", at: start + 6),
        ]
        func plan(_ live: [Binding], perUser: Int = 9, now: Int64 = start) -> [Int] {
            RestorePlan.tombstones(tombstones, beside: live, perUser: perUser, now: now) { _ in true }
        }
        #expect(plan([]) == [1, 2], "the same token once, the newest")
        #expect(plan([makeBinding(token: "a", instance: "9", contact: "sip:x@192.0.2.9", callID: "z")]) == [2])
        let later = makeBinding(token: "new", instance: "2", contact: "sip:y@192.0.2.9", callID: "y", at: start + 7)
        let before = makeBinding(token: "new", instance: "2", contact: "sip:y@192.0.2.9", callID: "y", at: start + 5)
        #expect(plan([later]) == [1])
        #expect(plan([before]) == [1, 2])
        #expect(plan([before], perUser: 2) == [1])
        #expect(plan([], now: start + 40 * 86_400) == [])
    }

    @Test(arguments: StoreKind.allCases)
    func `lists whose bindings were removed lately, some at a time`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            for number in 0..<30 {
                let now = start + Int64(number)
                let aor = "user\(number < 10 ? "0" : "")\(number)"
                _ = try store.register([makeBinding(aor: aor, token: "t\(number)", instance: "\(number)")], now: now)
                if number % 3 == 0 { _ = try store.remove(.all, of: aor, reason: "x", now: now) }
            }
            var (found, cursor): ([String], String) = ([], "")
            while true {
                let page = try store.users(removedSince: start + 6, after: cursor, limit: 4)
                found += page.aors
                guard let next = page.next else { break }
                #expect(next > cursor)
                cursor = next
            }
            #expect(found == ["user06", "user09", "user12", "user15", "user18", "user21", "user24", "user27"])
        }
    }

    // MARK: Tokens that worked

    @Test(arguments: StoreKind.allCases)
    func `knows when a push to a token was first accepted, whatever its phone registers`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            func acceptedAt(_ now: Int64) throws -> [String: UInt32] {
                Dictionary(
                    try store.bindings(of: alice, now: now).map { ($0.token, $0.acceptedAt) }, uniquingKeysWith: max)
            }
            let pair = ["voip", "remote"].map { makeBinding(token: $0, instance: "one", callID: "one") }
            _ = try store.register(pair, now: start)
            _ = try store.register([makeBinding(aor: "bob", token: "voip", instance: "two")], now: start)
            let stored = try store.bindings(of: alice, now: start)
            try store.noteAccepted([stored[0]], at: start + 3)
            try store.noteAccepted([stored[0], makeBinding(aor: "nobody", token: "x")], at: start + 4)
            let known = UInt32(start + 3)
            #expect(try acceptedAt(start + 5) == ["voip": known, "remote": 0])
            #expect(try store.bindings(of: "bob", now: start).map(\.acceptedAt) == [0])
            // A refresh, a new address, a start of the app anew; then the token is another one.
            for (number, contact) in ["sip:a@192.0.2.1", "sip:a@192.0.2.1", "sip:a@192.0.2.2", "sip:a@192.0.2.3"]
                .enumerated()
            {
                let now = start + 10 * Int64(number + 1)
                let callID = number < 3 ? "one" : "another"
                let again = ["voip", "remote"].map {
                    makeBinding(
                        token: $0, instance: "one", contact: contact, callID: callID, cseq: UInt32(number + 2), at: now)
                }
                #expect(try store.register(again, now: now) != nil)
                #expect(try acceptedAt(now) == ["voip": known, "remote": 0])
            }
            let fresh = makeBinding(
                token: "fresh", instance: "one", contact: "sip:a@192.0.2.3", callID: "another", cseq: 9, at: start + 60)
            _ = try store.register([fresh], now: start + 60)
            #expect(try acceptedAt(start + 60) == ["fresh": 0])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `knows it of what was removed, too`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            _ = try store.register([makePhone(named: "one")], now: start)
            try store.noteAccepted(try store.bindings(of: alice, now: start), at: start + 3)
            for way in 0..<2 {
                _ = try store.remove(.all, of: alice, reason: "x", now: start + 5)
                #expect(try store.removed(of: alice).first?.binding.acceptedAt == UInt32(start + 3))
                if way == 0 {
                    _ = try store.restore(of: alice, now: start + 6) { _ in true }
                } else {
                    _ = try store.register([makePhone(named: "one", at: start + 8)], now: start + 8)
                }
                #expect(try store.bindings(of: alice, now: start + 9).map(\.acceptedAt) == [UInt32(start + 3)])
            }
        }
    }

    @Test func `reads the image of a user by an earlier release`() throws {
        var user = MemoryStore.User()
        user.live = [MemoryStore.Row(id: 1, binding: makePhone(named: "one"))]
        user.tombstones = [RemovedBinding(binding: makePhone(named: "two"), reason: "x", removedAt: start)]
        let version = [UInt8](repeating: 7, count: UserImage.versionLength)
        let plain = UserImage.encode(user, of: alice, version: version)
        #expect(UserImage.decode(plain, of: alice)?.user == user)
        user.live[0].binding.acceptedAt = 5
        let known = UserImage.encode(user, of: alice, version: version)
        #expect(Array(known.prefix(plain.count)) == plain && known.count > plain.count)
        #expect(UserImage.decode(known, of: alice)?.user == user)
    }

    @Test func `keeps it over kill -9 beside what waits in the journal`() throws {
        try withTemporaryDirectory { directory in
            func open() throws -> BufferedStore {
                let store = try BufferedStore(SQLiteStore(path: directory + "/bindings.db"))
                store.isAlone = true
                return store
            }
            do {
                let store = try open()
                _ = try store.register([makePhone(named: "one")], now: start)
                try store.noteAccepted(store.bindings(of: alice, now: start), at: start + 1)
                var moved = makePhone(named: "one", at: start + 2)
                (moved.contact, moved.cseq) = ("sip:one@192.0.2.77", 2)
                _ = try store.register([moved], now: start + 2)
            }
            let left = try open().bindings(of: alice, now: start + 3)
            #expect(left.map(\.acceptedAt) == [UInt32(start + 1)] && left[0].contact == "sip:one@192.0.2.77")
        }
    }
}
