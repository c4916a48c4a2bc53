// SPDX-License-Identifier: MIT

internal import CLinux
public import PushWakeCore
public import PushWakeSystem

/// All connections to one server with one credential: many requests over few connections, none lost silently.
///
/// A request waits until a stream is free, goes out once, and is sent again only when the server provably has not
/// processed it (GOAWAY, REFUSED_STREAM, or the connection ended before a byte of it had left). Completions run on
/// the loop's thread, later than `send` returns. All methods are for that thread. Lives until `close()`.
public final class HTTPConnectionPool: HTTPConnectionOwner {
    /// Counters since the start.
    public struct Statistics: Equatable, Sendable {
        /// TLS handshakes that were completed.
        public var connectionsOpened = 0
        /// Attempts that ended before.
        public var connectionsFailed = 0
        /// Requests that the server had not processed.
        public var requestsResent = 0
        /// Requests of which nobody knows.
        public var requestsLost = 0
    }

    /// Text for the log when an attempt fails for another reason than the last.
    public var onNotice: ((String) -> Void)?
    /// Text for the log whenever the server ends a connection with a reason; another takes its place.
    public var onGoAway: ((String) -> Void)?
    /// The server refuses the client certificate, or wants one: text for the log, once until a request is answered.
    public var onRefusal: ((String) -> Void)?
    /// So many answers have come, the fastest of them so many milliseconds after its request had been handed to a connection.
    /// Runs before those who sent the requests hear of it.
    public var onAnswers: ((_ count: Int, _ fastest: Int64) -> Void)?
    /// The Date of an answer that came just now, once in a while.
    public var onDate: ((String) -> Void)?
    /// Streams may have become free, or requests have ended: hand over more, or tell what waits.
    public var onCapacity: (() -> Void)?
    /// A connection could not be made, for this reason; the next attempt is not made before this time (milliseconds).
    public var onFailure: ((_ reason: String, _ retryAt: Int64) -> Void)?
    /// Requests that the owner keeps until there is room: they count when connections are opened.
    public var waitingOutside = 0 {
        didSet { if waitingOutside > oldValue { seekConnection(isFresh: true) } }
    }
    /// Where requests go.
    public let origin: HTTPOrigin
    /// Counts; never reset.
    public private(set) var statistics = Statistics()
    /// Why the last attempt to connect failed; empty after a success. A certificate was a success when a request
    /// is answered: a handshake of TLS 1.3 ends before the server has looked at it.
    public private(set) var lastProblem = ""

    private let tls: TLSContext
    private let configuration: HTTPPoolConfiguration
    private let loop: Loop
    private let resolver: Resolver
    private var machine: PoolStateMachine
    private var addressOrder = AddressOrder()
    /// Requests of the engine's own until a stream is free, and pushes that a connection gave back or did not take after
    /// all. A push that no connection has had waits outside, with its owner.
    private var withoutStream = RingBuffer<HTTPExchange>()
    private var connections: [HTTPConnection] = []
    private var draining: [HTTPConnection] = []
    /// Ids of connections that were established, until they are closed.
    private var established: Set<Int> = []
    private var lastID = 0
    private let connectTimer: DueTimer
    private var isLookingUp = false
    private var lookup = 0
    /// Set while an attempt waits for addresses.
    private let lookupTimer: DueTimer
    private let deadlineTimer: DueTimer
    /// The server refused the certificate, and has answered no request since.
    public private(set) var isRefused = false
    /// Nothing can be sent any more.
    public private(set) var isClosed = false
    private var isDraining = false
    /// It was opened before a request needed it, and is tried until it is reached: whether it is decides what callers wait for.
    private var isKept = false

    /// Opens nothing yet.
    public init(
        origin: HTTPOrigin, tls: TLSContext, configuration: HTTPPoolConfiguration, loop: Loop, resolver: Resolver
    ) {
        self.origin = origin
        self.tls = tls
        self.configuration = configuration
        self.loop = loop
        self.resolver = resolver
        connectTimer = DueTimer(loop: loop)
        lookupTimer = DueTimer(loop: loop)
        deadlineTimer = DueTimer(loop: loop)
        machine = PoolStateMachine(
            maxConnections: configuration.maxConnections, firstDelay: configuration.firstPause,
            longestDelay: configuration.longestPause)
    }

    // MARK: Requests

