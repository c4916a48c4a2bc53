// SPDX-License-Identifier: MIT

/// Reads what FlexiAPI answered. It tells nothing of tokens: one that is dead and a provider that is away are both 503.
public enum FlexiAPIResponse {
    private static let pause: Int64 = 2000

    /// Reads an answer; `body` is its parsed JSON, nil when there was none. `now` in seconds since 1970.
    public static func verdict(_ response: HTTPResponse, _ body: JSONValue?, now: Int64 = 0) -> Verdict {
        let text = body?["message"]?.string ?? ""
        let reason = text.isEmpty ? "HTTP \(response.status)" : "HTTP \(response.status) \(text.prefix(64))"
        let wait = RetryAfter.milliseconds(response, now: now)
        switch response.status {
        case 200...299: return Verdict(.accepted)
        // No such key, not from this address, or no push interface under this URL.
        case 401, 403, 404, 407: return Verdict(.misconfigured, reason: reason)
        case 429: return Verdict(.throttled, reason: reason, next: wait.map { .hold($0) } ?? .retry(after: pause))
        case 408, 421, 425, 500...: return Verdict(.unavailable, reason: reason, next: .retry(after: wait ?? pause))
        default: return Verdict(.rejected, reason: reason)
        }
    }
}
