// SPDX-License-Identifier: MIT

/// The provider token of one key and environment: minted at first use, shared by all connections.
///
///     none -> fresh (45 minutes) -> stale -> fresh -> …
///
/// Apple takes a token for an hour and refuses a new one within 20 minutes; `iat` is wall-clock
/// time, so a clock that was set back makes a token stale as well. Signing is done outside: the
/// machine says what to sign and takes the signature.
public struct APNsCredential: ~Copyable {
    /// What to do before a push goes out.
    public enum Action: Equatable, Sendable {
        /// Send with this `authorization` value. The generation goes back with `expired`.
        case use([UInt8], generation: UInt32)
        /// Sign these bytes with the key (ES256, raw r and s) and call `signed`.
        case sign([UInt8])
    }

    /// What to do after `ExpiredProviderToken`.
    public enum ExpiredAction: Equatable, Sendable {
        /// Ask for the token again and send the push once more, on another connection.
        case resend
        /// A token minted just now is refused too: the clock or the key is wrong.
        case giveUp
    }

    private struct Token {
        let authorization: [UInt8]
        let issuedAt: Int64
        let generation: UInt32
        /// Made because its forerunner was called expired.
        let isForced: Bool
        var isRefused = false
    }

    /// Seconds that a token is used; Apple allows 20 to 60 minutes.
    public static let useFor: Int64 = 45 * 60
    /// Seconds within which Apple forbids another token.
    public static let atLeast: Int64 = 20 * 60
    /// Seconds that a clock may step back without a new token.
    private static let clockSlack: Int64 = 60

    private let keyID: String
    private let teamID: String
    private var token: Token?
    private var issuingAt: Int64 = 0

    public init(keyID: String, teamID: String) {
        self.keyID = keyID
        self.teamID = teamID
    }

    /// The generation of the token that is good at `now` (seconds since 1970); nil when one has to be signed.
    public func usableGeneration(now: Int64) -> UInt32? {
        guard let token, !token.isRefused else { return nil }
        let age = now - token.issuedAt
        return age < Self.useFor && age >= -Self.clockSlack ? generation : nil
    }

    /// Says what a push at `now` (seconds since 1970) needs.
    public mutating func authorization(now: Int64) -> Action {
        if let token, usableGeneration(now: now) != nil {
            return .use(token.authorization, generation: token.generation)
        }
        issuingAt = now
        return .sign(
            JSONWebToken.signingInput(
                header: [("alg", .text("ES256")), ("kid", .text(keyID))],
                claims: [("iss", .text(teamID)), ("iat", .seconds(now))]))
    }

    /// Takes the signature of `signingInput`, 64 bytes, and returns the `authorization` value to send with.
    public mutating func signed(_ signingInput: [UInt8], signature: [UInt8]) -> [UInt8] {
        let authorization = Array("bearer ".utf8) + JSONWebToken.token(signingInput, signature: signature)
        token = Token(
            authorization: authorization, issuedAt: issuingAt, generation: generation &+ 1,
            isForced: token?.isRefused ?? false)
        return authorization
    }

    /// Number of the token in use; 0 before the first.
    public var generation: UInt32 { token?.generation ?? 0 }

    /// Apple called the token of this generation expired.
    public mutating func expired(generation: UInt32, now: Int64) -> ExpiredAction {
        guard let token, token.generation == generation else { return .resend }
        let isYoung = now - token.issuedAt < Self.atLeast
        if token.isForced, isYoung { return .giveUp }
        self.token?.isRefused = true
        return .resend
    }
}