    /// Requests that wait for a stream.
    public var waitingCount: Int { withoutStream.count }
    /// Requests that have been sent and not answered.
    public var inFlightCount: Int {
        connections.reduce(0) { $0 + $1.openStreams } + draining.reduce(0) { $0 + $1.openStreams }
    }
    /// Streams that are free now on connections that stand.
    public var freeStreams: Int { connections.reduce(0) { $0 + $1.freeStreams } }
    /// Whether a request that is sent now leaves with this turn.
    public var hasRoom: Bool {
        guard withoutStream.isEmpty else { return false }
        for index in connections.indices where connections[index].freeStreams > 0 { return true }
        return false
    }
    /// Connections that stand and take requests.
    public var openConnections: Int { connections.reduce(0) { $0 + ($1.machine.isEstablished ? 1 : 0) } }

    /// Sends a request as soon as a stream is free; after `deadline` (milliseconds, monotonic) it is not sent any more.
    public func send(_ request: HTTPRequest, deadline: Int64, completion: @escaping (HTTPResult) -> Void) {
        send(ReadyExchange(request, deadline: deadline, completion: completion))
    }

    /// The same for an exchange that writes its request itself. It must be in no pool; it may be sent again
    /// after its end.
    public func send(_ exchange: HTTPExchange) {
        guard !isClosed else {
            return loop.atEndOfTurn { exchange.ended(.unreachable("closed")) }
        }
        exchange.refusedStreams = 0
        if exchange.cancelReason != nil { exchange.cancelReason = nil }
        if withoutStream.isEmpty, place(exchange) { return }
        withoutStream.append(exchange)
        expire(by: exchange.deadline)
        seekConnection()
    }

    /// Opens a connection before the first request needs it, and after each failure until the server is reached.
    public func warmUp() {
        isKept = true
        guard connections.isEmpty, !isClosed else { return }
        perform(machine.demand(waiting: 1, free: 0, now: loop.now))
    }

    /// Opens no more streams on a connection that an answer named; others take its place when needed.
    public func retireConnection(_ id: Int) {
        connections.first { $0.id == id }?.drain()
    }

    /// Opens no more streams on all connections that stand: the credential or the settings are new.
    public func retireConnections() {
        for connection in connections where connection.machine.isEstablished { connection.drain() }
    }

    /// Another pool takes over: what is open or waiting here is still answered, and no connection stays idle.
    public func drain() {
        isDraining = true
        retireConnections()
    }

    /// Ends everything: waiting requests are unreachable, open ones lost.
    public func close() {
        isClosed = true
        for timer in [connectTimer, lookupTimer, deadlineTimer] { timer.cancel() }
        if isLookingUp { resolver.giveUp(lookup) }
        for connection in connections + draining { connection.close("closed") }
        for exchange in withoutStream.removeAll(where: { _ in true }) { exchange.ended(.unreachable("closed")) }
        onFailure?("closed", .max)
    }

    /// Whether the exchange needs to wait no more.
    private func place(_ exchange: HTTPExchange) -> Bool {
        var index = 0
        while index < connections.count {
            // SAFETY: no submission ends a connection, so its place here keeps it; no reference is counted for each request.
            let submission = Unmanaged.passUnretained(connections[index])._withUnsafeGuaranteedRef {
                $0.submit(exchange)
            }
            switch submission {
            case .sent: return true
            case .noStream: index += 1
            // Then it has no place here any more.
            case .exhausted: connections[index].drain()
            case .refused(let refusal):
                loop.atEndOfTurn { exchange.ended(.refused(refusal)) }
                return true
            }
        }
        return false
    }

    /// Moves waiting requests to free streams.
    private func drainQueue() {
        while !withoutStream.isEmpty, let connection = connections.first(where: { $0.freeStreams > 0 }) {
            guard let exchange = withoutStream.popFirst() else { return }
            guard exchange.deadline > loop.now else {
                exchange.ended(expired(exchange))
                continue
            }
            switch connection.submit(exchange) {
            case .sent: continue
            case .refused(let refusal): exchange.ended(.refused(refusal))
            case .noStream:
                withoutStream.prepend(exchange)
                return seekConnection()
            case .exhausted:
                withoutStream.prepend(exchange)
                connection.drain()
            }
        }
        if !withoutStream.isEmpty || waitingOutside > 0 { seekConnection() }
    }

    /// Asks the allocator to give back, in half a second, what a backlog that is over has left: by itself it keeps it.
    public func returnMemorySoon() { loop.schedule(after: 500) { HeapReserve.returnRest() } }

    // MARK: Connections

    /// Attempts to connect that failed since the last answer.
    public var failuresInARow: Int { Int(machine.failures) }

    private func seekConnection(isFresh: Bool = false) {
        guard !isClosed else { return }
        perform(
            machine.demand(
                waiting: withoutStream.count + waitingOutside, free: freeStreams, isFresh: isFresh, now: loop.now))
    }

