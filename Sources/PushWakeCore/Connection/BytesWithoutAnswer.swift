// SPDX-License-Identifier: MIT

/// Decides when a server has sent too much without answering anything (RFC 9113, 10.5): frames that cost it nothing cost us
/// time, of every type and on HTTP/1.1 too, so that bytes are counted and not frames; whoever counts them may weigh them.
///
/// What it may say beside answers is a bucket: so many bytes at once, more for each request that waits for an answer, and some
/// more each second, for PINGs on a connection that is idle for weeks. An answer fills the bucket up.
public struct BytesWithoutAnswer: Equatable, Sendable {
    /// Bytes at once: SETTINGS, and whatever else is in front of a first answer.
    static let allowance: Int64 = 131_072
    /// For each request that is open: the beginning of its answer.
    static let perRequest: Int64 = 4096
    /// Bytes that are forgotten in a second.
    static let perSecond: Int64 = 4096

    private var answers = 0
    private var seen: UInt64 = 0
    /// Bytes since the last answer that are not forgotten.
    private var level: Int64 = 0
    private var lastAt: Int64

    /// A connection that begins at `now`, milliseconds.
    public init(now: Int64) { lastAt = now }

    /// Takes how many bytes have come in all, how many answers they had, and how many requests are open; true when they are too many.
    public mutating func areTooMany(_ received: UInt64, answers: Int, open: Int, now: Int64) -> Bool {
        let bytes = received > seen ? Int64(clamping: received - seen) : 0
        let forgotten = min(max(now &- lastAt, 0), 3_600_000) * Self.perSecond / 1000
        level = self.answers == answers ? max(0, level - forgotten) + min(bytes, 1 << 40) : 0
        (self.answers, seen, lastAt) = (answers, received, now)
        return level > Self.allowance + Int64(clamping: min(max(open, 0), 100_000)) * Self.perRequest
    }
}
