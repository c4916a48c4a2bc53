// SPDX-License-Identifier: MIT

/// One thing that happened to a wake.
struct WaitEvent: Equatable {
    var kind: WaitKind
    /// Contact URI as registered; empty when not known.
    var contact = ""
    var reason = ""
}
