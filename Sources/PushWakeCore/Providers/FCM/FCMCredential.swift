// SPDX-License-Identifier: MIT

/// The OAuth access token of one service account: one fetch at a time, ahead of need, and the old
/// token in use until the new one is there.
///
///     empty -> fetching -> ready -> ready and fetching -> ready …
///                 |                        |
///                 v                        v
///              backed off               ready and backed off
///
/// Times are milliseconds on one clock of the caller's.
public struct FCMCredential: ~Copyable {
    /// What to do before a push goes out.
    public enum Action: Equatable, Sendable {
        /// Send with this `authorization` value. The generation goes back with `refused`.
        case use([UInt8], generation: UInt32)
        /// Fetch a token, then call `fetched` or `fetchFailed`; hold the push until then.
        case fetch
        /// A fetch is under way: hold the push.
        case wait
        /// The last fetch failed; no other before this time.
        case backOff(until: Int64, reason: String)
    }

    /// What to do after a 401.
    public enum RefusedAction: Equatable, Sendable {
        /// Ask for the token again and send the push once more.
        case resend
        /// A token fetched just now is refused too: project or permissions are wrong.
        case giveUp
    }

    private struct Token {
        let authorization: [UInt8]
        let generation: UInt32
        let fetchedAt: Int64
        /// Nil: when a push needs another.
        let refreshAt: Int64?
        let endsAt: Int64
        /// Made because its forerunner was refused, and not accepted yet.
        var replacesRefused: Bool
    }

    private enum Fetch {
        case idle
        case underWay
        case backedOff(until: Int64, reason: String)
    }

    /// Milliseconds before its end at which a token is replaced (Flexisip's default as well).
    private static let ahead: Int64 = 300_000
    /// A token that is good for less is fetched when a push needs it, not ahead of need, and is used for a second
    /// whatever is said of it: or a strange answer would lead to the next request at once, again and again.
    private static let worthRefreshing: Int64 = 20_000
    private static let leastUse: Int64 = 1000
    /// Milliseconds within which a second refusal counts against the account.
    private static let young: Int64 = 60_000

    /// Milliseconds of a server's `Retry-After` that are obeyed: one request in a minute is no load on anybody, and
    /// without a token no push of the account goes out.
    private static let longestBackOff: Int64 = 60_000

    private var token: Token?
    private var fetch = Fetch.idle
    private var backoff = Backoff(first: 1000, cap: 10_000)
    private var generation: UInt32 = 0
    private var wasRefused = false
    /// Where the wall clock stood at the last failure.
    private var clock: Int64 = 0

    public init() {}

    /// Whether there is a token that is good at `now`.
    public func isUsable(now: Int64) -> Bool { token.map { now < $0.endsAt } ?? false }

    /// Says what a push at `now` needs.
    public mutating func authorization(now: Int64) -> Action {
        if let token, now < token.endsAt { return .use(token.authorization, generation: token.generation) }
        switch fetch {
        case .underWay: return .wait
        case .backedOff(let until, let reason) where now < until: return .backOff(until: until, reason: reason)
        case .idle, .backedOff:
            fetch = .underWay
            return .fetch
        }
    }

    /// When to call `refreshIsDue`; nil when there is nothing to wait for.
    public var deadline: Int64? {
        guard let refreshAt = token?.refreshAt else { return nil }
        switch fetch {
        case .underWay: return nil
        case .idle: return refreshAt
        case .backedOff(let until, _): return max(until, refreshAt)
        }
    }

    /// When there may be a first token after a fetch that failed; nil while one is in use.
    public var retryAt: Int64? {
        guard token == nil, case .backedOff(let until, _) = fetch else { return nil }
        return until
    }

    /// True when the caller is to fetch now, although the token in use is still good.
    public mutating func refreshIsDue(now: Int64) -> Bool {
        guard let deadline, now >= deadline else { return false }
        fetch = .underWay
        return true
    }

    /// A fetch brought a token, good for `lifetime` seconds.
    public mutating func fetched(_ accessToken: [UInt8], lifetime: Int64, now: Int64) {
        let milliseconds = max(min(max(lifetime, 0), 86_400) * 1000, Self.leastUse)
        generation &+= 1
        token = Token(
            authorization: Array("Bearer ".utf8) + accessToken, generation: generation, fetchedAt: now,
            refreshAt: milliseconds < Self.worthRefreshing
                ? nil : now + milliseconds - min(Self.ahead, milliseconds / 2),
            endsAt: now + milliseconds,
            replacesRefused: wasRefused)
        (fetch, wasRefused) = (.idle, false)
        backoff.reset()
    }

