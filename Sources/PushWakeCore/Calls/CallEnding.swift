// SPDX-License-Identifier: MIT

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
