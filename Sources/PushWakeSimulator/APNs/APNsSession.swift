// SPDX-License-Identifier: MIT

/// What APNs remembers about one connection: certificate, and the provider token that it verified last.
struct APNsSession: Sendable {
    /// What the sender showed in the TLS handshake; nil: nothing, so it needs provider tokens.
    var certificate: ClientCertificate?
    /// The whole `authorization` value, so that the same bytes are verified once.
    var authorization: [UInt8] = []
    /// `iat` of that token.
    var issuedAt: Int64 = 0
    /// Key id of the first token on this connection.
    var keyID: String?
    /// When the token last changed, after the first one.
    var changedAt: Int64?
    /// A push was accepted, so the stream limit may rise.
    var hasAcceptedPush = false
}
