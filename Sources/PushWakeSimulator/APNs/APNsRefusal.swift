// SPDX-License-Identifier: MIT

/// Why a push is refused, as a typed error of the checks.
struct APNsRefusal: Error {
    let reason: APNsReason

    init(_ reason: APNsReason) { self.reason = reason }
}
