// SPDX-License-Identifier: MIT

/// Reads what Google answered (FCM v1, "ErrorCode"; "Best practices when sending FCM messages at scale").
public enum FCMResponse {
    /// First wait after an answer that says "later" and not when, milliseconds.
    private static let pause: Int64 = 10_000
    /// For one phone or topic.
    private static let quotaPause: Int64 = 60_000
    /// For a project: a minute's quota fills up again while a call still rings.
    private static let slowPause: Int64 = 2000

    /// Reads an answer; `body` is its parsed JSON, nil when there was none or it was broken (502 comes as HTML).
    ///
    /// The error code in `details` goes before `status`, and that before the HTTP status. `now` in seconds.
    public static func verdict(_ response: HTTPResponse, _ body: JSONValue?, now: Int64 = 0) -> Verdict {
        if response.status / 100 == 2 { return Verdict(.accepted) }
        let error = body?["error"]
        let code = errorCode(in: error)
        let status = error?["status"]?.string
        let word = code ?? status ?? word(forStatus: response.status)
        let wait = RetryAfter.milliseconds(response, now: now)
        switch word {
        case "NOT_FOUND" where code == nil && !speaksOfToken(error):
            return Verdict(.misconfigured, reason: word)
        case "UNREGISTERED", "NOT_FOUND":
            return Verdict(.tokenGone, reason: word)
        case "SENDER_ID_MISMATCH":
            return Verdict(.tokenGone, reason: word, mayBeSetting: true)
        case "INVALID_ARGUMENT":
            return blamesToken(error)
                ? Verdict(.tokenGone, reason: detailed(word, error), mayBeSetting: true)
                : Verdict(.rejected, reason: detailed(word, error))
        case "QUOTA_EXCEEDED", "RESOURCE_EXHAUSTED":
            return Verdict(.throttled, reason: word, next: throttled(error, wait))
        case "UNAUTHENTICATED":
            return Verdict(.misconfigured, reason: word, next: .renewCredential)
        case "THIRD_PARTY_AUTH_ERROR": return thirdParty(error)
        case "PERMISSION_DENIED", "FAILED_PRECONDITION":
            return Verdict(.misconfigured, reason: explained(word, error))
        case "HTTP 404", "HTTP 405", "HTTP 400", "HTTP 413":
            return Verdict(response.status == 404 ? .misconfigured : .rejected, reason: word)
        case "UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED", "ABORTED", "UNKNOWN":
            return Verdict(.unavailable, reason: word, next: .retry(after: wait ?? pause))
        default:
            return verdict(forStatus: response.status, reason: String(word.prefix(64)), wait: wait)
        }
    }

    private static func verdict(forStatus status: Int, reason: String, wait: Int64?) -> Verdict {
        switch status {
        case 429: Verdict(.throttled, reason: reason, next: wait.map { .hold($0) } ?? .slow(after: slowPause))
        case 401: Verdict(.misconfigured, reason: reason, next: .renewCredential)
        case 403, 407: Verdict(.misconfigured, reason: reason)
        case 408, 421, 425: Verdict(.unavailable, reason: reason, next: .retry(after: wait ?? pause))
        case 400...499: Verdict(.rejected, reason: reason)
        default: Verdict(.unavailable, reason: reason, next: .retry(after: wait ?? pause))
        }
    }

    /// One phone or topic that gets too much is no reason to stop for the others; Google says which it was in a
    /// `QuotaFailure` or in words.
    private static func throttled(_ error: JSONValue?, _ wait: Int64?) -> Verdict.Next {
        let subjects = (error?["details"]?.array ?? []).flatMap { $0["violations"]?.array ?? [] }.compactMap {
            $0["subject"]?.string
        }
        let text = (subjects + [error?["message"]?.string ?? ""]).joined(separator: " ").lowercased()
        let isNarrow = text.firstRange(of: "device") != nil || text.firstRange(of: "topic") != nil
        if isNarrow { return .retry(after: wait ?? quotaPause) }
        return wait.map { .hold($0) } ?? .slow(after: slowPause)
    }

    /// The word to look up when the body gives none.
    private static func word(forStatus status: Int) -> String {
        status == 401 ? "UNAUTHENTICATED" : "HTTP \(status)"
    }

    private static func errorCode(in error: JSONValue?) -> String? {
        let details = error?["details"]?.array ?? []
        let own = details.first { $0["@type"]?.string?.hasSuffix("FcmError") == true }
        guard let code = own?["errorCode"]?.string, code != "UNSPECIFIED_ERROR" else { return nil }
        return code
    }

    /// Google's words for a token that it does not know; a project or a URL that is not there has the same status.
    private static func speaksOfToken(_ error: JSONValue?) -> Bool {
        error?["message"]?.string?.contains("Requested entity was not found") ?? true
    }

    /// The trap: a payload of ours that FCM dislikes gives the same code as a broken token.
    private static func blamesToken(_ error: JSONValue?) -> Bool {
        let violations = violatedFields(error)
        if !violations.isEmpty { return violations.allSatisfy { $0 == "message.token" } }
        return error?["message"]?.string?.contains("not a valid FCM registration token") == true
    }

    private static func violatedFields(_ error: JSONValue?) -> [String] {
        (error?["details"]?.array ?? []).flatMap { $0["fieldViolations"]?.array ?? [] }.compactMap {
            $0["field"]?.string
        }
    }

    /// The code, and the field that was wrong, or what Apple said: an operator with a template of their own needs to know it.
    private static func detailed(_ word: String, _ error: JSONValue?) -> String {
        let apple = (error?["details"]?.array ?? []).first { $0["@type"]?.string?.hasSuffix("ApnsError") == true }
        guard let detail = violatedFields(error).first ?? apple?["reason"]?.string else { return word }
        return "\(word) \(detail.prefix(64))"
    }
}

extension FCMResponse {
    /// Characters of Google's text that are passed on: the URL at which an API is enabled ends before.
    private static let longestText = 240

    /// The word and Google's text: it names the permission that is missing, or the URL at which the API is enabled.
    private static func explained(_ word: String, _ error: JSONValue?) -> String {
        let text = (error?["message"]?.string ?? "").prefix(longestText)
        let remedy = text.contains("Enable it") || word != "PERMISSION_DENIED" ? "" : " (\(Remedy.permission))"
        return text.isEmpty ? word + remedy : "\(word): \(text)\(remedy)"
    }

    /// Google pushes to Apple and to browsers with keys that the project has for each app: one that is missing is no fault
    /// of the account, nor of other apps.
    private static func thirdParty(_ error: JSONValue?) -> Verdict {
        let theirs = (error?["details"]?.array ?? []).lazy.compactMap { $0["reason"]?.string }.first ?? ""
        let word = "THIRD_PARTY_AUTH_ERROR" + (theirs.isEmpty ? "" : " \(theirs.prefix(64))")
        var verdict = Verdict(.misconfigured, reason: "\(word) (\(Remedy.thirdParty))")
        verdict.isOfApp = true
        return verdict
    }
}
