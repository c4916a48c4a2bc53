// SPDX-License-Identifier: MIT

/// What a waiting channel hears; raw values are `enum pushwake_wait_kind`.
enum WaitKind: Int {
    case registered = 1
    case timedOut = 2
    case failed = 3
}

/// One thing that happened to a wake.
struct WaitEvent: Equatable {
    var kind: WaitKind
    /// Contact URI as registered; empty when not known.
    var contact = ""
    var reason = ""
}

/// Somebody who waits for a phone: a channel behind a connection, or an AGI session.
protocol WakeWaiter: AnyObject {
    /// Set while it waits.
    var wait: WakeKey? { get set }

    /// Takes an event; must not call back.
    func tell(_ event: WaitEvent)
}
