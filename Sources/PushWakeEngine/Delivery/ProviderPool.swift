// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// The connections of one channel, and whether they work: what went wrong is logged when it begins and when
/// it ends, not for each push.
final class ProviderPool {
    /// Where pushes wait.
    let queue: ChannelQueue
    private let pool: HTTPConnectionPool
    private let label: String
    private let log: EngineLog
    /// For services that phones name: whoever has many must not fill the log. Nil for those of the operator.
    private let lines: LimitedLines?
    private var hasLogged = false
    /// A provider may end one connection after another.
    private var goAwayLines = LineBudget(most: 3, period: 60_000)

    /// `certificate` is the file of the one that the client shows.
    init(
        _ pool: HTTPConnectionPool, queue: ChannelQueue, label: String, certificate: String? = nil, log: EngineLog,
        lines: LimitedLines? = nil
    ) {
        self.lines = lines
        self.pool = pool
        self.queue = queue
        self.label = label
        self.log = log
        pool.onNotice = { [weak self] text in self?.logProblem(text) }
        pool.onGoAway = { [weak self] text in self?.noteGoAway(text) }
        let remedy =
            certificate.map { "the one in \($0) may be revoked or another's: get a new one from Apple, put it there" }
            ?? "it asks for one, and none is set"
        pool.onRefusal = { [weak self] text in self?.logProblem("\(text); \(remedy)") }
    }

    /// False after a connection could not be made and until one is.
    var isHealthy: Bool { pool.lastProblem.isEmpty }

    /// Connects before the first push needs it, so that an unreachable provider is known before the first call.
    func warmUp() { pool.warmUp() }

    /// Sends a request; `completion` runs once.
    func send(_ request: HTTPRequest, deadline: Int64, completion: @escaping (HTTPResult) -> Void) {
        pool.send(request, deadline: deadline, completion: completion)
    }

    /// As the queue's own.
    @inline(never)
    func admits(_ job: PushJob) -> Bool { queue.admits(job) }

    /// Sends what writes its request when a connection takes it, as a push does.
    func send(_ exchange: HTTPExchange) { pool.send(exchange) }

    /// An answer has come: whatever was wrong is over.
    func noteAnswer() {
        guard hasLogged else { return }
        hasLogged = false
        log(lines == nil ? .notice : .info, "\(label): works again")
    }

    /// Another pool takes over: what is under way here is still answered, then the connections end.
    func drain() { pool.drain() }

    /// Ends all connections.
    func close() { pool.close() }

    /// Sends nothing more over the connection that an answer came on.
    func retire(_ connection: Int) { pool.retireConnection(connection) }

    /// Ordinary at Apple: its pushes go over another connection.
    private func noteGoAway(_ text: String) {
        if let lines { return _ = lines(.info, "\(label): \(text)") }
        let admission = goAwayLines.admit(now: SystemClock.monotonicMilliseconds())
        guard case .write(let leftOut) = admission else { return log(.debug, "\(label): \(text)") }
        log(.notice, "\(label): \(text)\(leftOut > 0 ? " (\(leftOut) times more since the last such line)" : "")")
    }

    private func logProblem(_ text: String) {
        if let lines {
            hasLogged = lines(.info, "\(label): \(text); its phones are not pushed until this ends") || hasLogged
            return
        }
        hasLogged = true
        log(.warning, "\(label): \(text); calls go through without push until this ends")
    }
}
