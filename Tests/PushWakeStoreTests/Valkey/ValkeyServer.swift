// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeStore
import PushWakeSystem
import Testing

/// A real Valkey or Redis on a Unix socket in a directory of its own; it ends with this object, or with this process.
final class ValkeyServer: @unchecked Sendable {
    /// One for all tests that need no faults: each has keys of its own.
    static let shared = ValkeyServer()

    let socket: String
    let directory: String
    /// 0 unless it listens over TCP as well.
    private(set) var port: UInt16 = 0
    /// Where nodes of a cluster speak to each other.
    private(set) var busPort: UInt16 = 0
    private var shell: ChildProcess?
    private(set) var pid: Int32 = 0

    init(_ arguments: String = "") {
        directory = (try? makeTemporaryDirectory()) ?? "/tmp"
        socket = directory + "/server.sock"
        begin(arguments)
    }

    /// One that can be reached over TCP too, as a replica of another or for itself.
    init(replicaOf master: ValkeyServer?) {
        directory = (try? makeTemporaryDirectory()) ?? "/tmp"
        socket = directory + "/server.sock"
        port = freePort()
        begin("--port \(port) --bind 127.0.0.1" + (master.map { " --replicaof 127.0.0.1 \($0.port)" } ?? ""))
    }

    /// A node of a cluster; after `nodeTimeout` milliseconds without a word another one counts as gone.
    init(nodeTimeout: Int) {
        directory = (try? makeTemporaryDirectory()) ?? "/tmp"
        socket = directory + "/server.sock"
        (port, busPort) = (freePort(), freePort())
        begin(
            "--port \(port) --cluster-port \(busPort) --bind 127.0.0.1 --cluster-enabled yes "
                + "--cluster-node-timeout \(nodeTimeout) --cluster-require-full-coverage no")
    }

    /// A Sentinel that alone decides, half a second after a master has gone.
    init(sentinelOf master: ValkeyServer, named name: String) throws {
        directory = try makeTemporaryDirectory()
        socket = directory + "/server.sock"
        port = freePort()
        let file = directory + "/sentinel.conf"
        try write(
            """
            sentinel monitor \(name) 127.0.0.1 \(master.port) 1
            sentinel down-after-milliseconds \(name) 500
            sentinel failover-timeout \(name) 3000

            """, to: file)
        begin("--port \(port) --bind 127.0.0.1 --sentinel", file: file)
    }

    /// Ends it at once, and starts it anew with what it has on disk.
    func killAndRestart(_ arguments: String) {
        kill(pid, SIGKILL)
        shell?.closeInput()
        unlink(socket)
        unlink(directory + "/redis-server")
        begin(arguments)
    }

    private func begin(_ arguments: String, file: String = "") {
        do {
            // Debian's server is another name of a program in the package of the tools, which starts no service.
            let program = directory + "/redis-server"
            guard let found = Self.programs.first(where: { Glibc.access($0, X_OK) == 0 }), symlink(found, program) == 0
            else {
                fatalError("no redis-server or valkey-server here: run make setup-test")
            }
            // The shell's input ends with this process, and the server with it. Neither is a child of this process: Swift
            // Testing waits for children of its own, and spins while it is shown another's end.
            let script =
                "exec 3<&0; { \(program) \(file) --port 0 --unixsocket \(socket) --dir \(directory) "
                + "\(file.isEmpty ? "--save ''" : "") --daemonize no \(arguments) >\(directory)/log 2>&1 3<&- & echo $! >\(directory)/pid; read -r x <&3; kill -9 $!; } &"
            shell = try ChildProcess.start("/bin/sh", arguments: ["-c", script])
            shell?.reap()
        } catch {
            fatalError("no server: \(error)")
        }
        let end = SystemClock.monotonicMilliseconds() + 20_000
        while Glibc.access(socket, F_OK) != 0 {
            guard SystemClock.monotonicMilliseconds() < end else { fatalError("the server does not listen") }
            SystemClock.wait(milliseconds: 5)
        }
        let text = (try? FileContent.read(directory + "/pid")).map { String(decoding: $0, as: UTF8.self) } ?? ""
        pid = Int32(text.dropLast()) ?? 0
    }

    deinit {
        if pid > 0 { kill(pid, SIGKILL) }
        shell?.closeInput()
        removeDirectory(directory)
    }

    /// PUSHWAKE_VALKEY names another release than this system's.
    private static let programs =
        getenv("PUSHWAKE_VALKEY").map { [String(cString: $0)] }
        ?? ["/usr/bin/valkey-server", "/usr/bin/redis-server", "/usr/bin/valkey-check-rdb", "/usr/bin/redis-check-rdb"]

    /// Stands still, as a machine that swaps does.
    func stop() { kill(pid, SIGSTOP) }

    func goOn() { kill(pid, SIGCONT) }

