// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

extension CoreBench {
    fileprivate func users(_ conditions: String) throws -> [String] {
        try rows(.find, conditions).rows.map { row in row.first { $0.name == "aor" }?.text ?? "" }
    }

    fileprivate func store(_ aor: String, _ provider: Provider, _ token: String, ago: Int64 = 0) {
        let now = SystemClock.wallSeconds()
        let binding = Binding(
            aor: aor, provider: provider, app: "com.example.phone", token: token, dialect: .rfc8599,
            contact: "sip:\(token)@192.0.2.1", callID: token, registeredAt: now - ago, expiresAt: now + 3600,
            forgetAt: now + 7200)
        _ = store.register([binding], now: now - ago)
    }
}

@Suite struct `Finding bindings` {
    private func bench() throws -> CoreBench {
        let bench = try CoreBench()
        bench.store("alice", .apns, "aaaaaaaaaaaaaaaaaaaa1", ago: 10)
        bench.store("alice", .fcm, "aaaaaaaaaaaaaaaaaaaa2", ago: 90_000)
        bench.store("anton@example.com", .fcm, "bbbbbbbbbbbbbbbbbbbb1", ago: 10)
        bench.store("bob", .apns, "cccccccccccccccccccc1", ago: 200_000)
        return bench
    }

    @Test(arguments: [
        ("", ["alice", "alice", "anton@example.com", "bob"]), ("user=a*", ["alice", "alice", "anton@example.com"]),
        ("provider=fcm", ["alice", "anton@example.com"]), ("age=+1d", ["alice", "bob"]),
        ("age=-1h\nprovider=apns", ["alice"]), ("aor=bob\nage=-1h", []), ("verdict=NOT pushed\nuser=b??", ["bob"]),
        ("verdict=woke", []), ("aor=nobody", []),
    ])
    func `a listing has what the conditions say`(_ conditions: String, _ users: [String]) throws {
        #expect(try bench().users(conditions).sorted() == users)
    }

    @Test func `bindings of one provider are removed, the others stay`() throws {
        let bench = try bench()
        let removed = try bench.rows(.removeFound, "aor=alice\nprovider=fcm").rows
        #expect(removed == [[EngineField(name: "removed", text: nil, number: 1)]])
        #expect(try bench.rows(.removeFound, "aor=alice\nprovider=fcm").rows[0][0].number == 0)
        #expect(try bench.users("user=alice") == ["alice"])
        #expect(try bench.users("aor=alice\nverdict=removed: by hand") == ["alice"])
        #expect(try bench.rows(.removeFound, "aor=alice").rows[0][0].number == 1)
        #expect(try bench.users("user=alice").isEmpty)
    }

    @Test(arguments: [
        ("alice", "sip:aaaaaaaaaaaaaaaaaaaa1@192.0.2.1", ["alice"]),
        ("alice", "sip:nobody@192.0.2.1", ["alice", "alice"]),
        ("bob", "sip:aaaaaaaaaaaaaaaaaaaa1@192.0.2.1", ["alice", "alice"]),
        ("alice\nx", "sip:aaaaaaaaaaaaaaaaaaaa1@192.0.2.1", ["alice", "alice"]), ("alice", "", []),
    ])
    func `a contact that is removed by hand takes its own binding with it, and a user all`(
        _ aor: String, _ uri: String, _ left: [String]
    ) throws {
        let bench = try bench()
        bench.core.registrations.contactRemoved(try .of(.contactRemoved, [.aor: aor, .contactURI: uri]))
        #expect(try bench.users("user=alice") == left)
    }

    @Test(arguments: [
        (EngineQuery.find, "provider=google", "write one of"), (.removeFound, "provider=fcm", "name the user"),
        (.removeFound, "", "name the user"), (.find, "x", "name=value"), (.removeFound, "aor=alice\nage=1", "+2d"),
    ])
    func `conditions that do not fit are refused and remove nothing`(
        _ query: EngineQuery, _ lines: String, _ part: String
    ) throws {
        let bench = try bench()
        let reply = try bench.ask(.query, [.query: query.rawValue, .argument: lines])
        #expect(reply.kind == .failure && EngineClient.text(.message, in: reply).contains(part))
        #expect(try bench.users("").count == 4)
    }

    @Test func `a user with a line end in the name is asked for as ever`() throws {
        let bench = try bench()
        bench.store("a\nprovider=x", .apns, "dddddddddddddddddddd1")
        #expect(try bench.rows(.bindings, "a\nprovider=x").rows.count == 1)
    }
}
