// SPDX-License-Identifier: MIT

/// What stands behind an event where the event alone does not tell: it decides the words, never who is pushed.
public enum PushOccasion: UInt8, Sendable, CaseIterable {
    /// What the event's name says.
    case usual = 0
    /// A message waits in the mailbox (NOTIFY with `Event: message-summary`, RFC 3842).
    case messageWaiting = 1
    /// Some other request that has no words of its own, such as a REFER.
    case otherRequest = 2
    /// Another phone declined the call (`Reason: SIP;cause=600`, RFC 3326).
    case declinedElsewhere = 3
}