    func access(user: String = "", passwordFile: String = "") throws -> ValkeyAccess {
        ValkeyAccess(
            try ValkeyAddress("unix://\(user.isEmpty ? "" : "\(user)@")\(socket)"), passwordFile: passwordFile)
    }
}

/// A port of 127.0.0.1 that nobody has.
private func freePort() -> UInt16 {
    guard let address = SocketAddress(ip: "127.0.0.1", port: 0), let socket = try? Socket.listen(on: address) else {
        fatalError("no port is free")
    }
    defer { socket.close() }
    return socket.localAddress.port
}

extension ChildProcess {
    /// Waits for the end of a process that ends by itself.
    func reap() {
        var status: Int32 = 0
        _ = waitpid(pid, &status, 0)
    }
}

/// A node in a test: a store, and a loop that turns while a question is open.
final class ValkeyNode {
    let loop: Loop
    let store: ValkeyStore
    private(set) var lines: [String] = []
    private(set) var heard: [[UInt8]] = []
    private static let names = NameSource()

    init(
        _ server: ValkeyServer, name: String = "node", prefix: String? = nil, access: ValkeyAccess? = nil,
        _ change: (inout ValkeyStore.Options) -> Void = { _ in }
    ) throws {
        loop = try Loop()
        var options = ValkeyStore.Options()
        options.prefix = prefix ?? Self.names.next()
        options.node = name
        options.timeout = 20_000
        change(&options)
        var log: (String) -> Void = { _ in }
        store = try ValkeyStore(access ?? server.access(), options: options, loop: loop) { log($1) }
        log = { [unowned self] in lines.append($0) }
        store.onAnnouncement = { [unowned self] in heard.append($0) }
        store.start()
    }

    deinit { store.end() }

    /// Turns until `condition` holds.
    func wait(_ limit: Int64 = 20_000, until condition: () -> Bool) -> Bool {
        let end = SystemClock.monotonicMilliseconds() + limit
        while !condition() {
            guard SystemClock.monotonicMilliseconds() < end else { return false }
            loop.turn(waitingUpTo: 10)
        }
        return true
    }

    func connect() -> Bool { wait { store.isReady } }

    /// One turn, beside another node's; true.
    func turns() -> Bool {
        loop.turn(waitingUpTo: 1)
        return true
    }

    /// Asks, and turns until the answer is there.
    func ask<Answer>(
        _ aor: String = "alice@example.com", now: Int64 = start, keepsTrying: Bool = false,
        announcing: [UInt8]? = nil,
        _ work: @escaping (any BindingStore) throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        var result: Result<Answer, StoreError>?
        loop.updateTime()
        store.ask(about: aor, now: now, keepsTrying: keepsTrying, announcing: announcing, work) { result = $0 }
        _ = wait { result != nil }
        guard let result else { throw .unusable("no answer") }
        return try result.get()
    }

    @discardableResult
    func register(
        _ binding: Binding, keepsTrying: Bool = false, announcing: [UInt8]? = nil
    ) throws(StoreError) -> [String]? {
        let now = binding.registeredAt
        return try ask(binding.aor, now: now, keepsTrying: keepsTrying, announcing: announcing) {
            (store) throws(StoreError) in try store.register([binding], now: now)
        }
    }

    func bindings(now: Int64 = start) throws(StoreError) -> [Binding] {
        try ask(now: now) { (store) throws(StoreError) in try store.bindings(of: "alice@example.com", now: now) }
    }

    /// Holds a request for Alice: her bindings, and whether another node has it.
    func hold(now: Int64 = start) -> (bindings: [Binding]?, isClaimed: Bool)? {
        var held: ([Binding]?, Bool)?
        store.hold(for: "alice@example.com", claim: "call", seconds: 100, now: now) { (store) throws(StoreError) in
            try store.bindings(of: "alice@example.com", now: now)
        } then: {
            held = (try? $0.get(), $1.isClaimed)
        }
        #expect(wait { held != nil })
        return held
    }

    /// Reads, again and again, until there is an answer.
    func read(now: Int64 = start) -> [Binding]? {
        var found: [Binding]?
        _ = wait {
            found = try? ask(now: now) { (store) throws(StoreError) in
                try store.bindings(of: "alice@example.com", now: now)
            }
            return found != nil
        }
        return found
    }
}

/// Prefixes that nobody else has.
final class NameSource: @unchecked Sendable {
    func next() -> String { "t\(UInt64.random(in: 0...UInt64.max))" }
}

/// A shared store as the contract suite asks it: every question waits for its answer.
final class BlockingValkeyStore: BindingStore {
    private let node: ValkeyNode
    /// Who had a token when it came in last.
    private var users: [String: [String]] = [:]

    init(_ server: ValkeyServer, access: ValkeyAccess? = nil) throws {
        node = try ValkeyNode(server, access: access)
        guard node.connect() else { throw StoreError.unusable("no server") }
    }

    func bindings(of aor: String, now: Int64) throws(StoreError) -> [Binding] {
        try node.ask(aor, now: now) { (store) throws(StoreError) in try store.bindings(of: aor, now: now) }
    }

