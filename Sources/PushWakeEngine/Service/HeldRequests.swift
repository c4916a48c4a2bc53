// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// All requests for which phones are woken or watched, found by their host's handle, by user, and by what makes forks
/// the same request.
///
/// It bounds itself: an entry lives as long as the request may be held, and then a minute for phones that come late, or
/// less when there are too many.
struct HeldRequests {
    private var requests: [RequestID: HeldRequest] = [:]
    private var byUser: [String: [HeldRequest]] = [:]
    private var byKey: [WakeKey: RequestPushes] = [:]
    /// In the order in which they end: when each may be forgotten.
    private var ended: [(at: Int64, request: HeldRequest)] = []
    private var firstEnded = 0
    private let most: Int
    /// Requests that were over and had to make room.
    private(set) var forgottenEarly = 0

    /// Remembers so many.
    init(most: Int = 100_000) { self.most = max(most, 1) }

    /// Whether another may be held.
    var hasRoom: Bool { live < most }

    var count: Int { requests.count }
    /// Those that have not ended.
    private(set) var live = 0

    subscript(id: RequestID) -> HeldRequest? { requests[id] }

    /// Requests for one user, the oldest first.
    func requests(for aor: String) -> [HeldRequest] { byUser[aor] ?? [] }

    /// The pushes that a request shares with its forks.
    mutating func pushes(of key: WakeKey) -> RequestPushes {
        if let known = byKey[key] { return known }
        let new = RequestPushes()
        byKey[key] = new
        return new
    }

    mutating func add(_ request: HeldRequest) {
        if let old = requests.updateValue(request, forKey: request.id) { unlink(old) }
        byUser[request.aor, default: []].append(request)
        request.pushes.live += 1
        live += 1
        while requests.count > most, firstEnded < ended.count {
            forgetFirst()
            forgottenEarly += 1
        }
    }

    /// It has ended: it stays for phones that come late, until `time`.
    mutating func end(_ request: HeldRequest, forgetAt time: Int64) {
        request.forgetAt = time
        request.pushes.live -= 1
        live -= 1
        ended.append((time, request))
    }

    /// Forgets what is over at `now`.
    mutating func sweep(now: Int64) {
        while firstEnded < ended.count, ended[firstEnded].at <= now {
            forgetFirst()
        }
    }

    private mutating func forgetFirst() {
        remove(ended[firstEnded].request)
        firstEnded += 1
        if firstEnded > 1024, firstEnded * 2 > ended.count {
            ended.removeFirst(firstEnded)
            firstEnded = 0
        }
    }

    /// Requests whose host never told their end.
    func abandoned(now: Int64) -> [HeldRequest] {
        requests.values.filter { $0.machine.end == nil && $0.forgetAt <= now }
    }

    private mutating func remove(_ request: HeldRequest) {
        if requests[request.id] === request { requests[request.id] = nil }
        unlink(request)
    }

    private mutating func unlink(_ request: HeldRequest) {
        byUser[request.aor]?.removeAll { $0 === request }
        if byUser[request.aor]?.isEmpty == true { byUser[request.aor] = nil }
        let key = request.message.key
        if byKey[key] === request.pushes, request.pushes.live <= 0 { byKey[key] = nil }
    }
}
