// SPDX-License-Identifier: MIT

import PushWakeCore

/// What may differ from Apple's defaults, mostly so that hours need not pass in a test.
struct APNsRules: Equatable, Sendable {
    /// Seconds after which a provider token is refused.
    var tokenAge: Int64 = 3_600
    /// Seconds in which a connection may change its provider token once.
    var tokenChange: Int64 = 1_200
    /// Seconds that `iat` may lie in the future, for clocks that differ.
    var clockSkew: Int64 = 60
    /// Bundle ids that the team may push to; empty: any.
    var topics: [String] = []
    /// `production` or `sandbox`: where this service is, for certificates that are for one of them; nil: both at once.
    var environment: Environment?
    /// Certificates of any authority are good, such as Apple's own.
    var takesAnyCertificate = false
    /// The only team; nil: the one of the generated key.
    var team: String?

    init() {}
}
