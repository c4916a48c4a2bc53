// SPDX-License-Identifier: MIT

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
