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

/// Which of a provider's two worlds a token belongs to.
public enum Environment: UInt8, Sendable, CaseIterable {
    /// As the settings say.
    case standard = 0
    case production = 1
    case sandbox = 2

    /// The name in JSON: `default`, `production` or `sandbox`.
    public var name: String {
        switch self {
        case .standard: "default"
        case .production: "production"
        case .sandbox: "sandbox"
        }
    }
}

/// What an Apple token is good for.
public enum Service: UInt8, Sendable, CaseIterable {
    /// PushKit: rings through CallKit. Never used for anything but a call.
    case voip = 1
    /// An ordinary notification token.
    case remote = 2

    /// The name in logs and JSON, and in `pn-param`.
    public var name: String {
        switch self {
        case .voip: "voip"
        case .remote: "remote"
        }
    }
}

/// The way in which a phone said what its token is.
public enum Dialect: UInt8, Sendable, CaseIterable {
    /// `pn-provider`, `pn-param`, `pn-prid` (RFC 8599).
    case rfc8599 = 1
    /// `X-MPUSH: PROVIDER:PACKAGE:TOKEN` (Mizutech).
    case mpush = 2
    /// RFC 8599 names with two tokens in one `pn-prid`, or provider `apns.dev` (Flexisip).
    case flexisip = 3
    /// `pn-type`, `app-id`, `pn-tok` (older Linphone).
    case legacyLinphone = 4
    /// `push-token-type`, `push-token-app`, `push-token-id`.
    case pushToken = 5
    /// `AppId`, `DeviceToken`, `Selector`, reported over HTTP (Acrobits).
    case acrobitsTuple = 6

    /// The name in logs and JSON.
    public var name: String {
        switch self {
        case .rfc8599: "rfc8599"
        case .mpush: "x-mpush"
        case .flexisip: "flexisip"
        case .legacyLinphone: "linphone-legacy"
        case .pushToken: "push-token"
        case .acrobitsTuple: "acrobits"
        }
    }
}
