// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeStore
import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

/// The store of an engine with its filter, and a client that reads it.
private final class FilterBench {
    let file: FilterFile
    let loop: Loop
    let publisher: BindingFilterPublisher
    let store: FilteredStore
    let reader: BindingFilterReader
    private let lineLog: LineLog
    /// Monotonic milliseconds of the client.
    private var clock: Int64 = 0

    final class LineLog { var lines: [String] = [] }

    /// As an engine starts: what one of before has left is marked.
    init(_ file: FilterFile, _ inner: any BindingStore, share: StoreShare? = nil, reader: BindingFilterReader? = nil)
        throws
    {
        self.file = file
        loop = try Loop()
        lineLog = LineLog()
        let log = EngineLog(threshold: .debug) { [lineLog] _, text in lineLog.lines.append(text) }
        #expect(BindingFilterFile.kill(file.path))
        publisher = BindingFilterPublisher(path: file.path, store: inner, share: share, loop: loop, log: log)
        store = FilteredStore(inner, publisher)
        self.reader = reader ?? BindingFilterReader(path: file.path)
    }

    var log: [String] { lineLog.lines }

    func register(_ aor: String, cseq: UInt32 = 1, now: Int64 = 1000) throws {
        let binding = Binding(
            aor: aor, provider: .fcm, app: "com.example.phone", token: "tok-\(aor)", dialect: .rfc8599,
            contact: "sip:\(aor)@192.0.2.1", callID: aor, cseq: cseq, registeredAt: now, expiresAt: now + 600,
            forgetAt: now + 86_400)
        _ = try store.register([binding], now: now)
    }

    /// What a client says some time later.
    func mayHold(_ aor: String) -> Bool {
        clock += BindingFilterReader.lookAgain
        return reader.mayHold(aor, now: clock)
    }

    /// Turns the loop until no walk is under way; the file that is there by then.
    func finishWalk() throws -> BindingFilterFile {
        let end = SystemClock.monotonicMilliseconds() + 20_000
        while FileStamp(file.path + ".new") != nil, SystemClock.monotonicMilliseconds() < end {
            loop.turn(waitingUpTo: 5)
        }
        return try #require(SharedWords.open(file.path).flatMap { BindingFilterFile($0) })
    }
}

@Suite struct `An engine that says who has bindings` {
    @Test func `knows a user before the store has the binding`() throws {
        let bench = try FilterBench(FilterFile(), MemoryStore())
        bench.publisher.start()
        #expect(!bench.mayHold("bob"))
        try bench.register("bob")
        #expect(bench.mayHold("bob"))
        #expect(!bench.mayHold("carol"))
    }

    @Test func `leaves out nobody whose request waits, bindings or not`() throws {
        let file = try FilterFile()
        let bench = try FilterBench(file, MemoryStore())
        bench.publisher.further = { ["dave"] }
        bench.publisher.start()
        bench.publisher.insert("erin")
        #expect(bench.mayHold("dave") && bench.mayHold("erin") && !bench.mayHold("carol"))
    }

    @Test func `keeps a user whose bindings have gone: that costs a question and no call`() throws {
        let bench = try FilterBench(FilterFile(), MemoryStore())
        bench.publisher.start()
        try bench.register("bob")
        #expect(try bench.store.remove(.all, of: "bob", reason: "by hand", now: 1001).count == 1)
        #expect(bench.mayHold("bob"))
    }

    @Test func `knows everybody again after a restart, and clients leave the old file`() throws {
        let file = try FilterFile()
        let inner = MemoryStore()
        let reader = BindingFilterReader(path: file.path)
        let first = try FilterBench(file, inner, reader: reader)
        first.publisher.start()
        for user in 0..<1000 { try first.register("user\(user)") }
        first.publisher.withdraw()
        #expect(reader.mayHold("nobody", now: 0))
        #expect(FileStamp(file.path) == nil)

        let second = try FilterBench(file, inner, reader: reader)
        #expect(second.mayHold("nobody"))
        second.publisher.start()
        _ = try second.finishWalk()
        #expect((0..<1000).allSatisfy { second.mayHold("user\($0)") })
        #expect(!second.mayHold("nobody"))
    }

    /// What is killed marks nothing: its file is right until the next engine, which marks it before it stores.
    @Test func `leaves a file that is right when it is killed, and the next one marks it`() throws {
        let file = try FilterFile()
        let inner = MemoryStore()
        let reader = BindingFilterReader(path: file.path)
        // No deinit runs in a process that is killed.
        let killed = try FilterBench(file, inner, reader: reader)
        killed.publisher.start()
        try killed.register("bob")
        #expect(!reader.mayHold("carol", now: 0))
        try withExtendedLifetime(killed) {
            let next = try FilterBench(file, inner, reader: reader)
            #expect(reader.mayHold("carol", now: 1), "the old file is believed beside a new engine")
            next.publisher.start()
            try next.register("carol")
            #expect(next.mayHold("carol") && next.mayHold("bob"))
            #expect(!next.mayHold("dave"))
        }
    }

