// SPDX-License-Identifier: MIT

/// How a push ended: one word for all providers. Raw values are `enum pushwake_outcome`.
public enum Outcome: UInt8, Sendable, CaseIterable {
    case accepted = 0
    /// The token is dead.
    case tokenGone = 1
    /// Permanent, and the token is not to blame.
    case rejected = 2
    case throttled = 3
    /// The provider could not be reached or was out of order.
    case unavailable = 4
    /// Key, certificate, topic or project is wrong: an operator must act.
    case misconfigured = 5
    /// The deadline passed first.
    case expired = 6
    /// The queue was full; never sent.
    case overloaded = 7

    /// As logs, counters and hosts write it.
    public var name: String {
        switch self {
        case .accepted: "accepted"
        case .tokenGone: "token-gone"
        case .rejected: "rejected"
        case .throttled: "throttled"
        case .unavailable: "unavailable"
        case .misconfigured: "misconfigured"
        case .expired: "expired"
        case .overloaded: "overloaded"
        }
    }
}
