// SPDX-License-Identifier: MIT

/// When one reader of the page is told that it has changed, as server-sent events (HTML, 9.2): no more than the caller's
/// turns, nothing while the last event is not read, and now and then although nothing changes, since ages and states do.
public struct PageReader: Equatable, Sendable {
    /// Milliseconds after which a reader hears something in any case.
    static let longestSilence: Int64 = 15_000
    /// What a stream begins with: a browser that loses it asks again after so many milliseconds.
    public static let opening = Array("retry: 3000\n\n".utf8)

    /// Which user or Call-ID its page is about; empty for the overview.
    public let query: String
    private var seen: UInt64?
    private var reportedAt: Int64

    /// Begins with what the page was made of, which may have changed meanwhile: the first turn tells it.
    public init(query: String, now: Int64) {
        self.query = query
        reportedAt = now
    }

    /// What to send in this turn; nil for nothing. `changes` is any number that differs when what the page shows does,
    /// `now` monotonic milliseconds.
    public mutating func next(changes: UInt64, hasReadAll: Bool, now: Int64) -> [UInt8]? {
        guard hasReadAll else { return nil }
        let isNew = changes != seen
        guard isNew || now &- reportedAt >= Self.longestSilence else { return nil }
        (seen, reportedAt) = (changes, now)
        return Array("event: \(isNew ? "change" : "alive")\ndata: \(now)\n\n".utf8)
    }
}
