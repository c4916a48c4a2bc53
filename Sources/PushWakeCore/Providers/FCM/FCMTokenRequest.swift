// SPDX-License-Identifier: MIT

/// The exchange of a signed assertion for an access token (RFC 7523; Google, "Using OAuth 2.0 for
/// Server to Server Applications").
public enum FCMTokenRequest {
    /// Seconds that an assertion is valid; Google's upper limit.
    private static let assertionLifetime: Int64 = 3600
    private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    private static let longestToken = 8192

    /// What the token endpoint said.
    public enum Answer: Equatable, Sendable {
        /// An access token, and the seconds that it is good for.
        case token([UInt8], lifetime: Int64)
        /// Not now; milliseconds to wait when the server said so.
        case unavailable(reason: String, after: Int64?)
        /// Never, with this key: an operator must act.
        case refused(reason: String)
    }

    /// The bytes to sign with the account's key (RS256); `now` in seconds since 1970.
    public static func signingInput(_ account: ServiceAccount, now: Int64) -> [UInt8] {
        JSONWebToken.signingInput(
            header: [("alg", .text("RS256")), ("typ", .text("JWT")), ("kid", .text(account.keyID))],
            claims: [
                ("iss", .text(account.email)), ("scope", .text(scope)), ("aud", .text(account.tokenURI)),
                ("iat", .seconds(now)), ("exp", .seconds(now.addingReportingOverflow(assertionLifetime).partialValue)),
            ])
    }

    /// The request for a signed assertion, and where to send it.
    public static func build(
        _ account: ServiceAccount, signingInput: [UInt8], signature: [UInt8]
    ) throws(PushFailure) -> (HTTPOrigin, HTTPRequest) {
        guard let (origin, path) = HTTPOrigin.split(account.tokenURI), HeaderText.isTarget(path) else {
            throw .forbiddenURL
        }
        var request = HTTPRequest(reservingBytes: 256, fields: 6)
        request.append(":method", "POST")
        request.append(":scheme", "https")
        request.append(":authority", origin.authority)
        request.append(":path", path.isEmpty ? "/" : path)
        request.append("content-type", "application/x-www-form-urlencoded")
        request.body.append(
            contentsOf: "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=".utf8)
        request.body.append(contentsOf: JSONWebToken.token(signingInput, signature: signature))
        return (origin, request)
    }

    /// Reads the answer; `body` is its parsed JSON. `now` in seconds since 1970.
    public static func answer(_ response: HTTPResponse, _ body: JSONValue?, now: Int64) -> Answer {
        var error = String((body?["error"]?.string ?? "HTTP \(response.status)").prefix(64))
        // "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp
        // values in the JWT claim.": the clock is wrong.
        let words = body?["error_description"]?.string ?? ""
        if words.contains("iat and exp") {
            error += ", this machine's clock (iat)"
        } else if !words.isEmpty {
            // "Invalid JWT Signature.": the key was deleted. "Invalid grant: account not found": the account was.
            error += ": \(words.prefix(100))"
        }
        switch response.status {
        case 200:
            guard let token = body?["access_token"]?.string, HeaderText.isFieldValue(token, atMost: longestToken) else {
                return .unavailable(reason: "no access token in the answer", after: nil)
            }
            return .token(Array(token.utf8), lifetime: min(max(body?["expires_in"]?.integer ?? 3600, 0), 86_400))
        case 400, 401, 403, 404: return .refused(reason: error)
        default: return .unavailable(reason: error, after: RetryAfter.milliseconds(response, now: now))
        }
    }
}
