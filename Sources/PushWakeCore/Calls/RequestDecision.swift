// SPDX-License-Identifier: MIT

/// What a request does to phones that sleep.
public enum RequestDecision: Equatable, Sendable {
    /// They are pushed with this event, and the request is held for at most so many seconds.
    case wakes(PushEvent, PushOccasion = .usual, holdSeconds: Int64)
    /// Those that were pushed for the call and have not come hear how it ended.
    case ends(CallEnding)
    /// Nothing, and why: the request goes to whoever is awake.
    case nobody(String)
}