    @Test func `goes to a larger file when the first is full, and forgets nobody on the way`() throws {
        let bench = try FilterBench(FilterFile(), MemoryStore())
        bench.publisher.start()
        let small = try bench.finishWalk()
        let capacity = try #require(small.filter.capacity)
        for user in 0..<capacity + 100 { try bench.register("user\(user)") }
        bench.loop.updateTime()
        bench.publisher.look()
        // The walk has begun, and goes on while phones register.
        #expect(small.state == .inUse)
        for user in 0..<500 { try bench.register("late\(user)") }
        #expect((0..<500).allSatisfy { bench.mayHold("late\($0)") })
        let large = try bench.finishWalk()
        #expect(small.state == .dead)
        #expect(large.filter.wordCount > small.filter.wordCount)
        #expect((0..<capacity + 100).allSatisfy { bench.mayHold("user\($0)") })
        #expect((0..<500).allSatisfy { bench.mayHold("late\($0)") })
        #expect((0..<5000).count { bench.mayHold("nobody\($0)") } < 50)
    }

    @Test func `forgets users who have gone when there are many`() throws {
        let bench = try FilterBench(FilterFile(), MemoryStore())
        bench.publisher.start()
        for user in 0..<1500 { try bench.register("user\(user)") }
        for user in 0..<1024 { _ = try bench.store.remove(.all, of: "user\(user)", reason: "by hand", now: 1001) }
        bench.publisher.look()
        #expect(FileStamp(bench.file.path + ".new") == nil, "too few to be worth a walk")
        _ = try bench.store.remove(.all, of: "user1024", reason: "by hand", now: 1001)
        bench.publisher.look()
        _ = try bench.finishWalk()
        #expect((1025..<1500).allSatisfy { bench.mayHold("user\($0)") })
        #expect((0..<1025).count { bench.mayHold("user\($0)") } < 50)
    }

    @Test func `says nothing while another engine writes to its store`() throws {
        let file = try FilterFile()
        let inner = MemoryStore()
        let bench = try FilterBench(file, inner, share: StoreShare(storePath: file.store))
        bench.publisher.start()
        #expect(!bench.mayHold("bob"))
        do {
            let other = try #require(StoreShare(storePath: file.store))
            #expect(other.isReliedOn)
            bench.publisher.look()
            #expect(!other.isReliedOn)
            #expect(bench.mayHold("bob"))
            bench.publisher.look()
            #expect(bench.mayHold("bob"))
            #expect(bench.log.count { $0.hasPrefix("another engine uses this store") } == 1)
        }
        bench.publisher.look()
        #expect(!bench.mayHold("bob"))
    }

    @Test func `goes on without a file where none can be made, says so once, and tries again later`() throws {
        let file = try FilterFile()
        let bench = try FilterBench(file, MemoryStore())
        #expect(mkdir(file.path + ".new", 0o700) == 0)
        bench.publisher.look()
        bench.publisher.look()
        try bench.register("bob")
        #expect(bench.mayHold("bob") && bench.mayHold("carol"))
        #expect(bench.log.count { $0.hasPrefix("users without bindings are not known") } == 1)
        rmdir(file.path + ".new")
        bench.publisher.look()
        #expect(FileStamp(file.path) == nil)
    }

    /// Phones come and go, walks begin and end, engines end and are killed, in any order: whoever has a binding is
    /// never said to have none.
    @Test(arguments: [UInt64(1), 2, 3, 4, 5, 6, 7, 8])
    func `never denies a user who has a binding`(seed: UInt64) throws {
        var random = SplitMix(seed)
        let file = try FilterFile()
        let isFile = seed % 2 == 0
        var inner: any BindingStore = isFile ? try SQLiteStore(path: file.store) : MemoryStore()
        let reader = BindingFilterReader(path: file.path)
        var killed: [FilterBench] = []
        var bench = try FilterBench(file, inner, reader: reader)
        bench.publisher.start()
        let names = (0..<700).map { ["user\($0)", "\($0)@exämple.com", "\u{0}\($0)"][$0 % 3] }
        var bound: Set<String> = []
        var cseq: UInt32 = 1
        var clock: Int64 = 0
        for _ in 0..<2500 {
            let name = names[Int(random.next() % UInt64(names.count))]
            cseq += 1
            switch random.next() % 100 {
            case 0..<60:
                try bench.register(name, cseq: cseq)
                bound.insert(name)
            case 60..<85:
                _ = try bench.store.remove(.all, of: name, reason: "by hand", now: 1001)
                bound.remove(name)
            case 85..<95: bench.loop.turn(waitingUpTo: 5)
            case 95..<97:
                // A walk, as if many had gone.
                bench.publisher.noteRemovals(100_000)
                bench.publisher.look()
            default:
                if random.next() % 2 == 0 { bench.publisher.withdraw() } else { killed.append(bench) }
                if isFile { inner = try SQLiteStore(path: file.store) }
                bench = try FilterBench(file, inner, reader: reader)
                bench.publisher.start()
            }
            clock += Int64(random.next() % 150)
            for user in [name, names[Int(random.next() % UInt64(names.count))]] where bound.contains(user) {
                #expect(reader.mayHold(user, now: clock), "\(user)")
            }
        }
        _ = try bench.finishWalk()
        clock += 1000
        for name in bound { #expect(reader.mayHold(name, now: clock), "\(name)") }
        // The files of the killed are dead: their engines take no part any more.
        withExtendedLifetime(killed) {}
        #expect(names.contains { !reader.mayHold($0, now: clock) }, "it must say no to somebody")
    }
}
