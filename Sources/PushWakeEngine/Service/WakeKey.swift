// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// Which request wakes a user: copies of it (retransmissions, forks) are the same wake.
struct WakeKey: Hashable {
    let aor: String
    let callID: String
    let event: PushEvent
}
