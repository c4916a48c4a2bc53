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
        case 404, 410:
            return Verdict(.tokenGone, reason: reason, mayBeSetting: !speaksOfSubscription(response))
        case 300...399: return Verdict(.rejected, reason: reason)
        case 400 where isGone(body): return Verdict(.tokenGone, reason: reason)
        case 400, 401, 403:
            // It was made with another key, or this one is no longer the operator's.
            if isOfAnotherKey(response) { return Verdict(.tokenGone, reason: reason, mayBeSetting: true) }
            return status == 400
                ? Verdict(.rejected, reason: reason)
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

    /// Words by which Apple, Mozilla and Google say that the subscription was made with another key, in small letters. All
    /// else is about what we signed, or from somebody on the way: a clock that is wrong and a firewall cost no subscription.
    private static let otherKey = [
        "vapidpkhashmismatch", "vapid public key mismatch", "do not correspond to the credentials used to create",
    ]

    private static func isOfAnotherKey(_ response: HTTPResponse) -> Bool {
        // A page of a firewall may quote anything.
        guard !isPage(response) else { return false }
        let text = text(response).lowercased()
        return otherKey.contains { text.contains($0) }
    }

    /// What a push service says of a subscription, in small letters, where it says anything.
    private static let ofSubscription = ["subscription", "registration", "endpoint", "\"errno\"", "\"reason\""]

    /// Whether a 404 or 410 is a push service's (RFC 8030, 7.3). A proxy whose server starts anew has a page, or words such
    /// as "404 page not found"; none says 410 by itself.
    private static func speaksOfSubscription(_ response: HTTPResponse) -> Bool {
        guard !isPage(response) else { return false }
        if response.status == 410 || response.body.isEmpty { return true }
        let text = text(response).lowercased()
        return ofSubscription.contains { text.contains($0) }
    }

    private static func isPage(_ response: HTTPResponse) -> Bool {
        text(response).first { !$0.isWhitespace } == "<"
    }

    private static func text(_ response: HTTPResponse) -> String {
        String(decoding: response.body.prefix(512), as: UTF8.self)
    }

    private static func isGone(_ body: JSONValue?) -> Bool {
        body?["errno"]?.integer.map { goneNumbers.contains($0) } ?? false
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
