// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// The connections of one lane, and whether they work: what went wrong is logged when it begins and when
/// it ends, not for each push.
final class ProviderPool {
    private let pool: HTTPConnectionPool
    private let label: String
    private let log: EngineLog
    private(set) var isHealthy = true

    init(_ pool: HTTPConnectionPool, label: String, log: EngineLog) {
        self.pool = pool
        self.label = label
        self.log = log
    }

    /// Sends a request; `completion` runs once.
    func send(_ request: HTTPRequest, deadline: Int64, completion: @escaping (HTTPResult) -> Void) {
        pool.send(request, deadline: deadline) { [self] result in
            watch(result)
            completion(result)
        }
    }

    /// Sends nothing more over the connections there are.
    func retire() { pool.retire() }

    private func watch(_ result: HTTPResult) {
        switch result {
        case .answered:
            if !isHealthy { log(.notice, "\(label): reachable again") }
            isHealthy = true
        case .unreachable(let reason):
            if isHealthy { log(.warning, "\(label): cannot be reached (\(reason)); calls go through without push until it can") }
            isHealthy = false
        case .lost, .expired: break
        }
    }
}
