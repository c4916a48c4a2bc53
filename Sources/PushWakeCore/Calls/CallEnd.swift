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
        case .failed: occasion == .declinedElsewhere ? .answeredElsewhere : .missed
        }
    }

    /// In which words.
    public var occasion: PushOccasion {
        if case .failed(600...) = self { .declinedElsewhere } else { .usual }
    }

    /// For a trace and a log line.
    public var name: String {
        switch self {
        case .answered: "answered"
        case .cancelled: "cancelled"
        case .completedElsewhere: "completed elsewhere"
        case .timedOut: "timed out"
        case .failed(let status) where status < 300: "accepted with \(status)"
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

extension CallEnd {
    /// How a call ended for phones that did not take it, as a CANCEL's Reason headers say, joined by commas, folded or not
    /// (RFC 3326): `SIP;cause=200` where another phone answered, `SIP;cause=600` where another one declined for all. Where
    /// SIP's own is missing, `Q.850;cause=26` (non-selected user clearing) says that another phone answered. Otherwise the
    /// caller hung up.
    public init(cancelReason: String) {
        self = .cancelled
        for value in Self.bare(cancelReason.lowercased()).split(separator: ",") {
            let parts = value.split(separator: ";")
            if parts.first == "q.850", parts.contains("cause=26") { self = .completedElsewhere }
            guard parts.first == "sip" else { continue }
            let isDeclined = parts.contains("cause=600") || parts.contains("cause=603")
            self = isDeclined ? .failed(603) : parts.contains("cause=200") ? .completedElsewhere : .cancelled
            return
        }
    }

    /// Without blanks, and without texts in quotes, which may hold commas, semicolons and whole other reasons.
    private static func bare(_ reason: String) -> String {
        var kept = ""
        var isQuoted = false
        var isEscaped = false
        for character in reason.unicodeScalars {
            if isQuoted {
                if !isEscaped, character == "\"" { isQuoted = false }
                isEscaped = !isEscaped && character == "\\"
            } else if character == "\"" {
                isQuoted = true
            } else if character > " " {
                kept.unicodeScalars.append(character)
            }
        }
        return kept
    }
}
