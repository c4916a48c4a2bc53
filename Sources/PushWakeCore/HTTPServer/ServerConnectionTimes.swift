// SPDX-License-Identifier: MIT

/// When a client that takes its time has taken too much: what one connection of the HTTP listener is waiting for, and
/// since when. Times are monotonic milliseconds.
public struct ServerConnectionTimes: Equatable, Sendable {
    /// How long each may take, milliseconds.
    public struct Limits: Equatable, Sendable {
        /// The TLS handshake.
        public var handshake: Int64 = 10_000
        /// A request, from its first byte to its last.
        public var request: Int64 = 15_000
        /// The pause between two requests.
        public var idle: Int64 = 75_000
        /// The engine's own work on a request; a push by hand waits for its provider.
        public var answer: Int64 = 120_000
        /// The client's reading of what waits for it, all of it.
        public var reading: Int64 = 30_000

        /// The limits that are shipped.
        public init() {}
    }

    /// What took too long.
    public enum Overdue: Equatable, Sendable {
        case handshake
        case request
        case idle
        case answer
        case reading
    }

    private let limits: Limits
    private var handshakeSince: Int64?
    private var requestSince: Int64?
    private var idleSince: Int64?
    private var answerSince: Int64?
    private var outputSince: Int64?

    /// The connection was taken at `now`.
    public init(limits: Limits = Limits(), isTLS: Bool, now: Int64) {
        self.limits = limits
        if isTLS { handshakeSince = now } else { idleSince = now }
    }

    /// The handshake is done.
    public mutating func shookHands(now: Int64) { (handshakeSince, idleSince) = (nil, now) }

    /// What there is now: since when the oldest request that has begun is not whole, since when the engine works on the
    /// oldest that it has (nil for neither), whether bytes wait that the client has not taken, and whether it reads an answer
    /// that goes on.
    public mutating func update(
        readingSince: Int64?, answeringSince: Int64?, hasOutput: Bool, isStreaming: Bool = false, now: Int64
    ) {
        requestSince = readingSince
        answerSince = answeringSince
        outputSince = hasOutput ? outputSince ?? now : nil
        let hasRequest = readingSince != nil || answeringSince != nil || isStreaming
        let isIdle = !hasRequest && !hasOutput && handshakeSince == nil
        idleSince = isIdle ? idleSince ?? now : nil
    }

    /// Since when nothing useful has come of it, whether it is idle, in a handshake, in the middle of a request, or does not
    /// read; nil while the engine works on an answer, or while the client reads one that goes on. Who has done so longest makes room for others.
    public var unproductiveSince: Int64? {
        guard answerSince == nil else { return nil }
        return [idleSince, handshakeSince, requestSince, outputSince].compactMap { $0 }.min()
    }

    /// What has taken too long; nil while all is well.
    public func overdue(now: Int64) -> Overdue? {
        func isOver(_ since: Int64?, _ limit: Int64) -> Bool { since.map { now &- $0 >= limit } ?? false }
        if isOver(handshakeSince, limits.handshake) { return .handshake }
        if isOver(requestSince, limits.request) { return .request }
        if isOver(outputSince, limits.reading) { return .reading }
        if isOver(answerSince, limits.answer) { return .answer }
        return isOver(idleSince, limits.idle) ? .idle : nil
    }
}
