// SPDX-License-Identifier: MIT

/// Reads what a push service answered (RFC 8030; Mozilla, "autopush error codes"; Apple, "Sending web push").
public enum WebPushResponse {
    private static let pause: Int64 = 2000
    private static let quotaPause: Int64 = 10_000

    /// Mozilla's `errno` for a subscription that is no more.
    private static let goneNumbers: Set<Int64> = [102, 103, 105, 106]

    /// Reads an answer; `body` is its parsed JSON, nil when there was none. `now` in seconds since 1970.
    ///
    /// Redirects are not followed: the URL came from a phone, and the new one from wherever that led.
    public static func verdict(_ response: HTTPResponse, _ body: JSONValue?, now: Int64 = 0) -> Verdict {
        let status = response.status
        let reason = reason(response, body)
        let wait = RetryAfter.milliseconds(response, now: now)
        switch status {
        // Any 2xx that is not known counts as a 200 (RFC 9110, 15): sent again it would come twice.
        case 200...299: return Verdict(.accepted)
        case 404, 410: return Verdict(.tokenGone, reason: reason)
        case 300...399: return Verdict(.rejected, reason: reason)
        case 400: return Verdict(isGone(body) ? .tokenGone : .rejected, reason: reason)
        case 401, 403:
            return isOfAnotherKey(response, body)
                ? Verdict(.tokenGone, reason: reason)
                : Verdict(.misconfigured, reason: reason, next: .renewCredential)
        case 407: return Verdict(.misconfigured, reason: reason)
        case 429: return Verdict(.throttled, reason: reason, next: .retry(after: wait ?? quotaPause))
        case 408, 421, 425: return Verdict(.unavailable, reason: reason, next: .retry(after: wait ?? pause))
        case 402, 405...499: return Verdict(.rejected, reason: reason)
        default:
            let isImmediate = body?["errno"]?.integer == 202
            return Verdict(.unavailable, reason: reason, next: .retry(after: wait ?? (isImmediate ? 0 : pause)))
        }
    }

    /// Whether the subscription was made with another key: it can never work again. All else is about what we signed, and
    /// a clock that is wrong must cost no subscription.
    private static func isOfAnotherKey(_ response: HTTPResponse, _ body: JSONValue?) -> Bool {
        let text = text(response).lowercased()
        // Mozilla says 401 to everything.
        if response.status == 401 { return text.contains("vapid public key mismatch") }
        // Apple's BadJwtToken; Google's "permission denied: invalid JWT provided" and "exp claim MUST NOT be more than 24
        // hours from the time of the request". Its word for the other key is "do not correspond to the credentials".
        return !["jwt", "claim", "expired"].contains { text.contains($0) }
    }

    private static func text(_ response: HTTPResponse) -> String {
        String(decoding: response.body.prefix(512), as: UTF8.self)
    }

    private static func isGone(_ body: JSONValue?) -> Bool {
        if body?["reason"]?.string == "VapidPkHashMismatch" { return true }
        return body?["errno"]?.integer.map { goneNumbers.contains($0) } ?? false
    }

    private static func reason(_ response: HTTPResponse, _ body: JSONValue?) -> String {
        let status = response.status
        if let reason = body?["reason"]?.string { return String(reason.prefix(64)) }
        if let number = body?["errno"]?.integer { return "HTTP \(status) errno \(number)" }
        // Google says why in plain text; others answer with pages.
        let text = body == nil ? text(response).split(whereSeparator: \.isNewline).first ?? "" : ""
        return text.isEmpty || text.hasPrefix("<") || status / 100 == 2
            ? "HTTP \(status)" : "HTTP \(status) \(PrintableText.cleaned(String(text.prefix(64))))"
    }
}
