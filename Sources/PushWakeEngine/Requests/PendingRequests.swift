// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore

/// Requests whose bindings a shared store is being asked for, of an earlier engine or taken without them, and what hosts have
/// reported of them meanwhile: all that is made up for when the bindings come.
struct PendingRequests {
    private struct Entry {
        var ticket: RequestTicket
        /// Monotonic milliseconds.
        let since: Int64
        /// The store has yet to answer.
        var isAsked = false
        var reports: [() -> Void] = []
    }

    /// More than any request has of legs.
    private static let mostReports = 256
    private static let most = 10_000

    /// Milliseconds that a host may take from the end of a request until its other processes know of it.
    private static let endsKept: Int64 = 5000
    private static let mostEnds = 4096

    private var entries: [RequestID: Entry] = [:]
    private var ends = RecentEnds(kept: Self.endsKept, most: Self.mostEnds)

    /// A host tells of one; false when it has told already.
    mutating func begin(_ ticket: RequestTicket, now: Int64) -> Bool {
        guard entries[ticket.message.id] == nil else { return false }
        entries[ticket.message.id] = Entry(ticket: ticket, since: now)
        return true
    }

    /// Whether another may be taken without its bindings.
    var hasRoom: Bool { entries.count < Self.most }

    /// A leg of one has a provisional answer.
    mutating func progressed(_ id: RequestID, leg: Int, status: Int) { entries[id]?.ticket.note(status, of: leg) }

    /// The store is asked about it, or could not be.
    mutating func ask(_ id: RequestID, isAsked: Bool) { entries[id]?.isAsked = isAsked }

    /// Those that the store is to be asked about.
    var unasked: [RequestID] { entries.isEmpty ? [] : entries.keys.filter { entries[$0]?.isAsked == false } }

    /// How it stands, as old as it is at `now`; nil when it is under way no more.
    func ticket(_ id: RequestID, now: Int64) -> RequestTicket? {
        guard let entry = entries[id] else { return nil }
        return entry.ticket.aged(by: now - entry.since)
    }

    /// Keeps what a host has reported until the request is known.
    mutating func keep(_ report: @escaping () -> Void, of id: RequestID) {
        guard let count = entries[id]?.reports.count, count < Self.mostReports else { return }
        entries[id]?.reports.append(report)
    }

    /// Nobody waits for it any more: it is known, or over. What was reported comes back, in order.
    @discardableResult mutating func end(_ id: RequestID) -> [() -> Void] {
        entries.removeValue(forKey: id)?.reports ?? []
    }

    /// A host has told of the end of a request that is not known: it may yet tell of the request.
    mutating func noteEnd(_ id: RequestID, now: Int64) { ends.note(id, now: now) }

    /// A request was over before its host told of it.
    func hasEnded(_ id: RequestID, now: Int64) -> Bool { ends.has(id, now: now) }

    /// Those of one user.
    func requests(for aor: String) -> [RequestID] {
        entries.isEmpty
            ? [] : entries.keys.filter { entries[$0]?.ticket.message.aor.isSameBytes(as: aor) == true }
    }
}

/// Requests that have ended within a time. Each costs the same, however many there are: the older ones go together.
struct RecentEnds {
    /// Monotonic milliseconds.
    private let kept: Int64
    private let most: Int
    /// When each ended, monotonic milliseconds: those since `turnedAt`, and those of the turn before.
    private var newer: [RequestID: Int64] = [:]
    private var older: [RequestID: Int64] = [:]
    private var turnedAt: Int64 = 0

    /// `most` are remembered at the least, and twice as many at the most.
    init(kept: Int64, most: Int) {
        self.kept = kept
        self.most = most
    }

    /// Those that are remembered, also some whose time is over.
    var count: Int { newer.count + older.count }

    mutating func note(_ id: RequestID, now: Int64) {
        if newer.count >= most || now &- turnedAt >= kept {
            (older, newer) = (newer, [:])
            turnedAt = now
        }
        newer[id] = now
    }

    func has(_ id: RequestID, now: Int64) -> Bool {
        guard let at = newer[id] ?? older[id] else { return false }
        return now &- at < kept
    }
}

/// How long a shared store has been away: requests wait for it while that may be a pause of its server.
struct StoreOutage {
    /// Milliseconds that a request waits, and for which others begin to wait.
    static let patience: Int64 = 5000
    /// Milliseconds after which a failure is another one's beginning.
    private static let gap: Int64 = 10_000

    /// Monotonic milliseconds.
    private var since: Int64?
    private var last: Int64 = 0

    /// The store could not be asked; whether it may be back in a moment.
    mutating func mayWait(now: Int64) -> Bool {
        let begin = now &- last > Self.gap ? now : since ?? now
        (since, last) = (begin, now)
        return now &- begin < Self.patience
    }

    /// It has answered.
    mutating func end() { since = nil }
}
