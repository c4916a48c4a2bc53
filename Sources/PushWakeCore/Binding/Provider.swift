// SPDX-License-Identifier: MIT

/// Push services that a binding can name.
public enum Provider: UInt8, Sendable, CaseIterable {
    case apns = 1
    case fcm = 2
    case webpush = 3
    case acrobits = 4
    /// A URL of the operator's own, filled in from a template.
    case webhook = 5

    /// The value of `pn-provider` (RFC 8599, 10 to 12), and the name in logs and JSON.
    public var name: String {
        switch self {
        case .apns: "apns"
        case .fcm: "fcm"
        case .webpush: "webpush"
        case .acrobits: "acrobits"
        case .webhook: "webhook"
        }
    }
}
