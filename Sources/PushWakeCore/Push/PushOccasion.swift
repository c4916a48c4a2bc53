// SPDX-License-Identifier: MIT

/// What stands behind an event where the event alone does not tell: it decides words and haste, never who is pushed.
public enum PushOccasion: UInt8, Sendable, CaseIterable {
    /// What the event's name says.
    case usual = 0
    /// A request waits for the phone that has no event of its own, such as an UPDATE within a dialog: the phone shall
    /// register at once, and nobody is told.
    case requestWaiting = 1
    /// Another phone declined the call (`Reason: SIP;cause=600`, RFC 3326).
    case declinedElsewhere = 2
}
