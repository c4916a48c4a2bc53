// SPDX-License-Identifier: MIT

/// Reads what Huawei answered (Push Kit, "Response codes"): the `code` in the body counts, whatever HTTP says.
public enum HarmonyOSResponse {
    private static let pause: Int64 = 2000
    private static let quotaPause: Int64 = 10_000

    /// Reads an answer; `body` is its parsed JSON, nil when there was none. `now` in seconds since 1970.
    ///
    /// `isRepeatable`: a second copy does no harm, so that an answer which says nothing may be asked for again.
    public static func verdict(
        _ response: HTTPResponse, _ body: JSONValue?, isRepeatable: Bool = true, now: Int64 = 0
    ) -> Verdict {
        let wait = RetryAfter.milliseconds(response, now: now)
        // Huawei documents a text; a number is read alike, or each push that was accepted would be sent again.
        let code = body?["code"]?.string ?? body?["code"]?.integer.map { String($0) } ?? ""
        guard !code.isEmpty else {
            // Something answered in Huawei's place and may have handed the push on.
            if response.status / 100 == 2, !isRepeatable {
                return Verdict(.unavailable, reason: "HTTP \(response.status)")
            }
            return verdict(response.status, wait)
        }
        let text = body?["msg"]?.string ?? ""
        let reason = text.isEmpty ? String(code.prefix(16)) : "\(code.prefix(16)) \(text.prefix(64))"
        switch code {
        case "80000000": return Verdict(.accepted)
        // Of several tokens some are bad; here there is but one.
        case "80100000", "80300007": return Verdict(.tokenGone, reason: reason)
        case "80200001", "80200003": return Verdict(.misconfigured, reason: reason, next: .renewCredential)
        case "80300002": return Verdict(.misconfigured, reason: reason)
        case "81000001": return Verdict(.unavailable, reason: reason, next: .retry(after: wait ?? pause))
        default:
            if response.status == 429 || response.status >= 500 { return verdict(response.status, wait, reason) }
            if response.status == 401 { return Verdict(.misconfigured, reason: reason, next: .renewCredential) }
            return Verdict(.rejected, reason: reason)
        }
    }

    private static func verdict(_ status: Int, _ wait: Int64?, _ said: String = "") -> Verdict {
        let reason = said.isEmpty ? "HTTP \(status)" : said
        switch status {
        case 401: return Verdict(.misconfigured, reason: reason, next: .renewCredential)
        case 403, 404, 407: return Verdict(.misconfigured, reason: reason)
        case 429:
            return Verdict(.throttled, reason: reason, next: wait.map { .hold($0) } ?? .retry(after: quotaPause))
        // A success without a code is none: a proxy may have answered.
        case 200...299, 408, 421, 425, 500...:
            return Verdict(.unavailable, reason: reason, next: .retry(after: wait ?? pause))
        default: return Verdict(.rejected, reason: reason)
        }
    }
}
