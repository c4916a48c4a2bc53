// SPDX-License-Identifier: MIT

import PushWakeCore

/// Google's token endpoint for service accounts: an RS256 assertion for a bearer token (RFC 7523).
struct OAuthService {
    /// A service account that the endpoint knows.
    struct Account {
        let project: String
        /// `client_email`.
        let email: String
        /// `private_key_id`.
        let keyID: String
        /// Verifies RS256 with its key.
        let verify: SignatureCheck

        init(project: String, email: String, keyID: String, verify: @escaping SignatureCheck) {
            self.project = project
            self.email = email
            self.keyID = keyID
            self.verify = verify
        }
    }

    /// Seconds that a new access token lives.
    var lifetime: Int64 = 3_599
    private let accounts: [Account]
    /// The endpoint's own URL, as `aud` must name it.
    private let audience: String
    static let scopes: Set<String> = [
        "https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform",
    ]
    private static let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    init(accounts: [Account], audience: String) {
        self.accounts = accounts
        self.audience = audience
    }

    /// Checks one request; `now` in milliseconds since the epoch.
    func answer(_ request: ReceivedRequest, tokens: inout AccessTokens, now: Int64) -> ProviderAnswer {
        guard request.text(.method) == "POST" else {
            return Self.error(405, "invalid_request", "The token endpoint wants POST.")
        }
        let form = FormBody(request.body)
        guard let grant = form["grant_type"] else {
            return Self.error(400, "invalid_request", "Required parameter is missing: grant_type")
        }
        guard grant == Self.grant else {
            return Self.error(400, "unsupported_grant_type", "Invalid grant_type: \(grant)")
        }
        guard let assertion = form["assertion"] else {
            return Self.error(400, "invalid_request", "Required parameter is missing: assertion")
        }
        let account: Account
        do throws(Rejection) {
            account = try self.account(behind: assertion, now: now / 1_000)
        } catch {
            return error.answer
        }
        let token = tokens.issue(until: (now / 1_000).addingClamped(lifetime), for: account.project)
        let json = JSONValue.object([
            .init("access_token", .string(token)), .init("expires_in", .integer(lifetime)),
            .init("token_type", .string("Bearer")),
        ])
        return ProviderAnswer(status: 200, reason: "ok", json: json)
    }

    private struct Rejection: Error {
        let answer: ProviderAnswer

        init(_ error: String, _ description: String) { answer = OAuthService.error(400, error, description) }
    }

    private func account(behind assertion: String, now: Int64) throws(Rejection) -> Account {
        guard let token = WebToken(Array(assertion.utf8)[...]), token.algorithm == "RS256" else {
            throw Rejection("invalid_grant", "Bad JWT: not three base64url parts signed with RS256.")
        }
        guard let account = accounts.first(where: { $0.email == token.claims["iss"]?.string }) else {
            throw Rejection("invalid_grant", "Invalid grant: account not found")
        }
        guard token.keyID == nil || token.keyID == account.keyID, account.verify(token.signed, token.signature) else {
            throw Rejection("invalid_grant", "Invalid JWT Signature.")
        }
        guard [audience, "https://oauth2.googleapis.com/token"].contains(token.claims["aud"]?.string) else {
            throw Rejection(
                "invalid_grant", "Invalid JWT: Failed audience check. The right audience is \(audience)")
        }
        guard let issued = token.claims["iat"]?.integer, let expiry = token.claims["exp"]?.integer, expiry > now,
            issued <= now.addingClamped(300), expiry <= issued.addingClamped(3_600)
        else {
            throw Rejection(
                "invalid_grant",
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
                    + "Check your iat and exp values in the JWT claim.")
        }
        let scope = token.claims["scope"]?.string ?? ""
        guard !scope.isEmpty else {
            throw Rejection("invalid_scope", "Empty or missing scope not allowed.")
        }
        guard scope.split(separator: " ").contains(where: { Self.scopes.contains(String($0)) }) else {
            throw Rejection("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
        }
        return account
    }

    /// The word that goes with a status.
    static func usualError(for status: Int) -> String {
        switch status {
        case 401: "invalid_client"
        case 429: "rate_limit_exceeded"
        case 500...: "internal_failure"
        default: "invalid_grant"
        }
    }

    /// An error in Google's form.
    static func error(_ status: Int, _ error: String, _ description: String) -> ProviderAnswer {
        ProviderAnswer(
            status: status, reason: error,
            json: .object([.init("error", .string(error)), .init("error_description", .string(description))]))
    }
}

/// OAuth access tokens that were handed out: what the token endpoint and FCM share.
struct AccessTokens: Sendable {
    /// More live tokens than this are not kept; the oldest goes.
    static let most = 10_000

    private var grants: [[UInt8]: Grant] = [:]
    private struct Grant: Sendable {
        let expiry: Int64
        let project: String
    }

    private var order: [[UInt8]] = []

    init() {}

    /// Makes a token for a project that expires at `expiry`, seconds since the epoch.
    mutating func issue(until expiry: Int64, for project: String) -> String {
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        for _ in 0..<30 { bytes.append(UInt8.random(in: .min ... .max, using: &generator)) }
        let token = "ya29.simulated-" + Base64URL.encode(bytes)
        grants[Array(token.utf8)] = Grant(expiry: expiry, project: project)
        order.append(Array(token.utf8))
        if order.count > Self.most { grants[order.removeFirst()] = nil }
        return token
    }

    /// The project that a token was handed out for; nil when it is unknown or has expired.
    func project(of token: ArraySlice<UInt8>, now: Int64) -> String? {
        guard let grant = grants[Array(token)], now < grant.expiry else { return nil }
        return grant.project
    }

    /// Forgets all tokens, as after a key was revoked.
    mutating func revokeAll() {
        grants = [:]
        order = []
    }
}
