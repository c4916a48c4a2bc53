// SPDX-License-Identifier: MIT

import Glibc
import PushWakeClient
import PushWakeCore
import PushWakeSystem
import Testing

@testable import PushWakeEngine
@testable import PushWakeSimulator
@testable import PushWakeStore

/// Refresh pushes through the simulator's FCM, with the time as the test says.
@Suite(.serialized) struct `A phone whose registration ends` {
    private final class Bench {
        let fixture: DeliveryFixture
        let core: EngineCore
        let store: any BindingStore
        private(set) var watch: RefreshWatch

        init(
            lead: Int64 = 150, settings: [String: String] = [:], store: any BindingStore = MemoryStore()
        ) throws {
            self.store = store
            fixture = try DeliveryFixture(.fcm)
            for (name, value) in settings { try fixture.set(name, value) }
            let delivery = fixture.delivery()
            #expect(delivery.open() == [])
            core = EngineCore(
                settings: fixture.settings, store: store, delivery: delivery,
                log: EngineLog(threshold: .error) { _, _ in })
            watch = RefreshWatch(core: core, lead: lead, now: `A phone whose registration ends`.begin)
        }

        /// As after a restart of the engine.
        func restart(lead: Int64 = 150, at now: Int64) {
            watch = RefreshWatch(core: core, lead: lead, now: now)
        }

        func register(
            _ user: String, expires: Int64 = 600, at time: Int64 = `A phone whose registration ends`.begin,
            cseq: UInt32 = 1, own: Bool = false, provider: Provider = .fcm, service: TokenUse? = nil
        ) throws {
            let binding = Binding(
                aor: user, provider: provider, app: "com.example.phone", service: service, token: "tok-\(user)",
                dialect: .rfc8599, instance: "<\(user)>",
                contact: "sip:\(user)@192.0.2.1", callID: user, cseq: cseq, registeredAt: time,
                expiresAt: time + expires, forgetAt: time + 86_400, refreshesItself: own)
            _ = try store.register([binding], now: time)
        }

        /// Looks once and gives the tokens that were pushed by then, in order.
        func look(at now: Int64) throws -> [String] {
            fixture.loop.updateTime()
            _ = watch.look(now: now)
            fixture.turn(seconds: 10) { core.delivery.queued == 0 }
            return try bodies().compactMap { $0["message"]?["token"]?.string }
        }

        func bodies() throws -> [JSONValue] {
            try fixture.requests().filter { $0["provider"]?.string == "fcm" }.compactMap { $0["body"] }
        }
    }

    fileprivate static let begin: Int64 = 1_800_000_000
    private static func with(
        lead: Int64 = 150, settings: [String: String] = [:], _ body: (Bench) throws -> Void
    ) throws {
        let bench = try Bench(lead: lead, settings: settings)
        try body(bench)
    }

    private static func file(_ path: String) throws -> SQLiteStore {
        var options = SQLiteStore.Options()
        options.findsEnds = true
        return try SQLiteStore(path: path, options: options)
    }

    @Test func `is asked once, in time, and again after it has registered`() throws {
        try Self.with { (bench) throws in
            try bench.register("bob")
            #expect(try bench.look(at: Self.begin + 449).isEmpty)
            #expect(try bench.look(at: Self.begin + 450) == ["tok-bob"])
            #expect(try bench.look(at: Self.begin + 460) == ["tok-bob"])
            try bench.register("bob", at: Self.begin + 461, cseq: 2)
            #expect(try bench.look(at: Self.begin + 600) == ["tok-bob"])
            #expect(try bench.look(at: Self.begin + 912) == ["tok-bob", "tok-bob"])
            let message = try #require(try bench.bodies().first?["message"])
            #expect(message["data"]?["event"]?.string == "refresh")
            #expect(message["android"]?["ttl"]?.string == "150s")
            #expect(message["android"]?["priority"]?.string == "normal")
        }
    }

    @Test func `is left alone when it refreshes by itself, until 120 seconds before the end`() throws {
        try Self.with { (bench) throws in
            try bench.register("own", own: true)
            try bench.register("late", own: true)
            #expect(try bench.look(at: Self.begin + 470).isEmpty)
            try bench.register("own", at: Self.begin + 475, cseq: 2, own: true)
            #expect(try bench.look(at: Self.begin + 480) == ["tok-late"])
        }
    }

    @Test func `gets nothing after the end, once removed, for a PushKit token, or when it hardly ever sleeps`() throws {
        try Self.with { (bench) throws in
            try bench.register("gone")
            _ = try bench.store.remove(.all, of: "gone", reason: "by hand", now: Self.begin)
            try bench.register("voip", provider: .apns, service: .voip)
            try bench.register("short", expires: 299)
            try bench.register("over", expires: 300)
            #expect(try bench.look(at: Self.begin + 301).isEmpty)
            bench.restart(at: Self.begin + 600)
            #expect(try bench.look(at: Self.begin + 600).isEmpty)
        }
    }

    @Test func `is found again after a restart`() throws {
        try Self.with { (bench) throws in
            try bench.register("bob")
            bench.restart(at: Self.begin + 500)
            #expect(try bench.look(at: Self.begin + 500) == ["tok-bob"])
        }
    }

    @Test func `is asked when the store can be read again`() throws {
        let path = "/tmp/pushwake-watch-\(SystemClock.processID())-\(UInt64.random(in: 0...UInt64.max)).db"
        defer { for end in ["", "-wal", "-shm"] { unlink(path + end) } }
        let bench = try Bench(store: Self.file(path))
        try bench.register("bob")
        let other = try SQLiteDatabase(path: path, busyTimeout: 0)
        try other.execute("ALTER TABLE bindings RENAME TO elsewhere")
        #expect(try bench.look(at: Self.begin + 460).isEmpty)
        try other.execute("ALTER TABLE elsewhere RENAME TO bindings")
        #expect(try bench.look(at: Self.begin + 470) == ["tok-bob"])
        #expect(try bench.look(at: Self.begin + 480) == ["tok-bob"])
    }

    /// More phones than one look takes, and the first of them as a crash left it.
    @Test func `is asked behind one whose row cannot be read`() throws {
        let path = "/tmp/pushwake-watch-\(SystemClock.processID())-\(UInt64.random(in: 0...UInt64.max)).db"
        defer { for end in ["", "-wal", "-shm"] { unlink(path + end) } }
        let bench = try Bench(store: Self.file(path))
        let users = (0..<60).map { "user\($0)" }
        for user in users { try bench.register(user) }
        let other = try SQLiteDatabase(path: path, busyTimeout: 0)
        try other.execute("UPDATE bindings SET extra = x'ff' WHERE id = (SELECT min(id) FROM bindings)")
        for _ in 0..<2 { _ = try bench.look(at: Self.begin + 460) }
        #expect(try Set(bench.look(at: Self.begin + 460)) == Set(users.dropFirst().map { "tok-\($0)" }))
    }

    @Test func `waits while the load is high`() throws {
        try Self.with(settings: ["load_chat": "never"]) { (bench) throws in
            try bench.register("bob")
            #expect(try bench.look(at: Self.begin + 500).isEmpty)
        }
    }

    @Test func `is one of many, and all have their turn`() throws {
        try Self.with { (bench) throws in
            for index in 0..<230 { try bench.register("u\(index)") }
            var sent: [Int] = []
            for _ in 0..<6 { sent.append(try bench.look(at: Self.begin + 450).count) }
            #expect(sent == [50, 100, 150, 200, 230, 230])
            #expect(Set(try bench.look(at: Self.begin + 451)).count == 230)
        }
    }
}
