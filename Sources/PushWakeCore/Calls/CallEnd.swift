// SPDX-License-Identifier: MIT

/// How a held request ended.
public enum CallEnd: Equatable, Sendable {
    case answered
    /// The caller hung up.
    case cancelled
    /// The caller's side hung up because somebody else has the call (RFC 3326: `Reason: SIP;cause=200`).
    case completedElsewhere
    /// Nobody came in time.
    case timedOut
    /// The best answer of those who came, such as 486.
    case failed(Int)

    /// What phones that were pushed for it have to hear.
    public var notice: PushEvent {
        switch self {
        case .answered, .completedElsewhere: .answeredElsewhere
        case .cancelled: .cancel
        case .timedOut: .missed
        case .failed(let status): status >= 600 ? .answeredElsewhere : .missed
        }
    }

    /// For a story and a log line.
    public var name: String {
        switch self {
        case .answered: "answered"
        case .cancelled: "cancelled"
        case .completedElsewhere: "completed elsewhere"
        case .timedOut: "timed out"
        case .failed(let status): "failed with \(status)"
        }
    }

    /// Value of a Reason header for a phone that comes too late (RFC 3326).
    public var reasonHeader: String {
        switch self {
        case .answered, .completedElsewhere: "SIP;cause=200;text=\"Call completed elsewhere\""
        case .cancelled: "SIP;cause=487;text=\"Request Terminated\""
        case .timedOut: "SIP;cause=480;text=\"Temporarily Unavailable\""
        case .failed(let status): "SIP;cause=\(status)"
        }
    }
}
