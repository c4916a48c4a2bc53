// SPDX-License-Identifier: MIT

/// What one Contact wants of push.
public enum PushRequest: Equatable, Sendable {
    /// Nothing about push.
    case none
    /// Pushes to these tokens.
    case bind([Binding])
    /// An answer to which services are supported; the name as sent, empty for all (RFC 8599, 4.1.5).
    case query(provider: String)
    /// No more pushes for this device: a token of `null`.
    case unbind
    /// Something that cannot be used: see the problems.
    case unusable
}

extension PushRequest {
    /// Reads the parameters of one Contact in the dialect they are written in. With several dialects in one
    /// Contact RFC 8599 counts, then the older Linphone form, then `push-token-*`.
    /// `others` are services that are not known and served all the same.
    static func read(
        _ parameters: PushParameters, others: WebhookProviders = .none, warnings: inout [Problem]
    ) throws(Problem) -> PushRequest {
        if parameters.isEmpty { return .none }
        if parameters[.provider] != nil || parameters[.prid] != nil {
            return try RFC8599.read(parameters, others: others, warnings: &warnings)
        }
        if parameters[.legacyType] != nil || parameters[.legacyToken] != nil {
            return try LegacyLinphone.read(parameters, others: others, warnings: &warnings)
        }
        if parameters[.tokenType] != nil || parameters[.tokenID] != nil {
            return try PushToken.read(parameters, warnings: &warnings)
        }
        return .none
    }
}
