// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// What all Web Push services have in common: one VAPID key, the operator's rules, the templates.
struct WebPushSender {
    /// The VAPID key's point, uncompressed.
    let publicKey: [UInt8]
    /// `mailto:` or `https:`, so that a service can reach who sends.
    let subject: String
    let settings: WebPushSettings
    let payloads: PayloadLibrary
    /// Makes an ES256 signature, raw r and s; nil when the key cannot.
    let sign: ([UInt8]) -> [UInt8]?
}
