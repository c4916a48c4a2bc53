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

/// How a call ended for a phone that did not take it, as a CANCEL's Reason header says (RFC 3326).
public enum CallEnding: Equatable, Sendable {
    /// The caller hung up, or nobody says.
    case missed
    /// `SIP;cause=200`: another phone answered.
    case acceptedElsewhere
    /// `SIP;cause=600`: another phone declined for all.
    case declinedElsewhere

    /// Reads the value of the header; reasons of other protocols say nothing.
    public init(reason: String) {
        self = .missed
        for value in Self.withoutQuotedTexts(reason.lowercased()).split(separator: ",") {
            let parts = value.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            guard parts.first == "sip" else { continue }
            if parts.contains("cause=200") { self = .acceptedElsewhere }
            if parts.contains("cause=600") || parts.contains("cause=603") { self = .declinedElsewhere }
            return
        }
    }

    /// A text in quotes may hold commas, semicolons and whole other reasons.
    private static func withoutQuotedTexts(_ reason: String) -> String {
        var kept = ""
        var isQuoted = false
        var isEscaped = false
        for character in reason.unicodeScalars {
            if isQuoted {
                if !isEscaped, character == "\"" { isQuoted = false }
                isEscaped = !isEscaped && character == "\\"
            } else if character == "\"" {
                isQuoted = true
            } else {
                kept.unicodeScalars.append(character)
            }
        }
        return kept
    }

    /// What the phone is told.
    public var event: PushEvent { self == .missed ? .cancel : .answeredElsewhere }

    /// In which words.
    public var occasion: PushOccasion { self == .declinedElsewhere ? .declinedElsewhere : .usual }
}
