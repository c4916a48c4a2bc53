// SPDX-License-Identifier: MIT

/// Reads what Apple answered (Apple, "Handling notification responses from APNs").
public enum APNsResponse {
    /// What stands in the table beside a reason.
    private enum Action {
        /// This one push was wrong: drop it.
        case fixRequest
        /// An operator must act; every push of this credential would fail alike.
        case fixSettings
        /// The same for every push to this app.
        case fixApp
        /// The token, or the environment or topic that we sent it to.
        case suspectToken
        /// Remove it unless the phone has registered since.
        case removeTokenIfOlder
        case renewToken
        /// Same token, another connection; the pause keeps Apple's 20-minute rule from biting again.
        case otherConnection(after: Int64)
        case later(Outcome, after: Int64)
    }

    /// Apple's 32 reasons.
    private static let table: [String: Action] = [
        "BadCollapseId": .fixRequest,
        "BadDeviceToken": .suspectToken,
        "BadExpirationDate": .fixRequest,
        "BadMessageId": .fixRequest,
        "BadPriority": .fixRequest,
        "BadTopic": .fixApp,
        "DeviceTokenNotForTopic": .suspectToken,
        "DuplicateHeaders": .fixRequest,
        "IdleTimeout": .otherConnection(after: 0),
        "InvalidPushType": .fixRequest,
        "MissingDeviceToken": .suspectToken,
        "MissingTopic": .fixApp,
        "PayloadEmpty": .fixRequest,
        "TopicDisallowed": .fixApp,
        "BadCertificate": .fixSettings,
        "BadCertificateEnvironment": .fixSettings,
        "ExpiredProviderToken": .renewToken,
        "Forbidden": .fixSettings,
        "InvalidProviderToken": .fixSettings,
        "MissingProviderToken": .fixSettings,
        "UnrelatedKeyIdInToken": .otherConnection(after: 0),
        "BadEnvironmentKeyIdInToken": .fixSettings,
        "BadPath": .fixRequest,
        "MethodNotAllowed": .fixRequest,
        "ExpiredToken": .removeTokenIfOlder,
        "Unregistered": .removeTokenIfOlder,
        "PayloadTooLarge": .fixRequest,
        "TooManyProviderTokenUpdates": .otherConnection(after: 1000),
        "TooManyRequests": .later(.throttled, after: 1000),
        "InternalServerError": .later(.unavailable, after: 500),
        "ServiceUnavailable": .later(.unavailable, after: 500),
        "Shutdown": .otherConnection(after: 0),
    ]

    /// Reads an answer; `body` is its parsed JSON, nil when there was none or it was broken. `now` in seconds since 1970.
    public static func verdict(_ response: HTTPResponse, _ body: JSONValue?, now: Int64 = 0) -> Verdict {
        if response.status / 100 == 2 { return Verdict(.accepted) }
        let reason = body?["reason"]?.string ?? ""
        let action = table[reason] ?? action(forStatus: response.status)
        var verdict = verdict(action, reason: reason.isEmpty ? "HTTP \(response.status)" : shortened(reason), body)
        if case .retry(let pause) = verdict.next, let wait = RetryAfter.milliseconds(response, now: now) {
            verdict.next = .retry(after: max(pause, wait))
        }
        return verdict
    }

    /// Spares a token that was condemned for its topic, when the topic was only a guess.
    ///
    /// A phone that did not name its token's kind may have sent a PushKit token: an alert to it fails
    /// with these reasons although calls to it go through.
    public static func sparing(_ verdict: Verdict, _ binding: Binding, _ type: APNsPushType) -> Verdict {
        let isGuess = !binding.dialect.namesService && type != .voip
        guard isGuess, verdict.reason == "DeviceTokenNotForTopic" || verdict.reason == "BadDeviceToken" else {
            return verdict
        }
        var spared = verdict
        spared.outcome = .rejected
        return spared
    }

    private static func verdict(_ action: Action, reason: String, _ body: JSONValue?) -> Verdict {
        switch action {
        case .fixRequest: return Verdict(.rejected, reason: reason)
        case .fixSettings: return Verdict(.misconfigured, reason: reason)
        case .fixApp:
            var verdict = Verdict(.misconfigured, reason: reason)
            verdict.isOfApp = true
            return verdict
        case .suspectToken: return Verdict(.tokenGone, reason: reason, mayBeSetting: true)
        case .removeTokenIfOlder:
            let time = timeOfDeath(body)
            // Apple says why, or at least when.
            return Verdict(
                .tokenGone, reason: reason, goneSince: time, mayBeSetting: time == nil && table[reason] == nil)
        case .renewToken:
            return Verdict(.misconfigured, reason: reason, next: .renewCredential, connection: .retire)
        case .otherConnection(let pause):
            return Verdict(.unavailable, reason: reason, next: .retry(after: pause), connection: .retire)
        case .later(let outcome, let pause): return Verdict(outcome, reason: reason, next: .retry(after: pause))
        }
    }

    /// Milliseconds since 1970; nil when the answer says no time. In seconds, as stand-ins say it, the time of a dead token
    /// would be before every REGISTER, and the token would stay for ever.
    private static func timeOfDeath(_ body: JSONValue?) -> Int64? {
        guard let time = body?["timestamp"]?.integer, time > 0 else { return nil }
        return time < 100_000_000_000 ? time * 1000 : time
    }

    /// For a reason that Apple has not published yet, or an answer that is not Apple's.
    private static func action(forStatus status: Int) -> Action {
        switch status {
        case 403, 401, 407: .fixSettings
        case 410: .removeTokenIfOlder
        case 429: .later(.throttled, after: 1000)
        case 408, 421, 425: .otherConnection(after: 500)
        case 400...499: .fixRequest
        default: .later(.unavailable, after: 500)
        }
    }

    private static func shortened(_ reason: String) -> String { String(reason.prefix(64)) }
}
