// SPDX-License-Identifier: MIT

/// What may differ between push services.
struct WebPushRules: Equatable, Sendable {
    /// A push without VAPID is refused.
    var requiresVAPID = true
    /// Only the generated key may push, as if all subscriptions had been made with it (RFC 8292, 4.2).
    var requiresOwnKey = false

    init() {}
}