    /// A fetch failed; `after` in milliseconds is what the server asks for, of which a minute is granted at most, `random`
    /// spreads the next attempt. `clock` in seconds is by how much the wall clock is ahead of `now`.
    public mutating func fetchFailed(reason: String, after: Int64?, now: Int64, clock: Int64 = 0, random: UInt64) {
        self.clock = clock
        let pause = backoff.next(random: random)
        fetch = .backedOff(until: now + max(pause, min(max(after ?? 0, 0), Self.longestBackOff)), reason: reason)
    }

    /// Whether the wall clock was set since the last fetch failed. Then the next may begin at once: the times of an
    /// assertion that was refused may be right now.
    public mutating func clockWasSet(to clock: Int64) -> Bool {
        guard case .backedOff = fetch, !(-1...1).contains(clock.subtractingReportingOverflow(self.clock).partialValue)
        else { return false }
        fetch = .idle
        backoff.reset()
        return true
    }

    /// Google took a push with the token of this generation: it is none of those that cannot work.
    public mutating func accepted(generation: UInt32) {
        guard token?.replacesRefused == true, token?.generation == generation else { return }
        token?.replacesRefused = false
    }

    /// Google answered 401 to a push with the token of this generation.
    public mutating func refused(generation: UInt32, now: Int64) -> RefusedAction {
        guard let token, token.generation == generation else { return .resend }
        if token.replacesRefused, now - token.fetchedAt < Self.young { return .giveUp }
        self.token = nil
        wasRefused = true
        return .resend
    }
}

/// Google's service-account key file, as far as sending needs it.
public struct ServiceAccount: Equatable, Sendable {
    /// What is wrong with a key file.
    public enum Problem: Error, Equatable, Sendable {
        case notAServiceAccount(OtherFile)
        /// This member is missing or empty.
        case missing(String)
        /// This member holds what no request can carry, such as a space.
        case unusable(String)
        /// `token_uri` is not an https URL.
        case badTokenURI
    }

    /// Files that Google's tools make too, which people take for it.
    public enum OtherFile: Equatable, Sendable {
        /// `google-services.json`.
        case appConfiguration
        /// What `gcloud auth application-default login` leaves.
        case personalLogin
        /// Workload identity federation.
        case federation
        case other

        init(_ file: JSONValue) {
            switch file["type"]?.string {
            case "authorized_user": self = .personalLogin
            case "external_account", "external_account_authorized_user": self = .federation
            default: self = file["project_info"] == nil ? .other : .appConfiguration
            }
        }
    }

    /// Id of the project that it pushes for (`project_id`).
    public let project: String
    /// Issuer of the assertions that it signs (`client_email`).
    public let email: String
    /// Names the key in their header (`private_key_id`).
    public let keyID: String
    /// PEM text of the RSA key; empty once it was taken.
    public private(set) var privateKey: String
    /// Tells accounts with different keys apart when these were taken.
    private let fingerprint: Int
    /// Where they are given for an access token, and their audience; https.
    public let tokenURI: String

    /// Reads the parsed file.
    public init(_ file: JSONValue) throws(Problem) {
        guard file["type"]?.string == "service_account" else { throw .notAServiceAccount(OtherFile(file)) }
        project = try Self.text(file, "project_id")
        guard HeaderText.isPathSegment(project, atMost: 255) else { throw .unusable("project_id") }
        email = try Self.text(file, "client_email")
        guard HeaderText.isFieldValue(email) else { throw .unusable("client_email") }
        keyID = try Self.text(file, "private_key_id")
        guard HeaderText.isFieldValue(keyID) else { throw .unusable("private_key_id") }
        privateKey = try Self.text(file, "private_key")
        fingerprint = privateKey.hashValue
        tokenURI = try Self.text(file, "token_uri")
        guard HTTPOrigin.split(tokenURI) != nil else { throw .badTokenURI }
    }

    /// Hands the text of the key over: who has made a key of it keeps no other copy for as long as the process lives.
    public mutating func takePrivateKey() -> String {
        defer { privateKey = "" }
        return privateKey
    }

    private static func text(_ file: JSONValue, _ name: String) throws(Problem) -> String {
        guard let text = file[name]?.string, !text.isEmpty else { throw .missing(name) }
        return text
    }
}
