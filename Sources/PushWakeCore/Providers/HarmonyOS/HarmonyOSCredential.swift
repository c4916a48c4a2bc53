// SPDX-License-Identifier: MIT

/// The token of one service account at Huawei, which it signs itself (Push Kit, "Service account based authentication"):
/// minted at first use, good for an hour, renewed before.
public struct HarmonyOSCredential: ~Copyable {
    /// What to do before a push goes out.
    public enum Action: Equatable, Sendable {
        /// Send with this `authorization` value. The generation goes back with `refused`.
        case use([UInt8], generation: UInt32)
        /// Sign these bytes with the key (PS256) and call `signed`.
        case sign([UInt8])
    }

    private struct Token {
        let authorization: [UInt8]
        let issuedAt: Int64
        let generation: UInt32
        /// Made because its forerunner was refused.
        let isForced: Bool
        var isRefused = false
    }

    /// Seconds that a token may be good for, and that one is used.
    static let lifetime: Int64 = 3600
    static let useFor: Int64 = 50 * 60
    /// Seconds that a clock may step back without a new token; within which a second refusal counts against the account.
    private static let clockSlack: Int64 = 60
    private static let young: Int64 = 60

    private let account: HarmonyOSAccount
    private var token: Token?
    private var issuingAt: Int64 = 0

    public init(_ account: HarmonyOSAccount) { self.account = account }

    /// Says what a push at `now` (seconds since 1970) needs.
    public mutating func authorization(now: Int64) -> Action {
        if let token, !token.isRefused {
            let age = now.subtractingReportingOverflow(token.issuedAt).partialValue
            if age < Self.useFor, age >= -Self.clockSlack {
                return .use(token.authorization, generation: token.generation)
            }
        }
        issuingAt = now
        return .sign(
            JSONWebToken.signingInput(
                header: [("alg", .text("PS256")), ("kid", .text(account.keyID)), ("typ", .text("JWT"))],
                claims: [
                    ("iss", .text(account.subAccount)), ("aud", .text(account.tokenURI)), ("iat", .seconds(now)),
                    ("exp", .seconds(now.addingReportingOverflow(Self.lifetime).partialValue)),
                ]))
    }

    /// Takes the signature of `signingInput`.
    public mutating func signed(_ signingInput: [UInt8], signature: [UInt8]) -> Action {
        let authorization = Array("Bearer ".utf8) + JSONWebToken.token(signingInput, signature: signature)
        let generation = (token?.generation ?? 0) &+ 1
        token = Token(
            authorization: authorization, issuedAt: issuingAt, generation: generation,
            isForced: token?.isRefused ?? false)
        return .use(authorization, generation: generation)
    }

    /// Huawei refused the token of this generation. False when one minted just now is refused too: clock, key or
    /// account are wrong.
    public mutating func refused(generation: UInt32, now: Int64) -> Bool {
        guard let token, token.generation == generation else { return true }
        if token.isForced, now.subtractingReportingOverflow(token.issuedAt).partialValue < Self.young { return false }
        self.token?.isRefused = true
        return true
    }
}

/// The key file of a service account of Huawei's, as far as sending needs it.
public struct HarmonyOSAccount: Equatable, Sendable {
    /// This member is missing, empty, or nothing that can be sent.
    public struct Problem: Error, Equatable, Sendable {
        public let member: String
    }

    /// Id of the project that it pushes for (`project_id`).
    public let project: String
    /// Names the key (`key_id`).
    public let keyID: String
    /// Issuer of its tokens (`sub_account`).
    public let subAccount: String
    /// PEM text of the RSA key; empty once it was taken.
    public private(set) var privateKey: String
    /// Tells accounts with different keys apart when these were taken.
    private let fingerprint: Int
    /// Audience of its tokens.
    public let tokenURI: String

    /// The audience of all tokens, where a file does not say.
    public static let usualTokenURI = "https://oauth-login.cloud.huawei.com/oauth2/v3/token"

    /// Reads the parsed file.
    public init(_ file: JSONValue) throws(Problem) {
        project = try Self.text(file, "project_id")
        keyID = try Self.text(file, "key_id")
        subAccount = try Self.text(file, "sub_account")
        privateKey = try Self.text(file, "private_key")
        fingerprint = privateKey.hashValue
        let uri = file["token_uri"]?.string ?? ""
        tokenURI = uri.isEmpty ? Self.usualTokenURI : uri
        guard HeaderText.isPathSegment(project, atMost: 255) else { throw Problem(member: "project_id") }
    }

    /// Hands the text of the key over: who has made a key of it keeps no other copy for as long as the process lives.
    public mutating func takePrivateKey() -> String {
        defer { privateKey = "" }
        return privateKey
    }

    private static func text(_ file: JSONValue, _ name: String) throws(Problem) -> String {
        guard let text = file[name]?.string, !text.isEmpty else { throw Problem(member: name) }
        return text
    }
}
