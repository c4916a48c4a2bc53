// SPDX-License-Identifier: MIT

/// The server's side of one request: what was answered, and when it is sent again (RFC 3261, 17.2; RFC 6026 is not needed,
/// since no INVITE is answered with 2xx here).
///
///     proceeding ──final──► completed ──ACK──► confirmed ──► over
///                               └──── 32 s without ACK ──────► over
///
/// Bytes and monotonic milliseconds go in, bytes come out. It asks nobody and reads no clock.
public struct ServerTransaction: Sendable {
    /// T1, T2 and 64 times T1 of RFC 3261, 17.1.1.1, in milliseconds, and T4 of 17.1.2.2.
    static let firstPause: Int64 = 500
    static let longestPause: Int64 = 4000
    static let lifetime: Int64 = 32_000
    static let afterlife: Int64 = 5000

    private enum State: Sendable {
        /// The newest provisional answer, and when it is repeated.
        case proceeding([UInt8], repeatAt: Int64?)
        /// The final answer. `pause`: between this repetition and the next one.
        case completed([UInt8], repeatAt: Int64?, pause: Int64, endsAt: Int64)
        /// The ACK has come; more of them may.
        case confirmed(endsAt: Int64)
    }

    public let request: KeptRequest
    /// The host's connection loses nothing, so nothing is sent twice.
    private let isReliable: Bool
    /// Milliseconds after which a provisional answer is repeated, so that no timer of a proxy ends the wait; nil: never.
    private let repetition: Int64?
    /// Of our answers.
    private let tag: String
    private var state = State.proceeding([], repeatAt: nil)

    public init(_ request: KeptRequest, tag: String, isReliable: Bool, repetition: Int64?) {
        self.request = request
        self.tag = tag
        self.isReliable = isReliable
        self.repetition = repetition
    }

    /// No final answer has been given.
    public var isOpen: Bool { if case .proceeding = state { true } else { false } }

    /// When `tick(now:)` must be called; nil: there is nothing to wait for.
    public var deadline: Int64? {
        switch state {
        case .proceeding(_, let repeatAt): repeatAt
        case .completed(_, let repeatAt, _, let endsAt): min(repeatAt ?? endsAt, endsAt)
        case .confirmed(let endsAt): endsAt
        }
    }

    /// Nothing of it can come now.
    public func isOver(now: Int64) -> Bool {
        switch state {
        case .proceeding: false
        case .completed(_, _, _, let endsAt), .confirmed(let endsAt): now >= endsAt
        }
    }

    /// Answers: below 200 provisionally, else for good. Nil once a final answer was given.
    public mutating func answer(
        _ status: Int, headers: [(name: String, value: String)] = [], now: Int64
    ) -> [UInt8]? {
        guard isOpen else { return nil }
        let bytes = request.answer(status, tag: tag, headers: headers)
        if status < 200 {
            state = .proceeding(bytes, repeatAt: repetition.map { now &+ $0 })
        } else if request.method == "INVITE" {
            state = .completed(
                bytes, repeatAt: isReliable ? nil : now &+ Self.firstPause, pause: Self.firstPause,
                endsAt: now &+ Self.lifetime)
        } else {
            state = .completed(bytes, repeatAt: nil, pause: 0, endsAt: isReliable ? now : now &+ Self.lifetime)
        }
        return bytes
    }

    /// The request has come once more: the last answer, or nil before there is one and after the ACK.
    public func repeated() -> [UInt8]? {
        switch state {
        case .proceeding(let bytes, _): bytes.isEmpty ? nil : bytes
        case .completed(let bytes, _, _, _): bytes
        case .confirmed: nil
        }
    }

    /// The ACK for the final answer has come.
    public mutating func acknowledged(now: Int64) {
        guard case .completed = state else { return }
        state = .confirmed(endsAt: isReliable ? now : now &+ Self.afterlife)
    }

    /// Time has passed: what is to be sent again.
    public mutating func tick(now: Int64) -> [UInt8]? {
        switch state {
        case .proceeding(let bytes, let at?) where now >= at:
            state = .proceeding(bytes, repeatAt: repetition.map { now &+ $0 })
            return bytes
        case .completed(let bytes, let at?, let pause, let endsAt) where now >= at && now < endsAt:
            let next = min(pause &* 2, Self.longestPause)
            state = .completed(bytes, repeatAt: now &+ next, pause: next, endsAt: endsAt)
            return bytes
        case .proceeding, .completed, .confirmed: return nil
        }
    }
}
