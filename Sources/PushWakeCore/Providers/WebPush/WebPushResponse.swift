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
        let reason = reason(status, body)
        let wait = RetryAfter.milliseconds(response, now: now)
        switch status {
        // Any 2xx that is not known counts as a 200 (RFC 9110, 15): sent again it would come twice.
        case 200...299: return Verdict(.accepted)
        case 404, 410: return Verdict(.tokenGone, reason: reason)
        case 300...399: return Verdict(.rejected, reason: reason)
        case 400: return Verdict(isGone(body) ? .tokenGone : .rejected, reason: reason)
        case 401: return Verdict(.misconfigured, reason: reason, next: .renewCredential)
        case 403:
            // Apple's word for a bad signature or claim; anything else means that the subscription was made
            // with another key and can never work again.
            let isOurs = body?["reason"]?.string?.contains("Jwt") == true
            return isOurs
                ? Verdict(.misconfigured, reason: reason, next: .renewCredential) : Verdict(.tokenGone, reason: reason)
        case 407: return Verdict(.misconfigured, reason: reason)
        case 429: return Verdict(.throttled, reason: reason, next: .retry(after: wait ?? quotaPause))
        case 408, 421, 425: return Verdict(.unavailable, reason: reason, next: .retry(after: wait ?? pause))
        case 402, 405...499: return Verdict(.rejected, reason: reason)
        default:
            let isImmediate = body?["errno"]?.integer == 202
            return Verdict(.unavailable, reason: reason, next: .retry(after: wait ?? (isImmediate ? 0 : pause)))
        }
    }

    private static func isGone(_ body: JSONValue?) -> Bool {
        if body?["reason"]?.string == "VapidPkHashMismatch" { return true }
        return body?["errno"]?.integer.map { goneNumbers.contains($0) } ?? false
    }

    private static func reason(_ status: Int, _ body: JSONValue?) -> String {
        if let reason = body?["reason"]?.string { return String(reason.prefix(64)) }
        if let number = body?["errno"]?.integer { return "HTTP \(status) errno \(number)" }
        return "HTTP \(status)"
    }
}
