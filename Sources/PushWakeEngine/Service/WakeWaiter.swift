// SPDX-License-Identifier: MIT

/// Somebody who waits for a phone: a channel behind a connection, or an AGI session.
protocol WakeWaiter: AnyObject {
    /// Set while it waits.
    var wait: WakeKey? { get set }

    /// Takes an event; must not call back.
    func tell(_ event: WaitEvent)
}
