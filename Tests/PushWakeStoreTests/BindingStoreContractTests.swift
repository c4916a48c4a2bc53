// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import Testing

/// What every store does, whatever it is made of.
@Suite struct `A binding store` {
    // MARK: Clocks

    @Test(arguments: StoreKind.allCases)
    func `keeps what was registered under a clock that was years back`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            let wrong: Int64 = 86_400
            _ = try store.register([makePhone(named: "early", at: wrong)], now: wrong)
            _ = try store.register([makePhone(named: "before", at: start - 100)], now: wrong)
            _ = try store.register([makePhone(named: "over", at: start - 40 * 86_400)], now: wrong)
            try store.clockJumped(from: wrong + 60, to: start)
            let bindings = try store.bindings(of: "alice@example.com", now: start)
            #expect(Set(bindings.map(\.token)) == ["early", "before"])
            let early = try #require(bindings.first { $0.token == "early" })
            #expect(early.registeredAt == start - 60)
            #expect(early.expiresAt - early.registeredAt == 3600 && early.forgetAt - early.registeredAt == 30 * 86_400)
            _ = try store.forget(now: start, limit: 10)
            #expect(try store.count() == 2)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `keeps all when a clock goes wrong for a while`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            _ = try store.register([makePhone(named: "a", at: start - 100)], now: start)
            let wrong = start + 3650 * 86_400
            try store.clockJumped(from: start, to: wrong)
            #expect(try store.tokens(of: "alice@example.com", now: wrong) == ["a"])
            _ = try store.register([makePhone(named: "b", at: wrong)], now: wrong)
            try store.clockJumped(from: wrong + 60, to: start + 60)
            let bindings = try store.bindings(of: "alice@example.com", now: start + 60)
            #expect(bindings.map(\.registeredAt) == [start - 100, start])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `leaves alone what a right clock has stamped meanwhile, when one is put back`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            let wrong = start + 400 * 86_400
            _ = try store.register([makePhone(named: "wrong", at: wrong)], now: wrong)
            _ = try store.register([makePhone(named: "right", at: start + 10)], now: start + 10)
            for _ in 0..<2 { try store.clockJumped(from: wrong + 5, to: start + 5) }
            let bindings = try store.bindings(of: "alice@example.com", now: start + 20)
            #expect(bindings.map(\.registeredAt) == [start, start + 10])
        }
    }

    // MARK: Storing and reading

    @Test(arguments: StoreKind.allCases)
    func `gives back every field of what was registered`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            let full = Binding(
                aor: "alice@example.com", provider: .webpush, environment: .sandbox, app: "an.app", team: "A1B2C3D4E5",
                service: .remote, token: "https://push.example.net/p/a?b=c&d=ü", dialect: .flexisip,
                instance: "<urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6>",
                contact: "sip:alice%20x;p=1@[2001:db8::1]:5061;transport=tls;pn-prid=https%3A%2F%2Fpush",
                callID: "a84b4c76e66710@pc33",
                cseq: .max,
                attributes: .init([.init(name: "pn-timeout", value: "0"), .init(name: "pn-auth", value: "\u{1}\u{0}")]),
                registeredAt: start, expiresAt: start + 60, forgetAt: start + 86_400, refreshesItself: true,
                flowNumber: 127)
            let plain = makeBinding(aor: "bob", service: nil, instance: "", contact: "", callID: "")
            _ = try store.register([full], now: start)
            _ = try store.register([plain], now: start)
            #expect(try store.bindings(of: "alice@example.com", now: start) == [full])
            #expect(try store.bindings(of: "bob", now: start) == [plain])
            #expect(try store.count() == 2)
        }
    }

    @Test(arguments: StoreKind.allCases, Provider.allCases)
    func `keeps every dialect of every provider apart`(kind: StoreKind, provider: Provider) throws {
        try kind.withStore { (store) throws in
            let all = Dialect.allCases.flatMap { dialect in
                [TokenUse.voip, .remote, nil].map { service in
                    makeBinding(
                        provider: provider, service: service, token: "\(dialect.name) \(service?.name ?? "none")",
                        dialect: dialect)
                }
            }
            _ = try store.register(all, now: start)
            #expect(try store.bindings(of: "alice@example.com", now: start) == all)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `gives the oldest REGISTER first`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            for (name, age) in [("b", 20), ("c", 10), ("a", 30)] as [(String, Int64)] {
                _ = try store.register([makePhone(named: name, at: start - age)], now: start)
            }
            #expect(try store.tokens(of: "alice@example.com") == ["a", "b", "c"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `takes nothing for an answer`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            #expect(try store.register([], now: start) == [])
            #expect(try store.bindings(of: "", now: start).isEmpty)
            #expect(try store.remove(.all, of: "nobody", reason: "by hand", now: start).isEmpty)
            #expect(try store.removed(of: "nobody").isEmpty)
            #expect(try store.forget(now: start, limit: 10) == 0)
            #expect(try store.forget(now: start, limit: 0) == 0)
            #expect(try store.aors(after: "", limit: 10, now: start).isEmpty)
            #expect(try store.count() == 0)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `tells AoRs apart by their bytes`(kind: StoreKind) throws {
        let aors = ["Alice", "alice", "alice@", "al\u{e9}", "ale\u{301}", "a\u{0}", "a\u{0}b", "", "100%", "x'--"]
        try kind.withStore { (store) throws in
            for (index, aor) in aors.enumerated() {
                _ = try store.register([makeBinding(aor: aor, token: "token \(index)")], now: start)
            }
            for (index, aor) in aors.enumerated() {
                #expect(try store.tokens(of: aor) == ["token \(index)"])
            }
            #expect(try store.count() == aors.count)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `keeps what no parser would let through`(kind: StoreKind) throws {
        let texts = [
            "\u{0}", "\u{1}\u{2}\u{1f}", String(repeating: "f", count: 5000), String(repeating: "A", count: 1023),
            "deadbeef0", "DEADBEEFdeadbeef", "🐘", "f81d4fae-7dec-11d0-a765-00A0C91E6BF6", "a:b:c", ";pn-prid=;pn-prid=",
        ]
        try kind.withStore { (store) throws in
            for (index, text) in texts.enumerated() {
                let binding = makeBinding(
                    aor: "user\(index)", app: text, team: text, token: text, instance: text, contact: text + text,
                    callID: text)
                _ = try store.register([binding], now: start)
                #expect(try store.bindings(of: "user\(index)", now: start) == [binding])
            }
        }
    }

    // MARK: Bounds

    @Test(arguments: StoreKind.allCases)
    func `lets the oldest give way when a user has too many`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            for index in 0...BindingLimits.perUser {
                #expect(
                    try store.register([makePhone(named: "phone \(index)", at: start + Int64(index))], now: start) == []
                )
            }
            let tokens = try store.tokens(of: "alice@example.com")
            #expect(tokens.count == BindingLimits.perUser)
            #expect(tokens.first == "phone 1")
            #expect(tokens.last == "phone \(BindingLimits.perUser)")
            #expect(try store.count() == BindingLimits.perUser)
        }
    }

    // MARK: Removing

    @Test(arguments: StoreKind.allCases)
    func `shows a removed binding with its reason until the phone registers again`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            let binding = makeBinding(contact: "sip:a@192.0.2.1")
            _ = try store.register([binding], now: start)
            let selector = BindingSelector.token(provider: .apns, app: "com.example.phone", token: "aToken")
            let reason = "token-gone BadDeviceToken"
            #expect(try store.remove(selector, of: binding.aor, reason: reason, now: start + 9) == [binding])
            #expect(try store.bindings(of: binding.aor, now: start + 9).isEmpty)
            #expect(
                try store.removed(of: binding.aor)
                    == [RemovedBinding(binding: binding, reason: reason, removedAt: start + 9)])
            #expect(try store.count() == 0)
            #expect(try store.remove(selector, of: binding.aor, reason: reason, now: start + 10).isEmpty)

            let again = makeBinding(token: "fresh", contact: "sip:a@192.0.2.2", cseq: 2, at: start + 20)
            #expect(try store.register([again], now: start + 20) == ["sip:a@192.0.2.1"])
            #expect(try store.removed(of: binding.aor).isEmpty)
            #expect(try store.bindings(of: binding.aor, now: start + 20) == [again])
        }
    }

    @Test(
        arguments: StoreKind.allCases,
        [
            (.all, ["a", "b", "c", "d"]),
            (.token(provider: .apns, app: "com.example.phone", token: "b"), ["b"]),
            (.token(provider: .fcm, app: "com.example.phone", token: "b"), []),
            (.token(provider: .apns, app: "com.example", token: "b"), []),
            (.device(instance: "one", contact: "", callID: ""), ["a", "b"]),
            (.device(instance: "two", contact: "sip:u@192.0.2.1", callID: "c1"), ["c", "d"]),
            (.device(instance: "", contact: "sip:u@192.0.2.1;pn-prid=z", callID: ""), ["a", "b"]),
            (.device(instance: "", contact: "", callID: "c3"), ["d"]),
            (.device(instance: "", contact: "", callID: ""), []),
        ] as [(BindingSelector, [String])])
    func `removes what the selector means`(kind: StoreKind, row: (selector: BindingSelector, gone: [String])) throws {
        try kind.withStore { (store) throws in
            let one = ["a", "b"].map {
                makeBinding(token: $0, instance: "one", contact: "sip:u@192.0.2.1", callID: "c1")
            }
            _ = try store.register(one, now: start)
            _ = try store.register(
                [makeBinding(token: "c", instance: "two", contact: "sip:u@192.0.2.2", callID: "c2", at: start + 1)],
                now: start)
            _ = try store.register(
                [makeBinding(token: "d", instance: "", contact: "sip:u@192.0.2.3", callID: "c3", at: start + 2)],
                now: start)
            _ = try store.register([makeBinding(aor: "bob", token: "b")], now: start)
            var expected = row.gone
            // A phone that has never said its instance is not the one that names another address.
            if case .device("two", _, _) = row.selector { expected = ["c"] }
            let gone = try store.remove(row.selector, of: "alice@example.com", reason: "by hand", now: start)
            #expect(gone.map(\.token) == expected)
            #expect(
                try store.tokens(of: "alice@example.com") == ["a", "b", "c", "d"].filter { !expected.contains($0) })
            #expect(try store.tokens(of: "bob") == ["b"])
            #expect(try store.removed(of: "alice@example.com").map(\.binding.token).sorted() == expected)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `shows the newest removal first and no more than a few`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            let count = BindingLimits.tombstonesPerUser + 3
            for index in 0..<count {
                let time = start + Int64(index)
                _ = try store.register([makePhone(named: "phone \(index)", at: time)], now: time)
                _ = try store.remove(.all, of: "alice@example.com", reason: "unregistered", now: time)
            }
            let tombstones = try store.removed(of: "alice@example.com")
            #expect(tombstones.map(\.binding.token) == (3..<count).reversed().map { "phone \($0)" })
        }
    }

    // MARK: Time

    @Test(arguments: StoreKind.allCases)
    func `keeps a binding past the registration and hides it when its time is over`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            _ = try store.register([makeBinding(expires: 60, keep: 1000)], now: start)
            #expect(try store.tokens(of: "alice@example.com", now: start + 999) == ["aToken"])
            #expect(try store.tokens(of: "alice@example.com", now: start + 1000).isEmpty)
            #expect(try store.aors(after: "", limit: 9, now: start + 1000).isEmpty)
            #expect(
                try store.remove(.all, of: "alice@example.com", reason: "unregistered", now: start + 1000).isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `ends a registration and keeps the binding`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            let old = "sip:alice@192.0.2.1:5060"
            _ = try store.register([makeBinding(instance: "<1>", contact: old + ";pn-prid=a")], now: start)
            _ = try store.register(
                [makeBinding(token: "b", instance: "<2>", contact: "sip:alice@192.0.2.2", callID: "2")], now: start)
            let selector = BindingSelector.device(instance: "", contact: old, callID: "")
            try store.endRegistrations(selector, of: "alice@example.com", now: start + 9)
            let left = try store.bindings(of: "alice@example.com", now: start + 9)
            #expect(left.map(\.expiresAt) == [start + 9, start + 3600])
            #expect(left.map(\.forgetAt) == [start + 30 * 86_400, start + 30 * 86_400])
            try store.endRegistrations(.all, of: "alice@example.com", now: start + 20)
            let all = try store.bindings(of: "alice@example.com", now: start + 20)
            #expect(all.map(\.expiresAt) == [start + 9, start + 20])
            try store.endRegistrations(.all, of: "nobody", now: start)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `forgets in bounded steps`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            for index in 0..<25 {
                _ = try store.register([makeBinding(aor: "user\(index)", keep: index < 23 ? 100 : 500)], now: start)
            }
            var dropped: [Int] = []
            repeat { dropped.append(try store.forget(now: start + 100, limit: 10)) } while dropped.last == 10
            #expect(dropped == [10, 10, 3])
            #expect(try store.count() == 2)
            #expect(try store.aors(after: "", limit: 100, now: start) == ["user23", "user24"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `forgets tombstones after their time`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            _ = try store.register([makeBinding()], now: start)
            _ = try store.remove(.all, of: "alice@example.com", reason: "by hand", now: start)
            let end = start + BindingLimits.tombstoneLifetime
            #expect(try store.forget(now: end - 1, limit: 10) == 0)
            #expect(try store.removed(of: "alice@example.com").count == 1)
            #expect(try store.forget(now: end, limit: 10) == 1)
            #expect(try store.removed(of: "alice@example.com").isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `bears times at the ends of the range`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            var binding = makeBinding()
            binding.registeredAt = .min
            binding.expiresAt = .max
            binding.forgetAt = .max
            _ = try store.register([binding], now: .max - 1)
            #expect(try store.bindings(of: binding.aor, now: .min) == [binding])
            #expect(try store.remove(.all, of: binding.aor, reason: "", now: .max - 1) == [binding])
            #expect(try store.forget(now: .max, limit: .max) == 0)
            #expect(try store.forget(now: .min, limit: .max) == 0)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `finds registrations by their end, page by page`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            for index in 0..<25 {
                var binding = makeBinding(aor: "user\(index)", expires: 100 + Int64(index / 10))
                binding.refreshesItself = index == 3
                _ = try store.register([binding], now: start)
            }
            _ = try store.remove(.all, of: "user4", reason: "by hand", now: start)
            _ = try store.register([makeBinding(aor: "user5", cseq: 2, at: start, expires: 900)], now: start)
            var found: [EndingBinding] = []
            var reached = ExpiryCursor(time: start)
            while reached < ExpiryCursor(time: start + 101) {
                let page = try store.ending(after: reached, by: start + 101, refreshingThemselves: false, limit: 6)
                #expect(page.found.count <= 6 && page.reached > reached)
                found += page.found
                reached = page.reached
            }
            #expect(reached == ExpiryCursor(time: start + 101) || reached == found.last?.cursor)
            let users = (0..<20).filter { ![3, 4, 5].contains($0) }.map { "user\($0)" }
            #expect(found.map(\.binding.aor).sorted() == users.sorted())
            #expect(found.map(\.cursor) == found.map(\.cursor).sorted())
            #expect(found.first?.binding.expiresAt == start + 100)
            let own = try store.ending(
                after: ExpiryCursor(time: start), by: start + 999, refreshingThemselves: true, limit: 6)
            #expect(own.found.map(\.binding.aor) == ["user3"])
            let ended = try store.ending(
                after: ExpiryCursor(time: start + 102), by: start + 200, refreshingThemselves: false, limit: 6)
            #expect(ended.found.isEmpty)
        }
    }

    // MARK: Listing

    @Test(arguments: StoreKind.allCases)
    func `lists users page by page in the order of their bytes`(kind: StoreKind) throws {
        try kind.withStore { (store) throws in
            let aors = (0..<23).map { "user\($0)" } + ["Zoe", "\u{e9}mile"]
            for aor in aors { _ = try store.register([makeBinding(aor: aor)], now: start) }
            _ = try store.register([makeBinding(aor: "gone")], now: start)
            _ = try store.remove(.all, of: "gone", reason: "by hand", now: start)
            var pages: [[String]] = []
            repeat {
                pages.append(try store.aors(after: pages.last?.last ?? "", limit: 10, now: start))
            } while pages.last?.isEmpty == false
            #expect(pages.map(\.count) == [10, 10, 5, 0])
            #expect(pages.flatMap(\.self) == aors.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        }
    }
}
