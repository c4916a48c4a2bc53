// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// The lanes of one certificate: one for each environment that it is for.
struct APNsCertifiedLanes {
    let file: APNsCertificateFile
    /// What its files looked like before they were read.
    var stamps: [FileStamp?]
    let production: APNsLane?
    let sandbox: APNsLane?

    func lane(isSandbox: Bool) -> APNsLane? { isSandbox ? sandbox : production }

    /// Other lanes take their place.
    func retire() {
        production?.retire()
        sandbox?.retire()
    }
}