    func keep(_ bindings: [Binding], now: Int64) throws(StoreError) -> KeptRegistration? {
        guard let aor = bindings.first?.aor else { return KeptRegistration() }
        let kept = try node.ask(aor, now: now) { (store) throws(StoreError) in try store.keep(bindings, now: now) }
        for binding in kept?.newTokens ?? [] { users[binding.token] = noteUser(of: binding).map { [$0] } }
        return kept
    }

    private func noteUser(of binding: Binding) -> String? {
        var other: String??
        node.store.noteUser(of: binding) { other = .some($0) }
        _ = node.wait { other != nil }
        return other ?? nil
    }

    func users(withTokensOf bindings: [Binding]) throws(StoreError) -> [[String]] {
        bindings.map { users[$0.token] ?? [] }
    }

    func remove(_ selector: BindingSelector, of aor: String, reason: String, now: Int64) throws(StoreError) -> [Binding]
    {
        try node.ask(aor, now: now) { (store) throws(StoreError) in
            try store.remove(selector, of: aor, reason: reason, now: now)
        }
    }

    func endRegistrations(_ selector: BindingSelector, of aor: String, now: Int64) throws(StoreError) {
        try node.ask(aor, now: now) { (store) throws(StoreError) in
            try store.endRegistrations(selector, of: aor, now: now)
        }
    }

    func removed(of aor: String) throws(StoreError) -> [RemovedBinding] {
        try node.ask(aor) { (store) throws(StoreError) in try store.removed(of: aor) }
    }

    func restore(
        of aor: String, now: Int64, where isMeant: (RemovedBinding) -> Bool
    ) throws(StoreError) -> [RemovedBinding] {
        let removed = try removed(of: aor).filter(isMeant)
        return try node.ask(aor, now: now) { (store) throws(StoreError) in
            try store.restore(of: aor, now: now, where: removed.contains)
        }
    }

    func users(
        removedSince time: Int64, after cursor: String, limit: Int
    ) throws(StoreError) -> (aors: [String], next: String?) {
        var found: Set<String> = []
        try walk(time) { (aor, store) throws(StoreError) in
            if cursor < aor, try store.removed(of: aor).contains(where: { $0.removedAt >= time }) { found.insert(aor) }
        }
        return (found.sorted(), nil)
    }

    func noteAccepted(_ bindings: [Binding], at now: Int64) throws(StoreError) {
        for binding in bindings {
            try node.ask(binding.aor, now: now) { (store) throws(StoreError) in
                try store.noteAccepted([binding], at: now)
            }
        }
    }

    func purr(of binding: Binding, now: Int64, fresh: () -> PURR) throws(StoreError) -> PURR? {
        let new = fresh()
        return try node.ask(binding.aor, now: now) { (store) throws(StoreError) in
            try store.purr(of: binding, now: now) { new }
        }
    }

    func bindings(ofPURR purr: PURR, now: Int64) throws(StoreError) -> [Binding] {
        var result: Result<[Binding], StoreError>?
        node.store.ask(aboutPURR: purr, now: now) { (store) throws(StoreError) in
            try store.bindings(ofPURR: purr, now: now)
        } then: {
            result = $0
        }
        _ = node.wait { result != nil }
        return try result?.get() ?? []
    }

    func forget(now: Int64, limit: Int) throws(StoreError) -> Int {
        var left = limit
        try walk(now) { (_, store) throws(StoreError) in left -= left > 0 ? try store.forget(now: now, limit: left) : 0
        }
        return limit - left
    }

    func clockJumped(from old: Int64, to new: Int64) throws(StoreError) {
        try walk(new) { (_, store) throws(StoreError) in try store.clockJumped(from: old, to: new) }
    }

    func ending(
        after cursor: ExpiryCursor, by end: Int64, refreshingThemselves: Bool, limit: Int
    ) throws(StoreError) -> EndingPage {
        try all().ending(after: cursor, by: end, refreshingThemselves: refreshingThemselves, limit: limit)
    }

    func aors(after cursor: String, limit: Int, now: Int64) throws(StoreError) -> [String] {
        try all().aors(after: cursor, limit: limit, now: now)
    }

    func count() throws(StoreError) -> Int { try all().count() }

    /// All users of the server, read one by one.
    private func all() throws(StoreError) -> MemoryStore {
        let all = MemoryStore()
        try walk(start) { (aor, store) throws(StoreError) in
            for binding in try store.bindings(of: aor, now: .min) {
                _ = all.register([binding], now: binding.registeredAt)
            }
        }
        return all
    }

    private func walk(
        _ now: Int64, _ work: @escaping (String, any BindingStore) throws(StoreError) -> Void
    ) throws(StoreError) {
        var result: Result<Void, StoreError>?
        node.store.forEachUser(now: now, work) { result = $0.map { .failure($0) } ?? .success(()) }
        _ = node.wait { result != nil }
        try result?.get()
    }
}