    private func perform(_ action: PoolStateMachine.DemandAction) {
        switch action {
        case .none: return
        case .wait(let time):
            connectTimer.set(noLaterThan: time) {
                // Whoever came meanwhile may be the reason for this time.
                if !self.withoutStream.isEmpty || self.waitingOutside > 0 { return self.seekConnection(isFresh: true) }
                self.tryAgain()
            }
        case .connect:
            lookUp(configuration.proxy?.origin ?? origin)
        }
    }

    /// The system may take a minute to say that it has no answer: an attempt waits no longer than for a connection.
    /// Its lookup goes on, and what it finds is for the attempt that waits by then.
    private func lookUp(_ target: HTTPOrigin) {
        lookupTimer.set(at: loop.now + configuration.connectTimeout) { [configuration] in
            self.attemptFailed("cannot resolve \(target.host) within \(configuration.connectTimeout) ms")
        }
        guard !isLookingUp else { return }
        isLookingUp = true
        lookup = resolver.resolve(target.host, port: target.port) { answer in
            self.isLookingUp = false
            guard self.lookupTimer.isSet else { return }
            self.lookupTimer.cancel()
            self.resolved(answer)
        }
    }

    private func resolved(_ answer: Resolver.Answer) {
        guard !isClosed else { return }
        switch answer {
        case .failed(let text): attemptFailed(text)
        case .addresses(var addresses):
            // A proxy resolves the provider's name itself; its own address is the operator's choice.
            if configuration.refusesLocalAddresses {
                if configuration.proxy == nil {
                    addresses.removeAll(where: \.isLocal)
                } else if PrivateAddress.isPrivate(host: origin.host) {
                    addresses.removeAll()
                }
            }
            guard !addresses.isEmpty else {
                return attemptFailed("\(origin.host) has only local addresses, which are not allowed")
            }
            lastID += 1
            connections.append(
                HTTPConnection(
                    id: lastID, origin: origin, addresses: addressOrder.choice(of: addresses, now: loop.now), tls: tls,
                    configuration: configuration, loop: loop, owner: self))
        }
    }

    private func attemptFailed(_ reason: String) {
        statistics.connectionsFailed += 1
        let action = machine.attemptFailed(now: loop.now, random: SystemRandomNumberGenerator.bits())
        if lastProblem != reason {
            lastProblem = reason
            isRefused = false
            onNotice?("cannot connect: \(reason)")
        }
        let hopeless = withoutStream.removeAll { [configuration] in
            configuration.failsFast || $0.deadline <= action.retryAt
        }
        for exchange in hopeless { exchange.ended(.unreachable(reason)) }
        onFailure?(reason, action.retryAt)
        if !withoutStream.isEmpty || waitingOutside > 0 { seekConnection() } else { tryAgain() }
    }

    private func tryAgain() {
        if isKept, !isDraining, !lastProblem.isEmpty { warmUp() }
    }

    func connectionEstablished(_ connection: HTTPConnection) {
        if established.insert(connection.id).inserted {
            statistics.connectionsOpened += 1
            if !isRefused { lastProblem = "" }
            machine.attemptSucceeded()
        }
        drainQueue()
        offerCapacity()
    }

    func connection(_ connection: HTTPConnection, ended exchanges: [HTTPExchange]) {
        var (hasAnswer, hasGoodAnswer) = (false, false)
        var returned: [HTTPExchange] = []
        countAnswers(exchanges)
        for index in exchanges.indices {
            // SAFETY: the caller's array keeps it; no reference is counted for each request.
            Unmanaged.passUnretained(exchanges[index])._withUnsafeGuaranteedRef { exchange in
                guard exchange.end == .answered else {
                    if hasComeBack(exchange, from: connection) { returned.append(exchange) }
                    return
                }
                hasAnswer = true
                if exchange.response.status < 400 { hasGoodAnswer = true }
                if !exchange.response.headers.isEmpty, let date = exchange.response["date"] { onDate?(date) }
                exchange.ended(.answered(exchange.takeResponse(), connection: connection.id))
            }
        }
        // In the order in which they were sent: two texts to one phone are to come in theirs.
        if !returned.isEmpty {
            for exchange in returned.sorted(by: { $0.streamID > $1.streamID }) { resend(exchange) }
        }
        if hasGoodAnswer { machine.answered() }
        if hasGoodAnswer, let address = connection.address { addressOrder.served(address) }
        if hasAnswer, isRefused { (isRefused, lastProblem) = (false, "") }
        drainQueue()
        offerCapacity()
    }

