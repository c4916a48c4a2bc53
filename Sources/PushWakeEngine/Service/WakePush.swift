// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// A push that a held request asks for.
struct WakePush {
    let push: Push
    let plan: Plan.Chosen
    /// Monotonic milliseconds at which the request is no longer held.
    let deadline: Int64
    /// Unix seconds of the request.
    let askedAt: Int64
}
