// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// Which request wakes a user: forks of it are the same wake, and a request that comes again after a challenge or a
/// refusal has another CSeq and is another wake.
struct WakeKey: Hashable {
    let aor: String
    let callID: String
    let cseq: UInt32
    let event: PushEvent
}

/// Which request a host speaks of.
enum RequestID: Hashable {
    /// The host finds it by a handle of its own.
    case handle(host: UInt64, UInt64)
    /// Channels wait for it, each on a connection of its own.
    case waited(WakeKey)
}