    private func countAnswers(_ exchanges: [HTTPExchange]) {
        guard let onAnswers else { return }
        var (count, latest) = (0, Int64.min)
        for index in exchanges.indices {
            // SAFETY: as below.
            Unmanaged.passUnretained(exchanges[index])._withUnsafeGuaranteedRef { exchange in
                guard exchange.end == .answered else { return }
                count += 1
                latest = max(latest, exchange.submittedAt)
            }
        }
        if count > 0 { onAnswers(count, loop.now - latest) }
    }

    /// Without an answer it ends here, or goes over another connection: then this is true.
    private func hasComeBack(_ exchange: HTTPExchange, from connection: HTTPConnection) -> Bool {
        switch exchange.end {
        case .notProcessed:
            guard let refusal = connection.certificateProblem else { return true }
            exchange.ended(.notAdmitted(refusal))
        case .broken(let reason) where exchange.isTakenBack:
            exchange.cancelReason = reason
            return true
        case .broken(let reason):
            statistics.requestsLost += connection.certificateProblem == nil ? 1 : 0
            let end = exchange.cancelReason == nil ? HTTPResult.lost(reason) : .unanswered(reason)
            exchange.ended(connection.certificateProblem.map { .notAdmitted($0) } ?? end)
        case .answered, nil: break
        }
        return false
    }

    /// Its time was over before a connection took it; why, where that is known.
    private func expired(_ exchange: HTTPExchange) -> HTTPResult {
        let reason = lastProblem.isEmpty ? exchange.cancelReason : lastProblem
        return reason.map { .unreachable($0) } ?? .expired
    }

    /// Again, unless its time is over or the server refuses for ever.
    private func resend(_ exchange: HTTPExchange) {
        exchange.refusedStreams += 1
        guard exchange.deadline > loop.now, !isClosed else { return exchange.ended(expired(exchange)) }
        guard exchange.refusedStreams < 10 else {
            return exchange.ended(.unreachable("\(origin.authority) refuses the request time and again"))
        }
        statistics.requestsResent += 1
        withoutStream.prepend(exchange)
        expire(by: exchange.deadline)
    }

    func connection(_ connection: HTTPConnection, hasReceivedGoAway reason: String) {
        onGoAway?("\(origin.authority) ends the connection: GOAWAY \(reason)")
    }

    func connectionDrains(_ connection: HTTPConnection) {
        guard leave(connection) else { return }
        draining.append(connection)
        drainQueue()
    }

    func connectionClosed(_ connection: HTTPConnection, reason: String) {
        draining.removeAll { $0 === connection }
        // A certificate is refused at all addresses.
        if !connection.hasServed, connection.certificateProblem == nil, let address = connection.address {
            addressOrder.failed(address, now: loop.now)
        }
        if let refusal = connection.certificateProblem, !isClosed { refused(refusal) }
        let wasEstablished = established.remove(connection.id) != nil
        guard connections.contains(where: { $0 === connection }) else { return drainQueue() }
        guard wasEstablished else {
            connections.removeAll { $0 === connection }
            return isClosed ? () : attemptFailed(reason)
        }
        _ = leave(connection)
        drainQueue()
    }

    private func refused(_ reason: String) {
        guard lastProblem != reason else { return }
        (lastProblem, isRefused) = (reason, true)
        onRefusal?(reason)
    }

    /// Counts a connection out; false when it was not in.
    private func leave(_ connection: HTTPConnection) -> Bool {
        guard let index = connections.firstIndex(where: { $0 === connection }) else { return false }
        connections.remove(at: index)
        machine.connectionEnded(
            wasUseful: connection.hasServed, now: loop.now, random: SystemRandomNumberGenerator.bits())
        return true
    }

    private func offerCapacity() {
        onCapacity?()
        // A new connection takes one request until the server's SETTINGS are there: it ends when all have gone.
        if isDraining, withoutStream.isEmpty, waitingOutside == 0 { retireConnections() }
    }

    // MARK: Time

    /// One timer for the earliest deadline, not one per request; it may be up to 50 ms late.
    private func expire(by deadline: Int64) {
        deadlineTimer.set(noLaterThan: max(deadline, loop.now &+ 50)) { self.expireWaiting() }
    }

    private func expireWaiting() {
        let now = loop.now
        for exchange in withoutStream.removeAll(where: { $0.deadline <= now }) {
            exchange.ended(expired(exchange))
        }
        var next = Int64.max
        withoutStream.forEach { next = min(next, $0.deadline) }
        if !withoutStream.isEmpty { expire(by: next) }
    }
}

extension SystemRandomNumberGenerator {
    fileprivate static func bits() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}
