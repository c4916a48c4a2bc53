// SPDX-License-Identifier: MIT

internal import PushWakeTransport

/// The lanes of one `.p8` key: one for each environment.
struct APNsTokenLanes {
    let production: APNsLane
    let sandbox: APNsLane
    /// What the key's file looked like before it was read.
    let stamp: FileStamp?

    func lane(isSandbox: Bool) -> APNsLane { isSandbox ? sandbox : production }

    /// Other lanes take their place.
    func retire() {
        production.retire()
        sandbox.retire()
    }
}
