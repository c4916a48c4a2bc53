// SPDX-License-Identifier: MIT

/// Reads what Acrobits answered: the status that counts is the `code` in the body.
public enum AcrobitsResponse {
    private static let pause: Int64 = 2000

    /// Reads an answer; `body` is its parsed JSON, nil when there was none or it was broken. `now` in seconds.
    ///
    /// `isRepeatable`: a second copy does no harm, so that an answer which says nothing may be asked for again.
    public static func verdict(
        _ response: HTTPResponse, _ body: JSONValue?, isRepeatable: Bool = true, now: Int64 = 0
    ) -> Verdict {
        let code = body?["code"]?.integer ?? body?["code"]?.string.flatMap { Int64($0) }
        // A success without a code is none: a proxy may have answered.
        let status = code ?? (response.status / 100 == 2 ? 502 : Int64(response.status))
        let reason = reason(code, response.status, body)
        let wait = RetryAfter.milliseconds(response, now: now)
        switch status {
        case 200...299: return Verdict(.accepted)
        case 404, 410: return Verdict(code == nil ? .misconfigured : .tokenGone, reason: reason)
        case 400, 401, 403, 407: return Verdict(.misconfigured, reason: reason)
        case 429: return Verdict(.throttled, reason: reason, next: wait.map { .hold($0) } ?? .retry(after: pause))
        case 502 where code == nil && response.status / 100 == 2 && !isRepeatable:
            return Verdict(.unavailable, reason: reason)
        case 408, 421, 425: return Verdict(.unavailable, reason: reason, next: .retry(after: wait ?? pause))
        case 300...499: return Verdict(.rejected, reason: reason)
        default: return Verdict(.unavailable, reason: reason, next: .retry(after: wait ?? pause))
        }
    }

    private static func reason(_ code: Int64?, _ status: Int, _ body: JSONValue?) -> String {
        guard let code else { return "HTTP \(status)" }
        guard let text = body?["response"]?.string, !text.isEmpty else { return "code \(code)" }
        return "code \(code) \(text.prefix(64))"
    }
}
