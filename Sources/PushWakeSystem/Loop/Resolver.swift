// SPDX-License-Identifier: MIT

internal import CLinux

/// Looks up host names in helper threads, because getaddrinfo blocks. No thread runs while there is nothing to look
/// up; IP literals need none.
///
/// Phones name hosts, and whoever has a host has its name server, which may hang. So a lookup that takes long gives
/// its place away, names that were found in time before go first and have places of their own, names that took
/// long before come last, and of those that are new the last one goes first.
///
/// Nothing is cached: Apple asks for a fresh lookup before each connect, and the system's resolver may cache.
public final class Resolver: @unchecked Sendable {
    /// What a lookup gave.
    public enum Answer: Sendable {
        /// At least one, in the system's order of preference.
        case addresses([SocketAddress])
        case failed(String)
    }

    private struct Job {
        let id: Int
        let host: String
        let port: UInt16
        let completion: (Answer) -> Void
        /// It has given its place away.
        var isSlow = false
    }

    /// What is known of a name.
    private enum Experience: Int, CaseIterable {
        case quick
        case new
        case slow
    }

    /// Places beside the ordinary ones for names that were found in time before.
    private static let reserve = 2
    /// Threads that may hang beside the others.
    private static let mostSlow = 24
    /// Names whose behaviour is remembered.
    private static let mostKnown = 1024

    /// Blocks until a name is found or not.
    typealias LookUp = @Sendable (_ host: String, _ port: UInt16) -> Answer

    private let poster: Loop.Poster
    private let lookUp: LookUp
    private let loop: Loop
    private let threadLimit: Int
    private let trusted: Set<String>
    /// Milliseconds after which a lookup gives its place away.
    private let lookupTimeout: Int64
    // Touched on the loop's thread only.
    private var running: [Int: Job] = [:]
    private var queues = [[Job]](repeating: [], count: Experience.allCases.count)
    private var quick: Set<String> = []
    private var slow: Set<String> = []
    private var lastID = 0

    /// Asks the system, at most so many names at a time. `trusted` names are in nobody's hands, and count as quick from
    /// the beginning.
    public convenience init(loop: Loop, threadLimit: Int = 4, trusted: Set<String> = []) {
        self.init(loop: loop, threadLimit: threadLimit, trusted: trusted, lookUp: SystemLookup.addresses)
    }

    init(
        loop: Loop, threadLimit: Int = 4, lookupTimeout: Int64 = 1000, trusted: Set<String> = [],
        lookUp: @escaping LookUp
    ) {
        self.trusted = trusted
        self.lookupTimeout = lookupTimeout
        poster = loop.poster
        self.lookUp = lookUp
        self.loop = loop
        self.threadLimit = threadLimit
    }

    /// Calls `completion` later on the loop's thread. Call it on that thread. What it returns gives the lookup up.
    @discardableResult
    public func resolve(_ host: String, port: UInt16, completion: @escaping (Answer) -> Void) -> Int {
        lastID += 1
        if let literal = SocketAddress(ip: host, port: port) {
            loop.atEndOfTurn { completion(.addresses([literal])) }
            return lastID
        }
        let id = lastID
        queues[experience(of: host).rawValue].append(Job(id: id, host: host, port: port, completion: completion))
        startNext()
        return id
    }

    /// Nobody wants the answer any more: a lookup that has not begun is left out, and never completes.
    public func giveUp(_ id: Int) {
        for index in queues.indices { queues[index].removeAll { $0.id == id } }
    }

    /// Lookups that have not begun.
    var waiting: Int { queues.reduce(0) { $0 + $1.count } }

    private func experience(of host: String) -> Experience {
        quick.contains(host) || trusted.contains(host) ? .quick : slow.contains(host) ? .slow : .new
    }

    private func startNext() {
        while let job = takeNext() {
            let id = job.id
            running[id] = job
            let lookup = Lookup(id: id, host: job.host, port: job.port, lookUp: lookUp, resolver: self)
            guard lookup.start() else {
                loop.atEndOfTurn { self.finish(id, .failed("cannot start a thread to look up \(job.host)")) }
                continue
            }
            loop.schedule(after: lookupTimeout) { [weak self] in self?.giveWay(id) }
        }
    }

    private func takeNext() -> Job? {
        let busy = running.values.count { !$0.isSlow }
        for experience in Experience.allCases where !queues[experience.rawValue].isEmpty {
            let (places, threads) =
                switch experience {
                case .quick: (threadLimit + Self.reserve, threadLimit + Self.reserve + Self.mostSlow)
                case .new: (threadLimit, threadLimit + Self.mostSlow)
                case .slow: (max(threadLimit / 2, 1), threadLimit + Self.mostSlow / 2)
                }
            guard busy < places, running.count < threads else { continue }
            if experience == .quick { return queues[experience.rawValue].removeFirst() }
            // Names that nobody knows may be one user's, and as many as he likes: who comes last waits for none of them.
            return queues[experience.rawValue].popLast()
        }
        return nil
    }

    /// It takes long: others go on beside it.
    private func giveWay(_ id: Int) {
        guard let host = running[id]?.host else { return }
        running[id]?.isSlow = true
        quick.remove(host)
        Self.remember(host, in: &slow)
        startNext()
    }

    private static func remember(_ host: String, in names: inout Set<String>) {
        if names.count >= mostKnown { names.removeAll() }
        names.insert(host)
    }

    fileprivate func deliver(_ id: Int, _ answer: Answer) {
        poster.post { self.finish(id, answer) }
    }

    private func finish(_ id: Int, _ answer: Answer) {
        guard let job = running.removeValue(forKey: id) else { return }
        if !job.isSlow, case .addresses = answer {
            Self.remember(job.host, in: &quick)
            slow.remove(job.host)
        }
        job.completion(answer)
        startNext()
    }
}

/// One lookup in a detached thread.
private final class Lookup {
    private let id: Int
    private let host: String
    private let port: UInt16
    private let lookUp: Resolver.LookUp
    private let resolver: Resolver

    init(id: Int, host: String, port: UInt16, lookUp: @escaping Resolver.LookUp, resolver: Resolver) {
        self.id = id
        self.host = host
        self.port = port
        self.lookUp = lookUp
        self.resolver = resolver
    }

    func start() -> Bool {
        // A signal must interrupt the loop, never a lookup.
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        let this = Unmanaged.passRetained(self)
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Lookup>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, this.toOpaque())
        guard code == 0 else {
            this.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    private func run() { resolver.deliver(id, lookUp(host, port)) }
}

/// The system's resolver.
private enum SystemLookup {
    static func addresses(_ host: String, _ port: UInt16) -> Resolver.Answer {
        var hints = addrinfo()
        hints.ai_socktype = Int32(1)
        hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &list)
        guard code == 0 else {
            return .failed("cannot resolve \(host): \(String(cString: gai_strerror(code)))")
        }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var entry = list
        while let current = entry, addresses.count < 16 {
            let length = current.pointee.ai_addrlen
            if let source = current.pointee.ai_addr, Int(length) <= MemoryLayout<sockaddr_storage>.size {
                var storage = sockaddr_storage()
                memcpy(&storage, source, Int(length))
                addresses.append(SocketAddress(storage: storage, length: length))
            }
            entry = current.pointee.ai_next
        }
        return addresses.isEmpty ? .failed("\(host) has no address") : .addresses(addresses)
    }
}
