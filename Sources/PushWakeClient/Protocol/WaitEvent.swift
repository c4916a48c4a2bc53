// SPDX-License-Identifier: MIT

/// One thing that happened to a wake.
package struct WaitEvent: Equatable {
    package var kind: WaitKind
    /// Contact URI as registered; empty when not known.
    package var contact = ""
    package var reason = ""

    package init(kind: WaitKind, contact: String = "", reason: String = "") {
        (self.kind, self.contact, self.reason) = (kind, contact, reason)
    }
}

/// What a waiting channel hears; raw values are `enum pushwake_wait_kind`.
package enum WaitKind: Int {
    case registered = 1
    case timedOut = 2
    case failed = 3
}
