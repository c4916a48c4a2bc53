// SPDX-License-Identifier: MIT

/// How a host sends legs and ends a request; raw values are `enum pushwake_host`.
public enum CallHost: UInt8, Sendable {
    /// It sends a leg when it is told to, and answers the caller by itself when the last one has failed.
    case proxy = 0
    /// Its script sends legs when it comes to them, and goes on when it is told that nobody is waited for.
    case dialplan = 1
}
