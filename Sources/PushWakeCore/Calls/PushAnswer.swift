// SPDX-License-Identifier: MIT

/// How one push of a request ended, as the request's story tells it.
public struct PushAnswer: Equatable, Sendable {
    public var event: PushEvent
    public var outcome: Outcome
    /// The provider's own word, or ours in CamelCase; may be empty.
    public var reason: String
    /// 0 when no answer came.
    public var httpStatus: Int
    /// From the push to its outcome.
    public var milliseconds: Int64
    /// The provider called the token dead, and the store has let it go.
    public var isBindingRemoved: Bool

    public init(
        event: PushEvent, outcome: Outcome, reason: String = "", httpStatus: Int = 0, milliseconds: Int64,
        isBindingRemoved: Bool = false
    ) {
        self.event = event
        self.outcome = outcome
        self.reason = reason
        self.httpStatus = httpStatus
        self.milliseconds = milliseconds
        self.isBindingRemoved = isBindingRemoved
    }
}
