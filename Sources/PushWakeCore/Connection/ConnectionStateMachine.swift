// SPDX-License-Identifier: MIT

/// Follows one connection to a provider from connect to close.
///
///     connecting -> securing -> ready <-> checking
///          |            |         |          |
///          |            |         +----------+--> draining
///          +------------+---------+----------+------> closed
///
/// `checking` waits for a PING to come back before an idle connection is trusted again. `draining` opens no streams
/// and ends when those that are open have ended. Streams are counted in the states that can have some, and kept elsewhere.
public struct ConnectionStateMachine: ~Copyable {
    private enum State: Equatable {
        case connecting
        case securing
        case ready(openStreams: Int)
        case checking
        case draining(openStreams: Int)
        case closed
    }

    private var state = State.connecting
    /// Milliseconds of silence after which a PING must come back before use; nil: never ask.
    private let pingAfter: Int64?
    private var lastReceived: Int64

    /// Begins with a connection that is being opened.
    public init(pingAfter: Int64?, now: Int64) {
        self.pingAfter = pingAfter
        lastReceived = now
    }

    /// What comes of TCP standing.
    public enum ConnectedAction: Equatable {
        case startHandshake
        case none
    }

    /// TCP stands.
    public mutating func connected() -> ConnectedAction {
        guard state == .connecting else { return .none }
        state = .securing
        return .startHandshake
    }

    /// What comes of the TLS handshake's end.
    public enum SecuredAction: Equatable {
        /// Hand over requests, as many as `allowance` says.
        case offerStreams
        case none
    }

    /// TLS stands.
    public mutating func secured(now: Int64) -> SecuredAction {
        guard state == .securing else { return .none }
        lastReceived = now
        state = .ready(openStreams: 0)
        return .offerStreams
    }

    /// How many more streams may be opened, when the peer allows `peerLimit` at a time.
    public func allowance(peerLimit: Int) -> Int {
        switch state {
        case .ready(let openStreams): max(0, peerLimit - openStreams)
        case .connecting, .securing, .checking, .draining, .closed: 0
        }
    }

    /// What to do before an idle connection is used.
    public enum UseAction: Equatable {
        case use
        /// Send a PING; requests wait for `received(now:)` or `closed()`.
        case ping
        /// Nothing can be opened here now.
        case wait
    }

    /// A request asks for a stream.
    public mutating func wanted(now: Int64) -> UseAction {
        guard case .ready(let openStreams) = state else { return .wait }
        guard let pingAfter, openStreams == 0, now - lastReceived >= pingAfter else { return .use }
        state = .checking
        return .ping
    }

    /// A request was sent.
    public mutating func streamOpened() {
        if case .ready(let openStreams) = state { state = .ready(openStreams: openStreams + 1) }
    }

    /// What comes of a PING's answer.
    public enum PongAction: Equatable {
        case offerStreams
        case none
    }

    /// A PING came back.
    public mutating func pong(now: Int64) -> PongAction {
        lastReceived = now
        guard state == .checking else { return .none }
        state = .ready(openStreams: 0)
        return .offerStreams
    }

    /// Bytes came from the peer.
    public mutating func received(now: Int64) { lastReceived = now }

    /// What comes of a stream's end.
    public enum StreamEndedAction: Equatable {
        case offerStreams
        /// It was the last one of a draining connection.
        case close
        case none
    }

    /// A stream is over, whatever came of it.
    public mutating func streamEnded() -> StreamEndedAction {
        switch state {
        case .ready(let openStreams):
            if openStreams > 0 { state = .ready(openStreams: openStreams - 1) }
            return .offerStreams
        case .draining(let openStreams) where openStreams > 1:
            state = .draining(openStreams: openStreams - 1)
            return .none
        case .draining:
            state = .closed
            return .close
        case .connecting, .securing, .checking, .closed: return .none
        }
    }

    /// What comes of GOAWAY, of running out of stream ids, or of being retired.
    public enum DrainAction: Equatable {
        case close
        /// Wait for the open streams; requests go elsewhere.
        case drain
        case none
    }

    /// No more streams shall be opened.
    public mutating func drain() -> DrainAction {
        switch state {
        case .draining, .closed: return .none
        case .ready(let openStreams) where openStreams > 0:
            state = .draining(openStreams: openStreams)
            return .drain
        case .connecting, .securing, .ready, .checking:
            state = .closed
            return .close
        }
    }

    /// Whether it was in use when it ended; one that was never established counts as a failed attempt.
    public enum ClosedAction: Equatable {
        case countFailure
        case countEnd
        case none
    }

    /// The connection is gone.
    public mutating func closed() -> ClosedAction {
        defer { state = .closed }
        switch state {
        case .connecting, .securing: return .countFailure
        case .ready, .checking, .draining: return .countEnd
        case .closed: return .none
        }
    }

    /// Neither draining nor closed: requests may yet go here.
    public var isUsable: Bool {
        switch state {
        case .connecting, .securing, .ready, .checking: true
        case .draining, .closed: false
        }
    }
    /// TLS stands.
    public var isEstablished: Bool {
        switch state {
        case .ready, .checking, .draining: true
        case .connecting, .securing, .closed: false
        }
    }
    /// A PING is on its way.
    public var isWaitingForPong: Bool { state == .checking }
}
